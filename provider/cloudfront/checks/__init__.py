"""What is wrong with a creation or a change of a tenant, found before anything is written, and told at once.

What stops a write whatever is asked for is in `safety/`."""

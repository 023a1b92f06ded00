"""Whose a tenant or connection group is, by what is known, and what others may be told of it (pure).

Tags are read and set in `adoption/`."""

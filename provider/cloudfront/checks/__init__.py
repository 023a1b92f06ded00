"""Checks of a creation or an update of a tenant. They find all problems before the provider writes anything.

Guards that stop a write independently of the spec are in `safety/`."""

"""The domains of a tenant: where DNS must lead them, whether it does, and moves between tenants.

Domains that are kept for a namespace are in `safety/`; who has a domain that AWS refuses is in `checks/`."""

"""The domains of a tenant: the DNS records that they need, whether those exist, and moves between tenants.

Domains that are kept for a namespace are in `safety/`; `checks/` finds who has a domain that AWS refuses."""

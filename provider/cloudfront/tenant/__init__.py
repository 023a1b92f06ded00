"""One reconcile of a tenant: assess, plan, act, derive conditions. All of it is pure except the actions.

The checks before a write are in `safety/` and `checks/`; `clients/` calls everything in order."""

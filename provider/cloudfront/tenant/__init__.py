"""One tenant from the look to the report: assess, plan, apply, derive conditions.

What is checked before a write is in `safety/` and `checks/`; `clients/tenant.py` puts it all in order."""

"""One tenant from the look to the report: assess, plan, do, derive conditions. Pure but for the actions.

What is checked before a write is in `safety/` and `checks/`; `clients/` puts it all in order."""

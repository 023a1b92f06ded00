"""One connection group: plan, report, and whether tenants use it.

Its values are in `state/group.py`, what its tenants see of it in `account/group_look.py`."""

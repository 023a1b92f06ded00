"""One connection group: plan, actions, report, and whether tenants use it.

Its values are in `state/group.py`, what its tenants see of it in `account/group_look.py`."""

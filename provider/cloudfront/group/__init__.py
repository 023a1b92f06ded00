"""Connection groups: plan, actions, report, and whether tenants use a group.

The data types are in `state/group.py`. What tenants need to know of their group is in
`memory/group_look.py`."""

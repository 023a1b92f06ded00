"""DNS zones: their answers, records set by hand, batches of changes, and the propagation of changes.

`dns` has the lookups over all zones.
"""

"""A managed resource and its external resource: the steps of a reconcile, its writes, events and limits.

`queueing` decides which resource is next, `process` in which worker and process it is reconciled.
"""

"""A managed resource and its external resource: a reconcile's steps, what it writes, tells and may not do.

Which resource is next belongs to `queueing`, in which worker and process to `process`.
"""

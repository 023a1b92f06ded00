"""The rules for managed resources (pure): what follows from metadata, policies, references and status.

Nothing here reads or writes: `kube` talks to the API server, and `reconcile` performs the actions.
"""

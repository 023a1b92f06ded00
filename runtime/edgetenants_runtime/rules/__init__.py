"""The rules of a managed resource, pure: what its metadata, policies, references and status lead to.

Nothing here reads or writes: an API server is reached through `kube`, and what is done stands in `reconcile`.
"""

"""The provider as a running process: the workers of each kind, leadership, probes and metrics.

What a reconcile does belongs to `reconcile`; `edgetenants_runtime.manager` puts all together.
"""

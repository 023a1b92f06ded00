"""The provider as a running process: the workers of each kind, leader election, probes and metrics.

`reconcile` has the steps of a reconcile; `edgetenants_runtime.manager` wires all parts.
"""

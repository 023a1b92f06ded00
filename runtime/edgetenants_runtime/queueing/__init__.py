"""Scheduling: the work queue, its fair lanes for namespaces, and periodic jobs.

The work itself does not belong here, nor does anything about Kubernetes.
"""

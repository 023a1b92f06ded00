"""Whose turn it is, and when: the work queue, its lanes for namespaces, and rounds of work beside it.

What the work is does not belong here, nor does anything of Kubernetes.
"""

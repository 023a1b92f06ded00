"""TenantSource: a table of customers becomes claims or managed resources.

A process and ServiceAccount of its own: it reads stores and writes objects in the namespace of each
TenantSource, and never calls AWS.
"""

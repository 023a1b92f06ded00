"""A distribution's configuration: what CloudFront fills in, what it must keep to, its tenants' parameters.

Nothing here makes or changes a distribution.
"""

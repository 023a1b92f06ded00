"""A distribution's configuration: CloudFront's defaults, its rules, and the parameters of its tenants.

This package does not create or change distributions.
"""

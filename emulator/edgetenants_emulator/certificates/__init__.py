"""Certificates: those in ACM and the names they cover, the lifecycle of managed ones, proofs of control.

`cloudfront.domains` decides which domains of a tenant are active.
"""

"""Certificates: those in ACM and what they cover, managed ones from request to end, proofs of control.

Which domain of a tenant is active for it is decided in `cloudfront.domains`.
"""

"""Validating admission webhooks: the AdmissionReview protocol, and the server that the API server calls.

A provider supplies the check. The check sees one write before it is stored, so it gives early feedback; the
controller enforces the same rules, because a webhook may be absent.
"""

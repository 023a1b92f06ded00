"""The composition function. It composes managed resources from a TenantClaim and its plan, and derives the
claim's readiness, conditions and status from the observed managed resources.

    request ─► claim.py, plans.py, terms.py ─► compose.py ─► response
                    observed.py ─► live.py, status.py ─────────┘

Everything between request and response is pure: no clock, no randomness, no I/O.
"""

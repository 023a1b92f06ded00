"""The composition function: a TenantClaim and its plan become managed resources, and what is observed of them
becomes the claim's readiness, conditions and status.

    request ─► claim.py, plans.py, terms.py ─► compose.py ─► response
                    observed.py ─► live.py, status.py ─────────┘

Everything between request and response is pure: no clock, no randomness, no I/O.
"""

"""The pace of calls: what a provider config permits, and what AWS permits.

A breaker for an endpoint that does not answer is beside this package (circuits.py).
"""

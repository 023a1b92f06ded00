"""The certificate of a tenant: reading it, requesting another one, and its condition.

Its values are in `state/certificates.py`, the calls in `aws/certificate_calls.py`."""

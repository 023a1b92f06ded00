"""The certificate of a tenant: looking at it, when one is requested again, and what is said of it.

Its values are in `state/certificates.py`, the calls in `aws/certificate_calls.py`."""

"""The server process: gRPC over mTLS, certificates, metrics, spans, and which parts of a request decide
whether the last response is sent again.

What a request means is decided in `fn.py`; the cache is in `protocol/remembered.py`."""

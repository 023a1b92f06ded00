"""The API types of edgetenants as pydantic models, from which CRDs, XRDs and the reference are generated.

This package needs neither a Kubernetes client nor an AWS SDK. The generated files are in `package/`.
"""

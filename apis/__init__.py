"""The API types of edgetenants, once: pydantic models, from which CRDs, XRDs and the reference are generated.

What is here needs neither a Kubernetes client nor an AWS SDK. The generated files stand in `package/`.
"""

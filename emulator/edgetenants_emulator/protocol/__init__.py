"""The HTTP protocol of AWS's SDKs: a request's operation, its members by botocore's model, the response.

This package contains no operations and no state.
"""

"""HTTP as AWS's SDKs speak it: which operation a request is, its members by botocore's model, the answer.

What an operation does is not here, and neither is any state.
"""

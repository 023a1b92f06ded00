"""Sessions of roles, as STS guards them: who may assume a role, by which token, and when the session ends.

The roles themselves are in moto's IAM.
"""

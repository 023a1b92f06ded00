"""Sessions of roles in STS: who may assume a role, with which token, and when the session ends.

moto's IAM stores the roles.
"""

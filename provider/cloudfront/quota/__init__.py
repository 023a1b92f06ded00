"""The quotas of an AWS account: how much is used and allowed, and the creations that wait for room.

Quotas of one tenant, such as its number of domains, belong elsewhere: they concern no other resource.
"""

"""The DNS records of tenants, where the spec asks the provider to manage them.

access      the DNS service of one resource, as its provider config names it
look        what its zones have for each domain
conditions  DNSReady, from a look
work        writes and removes records, in an order that leaves every domain served
left        the records of domains that moved to other tenants
"""

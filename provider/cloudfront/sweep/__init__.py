"""The sweep: lists of all tenants and connection groups of an account instead of a Get for each.

What is no list belongs elsewhere: tags, certificates and DNS records are read for each tenant.
"""

"""DNS lookups: the resolver over all zones, Route 53, where a domain points, the DNS server.

`zones` has the content of zones; `certificates` and `cloudfront` use the results.
"""

"""The DNS as it is asked: the resolver over all zones, Route 53, where a domain points, the DNS server.

What a zone holds is in `zones`; what follows from an answer is in `certificates` and `cloudfront`.
"""

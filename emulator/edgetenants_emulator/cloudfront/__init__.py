"""CloudFront's operations by resource, and their common parts: domains, tags, pages of lists.

`handlers` maps operation names to functions. Other services are in other packages.
"""

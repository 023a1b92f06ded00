"""CloudFront's operations, by what they are about, and what these share: domains, tags, pages of lists.

`handlers` has them by name. Other services are not here.
"""

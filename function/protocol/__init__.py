"""The data of Crossplane's function protocol: JSON in protobuf, requirements, requests that cannot be read,
and caches of parsed plans and of responses.

Nothing here knows what a claim or a plan means."""

"""The external clients: a skeleton for all kinds, the parts of each kind, their wrappers, and the connector
that creates them.

They only call the other packages in order. A rule of CloudFront belongs into the package for its subject."""

"""The calls to AWS: which exist, how fast the provider may make them, how it counts them, what their errors
mean, and when a failed one is retried.

Nothing here decides about a managed resource, or opens a session with AWS (see `account/`)."""

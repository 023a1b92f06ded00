"""The composition function. It composes managed resources from a TenantClaim and its plan, and derives the
claim's readiness, conditions and status from the observed managed resources.

    request ─► claims/ ─► composed/ ─► changes/ ─► response
                          findings/ ─► answer/ ───────┘

Each package imports only those below it (import-linter, in pyproject.toml):

    main        the command
    offline     the function without a server, for `render` and `validate`
    serving     the server process: gRPC, certificates, metrics, spans
    fn          one call: reads the request, calls the others, writes the response
    report      the function as a step of an Operation
    answer      the response: conditions, status, messages, and which resources this call composes
    changes     changes that move or interrupt served domains
    findings    what the observed resources mean for the claim
    composed    the composed resources, desired and observed
    claims      what a claim and its plan say, and the resulting terms
    protocol    JSON in protobuf, requirements, caches
    errors      why the function refuses to compose

Everything between request and response is pure: no clock, no randomness, no I/O.
"""

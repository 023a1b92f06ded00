"""The external clients of the CloudFront kinds: knows CloudFront and its companions, never Kubernetes.

Each room imports those below it only (import-linter, in pyproject.toml):

    clients       connect a managed resource to its account; observe, create, update, delete
    rehearsal     the same with every write recorded and not made
    checks        what is wrong with what is asked for
    adoption      what exists: lists, manifests, whose it is, taking it over
    group         a connection group: plan, report, use
    safety        what stops the provider before it writes
    tenant        assessment → plan → actions → conditions → report
    certificate   looks, requests, conditions
    domain        DNS, moves
    lifecycle     what is the same for every kind: actions, assessment, report, conditions
    account       sessions, credentials, memory
    aws           calls, pace, errors: the only place beside account that knows boto3
    ownership     whose a tenant is (pure)
    state         desired, observed, applied → diff    (pure)
"""

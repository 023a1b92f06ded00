"""The external clients of the CloudFront kinds. They call CloudFront and related AWS APIs, never Kubernetes.

Each package imports only those below it (import-linter, in pyproject.toml):

    clients       connect a managed resource to its account; observe, create, update, delete
    rehearsal     dry runs: every write is recorded and not sent
    checks        problems in a spec, found before a write
    adoption      existing resources: lists, manifests, owner tags, adoption
    group         a connection group: plan, report, use
    safety        guards that stop the provider before it writes
    tenant        assessment → plan → actions → conditions → report
    certificate   reads, requests, conditions
    domain        DNS, moves
    lifecycle     shared by all kinds: actions, assessment, report, conditions
    account       sessions, credentials
    sweep         lists of all tenants of an account instead of a Get for each
    memory        what the provider remembers of an account between reconciles
    aws           calls, pace, errors and retries; besides account, the only package that uses boto3
    ownership     who owns a tenant (pure)
    state         desired, observed, applied → diff    (pure)
"""

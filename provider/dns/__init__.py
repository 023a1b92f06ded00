"""The DNS records of domains: what is there, what is to change, and the services that change it.

    records, names   values                       plan   what is there + what is wanted ──▶ one change (pure)
    ownership        who made the records         store  the protocol of a DNS service, one module for each

Nothing here knows Kubernetes, CloudFront's API or a managed resource.
"""

"""The DNS records of domains: what is there, what is to change, and the services that change it.

    records       values                       plan          what is there and wanted ──▶ a change (pure)
    ownership     who made the records         expectations  whether a zone is as a change expects (pure)
    rdata         values as dnspython's        store         the protocol of a DNS service
    route53, rfc2136, powerdns, azure, cloudflare   the services
    remembering, server_pace                   in front of services that are read name by name
    mark_index                                 whose records they have shown
    bounded_http                               connections whose requests end in time
    public                                     what the world's DNS answers

Nothing here knows Kubernetes, CloudFront's API or a managed resource.
"""

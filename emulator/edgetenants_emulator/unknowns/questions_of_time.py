"""Open questions about time: deployments, certificates, lags, versions."""

from __future__ import annotations

from edgetenants_emulator.unknowns.question import GUIDE, MODEL, Unknown

__all__ = ["OF_TIME"]

_CERTIFICATES = f"{GUIDE}: Request certificates for your CloudFront distribution tenant"
_TERRAFORM = "hashicorp/terraform-provider-aws"

OF_TIME: tuple[Unknown, ...] = (
    Unknown(
        "Which error does a delete of a disabled resource return while it is InProgress?",
        "ResourceNotDisabled.",
        ("delete_in_progress_error", "delete_needs_deployed"),
        (f"{MODEL}: errors of DeleteDistributionTenant", f"{_TERRAFORM}: both are retried"),
    ),
    Unknown(
        "Is a delete still refused for some time after Deployed?",
        "No.",
        ("delete_lag_seconds",),
        (f"{_TERRAFORM}#3034: DistributionNotDisabled for a disabled distribution that is Deployed",),
    ),
    Unknown(
        "Which error does an update return while InProgress, if it is refused?",
        "PreconditionFailed.",
        ("update_in_progress_error", "update_needs_deployed"),
        (f"{MODEL}: errors of UpdateDistributionTenant",),
    ),
    Unknown(
        "Does an update without changes cause a new ETag and a deployment?",
        "Yes.",
        ("unchanged_update_moves_etag",),
        (f"{MODEL}: UpdateDistributionTenant does not say",),
    ),
    Unknown(
        "Does the end of a deployment change ETag or LastModifiedTime?",
        "Neither; with the setting, LastModifiedTime.",
        ("deployed_moves_modified",),
        (
            "aws-cli examples: list-distribution-tenants (created and modified at the same time, Deployed)",
            "aws-cli examples: get-distribution-tenant (modified 9 s after the create, the first ETag)",
        ),
    ),
    Unknown(
        "Are ETags a counter common to all resources, or a hash of the content?",
        "A counter, with the ETags of AWS's examples for the first seven versions.",
        (),
        ("aws-cli examples: each new tenant and connection group has the same ETag",),
    ),
    Unknown(
        "Does Status have values other than InProgress and Deployed?",
        "No.",
        (),
        (f"{MODEL}: DistributionTenant$Status is a free string", "aws-cli examples: only these two"),
    ),
    Unknown(
        "How long does a deployment take?",
        "As set: fixed or random.",
        (
            "deploy_tenant_seconds",
            "deploy_group_seconds",
            "deploy_distribution_seconds",
            "deployment_times",
        ),
        (f"{_TERRAFORM}#48169, #48782, #48783: durations of its acceptance tests",),
    ),
    Unknown(
        "How long do lists show the old state of a changed or deleted tenant?",
        "Not at all.",
        ("list_lag_of_updates_seconds", "list_lag_of_deletes_seconds"),
        (f"{MODEL}: ListDistributionTenants guarantees nothing",),
    ),
    Unknown(
        "Is a marker still valid after the last item of its page is deleted?",
        "Yes.",
        ("list_marker_needs_its_item",),
        (f"{MODEL}: Marker and NextMarker guarantee nothing",),
    ),
    Unknown(
        "Can a page of a filtered list be empty and have a next page?",
        "No; with the setting, the filter is applied after the list is split into pages.",
        ("list_filters_each_page",),
        (f"{MODEL}: ListDistributionTenants has NextMarker and neither Quantity nor IsTruncated",),
    ),
    Unknown(
        "Is a MaxItems above the maximum refused, or reduced?",
        "Reduced.",
        ("max_items_above_max_refused",),
        (f"{MODEL}: MaxItems has no limits",),
    ),
    Unknown(
        "How soon does GetDistributionTenantByDomain find a new tenant?",
        "Immediately.",
        ("domain_lookup_lag_seconds",),
        (f"{MODEL}: GetDistributionTenantByDomain guarantees nothing",),
    ),
    Unknown(
        "How soon does ListTagsForResource show a change?",
        "Immediately.",
        ("tags_lag_seconds",),
        (
            f"{MODEL}: ListTagsForResource guarantees nothing",
            "aws-cli examples: update-distribution-tenant returns no tags, create-distribution-tenant does",
        ),
    ),
    Unknown(
        "How soon do CloudFront's resolvers see a record?",
        "Immediately, so that tests need not wait; users report minutes, even after Route 53's INSYNC.",
        ("dns_propagation_seconds",),
        (
            "aws-cli: create-distribution-tenant (must also be propagated)",
            "dsp0x4/cloudfront-tenant-operator: the ownership error is retried",
        ),
    ),
    Unknown(
        "Does an update with a certificate request (token host cloudfront) require the DNS, like a create?",
        "Yes.",
        ("update_checks_dns",),
        (_CERTIFICATES, f"{MODEL}: UpdateDistributionTenantRequest$ManagedCertificateRequest"),
    ),
    Unknown(
        "Does VerifyDnsConfiguration make a domain active?",
        "No; with the setting, it attaches an issued certificate if the DNS is correct.",
        ("verify_attaches_certificate",),
        (f"{MODEL}: VerifyDnsConfiguration only reads; users report otherwise",),
    ),
    Unknown(
        "How soon is a domain active after its certificate is attached?",
        "Immediately; users report up to a minute.",
        ("domain_activation_seconds",),
        (_CERTIFICATES, "aws-cli examples: create-distribution-tenant (InProgress with an active domain)"),
    ),
    Unknown(
        "How is a pending certificate request cancelled?",
        "By deleting the certificate in ACM.",
        ("acm_delete_cancels_request",),
        (_CERTIFICATES, f"{MODEL}: no operation cancels one"),
    ),
    Unknown(
        "What happens to a certificate request without the permission acm:RequestCertificate?",
        "Permissions are not evaluated; with the setting, the request is accepted and lost.",
        ("certificate_request_lost",),
        ("Service Authorization Reference: CreateDistributionTenant, acm:RequestCertificate",),
    ),
    Unknown(
        "Does a tenant keep its certificate if one of the certificate's domains is removed?",
        "Yes.",
        ("removed_domain_detaches_certificate",),
        (_CERTIFICATES, f"{MODEL}: UpdateDistributionTenantRequest$Domains does not say"),
    ),
    Unknown(
        "How long does it take to issue a managed certificate?",
        "One minute after the proof; the request times out after 72 hours.",
        ("certificate_issue_seconds", "certificate_timeout_seconds"),
        ("ACM user guide: HTTP validation times out",),
    ),
    Unknown(
        "How long is a managed certificate valid, and when is it renewed?",
        "13 months; renewed 60 days before its end if it is in use and its domains point here.",
        ("certificate_valid_days", "certificate_renewal_days"),
        (
            "ACM user guide: Certificate characteristics (validity), Managed certificate renewal",
            f"{_CERTIFICATES} (renewals are automatic while the DNS points to CloudFront)",
        ),
    ),
    Unknown(
        "Do a tenant's domains become inactive when its managed certificate expires?",
        "No. Active domains stay active, and viewers see the expired certificate.",
        ("expired_certificate_deactivates",),
        (f"{GUIDE}: domains of a tenant (once active, a domain can't be deactivated)",),
    ),
    Unknown(
        "What does ACM show as the user of a tenant's own certificate (InUseBy)?",
        "The tenant; for a distribution's certificate, the distribution and not its tenants.",
        (),
        ("ACM API reference: CertificateDetail$InUseBy (ARNs of the resources that use it)",),
    ),
    Unknown(
        "Which clock ends the sessions of roles?",
        "The virtual clock. This question only exists in the emulator; AWS has one clock.",
        ("role_session_clock",),
        ("STS API reference: AssumeRole, DurationSeconds",),
    ),
    Unknown(
        "How soon do Route 53's name servers serve a change?",
        "All of them at INSYNC, 30 seconds after the change.",
        ("route53_insync_seconds",),
        ("Route 53 API reference: GetChange (changes generally propagate within 60 seconds)",),
    ),
    Unknown(
        "How long does a change block other changes of its hosted zone?",
        "Until its response.",
        ("route53_change_seconds",),
        ("Route 53 API reference: ChangeResourceRecordSets, PriorRequestNotComplete",),
    ),
    Unknown(
        "How many requests does Route 53 allow?",
        "Any number; POST limits sets the limits of the newer page.",
        (),
        (
            "Route 53 developer guide: Throttling of API requests (10 per second, bursts of 50)",
            "Route 53 developer guide: Quotas (5 per second)",
        ),
    ),
)
"""The open questions about time."""

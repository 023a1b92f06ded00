"""Open questions about what happens when: deployments, certificates, lags, versions."""

from __future__ import annotations

from edgetenants_emulator.unknowns.question import GUIDE, MODEL, Unknown

__all__ = ["OF_TIME"]

_CERTIFICATES = f"{GUIDE}: Request certificates for your CloudFront distribution tenant"
_TERRAFORM = "hashicorp/terraform-provider-aws"

OF_TIME: tuple[Unknown, ...] = (
    Unknown(
        "Which code answers the delete of what is disabled but InProgress?",
        "ResourceNotDisabled.",
        ("delete_in_progress_error", "delete_needs_deployed"),
        (f"{MODEL}: errors of DeleteDistributionTenant", f"{_TERRAFORM}: both are retried"),
    ),
    Unknown(
        "Is a delete still refused for a while after Deployed?",
        "No.",
        ("delete_lag_seconds",),
        (f"{_TERRAFORM}#3034: DistributionNotDisabled for a disabled distribution that is Deployed",),
    ),
    Unknown(
        "Which code answers an update while InProgress, where it is refused?",
        "PreconditionFailed.",
        ("update_in_progress_error", "update_needs_deployed"),
        (f"{MODEL}: errors of UpdateDistributionTenant",),
    ),
    Unknown(
        "Does an update that changes nothing give a new ETag and a deployment?",
        "Yes.",
        ("unchanged_update_moves_etag",),
        (f"{MODEL}: UpdateDistributionTenant is silent",),
    ),
    Unknown(
        "Does the end of a deployment move ETag or LastModifiedTime?",
        "Neither; where set, LastModifiedTime.",
        ("deployed_moves_modified",),
        (
            "aws-cli examples: list-distribution-tenants (created and modified at one time, Deployed)",
            "aws-cli examples: get-distribution-tenant (modified 9 s after the create, the first ETag)",
        ),
    ),
    Unknown(
        "Are ETags a counter that all resources share, or a hash of the content?",
        "A counter, with the ETags of AWS's examples for the first seven versions.",
        (),
        ("aws-cli examples: each new tenant and connection group has the same ETag",),
    ),
    Unknown(
        "Has Status other values than InProgress and Deployed?",
        "No.",
        (),
        (f"{MODEL}: DistributionTenant$Status is a free string", "aws-cli examples: only these two"),
    ),
    Unknown(
        "How long does a deployment take?",
        "As set; fixed, or by chance.",
        (
            "deploy_tenant_seconds",
            "deploy_group_seconds",
            "deploy_distribution_seconds",
            "deployment_times",
        ),
        (f"{_TERRAFORM}#48169, #48782, #48783: durations of its acceptance tests",),
    ),
    Unknown(
        "How long do lists show a tenant that is changed or deleted as it was?",
        "Not at all.",
        ("list_lag_of_updates_seconds", "list_lag_of_deletes_seconds"),
        (f"{MODEL}: ListDistributionTenants promises nothing",),
    ),
    Unknown(
        "Is a marker good for a next page when the last item of its page is deleted?",
        "Yes.",
        ("list_marker_needs_its_item",),
        (f"{MODEL}: Marker and NextMarker promise nothing",),
    ),
    Unknown(
        "May a page of a filtered list be empty and have a next one?",
        "No; where set, the filter is applied to each page once it is cut.",
        ("list_filters_each_page",),
        (f"{MODEL}: ListDistributionTenants has NextMarker and neither Quantity nor IsTruncated",),
    ),
    Unknown(
        "Is a MaxItems above the largest page refused, or cut down?",
        "Cut down.",
        ("max_items_above_max_refused",),
        (f"{MODEL}: MaxItems has no limits",),
    ),
    Unknown(
        "How soon does GetDistributionTenantByDomain find a new tenant?",
        "At once.",
        ("domain_lookup_lag_seconds",),
        (f"{MODEL}: GetDistributionTenantByDomain promises nothing",),
    ),
    Unknown(
        "How soon does ListTagsForResource show a change?",
        "At once.",
        ("tags_lag_seconds",),
        (
            f"{MODEL}: ListTagsForResource promises nothing",
            "aws-cli examples: update-distribution-tenant answers no tags, create-distribution-tenant does",
        ),
    ),
    Unknown(
        "How soon do CloudFront's resolvers see a record?",
        "At once, so that tests need not wait; users report minutes, after Route 53's INSYNC too.",
        ("dns_propagation_seconds",),
        (
            "aws-cli: create-distribution-tenant (must also be propagated)",
            "dsp0x4/cloudfront-tenant-operator: the ownership error is retried",
        ),
    ),
    Unknown(
        "Does an update with a certificate request for the token host cloudfront need the DNS, as a create?",
        "Yes.",
        ("update_checks_dns",),
        (_CERTIFICATES, f"{MODEL}: UpdateDistributionTenantRequest$ManagedCertificateRequest"),
    ),
    Unknown(
        "Does VerifyDnsConfiguration make a domain active?",
        "No; where set, it attaches an issued certificate when the DNS is right.",
        ("verify_attaches_certificate",),
        (f"{MODEL}: VerifyDnsConfiguration only answers; users say otherwise",),
    ),
    Unknown(
        "How soon is a domain active when its certificate is attached?",
        "At once; users report up to a minute.",
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
        "What becomes of a certificate request for which acm:RequestCertificate is missing?",
        "Permissions are not evaluated; where set, the request is accepted and lost.",
        ("certificate_request_lost",),
        ("Service Authorization Reference: CreateDistributionTenant, acm:RequestCertificate",),
    ),
    Unknown(
        "Does a tenant keep its certificate when a domain on it is removed?",
        "Yes.",
        ("removed_domain_detaches_certificate",),
        (_CERTIFICATES, f"{MODEL}: UpdateDistributionTenantRequest$Domains is silent"),
    ),
    Unknown(
        "How long until a managed certificate is issued?",
        "A minute from the proof; given up after 72 hours.",
        ("certificate_issue_seconds", "certificate_timeout_seconds"),
        ("ACM user guide: HTTP validation times out",),
    ),
    Unknown(
        "How long is a managed certificate valid, and when is it renewed?",
        "13 months; 60 days before its end, while it is in use and its domains point here.",
        ("certificate_valid_days", "certificate_renewal_days"),
        (
            "ACM user guide: Certificate characteristics (validity), Managed certificate renewal",
            f"{_CERTIFICATES} (renewals need nothing while the DNS points to CloudFront)",
        ),
    ),
    Unknown(
        "Are a tenant's domains inactive when its managed certificate has expired?",
        "No: a domain that is active stays so, and viewers see the expired certificate.",
        ("expired_certificate_deactivates",),
        (f"{GUIDE}: domains of a tenant (once active, a domain can't be deactivated)",),
    ),
    Unknown(
        "What does ACM name as the user of a tenant's own certificate (InUseBy)?",
        "The tenant; of a distribution's certificate the distribution, not its tenants.",
        (),
        ("ACM API reference: CertificateDetail$InUseBy (ARNs of the resources that use it)",),
    ),
    Unknown(
        "On which clock do sessions of roles end?",
        "The virtual one; a question of this emulator alone, AWS has one clock.",
        ("role_session_clock",),
        ("STS API reference: AssumeRole, DurationSeconds",),
    ),
    Unknown(
        "How soon do Route 53's own name servers answer with a change?",
        "All of them at INSYNC, 30 seconds after the change.",
        ("route53_insync_seconds",),
        ("Route 53 API reference: GetChange (changes generally propagate within 60 seconds)",),
    ),
    Unknown(
        "How long does a change keep others from its hosted zone?",
        "Until it is answered.",
        ("route53_change_seconds",),
        ("Route 53 API reference: ChangeResourceRecordSets, PriorRequestNotComplete",),
    ),
    Unknown(
        "How many requests does Route 53 allow?",
        "Any number; POST limits sets those of the newer page.",
        (),
        (
            "Route 53 developer guide: Throttling of API requests (10 a second, bursts of 50)",
            "Route 53 developer guide: Quotas (5 a second)",
        ),
    ),
)
"""All of them."""

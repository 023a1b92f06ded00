"""Open questions about which error answers what, and what a request means."""

from __future__ import annotations

from edgetenants_emulator.unknowns.question import GUIDE, MODEL, Unknown

__all__ = ["OF_ANSWERS"]

OF_ANSWERS: tuple[Unknown, ...] = (
    Unknown(
        "What answers a certificate request while another one is pending?",
        "InvalidArgument, with the word pending in its message.",
        ("second_certificate_request_error",),
        (
            f"{GUIDE}: Request certificates for your CloudFront distribution tenant (one pending request)",
            f"{MODEL}: errors of UpdateDistributionTenant",
        ),
    ),
    Unknown(
        "What answers a domain that no certificate covers, where none is asked for?",
        "InvalidArgument with the message about ownership, which is what users report.",
        ("uncovered_domain_error",),
        (
            "aws/aws-sdk-php#3129: the ownership error",
            f"{GUIDE}: Understand how multi-tenant distributions work (a valid TLS certificate)",
            "aws-cli examples: list-distribution-tenants (a deployed tenant with an inactive domain)",
        ),
    ),
    Unknown(
        "What answers a parameter that the distribution does not define, or a required one that is missing?",
        "InvalidArgument.",
        ("parameter_error",),
        (f"{MODEL}: errors of CreateDistributionTenant",),
    ),
    Unknown(
        "What answers a standard distribution as the DistributionId of a tenant?",
        "InvalidAssociation.",
        ("standard_parent_error",),
        (f"{MODEL}: CreateDistributionTenant declares InvalidAssociation",),
    ),
    Unknown(
        "May a distribution require a new parameter when its tenants do not give it?",
        "Yes; the tenants are refused only when an update sends Parameters or DistributionId.",
        ("required_parameter_added",),
        (f"{MODEL}: StringSchemaConfig$Required", f"{GUIDE}: Customizations (parameters)"),
    ),
    Unknown(
        "What must an update of a tenant or connection group say, beside what it changes?",
        "Nothing: what is left out is kept.",
        ("tenant_update_needs", "group_update_needs_everything"),
        (
            "aws-cli examples: update-distribution-tenant (Parameters and Customizations alone)",
            "hashicorp/terraform-provider-aws: a group is disabled by Enabled alone, a tenant by its whole",
            "dsp0x4/cloudfront-tenant-operator: DistributionId and Domains with Enabled",
        ),
    ),
    Unknown(
        "Can the default connection group be deleted, and what answers that?",
        "No: CannotDeleteEntityWhileInUse.",
        ("default_group_delete_error",),
        (f"{GUIDE}: Create a custom connection group", f"{MODEL}: errors of DeleteConnectionGroup"),
    ),
    Unknown(
        "What answers DisassociateDistributionTenantWebACL where there is no web ACL?",
        "InvalidArgument.",
        ("disassociate_nothing",),
        (f"{MODEL}: errors of DisassociateDistributionTenantWebACL",),
    ),
    Unknown(
        "How does a tenant get back what it would inherit: web ACL, countries, certificate?",
        "By an update whose Customizations leave it out; a web ACL also by its disassociation.",
        ("customizations_merge", "empty_customizations_clear", "disassociated_web_acl_inherits"),
        (f"{MODEL}: CustomizationActionType has override and disable, no inherit",),
    ),
    Unknown(
        "What answers the ARN of another account's tenant or connection group?",
        "AccessDenied.",
        ("foreign_arn_error",),
        (f"{MODEL}: GetDistributionTenant declares AccessDenied and EntityNotFound",),
    ),
    Unknown(
        "What answers GetDistributionTenantByDomain for a domain that another account has?",
        "EntityNotFound.",
        ("foreign_domain_error",),
        (f"{MODEL}: errors of GetDistributionTenantByDomain",),
    ),
    Unknown(
        "Is a tenant or connection group enabled whose create leaves Enabled out?",
        "Yes.",
        ("enabled_by_default",),
        (f"{MODEL}: CreateDistributionTenantRequest$Enabled has no default",),
    ),
    Unknown(
        "Does a filter with both a distribution and a connection group ask for both, or for either?",
        "For both.",
        ("association_filter_both",),
        (f"{MODEL}: DistributionTenantAssociationFilter is silent",),
    ),
    Unknown(
        "What answers a filter with an id that is not there?",
        "EntityNotFound; where set otherwise, an empty list.",
        ("association_filter_unknown_refused",),
        (f"{MODEL}: ListDistributionTenants declares EntityNotFound",),
    ),
    Unknown(
        "Which codes answer a domain's move out of another account that must not be?",
        "InvalidArgument without the TXT record, IllegalUpdate while the source is enabled.",
        (),
        (
            f"{MODEL}: errors of UpdateDomainAssociation",
            f"{GUIDE}: Move an alternate domain name",
        ),
    ),
    Unknown(
        "Does a tenant keep its last domain, or can that be moved away?",
        "It can, and the tenant is left without any.",
        (),
        (f"{MODEL}: UpdateDomainAssociation is silent; a tenant must have one at create",),
    ),
    Unknown(
        "Does DeleteDistributionTenant answer InvalidArgument?",
        "No: an id that is not there is EntityNotFound, whatever its length.",
        (),
        (
            "API reference: DeleteDistributionTenant lists InvalidArgument, and 1 to 64 characters for Id",
            f"{MODEL}: DeleteDistributionTenant declares it not",
        ),
    ),
    Unknown(
        "What are the elements of Domains and Parameters called on the wire?",
        "Any name is taken, as botocore's parser does; <member> is answered, as botocore sends it.",
        (),
        (f"{MODEL}: no locationName", "API reference: CreateDistributionTenant has <DomainItem>"),
    ),
    Unknown(
        "What answers an element that the operation does not have?",
        "MalformedXML, and nothing is done; where set otherwise, the element is ignored.",
        ("unknown_members_refused",),
        (f"{MODEL}: says what is sent, not what is refused",),
    ),
    Unknown(
        "What answers a body that is no XML, or not the operation's?",
        "MalformedXML.",
        (),
        (
            "aws/aws-sdk-php#1973: MalformedXML for a body without its payload",
            "aws/aws-sdk-ruby#1067: MalformedInput for an empty list beside Quantity 0",
        ),
    ),
    Unknown(
        "How large may a request be, and what answers a larger one?",
        "1,049,600 bytes (request_bytes); RequestEntityTooLargeException 413, as other services have it.",
        (),
        (
            f"{MODEL}: has no limit",
            "AWS's common errors: RequestEntityTooLargeException, RequestTimeoutException and the like",
        ),
    ),
    Unknown(
        "Which association keeps a disabled tenant from being deleted?",
        "None.",
        (),
        (
            "aws-cli: delete-distribution-tenant (can't be associated with any CloudFront resources)",
            f"{MODEL}: DeleteDistributionTenant declares no such error",
        ),
    ),
    Unknown(
        "Which permissions of WAF and ACM do web ACLs and certificates of tenants need?",
        "None: permissions are not evaluated. A fault answers AccessDenied, a setting loses requests.",
        ("certificate_request_lost",),
        ("Service Authorization Reference: Amazon CloudFront",),
    ),
)
"""All of them."""

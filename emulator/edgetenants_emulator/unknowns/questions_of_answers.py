"""Open questions about errors and the meaning of requests."""

from __future__ import annotations

from edgetenants_emulator.unknowns.question import GUIDE, MODEL, Unknown

__all__ = ["OF_ANSWERS"]

OF_ANSWERS: tuple[Unknown, ...] = (
    Unknown(
        "What is the response to a certificate request while another one is pending?",
        "InvalidArgument, with the word pending in its message.",
        ("second_certificate_request_error",),
        (
            f"{GUIDE}: Request certificates for your CloudFront distribution tenant (one pending request)",
            f"{MODEL}: errors of UpdateDistributionTenant",
        ),
    ),
    Unknown(
        "What is the response to a domain that no certificate covers, without a certificate request?",
        "InvalidArgument with the message about ownership that users report.",
        ("uncovered_domain_error",),
        (
            "aws/aws-sdk-php#3129: the ownership error",
            f"{GUIDE}: Understand how multi-tenant distributions work (a valid TLS certificate)",
            "aws-cli examples: list-distribution-tenants (a deployed tenant with an inactive domain)",
        ),
    ),
    Unknown(
        "What is the response to an undefined parameter, or a missing required one?",
        "InvalidArgument.",
        ("parameter_error",),
        (f"{MODEL}: errors of CreateDistributionTenant",),
    ),
    Unknown(
        "What is the response to a standard distribution as the DistributionId of a tenant?",
        "InvalidAssociation.",
        ("standard_parent_error",),
        (f"{MODEL}: CreateDistributionTenant declares InvalidAssociation",),
    ),
    Unknown(
        "Can a distribution require a new parameter that its tenants do not set?",
        "Yes. A tenant is refused only if an update sends Parameters or DistributionId.",
        ("required_parameter_added",),
        (f"{MODEL}: StringSchemaConfig$Required", f"{GUIDE}: Customizations (parameters)"),
    ),
    Unknown(
        "Which unchanged members must an update of a tenant or connection group contain?",
        "None; omitted members are kept.",
        ("tenant_update_needs", "group_update_needs_everything"),
        (
            "aws-cli examples: update-distribution-tenant (Parameters and Customizations alone)",
            "hashicorp/terraform-provider-aws: a group with Enabled alone, a tenant with all members",
            "dsp0x4/cloudfront-tenant-operator: DistributionId and Domains with Enabled",
        ),
    ),
    Unknown(
        "Can the default connection group be deleted?",
        "No, CannotDeleteEntityWhileInUse.",
        ("default_group_delete_error",),
        (f"{GUIDE}: Create a custom connection group", f"{MODEL}: errors of DeleteConnectionGroup"),
    ),
    Unknown(
        "What is the response to DisassociateDistributionTenantWebACL without a web ACL?",
        "InvalidArgument.",
        ("disassociate_nothing",),
        (f"{MODEL}: errors of DisassociateDistributionTenantWebACL",),
    ),
    Unknown(
        "How does a tenant inherit again: web ACL, countries, certificate?",
        "With an update whose Customizations omit it; a web ACL also with its disassociation.",
        ("customizations_merge", "empty_customizations_clear", "disassociated_web_acl_inherits"),
        (f"{MODEL}: CustomizationActionType has override and disable, no inherit",),
    ),
    Unknown(
        "What is the response to the ARN of another account's tenant or connection group?",
        "AccessDenied.",
        ("foreign_arn_error",),
        (f"{MODEL}: GetDistributionTenant declares AccessDenied and EntityNotFound",),
    ),
    Unknown(
        "What is the response of GetDistributionTenantByDomain for a domain of another account?",
        "EntityNotFound.",
        ("foreign_domain_error",),
        (f"{MODEL}: errors of GetDistributionTenantByDomain",),
    ),
    Unknown(
        "Is a tenant or connection group enabled if its create omits Enabled?",
        "Yes.",
        ("enabled_by_default",),
        (f"{MODEL}: CreateDistributionTenantRequest$Enabled has no default",),
    ),
    Unknown(
        "Must an item match both parts of a filter with a distribution and a connection group, or either?",
        "Both.",
        ("association_filter_both",),
        (f"{MODEL}: DistributionTenantAssociationFilter does not say",),
    ),
    Unknown(
        "What is the response to a filter with an unknown id?",
        "EntityNotFound; with the setting off, an empty list.",
        ("association_filter_unknown_refused",),
        (f"{MODEL}: ListDistributionTenants declares EntityNotFound",),
    ),
    Unknown(
        "Which errors refuse to move a domain from another account?",
        "InvalidArgument without the TXT record, IllegalUpdate while the source is enabled.",
        (),
        (
            f"{MODEL}: errors of UpdateDomainAssociation",
            f"{GUIDE}: Move an alternate domain name",
        ),
    ),
    Unknown(
        "Can the last domain of a tenant be moved away?",
        "Yes, and the tenant then has no domains.",
        (),
        (f"{MODEL}: UpdateDomainAssociation does not say; a tenant must have one at create",),
    ),
    Unknown(
        "Does DeleteDistributionTenant return InvalidArgument?",
        "No. An unknown id is EntityNotFound, whatever its length.",
        (),
        (
            "API reference: DeleteDistributionTenant lists InvalidArgument, and 1 to 64 characters for Id",
            f"{MODEL}: DeleteDistributionTenant does not declare it",
        ),
    ),
    Unknown(
        "What are the names of the XML elements in Domains and Parameters?",
        "Any name is accepted, as in botocore's parser; responses use <member>, as botocore's requests do.",
        (),
        (f"{MODEL}: no locationName", "API reference: CreateDistributionTenant has <DomainItem>"),
    ),
    Unknown(
        "What is the response to an element that the operation does not have?",
        "MalformedXML, and nothing changes; with the setting off, the element is ignored.",
        ("unknown_members_refused",),
        (f"{MODEL}: specifies valid requests, not errors",),
    ),
    Unknown(
        "What is the response to a body that is not XML, or not valid for the operation?",
        "MalformedXML.",
        (),
        (
            "aws/aws-sdk-php#1973: MalformedXML for a body without its payload",
            "aws/aws-sdk-ruby#1067: MalformedInput for an empty list with Quantity 0",
        ),
    ),
    Unknown(
        "How large can a request be, and what is the response to a larger one?",
        "1,049,600 bytes (request_bytes); RequestEntityTooLargeException 413, as in other services.",
        (),
        (
            f"{MODEL}: no limit",
            "AWS's common errors: RequestEntityTooLargeException, RequestTimeoutException and the like",
        ),
    ),
    Unknown(
        "Which association prevents the deletion of a disabled tenant?",
        "None.",
        (),
        (
            "aws-cli: delete-distribution-tenant (can't be associated with any CloudFront resources)",
            f"{MODEL}: DeleteDistributionTenant declares no such error",
        ),
    ),
    Unknown(
        "Which permissions of WAF and ACM do web ACLs and certificates of tenants require?",
        "None. Permissions are not evaluated; a fault can return AccessDenied, and a setting loses requests.",
        ("certificate_request_lost",),
        ("Service Authorization Reference: Amazon CloudFront",),
    ),
)
"""The open questions about errors and the meaning of requests."""

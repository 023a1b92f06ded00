"""Behaviour that AWS does not document, the emulator's choices, and their sources.

Sources are public: AWS's documentation by page, botocore's model of CloudFront 2020-05-31 by shape, issues.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from edgetenants_emulator.settings import ENVIRONMENT_PREFIX, Settings
from edgetenants_emulator.unknowns.question import GUIDE as _GUIDE
from edgetenants_emulator.unknowns.question import MODEL as _MODEL
from edgetenants_emulator.unknowns.question import Unknown
from edgetenants_emulator.unknowns.questions_of_answers import OF_ANSWERS
from edgetenants_emulator.unknowns.questions_of_time import OF_TIME

__all__ = ["UNKNOWNS", "Unknown", "as_json", "as_text"]

UNKNOWNS: tuple[Unknown, ...] = (
    Unknown(
        "Does an update replace Customizations as a whole, or merge the sent members?",
        "It replaces them; the AWS CLI's example repeats the unchanged WebAcl.",
        ("customizations_merge",),
        (
            f"{_MODEL}: UpdateDistributionTenantRequest does not say",
            "aws-cli examples: update-distribution-tenant",
        ),
    ),
    Unknown(
        "What does an empty Customizations in an update do?",
        "It clears them.",
        ("empty_customizations_clear",),
        (f"{_MODEL}: Customizations has no required member",),
    ),
    Unknown(
        "What does an empty list of Parameters in an update do?",
        "It clears them.",
        ("empty_parameters_clear",),
        (f"{_MODEL}: Parameters has no minimum length",),
    ),
    Unknown(
        "Do TagResource and UntagResource change the ETag?",
        "No.",
        ("tags_move_etag",),
        (
            f"{_MODEL}: TagResource has neither If-Match nor ETag",
            "hashicorp/terraform-provider-aws#48782: the etag after an update of tags",
        ),
    ),
    Unknown(
        "Does Get return the tags of Create?",
        "No, only ListTagsForResource does.",
        ("get_returns_tags",),
        (f"{_MODEL}: DistributionTenant has Tags", "aws-cli examples: get-distribution-tenant shows none"),
    ),
    Unknown(
        "What are the default and maximum sizes of a page?",
        "100 items for both.",
        ("page_size_default", "page_size_max"),
        (f"{_MODEL}: MaxItems has no limits",),
    ),
    Unknown(
        "Can a page skip or repeat items while the list changes?",
        "No. With the settings, each further page does, even if the list does not change.",
        ("list_marker_skips", "list_marker_repeats"),
        (f"{_MODEL}: Marker and NextMarker guarantee nothing",),
    ),
    Unknown(
        "How soon do lists contain a new tenant?",
        "Immediately.",
        ("list_lag_seconds",),
        (f"{_MODEL}: ListDistributionTenants guarantees nothing",),
    ),
    Unknown(
        "Must a disabled tenant or group be Deployed before it can be deleted?",
        "Yes. Before that, the response is ResourceNotDisabled.",
        ("delete_needs_deployed",),
        (
            f"{_MODEL}: ResourceNotDisabled",
            "hashicorp/terraform-provider-aws: the resource waits for Deployed",
        ),
    ),
    Unknown(
        "Is an update refused while the previous one is InProgress?",
        "No.",
        ("update_needs_deployed",),
        ("dsp0x4/cloudfront-tenant-operator: updates while InProgress",),
    ),
    Unknown(
        "Are parameters that the distribution does not define refused?",
        "Yes.",
        ("unknown_parameters_refused",),
        (f"{_GUIDE}: Customizations (parameters are defined on the distribution)",),
    ),
    Unknown(
        "What does If-Match: * do?",
        "It fails with InvalidIfMatchVersion; with the setting, it matches any version.",
        ("if_match_star_accepted",),
        (f"{_MODEL}: InvalidIfMatchVersion, the version is missing or not valid",),
    ),
    Unknown(
        "How many domains can a tenant have?",
        "100.",
        ("domains_per_tenant",),
        (f"{_GUIDE}: Quotas has 100", f"{_MODEL}: UpdateDistributionTenantRequest$Domains has 5"),
    ),
    Unknown(
        "How many requests per second does CloudFront allow?",
        "Any number. The settings add a limit per account and operation.",
        ("cloudfront_requests_per_second", "cloudfront_requests_burst"),
        ("aws/aws-sdk-js#3983: a limit per operation and account",),
    ),
    Unknown(
        "Can a connection group with tenants be disabled?",
        "No, ResourceInUse.",
        ("group_disable_needs_no_tenants",),
        (f"{_MODEL}: UpdateConnectionGroup declares ResourceInUse",),
    ),
    Unknown(
        "Which names can a connection group have?",
        "1 to 128 letters, digits, dots, dashes and underscores; with the setting off, any name.",
        ("group_names_checked",),
        (f"{_MODEL}: CreateConnectionGroupRequest$Name has no pattern, AnycastIpListName has",),
    ),
    Unknown(
        "How is an Anycast list removed from a connection group?",
        "With an update with an empty AnycastIpListId.",
        (),
        (f"{_MODEL}: UpdateConnectionGroupRequest$AnycastIpListId does not say",),
    ),
    Unknown(
        "Which members can an update of a distribution omit?",
        "Only newer ones. If it omits a member for which CloudFront has long had a default: IllegalUpdate.",
        ("distribution_update_needs_all",),
        (
            f"{_MODEL}: UpdateDistribution (make sure to include all fields)",
            "aws-controllers-k8s/community#2335: OriginReadTimeout is required for updates",
        ),
    ),
    Unknown(
        "When is the default connection group created?",
        "With the account's first multi-tenant distribution; with the setting off, with its first tenant.",
        ("default_group_with_distribution",),
        (
            f"{_GUIDE}: Create a custom connection group (with the distribution)",
            f"{_GUIDE}: Understand how multi-tenant distributions work (with the tenant)",
        ),
    ),
    Unknown(
        "Is an issued managed certificate attached without an update?",
        "No.",
        ("certificate_attached_by_itself",),
        (
            f"{_GUIDE}: Request certificates for your CloudFront distribution tenant",
            "hashicorp/terraform-provider-aws#45987, #48345 say it is",
        ),
    ),
    Unknown(
        "Does a status change of a managed certificate change the tenant's ETag?",
        "Yes.",
        ("certificate_moves_etag",),
        (f"{_MODEL}: ManagedCertificateDetails$CertificateStatus asks for the latest ETag",),
    ),
    Unknown(
        "Do managed certificates count against ACM's quota?",
        "Yes, EntityLimitExceeded at 2,500.",
        ("managed_certificates_count", "acm_certificates_per_account"),
        ("ACM user guide: Quotas",),
    ),
    Unknown(
        "To move a domain within an account, must the source be disabled?",
        "Yes.",
        ("domain_move_needs_disabled_source",),
        (
            f"{_MODEL}: UpdateDomainAssociation (yes)",
            f"{_GUIDE}: Move an alternate domain name (only between accounts)",
        ),
    ),
    Unknown(
        "What does a tenant have after DisassociateDistributionTenantWebACL?",
        "Its distribution's web ACL; with the setting off, none.",
        ("disassociated_web_acl_inherits",),
        (f"{_MODEL}: DisassociateDistributionTenantWebACL does not say",),
    ),
    Unknown(
        "Which limits apply to invalidations of tenants?",
        "The limits of distributions.",
        ("invalidation_paths", "invalidation_wildcards"),
        (f"{_GUIDE}: Quotas, for distributions",),
    ),
    *OF_ANSWERS,
    *OF_TIME,
)
"""All open questions."""


def as_json(current: Settings) -> list[dict[str, Any]]:
    """The questions for the admin API, with the current values of their settings."""
    values = current.as_json()
    return [{**asdict(each), "settings": {name: values[name] for name in each.settings}} for each in UNKNOWNS]


def as_text(current: Settings) -> str:
    """The questions as text for people."""
    return "\n".join(_paragraph(each, current) for each in UNKNOWNS)


def _paragraph(unknown: Unknown, current: Settings) -> str:
    switches = [_switch(name, current) for name in unknown.settings]
    lines = [
        unknown.question,
        f"    {unknown.reading}",
        *(f"    setting  {switch}" for switch in switches or ["none"]),
        *(f"    source   {source}" for source in unknown.sources),
    ]
    return "\n".join(lines) + "\n"


def _switch(name: str, current: Settings) -> str:
    """The setting as an environment variable, with its current value."""
    value = current.as_json()[name]
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    others = [word for word in Settings.choices().get(name, ()) if word != value]
    return f"{ENVIRONMENT_PREFIX}{name.upper()}={shown}" + (f"  (or {', '.join(others)})" if others else "")

"""Choices that a claim may make and a plan may make for it: certificate, DNS, security.

Each choice is an object with a `mode`, so that it can grow.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from edgetenants_runtime.api.model import ApiModel, Kube, Rule

from .arns import CertificateArn, WebAclArn


class Isolation(StrEnum):
    """How the domains of a claim are spread over tenants of CloudFront."""

    SHARED = "Shared"
    """One tenant serves them all."""
    PER_DOMAIN = "PerDomain"
    """Each has a tenant of its own, so that a bad one holds up no other."""


class CertificateMode(StrEnum):
    """Where the certificate for a claim's domains comes from."""

    MANAGED = "Managed"
    """CloudFront gets, attaches and renews one."""
    INHERITED = "Inherited"
    """The distribution's covers them."""
    CUSTOM = "Custom"
    """It is given by its ARN."""


class Validation(StrEnum):
    """Who answers the validation request for a managed certificate."""

    CLOUDFRONT = "CloudFront"
    """CloudFront; the domains must lead there first."""
    SELF_HOSTED = "SelfHosted"
    """The web server to which the domains lead today."""


class CertificateChoice(ApiModel):
    """Where the certificate comes from."""

    mode: CertificateMode
    """Managed: CloudFront gets, attaches and renews one. Inherited: the distribution's covers the domains.
    Custom: that of `arn`."""
    validation: Validation | None = None
    """Who answers the validation request, with mode Managed. CloudFront: the domains must lead there first.
    SelfHosted: the present web server. Unset: CloudFront."""
    arn: CertificateArn | None = None
    """ARN of an ACM certificate in us-east-1; with mode Custom."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.mode == 'Custom') == has(self.arn)",
            "expected arn with mode Custom, and only then",
            lambda choice: (choice.mode is CertificateMode.CUSTOM) == (choice.arn is not None),
            field=".arn",
        ),
        Rule(
            "self.mode == 'Managed' || !has(self.validation)",
            "expected validation only with mode Managed",
            lambda choice: choice.mode is CertificateMode.MANAGED or choice.validation is None,
            field=".validation",
        ),
    )


class DnsMode(StrEnum):
    """Who makes the DNS records."""

    MANAGED = "Managed"
    """The provider does, with the plan's configuration."""
    MANUAL = "Manual"
    """People do, as dnsInstructions say."""


class DnsChoice(ApiModel):
    """Who makes the DNS records."""

    mode: DnsMode
    """Managed: the provider makes them, with the plan's configuration. Manual: people make them, as
    status.dnsInstructions says."""


class WebAclMode(StrEnum):
    """Which web ACL guards a tenant."""

    INHERIT = "Inherit"
    """The distribution's."""
    DISABLED = "Disabled"
    """None."""
    OVERRIDE = "Override"
    """One that is given by its ARN."""


class WebAclChoice(ApiModel):
    """Which web ACL guards the tenant."""

    mode: WebAclMode
    """Inherit: the distribution's. Disabled: none. Override: that of `arn`."""
    arn: WebAclArn | None = None
    """ARN of a WAFv2 web ACL of scope CLOUDFRONT; with mode Override."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.mode == 'Override') == has(self.arn)",
            "expected arn with mode Override, and only then",
            lambda choice: (choice.mode is WebAclMode.OVERRIDE) == (choice.arn is not None),
            field=".arn",
        ),
    )


Countries = Annotated[
    tuple[Annotated[str, Field(pattern="^[A-Z]{2}$", min_length=2, max_length=2)], ...],
    Field(min_length=1, max_length=300),
    Kube(list_type="set"),
]
"""Countries as two upper-case letters (ISO 3166-1 alpha-2)."""


class GeoChoice(ApiModel):
    """The countries that are served."""

    allow: Countries | None = None
    """Only these countries are served, as two upper-case letters (ISO 3166-1 alpha-2)."""
    deny: Countries | None = None
    """All countries but these are served, as two upper-case letters (ISO 3166-1 alpha-2)."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "has(self.allow) != has(self.deny)",
            "expected exactly one of allow and deny",
            lambda geo: (geo.allow is None) != (geo.deny is None),
        ),
    )


class SecurityChoice(ApiModel):
    """Web ACL and countries."""

    web_acl: WebAclChoice | None = None
    """The web ACL. Unset: the distribution's."""
    geo: GeoChoice | None = None
    """The countries that are served. Unset: as the distribution says."""


class OnDelete(StrEnum):
    """What becomes of the tenants when their claim is deleted."""

    DELETE = "Delete"
    """They are disabled and deleted."""
    ORPHAN = "Orphan"
    """They stay in CloudFront as they are."""

"""Choices that a plan makes, and a claim if its plan allows it: certificate, DNS, security.

Each choice is an object with a `mode`, so that fields can be added later.
"""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from edgetenants_runtime.api.model import ApiModel, Kube, Rule

from .arns import CertificateArn, WebAclArn


class Isolation(StrEnum):
    """How the domains of a claim are distributed over tenants in CloudFront."""

    SHARED = "Shared"
    """One tenant serves all domains."""
    PER_DOMAIN = "PerDomain"
    """Each domain has its own tenant, so that an invalid one does not block the others."""


class CertificateMode(StrEnum):
    """The source of the certificate for a claim's domains."""

    MANAGED = "Managed"
    """CloudFront obtains, attaches and renews one."""
    INHERITED = "Inherited"
    """The distribution's certificate covers the domains."""
    CUSTOM = "Custom"
    """The spec names it by its ARN."""


class Validation(StrEnum):
    """Who answers the validation request for a managed certificate."""

    CLOUDFRONT = "CloudFront"
    """CloudFront. The domains must lead to it first."""
    SELF_HOSTED = "SelfHosted"
    """The web server to which the domains lead now."""


class CertificateChoice(ApiModel):
    """The source of the certificate."""

    mode: CertificateMode
    """Managed: CloudFront obtains, attaches and renews one. Inherited: the distribution's certificate covers
    the domains. Custom: the certificate of `arn`."""
    validation: Validation | None = None
    """Who answers the validation request, with mode Managed. CloudFront: the domains must lead to it first.
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
    """Who creates the DNS records."""

    MANAGED = "Managed"
    """The provider, with the plan's configuration."""
    MANUAL = "Manual"
    """The domain's owner, as status.dnsInstructions says."""


class DnsChoice(ApiModel):
    """Who creates the DNS records."""

    mode: DnsMode
    """Managed: the provider creates them, with the plan's configuration. Manual: the domain's owner creates
    them, as status.dnsInstructions says."""


class WebAclMode(StrEnum):
    """Which web ACL protects a tenant."""

    INHERIT = "Inherit"
    """The distribution's."""
    DISABLED = "Disabled"
    """None."""
    OVERRIDE = "Override"
    """The one that the spec names by its ARN."""


class WebAclChoice(ApiModel):
    """Which web ACL protects the tenant."""

    mode: WebAclMode
    """Inherit: the distribution's. Disabled: none. Override: the web ACL of `arn`."""
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
    """The web ACL. Unset: the distribution's, or the one that someone set in AWS."""
    geo: GeoChoice | None = None
    """The countries that are served. Unset: the distribution's setting, or what someone set in AWS."""


class OnDelete(StrEnum):
    """What happens to the tenants when their claim is deleted."""

    DELETE = "Delete"
    """The provider disables and deletes them."""
    ORPHAN = "Orphan"
    """They stay in CloudFront unchanged."""

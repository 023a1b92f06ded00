"""Customizations of a tenant (web ACL, certificate, countries) and the request for a managed certificate.

Field names and values are those of CloudFront's API model (Customizations, ManagedCertificateRequest) in
camelCase.
"""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import Field

from edgetenants_runtime.api.model import ApiModel, Kube, Rule
from edgetenants_runtime.api.references import Reference, Selector

from .arns import CertificateArn, WebAclArn
from .domains import DomainName


class WebAclAction(StrEnum):
    """How a tenant customizes the web ACL of its distribution."""

    OVERRIDE = "override"
    """The tenant uses its own web ACL instead."""
    DISABLE = "disable"
    """The tenant uses no web ACL."""


class RestrictionType(StrEnum):
    """How a geographic restriction uses its countries."""

    NONE = "none"
    """No country is restricted, whatever the distribution's setting."""
    WHITELIST = "whitelist"
    """Only these countries are served."""
    BLACKLIST = "blacklist"
    """All countries but these are served."""


class ValidationTokenHost(StrEnum):
    """Who answers the validation request of the certificate authority."""

    CLOUDFRONT = "cloudfront"
    """CloudFront. The domains must already lead to it."""
    SELF_HOSTED = "self-hosted"
    """The web server to which the domains lead now."""


class TransparencyLogging(StrEnum):
    """Whether a certificate is recorded in public certificate transparency logs."""

    ENABLED = "enabled"
    """It is recorded."""
    DISABLED = "disabled"
    """It is not recorded; browsers may refuse it."""


def _referenced(value: Any, field: str) -> bool:
    return any(getattr(value, name) is not None for name in (field, f"{field}_ref", f"{field}_selector"))


_HAS_ARN = "(has(self.arn) || has(self.arnRef) || has(self.arnSelector))"


class WebAclCustomization(ApiModel):
    """The web ACL of a tenant."""

    action: WebAclAction
    """override: the tenant uses the web ACL of `arn` instead of its distribution's. disable: it uses none."""
    arn: WebAclArn | None = None
    """ARN of a WAFv2 web ACL of scope CLOUDFRONT; with action override."""
    arn_ref: Reference | None = None
    """The web ACL by the name of its managed resource (kind WebACL of provider-upjet-aws)."""
    arn_selector: Selector | None = None
    """The web ACL by labels of its managed resource (kind WebACL of provider-upjet-aws)."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            f"self.action != 'override' || {_HAS_ARN}",
            "expected arn, arnRef or arnSelector with action override",
            lambda acl: acl.action is not WebAclAction.OVERRIDE or _referenced(acl, "arn"),
            field=".arn",
            presence=True,
        ),
        Rule(
            f"self.action != 'disable' || !{_HAS_ARN}",
            "expected no arn, arnRef or arnSelector with action disable",
            lambda acl: acl.action is not WebAclAction.DISABLE or not _referenced(acl, "arn"),
            field=".arn",
            presence=True,
        ),
    )


class CertificateCustomization(ApiModel):
    """The certificate of a tenant."""

    arn: CertificateArn | None = None
    """ARN of an ACM certificate in us-east-1. It must cover every domain that the distribution's certificate
    does not cover."""
    arn_ref: Reference | None = None
    """The certificate by the name of its managed resource (kind Certificate of provider-upjet-aws)."""
    arn_selector: Selector | None = None
    """The certificate by labels of its managed resource (kind Certificate of provider-upjet-aws)."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            _HAS_ARN,
            "expected arn, arnRef or arnSelector",
            lambda certificate: _referenced(certificate, "arn"),
            field=".arn",
            presence=True,
        ),
    )


class GeoRestrictions(ApiModel):
    """The countries that a tenant serves."""

    restriction_type: RestrictionType
    """whitelist: only `locations` are served. blacklist: all but `locations` are served. none: every country
    is served, whatever the distribution's setting."""
    locations: Annotated[
        tuple[Annotated[str, Field(pattern="^[A-Z]{2}$", min_length=2, max_length=2)], ...] | None,
        Field(max_length=300),
        Kube(list_type="set"),
    ] = None
    """Countries as two upper-case letters (ISO 3166-1 alpha-2); with whitelist and blacklist."""

    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "(self.restrictionType != 'none') == (has(self.locations) && size(self.locations) > 0)",
            "expected locations with restrictionType whitelist or blacklist, and only then",
            lambda geo: (geo.restriction_type is not RestrictionType.NONE) == bool(geo.locations),
            field=".locations",
            presence=True,
        ),
    )


class Customizations(ApiModel):
    """Settings of a tenant that override its distribution's."""

    web_acl: WebAclCustomization | None = None
    """The web ACL. Unset: the distribution's, or the one that someone set in AWS."""
    certificate: CertificateCustomization | None = None
    """The certificate. Unset: the distribution's, or the managed certificate of managedCertificateRequest."""
    geo_restrictions: GeoRestrictions | None = None
    """The countries that are served. Unset: the distribution's setting, or what someone set in AWS."""


class ManagedCertificateRequest(ApiModel):
    """A request for a managed certificate, which CloudFront obtains, attaches and renews for the tenant's
    domains."""

    validation_token_host: ValidationTokenHost
    """Who answers the validation request. cloudfront: CloudFront; every domain must already lead to the
    routing endpoint. self-hosted: the present web server, with the redirects of
    status.atProvider.certificate.validation."""
    primary_domain_name: DomainName | None = None
    """The primary name of the certificate; one of domains. Unset: CloudFront chooses."""
    certificate_transparency_logging_preference: TransparencyLogging | None = None
    """Whether the certificate is recorded in public certificate transparency logs. Unset: ACM's default,
    which is enabled."""

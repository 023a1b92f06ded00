"""What one tenant may have of its own: web ACL, certificate, countries, and the request for a managed
certificate.

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
    """What a tenant does with the web ACL of its distribution."""

    OVERRIDE = "override"
    """It has its own instead."""
    DISABLE = "disable"
    """It has none."""


class RestrictionType(StrEnum):
    """How the countries of a geographic restriction are meant."""

    NONE = "none"
    """No country is restricted, whatever the distribution says."""
    WHITELIST = "whitelist"
    """Only these countries are served."""
    BLACKLIST = "blacklist"
    """All countries but these are served."""


class ValidationTokenHost(StrEnum):
    """Who answers the validation request of the certificate authority."""

    CLOUDFRONT = "cloudfront"
    """CloudFront; the domains must already lead there."""
    SELF_HOSTED = "self-hosted"
    """The web server to which the domains lead today."""


class TransparencyLogging(StrEnum):
    """Whether a certificate is entered into public transparency logs."""

    ENABLED = "enabled"
    """It is."""
    DISABLED = "disabled"
    """It is not; browsers may then refuse it."""


def _referenced(value: Any, field: str) -> bool:
    return any(getattr(value, name) is not None for name in (field, f"{field}_ref", f"{field}_selector"))


_HAS_ARN = "(has(self.arn) || has(self.arnRef) || has(self.arnSelector))"


class WebAclCustomization(ApiModel):
    """The web ACL of one tenant."""

    action: WebAclAction
    """override: the tenant has the web ACL of `arn` instead of its distribution's. disable: it has none."""
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
    """The certificate of one tenant."""

    arn: CertificateArn | None = None
    """ARN of an ACM certificate in us-east-1 that covers every domain which the distribution's does not
    cover."""
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
    """The countries that one tenant serves."""

    restriction_type: RestrictionType
    """whitelist: only `locations` are served. blacklist: all but `locations` are served. none: every country
    is served, whatever the distribution says."""
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
    """What one tenant has of its own instead of its distribution's."""

    web_acl: WebAclCustomization | None = None
    """The web ACL. Unset: the distribution's."""
    certificate: CertificateCustomization | None = None
    """The certificate. Unset: the distribution's, or the managed one where managedCertificateRequest asks for
    it."""
    geo_restrictions: GeoRestrictions | None = None
    """The countries that are served. Unset: as the distribution says."""


class ManagedCertificateRequest(ApiModel):
    """Asks CloudFront for a certificate that it gets, attaches and renews for the tenant's domains."""

    validation_token_host: ValidationTokenHost
    """Who answers the validation request. cloudfront: CloudFront, so every domain must already lead to the
    routing endpoint. self-hosted: the present web server, with what status.atProvider.certificate.validation
    lists."""
    primary_domain_name: DomainName | None = None
    """The name that the certificate is issued to; one of domains. Unset: CloudFront chooses."""
    certificate_transparency_logging_preference: TransparencyLogging | None = None
    """Whether the certificate is entered into public transparency logs. Unset: as ACM does, which is
    enabled."""

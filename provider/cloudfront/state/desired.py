"""What a managed resource asks of CloudFront, read from its spec (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apis import errors
from apis.customizations import Customizations as AskedCustomizations
from apis.customizations import ManagedCertificateRequest, WebAclAction
from apis.distributiontenant import DistributionTenantParameters
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules import init_provider
from provider.cloudfront.state import identity
from provider.cloudfront.state.certificates import Request
from provider.cloudfront.state.customizations import INHERITED, Customizations, GeoRestrictions, WebAcl

__all__ = ["Tenant", "at_creation", "held", "managed"]

_CHOICES = frozenset(
    {"customizations.webAcl", "customizations.certificate", "customizations.geoRestrictions"}
)
"""Objects of which a part means nothing: an ARN of initProvider does not belong to the action of
forProvider."""


@dataclass(frozen=True)
class Tenant:
    """A distribution tenant as it should be. None, and a missing key, mean that nothing is said."""

    name: str
    """Its name in CloudFront: unique in the account and never changed."""
    distribution_id: str | None = None
    connection_group_id: str | None = None
    domains: frozenset[str] | None = None
    enabled: bool | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    customizations: Customizations = INHERITED
    tags: Mapping[str, str] | None = None
    """The provider's own and the user's; None where they are not known, in what was merged with AWS."""
    certificate_request: Request | None = None
    """The managed certificate that is asked for."""
    attached: str | None = None
    """ARN of the managed certificate that is issued and to be attached; not known from the spec."""
    records: bool = False
    """The provider is asked to make DNS records."""

    def values(self) -> dict[str, Any]:
        """The fields of the record of the last write. An attached managed certificate is told from one of the
        user's, as it stays when nobody asks for it any more."""
        own = self.customizations
        acl, geo = own.web_acl, own.geo_restrictions
        return {
            "distributionId": self.distribution_id,
            "connectionGroupId": self.connection_group_id,
            "domains": sorted(self.domains) if self.domains else None,
            "enabled": self.enabled,
            "parameters": self.parameters or None,
            "customizations.webAcl": str(acl) if acl else None,
            "customizations.certificate": managed(self.attached) if self.attached else own.certificate_arn,
            "customizations.geoRestrictions": str(geo) if geo else None,
            "tags": self.tags or None,
        }


def managed(arn: str) -> str:
    """The record's word for a managed certificate that is attached."""
    return f"managed {arn}"


def held(mr: Managed, *, installation: str, name: str) -> Tenant:
    """What the tenant is held to: spec.forProvider.

    Raises:
        apis.errors.InvalidInput: the spec is not one that the CRD would let in.
    """
    return _tenant(mr, mr.for_provider, installation, name)


def at_creation(mr: Managed, *, installation: str, name: str) -> Tenant:
    """What the tenant is created with: spec.initProvider under spec.forProvider, enabled unless it says
    otherwise.

    Raises:
        apis.errors.InvalidInput: the spec is not one that the CRD would let in.
    """
    asked = init_provider.at_creation(mr, whole=_CHOICES)
    return _tenant(mr, {"enabled": True, **asked}, installation, name)


def _tenant(mr: Managed, asked: Mapping[str, Any], installation: str, name: str) -> Tenant:
    fields = errors.parse(DistributionTenantParameters, asked, root="spec.forProvider")
    return Tenant(
        name=name,
        distribution_id=fields.distribution_id,
        connection_group_id=fields.connection_group_id,
        domains=frozenset(map(str.lower, fields.domains)) if fields.domains else None,
        enabled=fields.enabled,
        parameters=fields.parameters or {},
        customizations=_customizations(fields.customizations),
        tags={**(fields.tags or {}), **identity.own_tags(mr, installation, name)},
        certificate_request=_request(fields.managed_certificate_request),
        records=fields.dns is not None,
    )


def _request(asked: ManagedCertificateRequest | None) -> Request | None:
    if asked is None:
        return None
    logging = asked.certificate_transparency_logging_preference
    return Request(
        token_host=asked.validation_token_host.value,
        primary_domain=asked.primary_domain_name,
        logging=logging.value if logging else None,
    )


def _customizations(asked: AskedCustomizations | None) -> Customizations:
    if asked is None:
        return INHERITED
    acl, geo = asked.web_acl, asked.geo_restrictions
    # One to override with that an optional reference did not find: the tenant goes on without.
    found = acl is not None and (acl.arn is not None or acl.action is not WebAclAction.OVERRIDE)
    return Customizations(
        web_acl=WebAcl(acl.action.value, acl.arn) if acl and found else None,
        certificate_arn=asked.certificate.arn if asked.certificate else None,
        geo_restrictions=(
            GeoRestrictions(geo.restriction_type.value, frozenset(geo.locations or ())) if geo else None
        ),
    )

"""The desired state of a tenant, read from the spec of its managed resource (pure)."""

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

__all__ = ["Tenant", "at_creation", "from_for_provider", "managed"]

_CHOICES = frozenset(
    {"customizations.webAcl", "customizations.certificate", "customizations.geoRestrictions"}
)
"""Objects that are not merged field by field: an ARN from initProvider does not belong to an action from
forProvider."""


@dataclass(frozen=True)
class Tenant:
    """A desired distribution tenant. None, or a missing key, means that the spec does not set it."""

    name: str
    """Its name in CloudFront, which is unique in the account and never changes."""
    distribution_id: str | None = None
    connection_group_id: str | None = None
    domains: frozenset[str] | None = None
    enabled: bool | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    customizations: Customizations = INHERITED
    tags: Mapping[str, str] | None = None
    """The provider's and the user's tags. None in a merge result if the tags in AWS are unknown."""
    certificate_request: Request | None = None
    """The requested managed certificate."""
    attached: str | None = None
    """ARN of the issued managed certificate to attach; it does not come from the spec."""
    records: bool = False
    """The spec asks the provider to create DNS records."""

    def values(self) -> dict[str, Any]:
        """The fields of the record of the last write. An attached managed certificate is marked as such: it
        stays in AWS when the spec no longer requests it, while a custom one does not."""
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
    """The value in the record for an attached managed certificate."""
    return f"managed {arn}"


def from_for_provider(mr: Managed, *, installation: str, name: str) -> Tenant:
    """The desired tenant: spec.forProvider.

    Raises:
        apis.errors.InvalidInput: the spec is invalid by the rules of the CRD.
    """
    return _tenant(mr, mr.for_provider, installation, name)


def at_creation(mr: Managed, *, installation: str, name: str) -> Tenant:
    """The desired tenant at creation: spec.initProvider overridden by spec.forProvider. It is enabled unless
    they set otherwise.

    Raises:
        apis.errors.InvalidInput: the spec is invalid by the rules of the CRD.
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
    # An optional reference to a web ACL was not resolved: the tenant gets none.
    found = acl is not None and (acl.arn is not None or acl.action is not WebAclAction.OVERRIDE)
    return Customizations(
        web_acl=WebAcl(acl.action.value, acl.arn) if acl and found else None,
        certificate_arn=asked.certificate.arn if asked.certificate else None,
        geo_restrictions=(
            GeoRestrictions(geo.restriction_type.value, frozenset(geo.locations or ())) if geo else None
        ),
    )

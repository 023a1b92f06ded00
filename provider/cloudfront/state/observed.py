"""The observed state of a distribution tenant: read from a response (API model: DistributionTenant), and
written to status.atProvider (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from provider.cloudfront.state.customizations import INHERITED, Customizations, GeoRestrictions, WebAcl

__all__ = [
    "DEPLOYED",
    "Observed",
    "ObservedTenant",
    "account_of",
    "at_provider",
    "domains_in",
    "identifying",
    "tenant",
    "without_tenant",
]

DEPLOYED = "Deployed"
"""The status after a roll-out; every other status counts as a roll-out in progress."""
_ACTIVE = "active"


@dataclass(frozen=True)
class Observed:
    """An external resource as observed: the members that all kinds have."""

    id: str
    """Assigned by AWS."""
    arn: str
    name: str
    """Chosen by its creator."""
    etag: str
    """Only meaningful together with `id`: it is a counter that starts over for each resource."""
    _: KW_ONLY
    domains: Mapping[str, str] = field(default_factory=dict)
    """Each domain with its status, active or inactive; empty for a kind without domains."""
    enabled: bool = True
    status: str = DEPLOYED
    tags: Mapping[str, str] | None = None
    """None if not read: the provider relies only on ListTagsForResource for them."""

    @property
    def deployed(self) -> bool:
        """CloudFront has rolled out the last change."""
        return self.status == DEPLOYED

    @property
    def active_domains(self) -> tuple[str, ...]:
        """The domains that CloudFront serves, sorted."""
        return tuple(sorted(name for name, status in self.domains.items() if status == _ACTIVE))

    @property
    def inactive_domains(self) -> tuple[str, ...]:
        """The domains that CloudFront does not serve, sorted."""
        return tuple(sorted(name for name, status in self.domains.items() if status != _ACTIVE))


@dataclass(frozen=True)
class ObservedTenant(Observed):
    """A tenant as observed."""

    distribution_id: str
    connection_group_id: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    customizations: Customizations = INHERITED
    created_time: str | None = None
    """RFC 3339."""

    def given(self, domain: str, etag: str) -> ObservedTenant:
        """The tenant after a domain was moved to it. The domain is active, as CloudFront only moves it to a
        tenant with a certificate that covers it."""
        return replace(self, etag=etag, status="InProgress", domains={**self.domains, domain: _ACTIVE})


def tenant(answer: Mapping[str, Any], etag: str) -> ObservedTenant:
    """Read the `DistributionTenant` of a response. The API model has every member optional.

    Raises:
        LookupError: it does not say which tenant it is.
    """
    created = answer.get("CreatedTime")
    return ObservedTenant(
        id=identifying(answer, "Id"),
        arn=identifying(answer, "Arn"),
        name=identifying(answer, "Name"),
        etag=etag,
        distribution_id=answer.get("DistributionId", ""),
        connection_group_id=answer.get("ConnectionGroupId") or None,
        domains={d["Domain"].lower(): d.get("Status", "inactive") for d in answer.get("Domains") or ()},
        enabled=bool(answer.get("Enabled", False)),
        status=answer.get("Status", ""),
        parameters={p["Name"]: p["Value"] for p in answer.get("Parameters") or ()},
        customizations=_customizations(answer.get("Customizations") or {}),
        created_time=_rfc3339(created) if isinstance(created, datetime) else None,
    )


def identifying(answer: Mapping[str, Any], member: str) -> str:
    """Return a member without which the provider cannot tell whose the external resource is: without a name,
    it would count as that of another owner.

    Raises:
        LookupError: it is missing or empty.
    """
    if not (value := answer.get(member)):
        raise KeyError(member)
    return str(value)


def account_of(arn: str) -> str | None:
    """The account in an ARN; None if it is not an ARN.

    >>> account_of("arn:aws:cloudfront::123456789012:distribution-tenant/dt_1")
    '123456789012'
    """
    parts = arn.split(":")
    return (parts[4] or None) if len(parts) >= 6 and parts[0] == "arn" else None


def at_provider(seen: ObservedTenant, routing_endpoint: str | None) -> dict[str, Any]:
    """status.atProvider. It omits LastModifiedTime, which changes without a change of the tenant and would
    cause a write at each poll."""
    shown = {
        "id": seen.id,
        "arn": seen.arn,
        "name": seen.name,
        "etag": seen.etag,
        "distributionId": seen.distribution_id,
        "connectionGroupId": seen.connection_group_id,
        "routingEndpoint": routing_endpoint,
        "status": seen.status,
        "enabled": seen.enabled,
        "domains": [{"domain": name, "status": status} for name, status in sorted(seen.domains.items())],
        "parameters": dict(sorted(seen.parameters.items())) or None,
        "tags": dict(sorted(seen.tags.items())) if seen.tags else None,
        "customizations": _shown(seen.customizations) or None,
        "createdTime": seen.created_time,
    }
    return {key: value for key, value in shown.items() if value is not None}


def domains_in(at_provider: Mapping[str, Any]) -> frozenset[str]:
    """The domains in status.atProvider. Anyone who may write the status may have set them."""
    listed = at_provider.get("domains")
    each_of = listed if isinstance(listed, list) else ()
    named = (each.get("domain") for each in each_of if isinstance(each, Mapping))
    return frozenset(name for name in named if isinstance(name, str))


def without_tenant(at_provider: Mapping[str, Any]) -> dict[str, Any] | None:
    """status.atProvider of a tenant that is gone: the last values, with every domain inactive. None if no
    domains are known."""
    names = sorted(domains_in(at_provider))
    if not names:
        return None
    left = {key: value for key, value in at_provider.items() if key not in ("enabled", "status")}
    return {**left, "domains": [{"domain": name, "status": "inactive"} for name in names]}


def _customizations(answer: Mapping[str, Any]) -> Customizations:
    acl, geo = answer.get("WebAcl"), answer.get("GeoRestrictions")
    return Customizations(
        web_acl=WebAcl(acl.get("Action", ""), acl.get("Arn") or None) if acl else None,
        certificate_arn=(answer.get("Certificate") or {}).get("Arn") or None,
        geo_restrictions=(
            GeoRestrictions(geo.get("RestrictionType", ""), frozenset(geo.get("Locations") or ()))
            if geo
            else None
        ),
    )


def _shown(customizations: Customizations) -> dict[str, Any]:
    acl, geo = customizations.web_acl, customizations.geo_restrictions
    shown: dict[str, Any] = {}
    if acl:
        shown["webAcl"] = {"action": acl.action, **({"arn": acl.arn} if acl.arn else {})}
    if customizations.certificate_arn:
        shown["certificateArn"] = customizations.certificate_arn
    if geo:
        shown["geoRestrictions"] = {"restrictionType": geo.restriction_type}
        if geo.locations:
            shown["geoRestrictions"]["locations"] = sorted(geo.locations)
    return shown


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

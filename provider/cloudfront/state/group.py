"""The desired and the observed state of a connection group (API model: ConnectionGroup), pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from apis import errors
from apis.connectiongroup import ConnectionGroupParameters
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules import init_provider
from provider.cloudfront.state import identity
from provider.cloudfront.state.observed import Observed, identifying

__all__ = ["FIELDS", "Group", "ObservedGroup", "at_creation", "at_provider", "from_for_provider", "read"]

FIELDS: Final = ("ipv6Enabled", "anycastIpListId", "enabled", "tags")
"""The fields of the record of the last write, in its order."""


@dataclass(frozen=True)
class Group:
    """A desired connection group. None means that the spec does not set it."""

    name: str
    """Its name in CloudFront, which is unique in the account and never changes."""
    ipv6_enabled: bool | None = None
    anycast_ip_list_id: str | None = None
    enabled: bool | None = None
    tags: Mapping[str, str] | None = None
    """The provider's and the user's tags. None in a merge result if the tags in AWS are unknown."""

    @property
    def parameters(self) -> Mapping[str, str]:
        """Always empty: groups have no parameters."""
        return {}

    def values(self) -> dict[str, Any]:
        """The fields of the record of the last write."""
        return {
            "ipv6Enabled": self.ipv6_enabled,
            "anycastIpListId": self.anycast_ip_list_id,
            "enabled": self.enabled,
            "tags": self.tags or None,
        }


@dataclass(frozen=True)
class ObservedGroup(Observed):
    """A connection group as observed."""

    routing_endpoint: str | None = None
    ipv6_enabled: bool = True
    anycast_ip_list_id: str | None = None
    is_default: bool = False


def read(answer: Mapping[str, Any], etag: str) -> ObservedGroup:
    """Read a response's `ConnectionGroup`, or an item of a list. The API model has every member optional.

    Raises:
        LookupError: it does not say which group it is.
    """
    return ObservedGroup(
        id=identifying(answer, "Id"),
        arn=identifying(answer, "Arn"),
        name=identifying(answer, "Name"),
        etag=etag,
        routing_endpoint=answer.get("RoutingEndpoint") or None,
        status=answer.get("Status", ""),
        # Without the member, the group counts as enabled; else its tenants would be reported as not served.
        enabled=bool(answer.get("Enabled", True)),
        ipv6_enabled=bool(answer.get("Ipv6Enabled", False)),
        anycast_ip_list_id=answer.get("AnycastIpListId") or None,
        is_default=bool(answer.get("IsDefault", False)),
    )


def from_for_provider(mr: Managed, *, installation: str, name: str) -> Group:
    """The desired group: spec.forProvider.

    Raises:
        apis.errors.InvalidInput: the spec is invalid by the rules of the CRD.
    """
    return _group(mr, mr.for_provider, installation, name)


def at_creation(mr: Managed, *, installation: str, name: str) -> Group:
    """The desired group at creation: spec.initProvider overridden by spec.forProvider. It is enabled and has
    IPv6 unless they set otherwise.

    Raises:
        apis.errors.InvalidInput: the spec is invalid by the rules of the CRD.
    """
    asked = init_provider.at_creation(mr)
    return _group(mr, {"enabled": True, "ipv6Enabled": True, **asked}, installation, name)


def _group(mr: Managed, asked: Mapping[str, Any], installation: str, name: str) -> Group:
    fields = errors.parse(ConnectionGroupParameters, asked, root="spec.forProvider")
    return Group(
        name=name,
        ipv6_enabled=fields.ipv6_enabled,
        anycast_ip_list_id=fields.anycast_ip_list_id,
        enabled=fields.enabled,
        tags={**(fields.tags or {}), **identity.own_tags(mr, installation, name)},
    )


def at_provider(seen: ObservedGroup) -> dict[str, Any]:
    """status.atProvider."""
    shown = {
        "id": seen.id,
        "arn": seen.arn,
        "name": seen.name,
        "etag": seen.etag,
        "routingEndpoint": seen.routing_endpoint,
        "status": seen.status,
        "enabled": seen.enabled,
        "ipv6Enabled": seen.ipv6_enabled,
        "anycastIpListId": seen.anycast_ip_list_id,
        "isDefault": seen.is_default,
        "tags": dict(sorted(seen.tags.items())) if seen.tags else None,
    }
    return {key: value for key, value in shown.items() if value is not None}

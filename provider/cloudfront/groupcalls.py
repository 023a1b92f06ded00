"""The calls about connection groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from provider.cloudfront import groupstate
from provider.cloudfront.failing import failing
from provider.cloudfront.groupstate import Group, ObservedGroup

if TYPE_CHECKING:
    from mypy_boto3_cloudfront import CloudFrontClient

__all__ = ["GroupCalls", "creation", "update"]

_FIRST_TENANTS = 5


class GroupCalls:
    """Part of CloudFrontCalls."""

    _cloudfront: CloudFrontClient

    def get_group(self, identifier: str) -> ObservedGroup:
        """GetConnectionGroup."""
        with failing("GetConnectionGroup"):
            answer = self._cloudfront.get_connection_group(Identifier=identifier)
        return groupstate.read(answer["ConnectionGroup"], answer["ETag"])

    def default_group(self) -> ObservedGroup | None:
        """ListConnectionGroups, every page."""
        page: dict[str, Any] = {}
        while True:
            with failing("ListConnectionGroups"):
                answer: Any = self._cloudfront.list_connection_groups(**page)
            for row in answer.get("ConnectionGroups") or ():
                if row.get("IsDefault"):
                    return groupstate.read(row, row.get("ETag", ""))
            marker = answer.get("NextMarker")
            if not marker or marker == page.get("Marker"):
                return None
            page = {"Marker": marker}

    def create_group(self, group: Group) -> ObservedGroup:
        """CreateConnectionGroup."""
        with failing("CreateConnectionGroup"):
            answer = self._cloudfront.create_connection_group(**creation(group))
        return groupstate.read(answer["ConnectionGroup"], answer["ETag"])

    def update_group(self, id_: str, etag: str, group: Group, *, emptied: bool = False) -> ObservedGroup:
        """UpdateConnectionGroup."""
        with failing("UpdateConnectionGroup"):
            answer = self._cloudfront.update_connection_group(**update(id_, etag, group, emptied=emptied))
        return groupstate.read(answer["ConnectionGroup"], answer["ETag"])

    def delete_group(self, id_: str, etag: str) -> None:
        """DeleteConnectionGroup."""
        with failing("DeleteConnectionGroup"):
            self._cloudfront.delete_connection_group(Id=id_, IfMatch=etag)

    def tenants_of_group(self, id_: str) -> tuple[str, ...]:
        """ListDistributionTenants: the first few of the first page."""
        with failing("ListDistributionTenants"):
            # No MaxItems: AWS does not publish how large it may be, and a refusal would tell of no tenant.
            answer = self._cloudfront.list_distribution_tenants(AssociationFilter={"ConnectionGroupId": id_})
        names = sorted(row["Name"] for row in answer.get("DistributionTenantList") or ())
        return tuple(names[:_FIRST_TENANTS])


def creation(group: Group) -> dict[str, Any]:
    """The parameters of CreateConnectionGroup."""
    tags = [{"Key": key, "Value": value} for key, value in sorted((group.tags or {}).items())]
    return {"Name": group.name, **_settings(group), **({"Tags": {"Items": tags}} if tags else {})}


def update(id_: str, etag: str, group: Group, *, emptied: bool = False) -> dict[str, Any]:
    """The parameters of UpdateConnectionGroup. It keeps what is left out, so an empty id takes the list
    away."""
    taken = {"AnycastIpListId": ""} if emptied else {}
    return {"Id": id_, "IfMatch": etag, **_settings(group), **taken}


def _settings(group: Group) -> dict[str, Any]:
    sent = {
        "Ipv6Enabled": group.ipv6_enabled,
        "AnycastIpListId": group.anycast_ip_list_id,
        "Enabled": group.enabled,
    }
    return {key: value for key, value in sent.items() if value is not None}

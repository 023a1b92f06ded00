"""The calls for connection groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from provider.cloudfront.aws.error_translation import as_aws_errors, reading
from provider.cloudfront.aws.errors import ENDLESS, AwsError
from provider.cloudfront.state import group as group_state
from provider.cloudfront.state import observed
from provider.cloudfront.state.group import Group, ObservedGroup
from provider.cloudfront.state.observed import ObservedTenant

if TYPE_CHECKING:
    from mypy_boto3_cloudfront import CloudFrontClient

__all__ = ["GroupCalls", "creation", "update"]

_MOST_PAGES: Final = 1000


class GroupCalls:
    """Part of CloudFrontCalls."""

    _cloudfront: CloudFrontClient

    def get_group(self, identifier: str) -> ObservedGroup:
        """GetConnectionGroup."""
        with as_aws_errors("GetConnectionGroup"):
            answer = self._cloudfront.get_connection_group(Identifier=identifier)
        with reading("GetConnectionGroup"):
            return group_state.read(answer["ConnectionGroup"], answer["ETag"])

    def default_group(self) -> ObservedGroup | None:
        """ListConnectionGroups, page by page until the default group is found."""

        def page(marked: Any) -> Any:
            with as_aws_errors("ListConnectionGroups"):
                return self._cloudfront.list_connection_groups(**marked)

        for answer in _pages("ListConnectionGroups", page):
            for row in answer.get("ConnectionGroups") or ():
                if row.get("IsDefault"):
                    with reading("ListConnectionGroups"):
                        return group_state.read(row, row.get("ETag", ""))
        return None

    def create_group(self, group: Group) -> ObservedGroup:
        """CreateConnectionGroup."""
        with as_aws_errors("CreateConnectionGroup"):
            answer = self._cloudfront.create_connection_group(**creation(group))
        with reading("CreateConnectionGroup"):
            return group_state.read(answer["ConnectionGroup"], answer["ETag"])

    def update_group(self, id_: str, etag: str, group: Group, *, emptied: bool = False) -> ObservedGroup:
        """UpdateConnectionGroup."""
        with as_aws_errors("UpdateConnectionGroup"):
            answer = self._cloudfront.update_connection_group(**update(id_, etag, group, emptied=emptied))
        with reading("UpdateConnectionGroup"):
            return group_state.read(answer["ConnectionGroup"], answer["ETag"])

    def delete_group(self, id_: str, etag: str) -> None:
        """DeleteConnectionGroup."""
        with as_aws_errors("DeleteConnectionGroup"):
            self._cloudfront.delete_connection_group(Id=id_, IfMatch=etag)

    def tenants_of_group(self, id_: str) -> Iterator[ObservedTenant]:
        """ListDistributionTenants: all tenants of the group. Each page is a call, made when it is needed."""
        of_group: Any = {"AssociationFilter": {"ConnectionGroupId": id_}}

        def page(marked: Any) -> Any:
            with as_aws_errors("ListDistributionTenants"):
                # No MaxItems: AWS does not publish its maximum, and a refused call lists no tenants.
                return self._cloudfront.list_distribution_tenants(**of_group, **marked)

        for answer in _pages("ListDistributionTenants", page):
            for row in answer.get("DistributionTenantList") or ():
                with reading("ListDistributionTenants"):
                    tenant = observed.tenant(row, row.get("ETag", ""))
                yield tenant


def _pages(operation: str, page: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield every page of a list. A list whose pages lead back or do not end is an error: the content of the
    other pages is unknown."""
    marker, passed = "", set[str]()
    while len(passed) < _MOST_PAGES:
        answer = _again(page, marker) if marker else page({})
        yield answer
        passed.add(marker)
        marker = answer.get("NextMarker") or ""
        if not marker:
            return
        if marker in passed:
            break
    raise AwsError(operation, ENDLESS, "the pages of the list do not end")


def _again(page: Callable[[Any], Any], marker: str) -> Any:
    """Ask for a page, and once more if AWS throttles it: the list would begin again, and be throttled again.
    The account's pace spaces both."""
    try:
        return page({"Marker": marker})
    except AwsError as error:
        if not error.throttled:
            raise
        return page({"Marker": marker})


def creation(group: Group) -> dict[str, Any]:
    """Return the parameters of CreateConnectionGroup."""
    tags = [{"Key": key, "Value": value} for key, value in sorted((group.tags or {}).items())]
    return {"Name": group.name, **_settings(group), **({"Tags": {"Items": tags}} if tags else {})}


def update(id_: str, etag: str, group: Group, *, emptied: bool = False) -> dict[str, Any]:
    """Return the parameters of UpdateConnectionGroup. It keeps what is left out, so an empty id removes the
    list."""
    taken = {"AnycastIpListId": ""} if emptied else {}
    return {"Id": id_, "IfMatch": etag, **_settings(group), **taken}


def _settings(group: Group) -> dict[str, Any]:
    sent = {
        "Ipv6Enabled": group.ipv6_enabled,
        "AnycastIpListId": group.anycast_ip_list_id,
        "Enabled": group.enabled,
    }
    return {key: value for key, value in sent.items() if value is not None}

"""The lists of all tenants and connection groups of an account, page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from provider.cloudfront.aws.error_translation import as_aws_errors, reading
from provider.cloudfront.state import observed
from provider.cloudfront.state.observed import ObservedTenant

if TYPE_CHECKING:
    from mypy_boto3_cloudfront import CloudFrontClient

__all__ = ["GroupPage", "GroupRow", "ListCalls", "Page"]

T = TypeVar("T")


@dataclass(frozen=True)
class Page:
    """A page of tenants."""

    tenants: tuple[ObservedTenant, ...]
    marker: str
    """The marker of the next page; "" if this is the last one."""


@dataclass(frozen=True)
class GroupRow:
    """What may change of a connection group."""

    etag: str
    enabled: bool
    status: str


@dataclass(frozen=True)
class GroupPage:
    """A page of connection groups."""

    groups: Mapping[str, GroupRow]
    """By id."""
    marker: str
    """As in Page."""


class ListCalls:
    """Part of CloudFrontCalls. A row that cannot be read is left out: it must not keep the others from being
    read."""

    _cloudfront: CloudFrontClient

    def page_of_tenants(self, marker: str = "", size: int | None = None) -> Page:
        """ListDistributionTenants: a page of all tenants, from a marker on, without parameters and tags.

        `size` is the maximum number of tenants; None leaves it to AWS.
        """
        with as_aws_errors("ListDistributionTenants"):
            answer = self._cloudfront.list_distribution_tenants(**_from(marker, size))
        with reading("ListDistributionTenants"):
            rows = _readable(_tenant, answer.get("DistributionTenantList") or ())
            return Page(tuple(rows), answer.get("NextMarker") or "")

    def page_of_groups(self, marker: str = "", size: int | None = None) -> GroupPage:
        """ListConnectionGroups: a page of all connection groups; see `page_of_tenants`."""
        with as_aws_errors("ListConnectionGroups"):
            answer = self._cloudfront.list_connection_groups(**_from(marker, size))
        with reading("ListConnectionGroups"):
            rows = _readable(_group, answer.get("ConnectionGroups") or ())
            return GroupPage(dict(rows), answer.get("NextMarker") or "")


def _from(marker: str, size: int | None) -> Any:
    return {**({"Marker": marker} if marker else {}), **({"MaxItems": size} if size else {})}


def _readable(read: Callable[[Mapping[str, Any]], T], rows: Iterable[Any]) -> Iterator[T]:
    for row in rows:
        try:
            yield read(row)
        except (AttributeError, LookupError, TypeError, ValueError):
            continue


def _tenant(row: Mapping[str, Any]) -> ObservedTenant:
    return observed.tenant(row, observed.identifying(row, "ETag"))


def _group(row: Mapping[str, Any]) -> tuple[str, GroupRow]:
    enabled = bool(row.get("Enabled", True))
    return observed.identifying(row, "Id"), GroupRow(row.get("ETag", ""), enabled, row.get("Status", ""))

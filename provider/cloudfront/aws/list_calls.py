"""The lists of an account, page by page: all tenants, connection groups and certificates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from provider.cloudfront.aws.error_translation import as_aws_errors, reading
from provider.cloudfront.aws.errors import ENDLESS, AwsError
from provider.cloudfront.state import observed
from provider.cloudfront.state.observed import ObservedTenant

if TYPE_CHECKING:
    from mypy_boto3_acm import ACMClient
    from mypy_boto3_cloudfront import CloudFrontClient

__all__ = ["CertificatePage", "GroupPage", "GroupRow", "ListCalls", "Page"]

T = TypeVar("T")

_CERTIFICATES: Final = 1000
"""ACM's largest page."""
_MOST_PAGES: Final = 200
_PENDING: Final = "PENDING_VALIDATION"
_KEY_TYPES: Final = (
    "RSA_1024",
    "RSA_2048",
    "RSA_3072",
    "RSA_4096",
    "EC_prime256v1",
    "EC_secp384r1",
    "EC_secp521r1",
)


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


@dataclass(frozen=True)
class CertificatePage:
    """A page of certificates that CloudFront requested and that wait for their validation."""

    arns: frozenset[str]
    marker: str
    """As in Page."""


class ListCalls:
    """Part of CloudFrontCalls. A row that cannot be read is left out: it must not keep the others from being
    read."""

    _cloudfront: CloudFrontClient
    _acm: ACMClient

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

    def page_of_pending_certificates(self, marker: str = "") -> CertificatePage:
        """ListCertificates: a page of the certificates that CloudFront requested and that are pending.

        ACM lists only RSA certificates if the request names no key types (ACM API reference, Filters).
        """
        with as_aws_errors("ListCertificates"):
            answer = self._acm.list_certificates(**_pending_from(marker))
        with reading("ListCertificates"):
            rows = answer.get("CertificateSummaryList") or ()
            pending = (each for each in rows if each.get("Status", _PENDING) == _PENDING)
            return CertificatePage(
                frozenset(_readable(lambda row: observed.identifying(row, "CertificateArn"), pending)),
                answer.get("NextToken") or "",
            )

    def number_of_certificates(self) -> int:
        """ListCertificates: how many certificates the region has, in whatever state, as ACM's quota counts
        them.

        ACM lists only some RSA certificates if the request names no key types (ACM API reference, Filters).
        """
        number, marker, passed = 0, "", set[str]()
        while True:
            with as_aws_errors("ListCertificates"):
                answer = self._acm.list_certificates(**_all_from(marker))
            with reading("ListCertificates"):
                number += len(answer.get("CertificateSummaryList") or ())
                passed.add(marker)
                marker = answer.get("NextToken") or ""
            if not marker:
                return number
            if marker in passed or len(passed) >= _MOST_PAGES:
                raise AwsError("ListCertificates", ENDLESS, "the pages of the list do not end")


def _all_from(marker: str) -> Any:
    return {
        "Includes": {"keyTypes": list(_KEY_TYPES)},
        "MaxItems": _CERTIFICATES,
        **({"NextToken": marker} if marker else {}),
    }


def _from(marker: str, size: int | None) -> Any:
    return {**({"Marker": marker} if marker else {}), **({"MaxItems": size} if size else {})}


def _pending_from(marker: str) -> Any:
    return {
        "CertificateStatuses": [_PENDING],
        "Includes": {"managedBy": "CLOUDFRONT", "keyTypes": list(_KEY_TYPES)},
        "MaxItems": _CERTIFICATES,
        **({"NextToken": marker} if marker else {}),
    }


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

"""One sweep of an account, page by page: first all tenants, then, if these are due, all connection groups,
and the pending certificates if resources wait for some.

A listing that AWS throttles goes on later, from the page at which it stopped, so no thread waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from provider.cloudfront.aws.errors import ENDLESS, AwsError
from provider.cloudfront.aws.list_calls import CertificatePage, GroupPage, GroupRow, Page
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["Listing", "Lists"]

_MOST_PAGES: Final = 10_000


class Lists(Protocol):
    """The calls of a sweep; each may raise AwsError."""

    def page_of_tenants(self, marker: str = "", size: int | None = None) -> Page:
        """See ListCalls."""
        ...

    def page_of_groups(self, marker: str = "", size: int | None = None) -> GroupPage:
        """See ListCalls."""
        ...

    def page_of_pending_certificates(self, marker: str = "") -> CertificatePage:
        """See ListCalls."""
        ...

    def number_of_certificates(self) -> int:
        """See ListCalls."""
        ...


@dataclass
class Listing:
    """What was read so far. One thread at a time uses it."""

    began: float
    with_groups: bool = True
    """It lists the connection groups, too."""
    pages: int = 0
    """All pages that were read."""
    tenant_pages: int = 0
    group_pages: int = 0
    tenants: int = 0
    groups: dict[str, GroupRow] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    """The ARNs of pending certificates."""
    has_tenants: bool = False
    """All tenants were read."""
    has_groups: bool = False
    """All connection groups were read, or they may not be listed."""
    with_certificates: bool = False
    """It lists the pending certificates, too."""
    is_complete: bool = False
    marker: str = ""
    """Of the next page."""
    _passed: set[str] = field(default_factory=set)

    def next_tenants(self, lists: Lists, size: int | None) -> tuple[ObservedTenant, ...]:
        """Read the next page of tenants. Raises AwsError."""
        page = lists.page_of_tenants(self.marker, size)
        self.tenants += len(page.tenants)
        self.has_tenants = self._turned("ListDistributionTenants", page.marker)
        self.tenant_pages = self.pages
        self.is_complete = self.has_tenants and not self.with_groups
        return page.tenants

    def next_groups(self, lists: Lists, size: int | None) -> None:
        """Read the next page of connection groups. Raises AwsError."""
        page = lists.page_of_groups(self.marker, size)
        self.groups |= page.groups
        self.group_pages += 1
        self.has_groups = self._turned("ListConnectionGroups", page.marker)
        self.is_complete = self.has_groups and not self.with_certificates

    def end_without_groups(self) -> None:
        """The groups may not be listed."""
        self.groups.clear()
        self.marker, self.has_groups = "", True
        self.is_complete = not self.with_certificates

    def next_certificates(self, lists: Lists) -> None:
        """Read the next page of pending certificates. Raises AwsError."""
        page = lists.page_of_pending_certificates(self.marker)
        self.pending |= page.arns
        self.is_complete = self._turned("ListCertificates", page.marker)

    def _turned(self, operation: str, marker: str) -> bool:
        """Note that a page was read; return whether it was the last one of its list. Raises AwsError if the
        pages lead back or do not end: what the others show is unknown."""
        self.pages += 1
        self._passed.add(self.marker)
        self.marker = marker
        if not marker:
            self._passed.clear()
            return True
        if marker in self._passed or len(self._passed) >= _MOST_PAGES:
            raise AwsError(operation, ENDLESS, "the pages of the list do not end")
        return False

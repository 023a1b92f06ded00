"""The hosted zones that the provider may write to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.dns.errors import DnsError, Failure
from provider.dns.records import longest_match
from provider.dns.refreshing import Refreshing
from provider.dns.route53.calls import ListedZone, ZoneCalls

__all__ = ["ZoneList"]

_SECONDS: Final = 300.0
"""How old a list of zones may be: a zone may be created, or deleted and created again with another id."""
_MOST_PAGES: Final = 20
"""Pages of 100 zones; an account has 500 by default."""


class ZoneList:
    """The public hosted zones, by name. Thread-safe.

    A zone that does not exist any more is left out: it must not keep the others from being used.
    """

    def __init__(self, calls: ZoneCalls, clock: Clock, ids: Sequence[str] | None) -> None:
        """`ids` are those of the provider config; None: all public zones of the account."""
        self._calls, self._ids = calls, ids
        self._zones: Refreshing[tuple[ListedZone, ...]] = Refreshing(clock, "list hosted zones")

    def of(self, domain: str) -> ListedZone | None:
        """Return the public zone with the longest name that contains the domain; None if there is none.

        Raises:
            DnsError: the zones cannot be read.
        """
        zones = {each.zone: each for each in self._zones.get(self._read, _SECONDS) if not each.private}
        found = longest_match(domain, zones)
        return zones[found] if found else None

    def forget(self) -> None:
        """A zone of the list does not exist any more."""
        self._zones.forget()

    def _read(self) -> tuple[ListedZone, ...]:
        if self._ids is None:
            return self._listed()
        return tuple(filter(None, map(self._named, self._ids)))

    def _named(self, id_: str) -> ListedZone | None:
        try:
            return self._calls.zone(id_)
        except DnsError as error:
            if error.failure is Failure.NO_ZONE:
                return None
            raise

    def _listed(self) -> tuple[ListedZone, ...]:
        found: list[ListedZone] = []
        marker = ""
        for _ in range(_MOST_PAGES):
            page = self._calls.zones(marker)
            found += page.zones
            if not page.marker or page.marker == marker:
                return tuple(found)
            marker = page.marker
        words = (
            f"list hosted zones: expected at most {_MOST_PAGES} pages, got more; name the zones in "
            "spec.dns.route53.zones of the ProviderConfig"
        )
        raise DnsError(Failure.REFUSED, words)

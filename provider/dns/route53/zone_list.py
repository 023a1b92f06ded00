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
_NAMED_SECONDS: Final = 3600.0
"""How old what is known of a zone that was found by its id may be: its name never changes."""
_MOST_AGAIN: Final = 20
"""Zones that are read again by their id at a time: each costs a request."""
_MOST_PAGES: Final = 20
"""Pages of 100 zones; an account has 500 by default."""


class ZoneList:
    """The public hosted zones, by name. Thread-safe.

    A zone that does not exist any more is left out: it must not keep the others from being used.
    """

    def __init__(self, calls: ZoneCalls, clock: Clock, ids: Sequence[str] | None) -> None:
        """`ids` are those of the provider config; None: all public zones of the account."""
        self._calls, self._clock, self._ids = calls, clock, ids
        self._named: dict[str, tuple[float, ListedZone | None]] = {}
        """By id: when it was read, and the zone; None if it does not exist."""
        self._seen: set[str] = set()
        """The names of the zones that were found; an account has a limit of them."""
        self._zones: Refreshing[tuple[ListedZone, ...]] = Refreshing(clock, "list hosted zones")

    def of(self, domain: str) -> ListedZone | None:
        """Return the public zone with the longest name that contains the domain; None if there is none.

        Raises:
            DnsError: the zones cannot be read.
        """
        zones = {each.zone: each for each in self._zones.get(self._read, _SECONDS) if not each.private}
        found = longest_match(domain, zones)
        if found is None:
            return None
        self._seen.add(found.name)
        return zones[found]

    def forget(self, zone: str) -> None:
        """A zone of the list does not exist any more."""
        named = self._named.copy()
        self._named = {id_: each for id_, each in named.items() if each[1] is None or each[1].zone.id != zone}
        self._zones.forget()

    def had(self, domain: str) -> bool:
        """Whether this process has found a zone of the domain in this account, with this provider config."""
        return any(domain == name or domain.endswith(f".{name}") for name in self._seen.copy())

    def _read(self) -> tuple[ListedZone, ...]:
        if self._ids is None:
            return self._listed()
        for each in self._due(self._ids):
            # One by one: if a later request fails, the next reading goes on from there.
            self._named[each] = (self._clock.now(), self._of_id(each))
        known = self._named.copy()
        found = (known[each][1] for each in self._ids if each in known)
        return tuple(each for each in found if each)

    def _due(self, ids: Sequence[str]) -> list[str]:
        """The ids to read now: those that were never read, and some of those that were read long ago."""
        now, known = self._clock.now(), self._named.copy()
        lasts = {id_: _NAMED_SECONDS if zone else _SECONDS for id_, (_, zone) in known.items()}
        old = [each for each in ids if each in known and now >= known[each][0] + lasts[each]]
        oldest = sorted(old, key=lambda each: known[each][0])[:_MOST_AGAIN]
        return [*(each for each in ids if each not in known), *oldest]

    def _of_id(self, id_: str) -> ListedZone | None:
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

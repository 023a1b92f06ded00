"""The domains whose ownership record names a resource, as far as views of zones have shown them.

They are hints: what is done with one is decided by what the zone has then. So the oldest are forgotten where
there are too many.

Not thread-safe: the views hold the lock.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from typing import Final

from provider.dns import ownership
from provider.dns.ownership import Owner
from provider.dns.records import RecordSet
from provider.dns.store import Change

__all__ = ["BYTES", "MarkIndex"]

_MOST: Final = 100_000
BYTES: Final = 1024
"""Of one, at most."""


class MarkIndex:
    """Those of all zones of one record store."""

    def __init__(self, most: int = _MOST) -> None:
        """`most` is the maximum number of domains."""
        self._most = most
        self._owners: OrderedDict[tuple[str, str], Owner] = OrderedDict()
        """By zone and domain; the one that was noted last is the last one."""
        self._domains: defaultdict[Owner, set[tuple[str, str]]] = defaultdict(set)
        self._zones: defaultdict[str, set[str]] = defaultdict(set)

    def of(self, owner: Owner) -> frozenset[str]:
        """Return the domains of a resource."""
        return frozenset(domain for _, domain in self._domains.get(owner, ()))

    def read(self, zone: str, sets: Iterable[RecordSet]) -> None:
        """All record sets of a zone were read."""
        self.drop(zone)
        self.note(zone, sets)

    def note(self, zone: str, sets: Iterable[RecordSet]) -> None:
        """Some record sets of a zone are known."""
        for each in sets:
            self._note(zone, each)

    def wrote(self, zone: str, change: Change) -> None:
        """A change was accepted."""
        for each in change.deletes:
            self._forget(zone, ownership.domain_of_mark(each.name))
        for each in change.creates:
            self._note(zone, each)

    def drop(self, zone: str) -> None:
        """A zone does not exist any more, or was read again."""
        for domain in self._zones.get(zone, set()).copy():
            self._forget(zone, domain)

    def _note(self, zone: str, record: RecordSet) -> None:
        domain = ownership.domain_of_mark(record.name)
        owner = ownership.owner_of(record) if domain and record.type == "TXT" else None
        if not domain or not owner:
            return
        self._forget(zone, domain)
        self._owners[zone, domain] = owner
        self._domains[owner].add((zone, domain))
        self._zones[zone].add(domain)
        while len(self._owners) > self._most:
            self._forget(*next(iter(self._owners)))

    def _forget(self, zone: str, domain: str | None) -> None:
        owner = self._owners.pop((zone, domain), None) if domain else None
        if not domain or not owner:
            return
        self._domains[owner].discard((zone, domain))
        if not self._domains[owner]:
            del self._domains[owner]
        self._zones[zone].discard(domain)
        if not self._zones[zone]:
            del self._zones[zone]

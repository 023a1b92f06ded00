"""The domains whose ownership record names a resource, as far as views of zones have shown them.

They are hints: what is done with one is decided by what the zone has then.

Not thread-safe: the views hold the lock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from provider.dns import ownership
from provider.dns.ownership import Owner
from provider.dns.records import RecordSet
from provider.dns.store import Change

__all__ = ["MarkIndex"]


class MarkIndex:
    """Those of all zones of one record store."""

    def __init__(self) -> None:
        self._domains: defaultdict[Owner, set[str]] = defaultdict(set)
        self._owners: defaultdict[str, dict[str, Owner]] = defaultdict(dict)
        """By zone and domain."""

    def of(self, owner: Owner) -> frozenset[str]:
        """Return the domains of a resource."""
        return frozenset(self._domains.get(owner, ()))

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
        for domain, owner in self._owners.pop(zone, {}).items():
            self._discard(domain, owner)

    def _note(self, zone: str, record: RecordSet) -> None:
        domain = ownership.domain_of_mark(record.name)
        owner = ownership.owner_of(record) if domain and record.type == "TXT" else None
        if domain and owner:
            self._forget(zone, domain)
            self._owners[zone][domain] = owner
            self._domains[owner].add(domain)

    def _forget(self, zone: str, domain: str | None) -> None:
        owner = self._owners[zone].pop(domain, None) if domain else None
        if domain and owner:
            self._discard(domain, owner)

    def _discard(self, domain: str, owner: Owner) -> None:
        self._domains[owner].discard(domain)
        if not self._domains[owner]:
            del self._domains[owner]

"""A zone in memory, as a record store and as the model of what a change does."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace

from provider.dns.errors import DnsError, Failure
from provider.dns.expectations import differs_before
from provider.dns.records import LONGEST_NAME, RecordSet, Zone, is_within
from provider.dns.store import Change, Found, Written


class MemoryStore:
    """One zone. It compares and sets."""

    def __init__(self, name: str, records: Iterable[RecordSet] = ()) -> None:
        self.zone = Zone(name, name)
        self.records = list(records)
        self.loses_answers = False
        self._lock = threading.Lock()

    def zone_of(self, domain: str) -> Zone | None:
        return self.zone if is_within(domain, self.zone.name) else None

    def read(self, zone: Zone, names: Iterable[str], *, fresh: bool = False) -> Found:
        with self._lock:
            return Found({name: tuple(each for each in self.records if each.name == name) for name in names})

    def write(self, zone: Zone, change: Change) -> Written:
        if any(len(each) > LONGEST_NAME or max(map(len, each.split("."))) > 63 for each in change.names):
            raise DnsError(Failure.REFUSED, "no name")
        if wrong := differs_before(change, self.read(zone, change.names)):
            raise DnsError(Failure.CHANGED, wrong)
        self.apply(change)
        if self.loses_answers:
            raise DnsError(Failure.UNCERTAIN, "the answer was lost")
        return Written("")

    def apply(self, change: Change) -> None:
        gone = {(each.name, each.type, each.values, each.routed) for each in change.deletes}
        with self._lock:
            left = [
                each for each in self.records if (each.name, each.type, each.values, each.routed) not in gone
            ]
            self.records = [*left, *change.creates]

    def is_served(self, zone: Zone, written: Written) -> bool:
        return True

    def apex(self, domain: str, target: str, ttl: int) -> tuple[RecordSet, ...]:
        return (RecordSet(domain, "ALIAS", (target,), ttl, alias=True),)

    def put(self, record: RecordSet) -> None:
        """As another program does."""
        cname = "CNAME"
        self.records = [
            each
            for each in self.records
            if each.name != record.name
            or (each.type != record.type and cname not in (each.type, record.type))
        ]
        self.records.append(replace(record))

    def drop(self, name: str, kind: str) -> None:
        """As another program does."""
        self.records = [each for each in self.records if (each.name, each.type) != (name, kind)]

"""A record store that remembers what its service answered for some minutes, and keeps the pace of its server.

Stores without views of whole zones ask for each name. The provider observes resources at rest every minute,
so without a memory ten thousand domains would take some hundred requests a second. What is remembered may be
old without harm: a change says what it expects, and the service or its store compares again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from edgetenants_runtime.clock import Clock
from provider.dns import mark_index
from provider.dns.errors import DnsError, Failure
from provider.dns.mark_index import MarkIndex
from provider.dns.ownership import Owner
from provider.dns.records import RecordSet, Zone
from provider.dns.server_pace import Pace
from provider.dns.store import Change, Found, RecordStore, Written

__all__ = ["NO_ADVICE", "ROOM", "SECONDS", "RememberingStore"]

SECONDS: Final = 600.0
"""How long records, and the zone of a domain, are remembered: as long as Route 53's zones."""
_WITHOUT_ZONE_SECONDS: Final = 60.0
"""How long it is remembered that a domain has no zone: people wait for that to change."""
_MOST: Final = 50_000
ROOM: Final = 96 * 1024 * 1024
"""Bytes, roughly: half of them for names, a quarter for zones and one for marks. 10,000 domains fit."""
_MOST_FAILED: Final = 1000
"""Zones."""
_LARGEST: Final = 64 * 1024
"""Bytes of what is known of one name. More is not remembered, and is read each time."""
_BYTES_OF_ENTRY: Final = 384
_BYTES_OF_SET: Final = 768
"""With the form in which it was read."""
_BYTES_OF_VALUE: Final = 256
_BYTES_OF_CHARACTER: Final = 4

NO_ADVICE: Final[Mapping[Failure, str]] = MappingProxyType({})

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class _Kept(Generic[V]):
    value: V
    until: float
    bytes: int


class _Memory(Generic[K, V]):
    """What was answered last, for a time. Not thread-safe."""

    def __init__(self, clock: Clock, room: int) -> None:
        """`room`: bytes, at most."""
        self._clock, self._room = clock, room
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        self.bytes = 0

    def get(self, key: K) -> _Kept[V] | None:
        known = self._kept.get(key)
        return known if known is not None and self._clock.now() < known.until else None

    def keep(self, key: K, value: V, until: float, size: int) -> None:
        """`size`: the bytes of key and value, roughly."""
        self._drop(key)
        if size > _LARGEST:
            return
        self._kept[key] = _Kept(value, until, size)
        self.bytes += size
        while len(self._kept) > _MOST or self.bytes > self._room:
            self._drop(next(iter(self._kept)))

    def drop(self, keys: Iterable[K]) -> None:
        for key in keys:
            self._drop(key)

    def _drop(self, key: K) -> None:
        known = self._kept.pop(key, None)
        self.bytes -= known.bytes if known else 0


_Place = tuple[str, str]
"""A zone's id, and a name in it."""


class RememberingStore:
    """A record store in front of another one. Thread-safe; no lock is held during a request."""

    def __init__(
        self,
        store: RecordStore,
        pace: Pace,
        clock: Clock,
        advice: Mapping[Failure, str] = NO_ADVICE,
        room: int = ROOM,
        seconds: float = SECONDS,
    ) -> None:
        """`advice` says after a failure what to check, as a sentence. `room`: bytes of memory, roughly.
        `seconds`: how long records, and the zone of a domain, are remembered."""
        self._seconds = seconds
        self._store, self._pace, self._clock, self._advice = store, pace, clock, advice
        self._lock = threading.Lock()
        self._zones: _Memory[str, tuple[Zone | None, int]] = _Memory(clock, room // 4)
        """With the zone, how often it had failed before."""
        self._names: _Memory[_Place, tuple[RecordSet, ...]] = _Memory(clock, room // 2)
        self._marks = MarkIndex(room // 4 // mark_index.BYTES)
        self._failed: OrderedDict[str, int] = OrderedDict()
        """By the zone's id: how often it was gone or denied, so that it is to be looked for again."""
        self._reading: list[set[_Place]] = []
        """For each read under way, what was written since it began."""

    def zone_of(self, domain: str) -> Zone | None:
        """Return the zone of a domain, as it was in the last minutes."""
        with self._lock:
            known = self._zones.get(domain)
            if known is not None and known.value[1] == self._failures(known.value[0]):
                return known.value[0]
        began = self._clock.now()
        with self._asking(None):
            found = self._store.zone_of(domain)
        lasts = self._seconds if found else _WITHOUT_ZONE_SECONDS
        with self._lock:
            names = (domain, found.id, found.name) if found else (domain,)
            size = _BYTES_OF_ENTRY + _BYTES_OF_CHARACTER * sum(map(len, names))
            self._zones.keep(domain, (found, self._failures(found)), began + lasts, size)
        return found

    def read(self, zone: Zone, names: Iterable[str], *, fresh: bool = False) -> Found:
        """Return the record sets of names; without `fresh`, as they were in the last minutes."""
        wanted = sorted(set(names))
        known = {} if fresh else self._known(zone, wanted)
        missing = [name for name in wanted if name not in known]
        return Found({**known, **self._read(zone, missing, fresh=fresh)}) if missing else Found(known)

    def read_again(self, zone: Zone, names: Iterable[str]) -> Found:
        """See Remembers."""
        return self.read(zone, names, fresh=True)

    def write(self, zone: Zone, change: Change) -> Written:
        """Make a change; its names are read again afterwards, whatever became of it."""
        try:
            with self._asking(zone):
                written = self._store.write(zone, change)
        finally:
            self._wrote(zone, change.names)
        with self._lock:
            self._marks.wrote(zone.id, change)
        return written

    def is_served(self, zone: Zone, written: Written) -> bool:
        """Whether all name servers answer with a change; never remembered."""
        with self._advised(zone), self._pace.watched():
            return self._store.is_served(zone, written)

    def apex(self, domain: str, target: str, ttl: int) -> tuple[RecordSet, ...]:
        """Return the service's records for an apex, or refuse."""
        return self._store.apex(domain, target, ttl)

    def marked(self, owner: Owner) -> frozenset[str]:
        """Return the domains whose mark names a resource, as far as the names that were read show it."""
        with self._lock:
            return self._marks.of(owner)

    def __str__(self) -> str:
        return str(self._store)

    def _known(self, zone: Zone, names: Iterable[str]) -> dict[str, tuple[RecordSet, ...]]:
        with self._lock:
            found = {name: self._names.get((zone.id, name)) for name in names}
        return {name: each.value for name, each in found.items() if each is not None}

    def _read(self, zone: Zone, names: list[str], *, fresh: bool) -> Mapping[str, tuple[RecordSet, ...]]:
        written: set[_Place] = set()
        with self._lock:
            self._reading.append(written)
        began = self._clock.now()
        try:
            with self._asking(zone):
                found = self._store.read(zone, names, fresh=fresh)
            with self._lock:
                self._keep(zone, found, written, began + self._seconds)
        finally:
            with self._lock:
                # By identity: two reads may have the same writes.
                self._reading = [each for each in self._reading if each is not written]
        return found.at

    def _keep(self, zone: Zone, found: Found, written: set[_Place], until: float) -> None:
        """Call under the lock. What was written while it was read may be from before."""
        for name, sets in found.at.items():
            if (zone.id, name) not in written:
                self._names.keep((zone.id, name), sets, until, _bytes(zone, name, sets))
                self._marks.note(zone.id, sets)

    def _wrote(self, zone: Zone, names: Iterable[str]) -> None:
        places = [(zone.id, name) for name in names]
        with self._lock:
            self._names.drop(places)
            for each in self._reading:
                each.update(places)

    def _failures(self, zone: Zone | None) -> int:
        return self._failed.get(zone.id, 0) if zone else 0

    def _has_failed(self, zone: Zone) -> None:
        """Look for the zone again, and for no other."""
        with self._lock:
            self._failed[zone.id] = self._failed.pop(zone.id, 0) + 1
            while len(self._failed) > _MOST_FAILED:
                self._failed.popitem(last=False)

    @contextmanager
    def _asking(self, zone: Zone | None) -> Iterator[None]:
        with self._advised(zone), self._pace.turn():
            yield

    @contextmanager
    def _advised(self, zone: Zone | None) -> Iterator[None]:
        try:
            yield
        except DnsError as error:
            if zone and error.failure in (Failure.NO_ZONE, Failure.NOT_PERMITTED):
                self._has_failed(zone)
            advice = self._advice.get(error.failure)
            if not advice:
                raise
            words = f"{error}. {advice}"
            raise DnsError(error.failure, words, after=error.after, ticket=error.ticket) from error


def _bytes(zone: Zone, name: str, sets: Sequence[RecordSet]) -> int:
    """The bytes that what is known of a name takes, roughly."""
    values = [value for each in sets for value in each.values]
    characters = len(zone.id) + len(name) + sum(map(len, values))
    of_sets = _BYTES_OF_SET * len(sets) + _BYTES_OF_VALUE * len(values)
    return _BYTES_OF_ENTRY + of_sets + _BYTES_OF_CHARACTER * characters

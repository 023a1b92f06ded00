"""A record store that remembers what its service answered for some minutes, and keeps the pace of its server.

Stores without views of whole zones ask for each name. The provider observes resources at rest every minute,
so without a memory ten thousand domains would take some hundred requests a second. What is remembered may be
old without harm: a change says what it expects, and the service or its store compares again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Generic, TypeVar

from edgetenants_runtime.clock import Clock
from provider.dns.errors import DnsError, Failure
from provider.dns.mark_index import MarkIndex
from provider.dns.ownership import Owner
from provider.dns.records import RecordSet, Zone
from provider.dns.server_pace import ServerPace
from provider.dns.store import Change, Found, RecordStore, Written

__all__ = ["NO_ADVICE", "RememberingStore"]

_SECONDS: Final = 600.0
"""How long records, and the zone of a domain, are remembered: as long as Route 53's zones."""
_WITHOUT_ZONE_SECONDS: Final = 60.0
"""How long it is remembered that a domain has no zone: people wait for that to change."""
_MOST: Final = 50_000

NO_ADVICE: Final[Mapping[Failure, str]] = MappingProxyType({})

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class _Kept(Generic[V]):
    value: V
    until: float


class _Memory(Generic[K, V]):
    """What was answered last, for a time. Not thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()

    def get(self, key: K) -> _Kept[V] | None:
        known = self._kept.get(key)
        return known if known is not None and self._clock.now() < known.until else None

    def keep(self, key: K, value: V, until: float) -> None:
        self._kept.pop(key, None)
        self._kept[key] = _Kept(value, until)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    def drop(self, keys: Iterable[K]) -> None:
        for key in keys:
            self._kept.pop(key, None)

    def clear(self) -> None:
        self._kept.clear()


_Place = tuple[str, str]
"""A zone's id, and a name in it."""


class RememberingStore:
    """A record store in front of another one. Thread-safe; no lock is held during a request."""

    def __init__(
        self,
        store: RecordStore,
        pace: ServerPace,
        clock: Clock,
        advice: Mapping[Failure, str] = NO_ADVICE,
    ) -> None:
        """`advice` says after a failure what to check, as a sentence."""
        self._store, self._pace, self._clock, self._advice = store, pace, clock, advice
        self._lock = threading.Lock()
        self._zones: _Memory[str, Zone | None] = _Memory(clock)
        self._names: _Memory[_Place, tuple[RecordSet, ...]] = _Memory(clock)
        self._marks = MarkIndex()
        self._reading: list[set[_Place]] = []
        """For each read under way, what was written since it began."""

    def zone_of(self, domain: str) -> Zone | None:
        """Return the zone of a domain, as it was in the last minutes."""
        with self._lock:
            known = self._zones.get(domain)
        if known is not None:
            return known.value
        began = self._clock.now()
        with self._asking():
            found = self._store.zone_of(domain)
        lasts = _SECONDS if found else _WITHOUT_ZONE_SECONDS
        with self._lock:
            self._zones.keep(domain, found, began + lasts)
        return found

    def read(self, zone: Zone, names: Iterable[str], *, fresh: bool = False) -> Found:
        """Return the record sets of names; without `fresh`, as they were in the last minutes."""
        wanted = sorted(set(names))
        known = {} if fresh else self._known(zone, wanted)
        missing = [name for name in wanted if name not in known]
        return Found({**known, **self._read(zone, missing)}) if missing else Found(known)

    def write(self, zone: Zone, change: Change) -> Written:
        """Make a change; its names are read again afterwards, whatever became of it."""
        try:
            with self._asking():
                written = self._store.write(zone, change)
        finally:
            self._wrote(zone, change.names)
        with self._lock:
            self._marks.wrote(zone.id, change)
        return written

    def is_served(self, zone: Zone, written: Written) -> bool:
        """Whether all name servers answer with a change; never remembered."""
        with self._advised(), self._pace.watched():
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

    def _read(self, zone: Zone, names: list[str]) -> Mapping[str, tuple[RecordSet, ...]]:
        written: set[_Place] = set()
        with self._lock:
            self._reading.append(written)
        began = self._clock.now()
        try:
            with self._asking():
                found = self._store.read(zone, names)
            with self._lock:
                self._keep(zone, found, written, began + _SECONDS)
        finally:
            with self._lock:
                # By identity: two reads may have the same writes.
                self._reading = [each for each in self._reading if each is not written]
        return found.at

    def _keep(self, zone: Zone, found: Found, written: set[_Place], until: float) -> None:
        """Call under the lock. What was written while it was read may be from before."""
        for name, sets in found.at.items():
            if (zone.id, name) not in written:
                self._names.keep((zone.id, name), sets, until)
                self._marks.note(zone.id, sets)

    def _wrote(self, zone: Zone, names: Iterable[str]) -> None:
        places = [(zone.id, name) for name in names]
        with self._lock:
            self._names.drop(places)
            for each in self._reading:
                each.update(places)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with self._advised(), self._pace.turn():
            yield

    @contextmanager
    def _advised(self) -> Iterator[None]:
        try:
            yield
        except DnsError as error:
            if error.failure in (Failure.NO_ZONE, Failure.NOT_PERMITTED):
                with self._lock:
                    self._zones.clear()
            advice = self._advice.get(error.failure)
            if not advice:
                raise
            words = f"{error}. {advice}"
            raise DnsError(error.failure, words, after=error.after, ticket=error.ticket) from error

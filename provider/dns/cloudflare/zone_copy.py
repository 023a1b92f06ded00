"""The records of a zone as they were some minutes ago, for looks.

A look at each of 10,000 domains by name would take more requests than Cloudflare permits. A whole zone takes
one request for 5,000 records.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.dns.records import RecordSet
from provider.dns.refreshing import Refreshing

__all__ = ["ZoneCopy"]

_SECONDS: Final = 300.0
"""How old a copy may be. What is in front of the store remembers for as long again."""
_LAG: Final = 60.0
"""Seconds after a write in which a list may lack it."""
_MOST_WRITTEN: Final = 20_000
"""Names. With more, the copy is read again."""

Records = Mapping[str, tuple[RecordSet, ...]]


@dataclass(frozen=True)
class _Copy:
    began: float
    records: Records


class ZoneCopy:
    """The copy of one zone. Thread-safe."""

    def __init__(self, clock: Clock, what: str, read: Callable[[], Records]) -> None:
        """`read` reads all records; `what` names that in messages."""
        self._clock, self._read = clock, read
        self._copy: Refreshing[_Copy] = Refreshing(clock, what)
        self._lock = threading.Lock()
        self._size = 0
        self._written: dict[str, float] = {}
        """By name, when this process last wrote or read other than the copy has it."""

    @property
    def size(self) -> int:
        """The records of the copy as it is now, roughly."""
        return self._size

    def of(self, names: Iterable[str]) -> dict[str, tuple[RecordSet, ...]]:
        """Return the record sets of those names of which the copy is not known to be wrong.

        Raises:
            DnsError: the zone cannot be read.
        """
        copy = self._copy.get(self._copied, _SECONDS)
        with self._lock:
            known = [name for name in names if self._written.get(name, float("-inf")) + _LAG < copy.began]
        return {name: copy.records.get(name, ()) for name in known}

    def wrote(self, names: Iterable[str]) -> None:
        """Some records of these names may not be as in the copy."""
        now = self._clock.now()
        with self._lock:
            if len(self._written) >= _MOST_WRITTEN:
                # A copy that begins now has all that was written before the lag; the rest is kept.
                self._written = {name: at for name, at in self._written.items() if at + _LAG >= now}
                self._copy.forget()
            self._written.update(dict.fromkeys(names, now))

    def _copied(self) -> _Copy:
        began = self._clock.now()
        records = self._read()
        with self._lock:
            self._written = {name: at for name, at in self._written.items() if at + _LAG >= began}
            self._size = sum(len(each.values) for sets in records.values() for each in sets)
        return _Copy(began, records)

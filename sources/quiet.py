"""A read of all rows, or none. Where nothing changed, nothing is compared: a table of 50,000 rows costs
seconds of a processor otherwise, with each read. It takes no rows of the read before, only their digest."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import structlog

from apis.tenantsource import TenantSourceSpec
from edgetenants_runtime import deadline
from sources.rows import LARGEST, Table, read_table
from sources.stores.store import (
    Conditional,
    Positioned,
    Reading,
    Row,
    Store,
    StoreError,
    StoreReason,
)
from sources.template import Compiled

__all__ = [
    "LONGEST",
    "TIME_TO_REPORT",
    "Found",
    "Quiet",
    "Tally",
    "begun",
    "changed",
    "fingerprint",
    "in_time",
    "read_all",
]

_log = structlog.get_logger("edgetenants.sources")

LONGEST: Final = 3600.0
"""Seconds after which everything is compared again, whatever the store says: a server's ETag may be wrong."""
TIME_TO_REPORT: Final = 10.0
"""Real seconds of a reconcile that are left for its report."""
_LOOK_AT_CLOCK: Final = 500
"""Rows between two looks at the clock."""
_BITS: Final = 256
_VERSION: Final = 2
"""Of marshal: later ones write equal values in several ways."""


@dataclass(frozen=True)
class Quiet:
    """What was seen when nothing was left to do."""

    asked: tuple[object, ...]
    rows: tuple[int, int]
    """See `Tally.total`."""
    position: str | None
    """Of the reading; see `Positioned`."""
    others: tuple[str, ...]
    """Names of rows that objects of someone else have."""
    objects: int
    """See `fingerprint`."""
    until: float
    """When something is to be tried again, in seconds of the clock."""


class Tally:
    """Sums the rows that it passes on. The sum does not depend on their order: a database has none."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows, self._count, self._sum = rows, 0, 0
        self.size = 0
        """Bytes of the rows so far."""

    def __iter__(self) -> Iterator[Row]:
        """Pass the rows on. Raises what their iteration raises."""
        for row in self._rows:
            data = marshal.dumps((dict(row.columns), dict(row.unfit)), _VERSION)
            digest = hashlib.blake2b(data, digest_size=_BITS // 8).digest()
            self._sum = (self._sum + int.from_bytes(digest, "big")) % 2**_BITS
            self._count += 1
            self.size += len(data)
            yield row

    @property
    def total(self) -> tuple[int, int]:
        """The number of rows and the sum of their digests. Only after the last row."""
        return self._count, self._sum


@dataclass(frozen=True)
class Found:
    """A complete read that differs from the one before."""

    table: Table
    total: tuple[int, int]
    position: str | None


def read_all(
    opened: Callable[[], Store],
    before: Quiet | None,
    spec: TenantSourceSpec,
    template: Compiled,
    in_time: Callable[[Iterable[Row]], Iterable[Row]],
) -> Found | None:
    """All rows of the store that `opened` opens; None if they are those of the read before. `in_time` passes
    rows on while there is time. Raises StoreError, and nothing else; then the read was not complete."""
    try:
        store = opened()
        try:
            with begun(store, before) as reading:
                return None if reading is None else changed(reading, before, spec, template, in_time)
        finally:
            store.close()
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a store raises, nothing follows from the read
        # A message of anything else may have values of rows.
        _log.error("cannot read the rows", error=type(error).__name__)
        message = f"unexpected {type(error).__name__}"
        raise StoreError(StoreReason.INCOMPLETE, message) from None


def in_time(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows, as long as there is time to follow them."""
    for number, row in enumerate(rows):
        if number % _LOOK_AT_CLOCK == 0 and deadline.remaining() < TIME_TO_REPORT:
            message = f"the read of {number} rows took too long; raise --timeout"
            raise StoreError(StoreReason.INCOMPLETE, message)
        yield row


def begun(store: Store, before: Quiet | None) -> AbstractContextManager[Reading | None]:
    """Begin to read; None if the store says that nothing changed since `before`."""
    if before is not None and before.position is not None and isinstance(store, Conditional):
        return store.read_since(before.position)
    return store.read()


def changed(
    reading: Reading,
    before: Quiet | None,
    spec: TenantSourceSpec,
    template: Compiled,
    in_time: Callable[[Iterable[Row]], Iterable[Row]],
) -> Found | None:
    """All rows; None if they are those of the read before. `in_time` passes rows on while there is time.
    Raises StoreError."""
    tally = Tally(in_time(reading))
    rows, all_of_them = (tally, False) if before is None else _kept(tally)
    if before is not None and all_of_them and tally.total == before.rows:
        return None
    table = read_table(rows, template, spec.key, spec.order)
    return Found(table, tally.total, reading.position if isinstance(reading, Positioned) else None)


def _kept(tally: Tally) -> tuple[Iterable[Row], bool]:
    """The rows, and whether all of them are in memory: they most likely did not change, and it costs more to
    compare them. Very large tables are compared each time."""
    kept: list[Row] = []
    rows = iter(tally)
    for row in rows:
        kept.append(row)
        if tally.size > LARGEST:
            return chain(kept, rows), False
    return kept, True


def fingerprint(objects: Iterable[Mapping[str, Any]]) -> int:
    """Differs if there is another object, or one has another spec, label or annotation. What controllers say
    in a status does not count. Only comparable within one process."""
    return hash(frozenset(map(_mark, objects)))


def _mark(obj: Mapping[str, Any]) -> tuple[object, ...]:
    metadata = obj["metadata"]
    return (
        metadata.get("uid"),
        metadata.get("generation"),
        metadata.get("deletionTimestamp"),
        frozenset((metadata.get("labels") or {}).items()),
        frozenset((metadata.get("annotations") or {}).items()),
    )

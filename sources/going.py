"""Which objects whose rows are gone may be removed now: a pure function over what a complete read missed and
what is on record. To suspend and to delete are both removals.

The record is the only truth about "gone since". Only the process writes it (see `records`): what is on an
object can be written by its users, and a status by others. It has a time of its own, `counted`: the time from
the end of a complete read to the begin of the next one, if nothing failed between them. A source that is not
read, because it is suspended or unreachable or no process runs, has no such time, so no grace passes.

An object is removed only if

- each complete read since its row went had no row for it, and each had a key in every row;
- `after`, and at least one poll interval, was counted in that time, and one poll interval by this process;
- not too many rows went within one hour, together with what was removed in the last hour, and not all: else
  someone has confirmed exactly these rows, in this absence and under this policy.
"""

from __future__ import annotations

import base64
import hashlib
import heapq
import secrets
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import Final

from apis.tenantsource import MaxGone, TenantSourceSpec, WhenGone, seconds
from sources.objects import Existing
from sources.rows import digest_of

__all__ = [
    "MOST_BYTES",
    "Batch",
    "Before",
    "Judgement",
    "Record",
    "Removal",
    "absences",
    "judged",
    "limit",
    "scope_of",
    "step",
]

_BURST: Final = 3600_000
"""Milliseconds. Rows that go within this time count as gone at once."""
_REPEATED: Final = 1800_000
"""Milliseconds. A removal that is refused and tried again is on record again after this time."""
_WITNESSES: Final = 4
"""Objects of which at least one must still have its row; else all rows went. More only matter if all of
these few go later, and then a person is asked."""
MOST_BYTES: Final = 600_000
"""Size of a record, about. What has no place does not count as gone yet; a ConfigMap has at most 1 MiB."""
_TAG: Final = 12
"""Characters that stand for an object and its row in the record."""
_BATCH_BYTES: Final = 150
"""Size of a batch without its objects, at most."""
_POLLS: Final = 2
"""Poll intervals that count between two reads, at most. A process that stood still has not read."""


@dataclass(frozen=True)
class Batch:
    """Objects whose rows one read was the first to miss."""

    first: int
    """The counted time at the end of that read."""
    known: int
    """The number of objects that had a row until then. What is created later makes no limit larger."""
    witnesses: frozenset[str]
    """Some of the objects that still had their row then."""
    objects: frozenset[str]
    """Those that had no row in any complete read since."""
    confirmed: bool = False
    """Someone has confirmed their removal."""


@dataclass(frozen=True)
class Record:
    """What is known of the rows that are gone. All times are milliseconds of its own time."""

    nonce: str
    """Differs for each record, so that no token of a former one fits."""
    scope: str = ""
    """See `scope_of`."""
    counted: int = 0
    last: int = 0
    """The number of the last batch. No number is used again, so no token fits two absences of a row."""
    batches: Mapping[int, Batch] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)
    """When a removal was decided, in the last hour; it is on record before it begins."""

    @classmethod
    def new(cls) -> Record:
        """No row is gone yet."""
        return cls(secrets.token_hex(8))

    @property
    def empty(self) -> bool:
        """Nothing would be lost with it."""
        return not self.batches and not self.removed

    def differs_only_in_time(self, other: Record) -> bool:
        """Whether only time has passed between the two."""
        return replace(self, counted=other.counted) == other


@dataclass(frozen=True)
class Before:
    """What was known when the read ended."""

    record: Record
    begun: int = 0
    """The counted time when this process took the record over. What it has read itself can only delay: the
    record may come from a backup."""
    step: int = 0
    """The time that counts since the read before, see `step`."""


@dataclass(frozen=True)
class Removal:
    """Objects that are not removed before someone confirms it."""

    names: tuple[str, ...]
    """Sorted."""
    token: str


@dataclass(frozen=True)
class Judgement:
    """What follows from a complete read."""

    record: Record
    """It must be stored before anything is removed."""
    due: tuple[Existing, ...] = ()
    """The objects to remove now, by name."""
    removal: Removal | None = None


def scope_of(spec: TenantSourceSpec) -> str:
    """Identifies what an absence means: the table that is read, and what follows if a row is gone. A row is
    not gone from another table, and an object that was suspended is not to be deleted without a new grace."""
    return digest_of([spec.source.to_json(), spec.key, spec.when_gone.value], characters=16)


def step(ended: float | None, begun: float, poll: float) -> int:
    """The milliseconds that count between two complete reads.

    Args:
        ended: when the one before ended, in seconds of the clock; None if something failed since, or if this
            process has made none.
        begun: when this one began.
        poll: the poll interval in seconds.
    """
    if ended is None:
        return 0
    return int(max(0.0, min(begun - ended, _POLLS * poll)) * 1000 + 1e-6)


def judged(
    spec: TenantSourceSpec,
    before: Before,
    gone: Iterable[Existing],
    present: Iterable[Existing],
    leaving: Iterable[Existing] = (),
    confirm: str = "",
) -> Judgement:
    """Judge a complete read, in which each row had a key.

    Args:
        spec: its `source`, `key`, `whenGone`, `after`, `pollInterval` and `maxGone`.
        before: what is on record.
        gone: the objects that had no row, and are not being deleted.
        present: the objects that had one.
        leaving: the objects that had none, and are being deleted.
        confirm: the token that someone has set, or "".
    """
    asked = {} if spec.when_gone is WhenGone.ORPHAN else _asked(spec, gone)
    having = {_tag(each) for each in present} if asked else frozenset()
    record = _noted(before, scope_of(spec), asked, having)
    suspicious = _suspicious(record, spec.max_gone, having, {_tag(each) for each in leaving})
    unconfirmed = {number for number in suspicious if not record.batches[number].confirmed}
    token = _token(record, unconfirmed)
    if unconfirmed and confirm == token:
        record, unconfirmed = _confirmed(record, unconfirmed), set()
    due = _due(record, unconfirmed, spec, before.begun)
    record = replace(record, removed={**record.removed, **_decided(record, due)})
    return Judgement(
        record,
        tuple(sorted((asked[tag] for tag in due), key=lambda each: each.name)),
        Removal(_names(record, unconfirmed, asked), token) if unconfirmed else None,
    )


def absences(record: Record, objects: Iterable[Existing]) -> dict[str, int]:
    """By name: the milliseconds that count since the rows of these objects are gone. An object that is not on
    record has none."""
    firsts = {tag: batch.first for batch in record.batches.values() for tag in batch.objects}
    return {each.name: record.counted - firsts[tag] for each in objects if (tag := _tag(each)) in firsts}


def limit(most: MaxGone, objects: int) -> int:
    """How many rows may go within one hour."""
    return max(most.rows, most.percent * objects // 100)


def _tag(each: Existing) -> str:
    """Stands for an object and its row: neither another object of the name, nor another row, is the same."""
    digest = hashlib.sha256(f"{each.managed.uid}\0{each.key}".encode("utf-8", "surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest[: _TAG * 3 // 4]).decode()


def _asked(spec: TenantSourceSpec, gone: Iterable[Existing]) -> dict[str, Existing]:
    """What is left to do, by tag."""
    suspends = spec.when_gone is WhenGone.SUSPEND
    return {_tag(each): each for each in gone if not (suspends and each.suspended)}


def _noted(before: Before, scope: str, asked: Collection[str], present: AbstractSet[str]) -> Record:
    """The record after a read that missed the rows of `asked`."""
    record = before.record
    counted = record.counted + before.step
    batches = record.batches if record.scope == scope else {}
    still = ((number, _without(batch, asked)) for number, batch in batches.items())
    kept = {number: batch for number, batch in still if batch.objects}
    removed = {tag: at for tag, at in record.removed.items() if counted - at <= _BURST}
    known = frozenset().union(*(batch.objects for batch in kept.values()))
    room = MOST_BYTES - _BATCH_BYTES * (len(kept) + 1) - _TAG * len(known) - (_TAG + 16) * len(removed)
    went = set(asked) - known
    new = frozenset(islice(sorted(went), max(0, room) // _TAG))
    last = record.last
    if new:
        last += 1
        # If not all of them have a place, those that have one must not look like a few.
        witnesses = heapq.nsmallest(_WITNESSES, present) if len(new) == len(went) else ()
        kept[last] = Batch(counted, len(present) + len(went), frozenset(witnesses), new)
    return replace(record, scope=scope, counted=counted, last=last, batches=kept, removed=removed)


def _without(batch: Batch, asked: Collection[str]) -> Batch:
    """The batch without what has its row again, or was removed."""
    left = frozenset(tag for tag in batch.objects if tag in asked)
    return batch if len(left) == len(batch.objects) else replace(batch, objects=left)


def _suspicious(
    record: Record, most: MaxGone, present: AbstractSet[str], leaving: AbstractSet[str]
) -> set[int]:
    """The batches that went with all others, or with too many."""
    ordered = sorted(record.batches.items(), key=lambda item: item[1].first)
    firsts = [batch.first for _, batch in ordered]
    sums = list(accumulate((len(batch.objects) for _, batch in ordered), initial=0))
    alone = list(accumulate((batch.witnesses.isdisjoint(present) for _, batch in ordered), initial=0))
    known = [batch.known for _, batch in ordered]
    pending = frozenset().union(*(batch.objects for batch in record.batches.values()))
    removed = len((set(record.removed) | leaving) - pending)
    found = set()
    for number, batch in ordered:
        low, high = bisect_left(firsts, batch.first - _BURST), bisect_right(firsts, batch.first + _BURST)
        too_many = removed + sums[high] - sums[low] > limit(most, min(known[low:high]))
        if too_many or alone[high] > alone[low]:
            found.add(number)
    return found


def _token(record: Record, numbers: Collection[int]) -> str:
    """Identifies exactly these rows in this absence: a batch has a number that no other one ever has."""
    objects = [[number, sorted(record.batches[number].objects)] for number in sorted(numbers)]
    return digest_of([record.nonce, record.scope, objects], characters=16)


def _confirmed(record: Record, numbers: Collection[int]) -> Record:
    """The record with these batches confirmed, under new numbers: the token fits nothing any more."""
    batches = {number: batch for number, batch in record.batches.items() if number not in numbers}
    last = record.last
    for number in sorted(numbers):
        last += 1
        batches[last] = replace(record.batches[number], confirmed=True)
    return replace(record, batches=batches, last=last)


def _due(record: Record, withheld: Collection[int], spec: TenantSourceSpec, begun: int) -> list[str]:
    poll = int(seconds(spec.poll_interval) * 1000)
    after = max(poll, int(seconds(spec.after) * 1000))
    if record.counted - begun < poll:
        return []
    return [
        tag
        for number, batch in record.batches.items()
        if number not in withheld and record.counted - batch.first >= after
        for tag in batch.objects
    ]


def _decided(record: Record, due: Iterable[str]) -> dict[str, int]:
    """The removals that go on record now."""
    now, removed = record.counted, record.removed
    return {tag: now for tag in due if tag not in removed or now - removed[tag] >= _REPEATED}


def _names(record: Record, numbers: Iterable[int], asked: Mapping[str, Existing]) -> tuple[str, ...]:
    found: Sequence[str] = [asked[tag].name for number in numbers for tag in record.batches[number].objects]
    return tuple(sorted(found))

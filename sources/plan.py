"""What to do: a pure function over the rows of a complete read and the objects that exist. Going is the
dangerous part; `going` judges it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from apis.tenantsource import TenantSourceSpec, WhenGone
from sources.going import Before, Judgement, Record, Removal, judged
from sources.objects import Existing
from sources.rows import Desired, Problem, Table, shown

__all__ = ["Action", "Plan", "Verb", "World", "contains", "differences", "planned"]

Location = tuple[str | int, ...]

_MINUTE: Final = timedelta(minutes=1)
_NOTHING: Final = object()


class Verb:
    """What an action does."""

    CREATE: Final = "create"
    """Create the object of a row."""
    UPDATE: Final = "update"
    """Apply the row to its object, and take back what its absence had set."""
    RESTORE: Final = "restore"
    """Take back what the row's absence had set: the row is back, and invalid."""
    SUSPEND: Final = "suspend"
    """Disable the tenant of a row that is gone."""
    DELETE: Final = "delete"
    """Delete the object of a row that is gone."""


@dataclass(frozen=True)
class Action:
    """One write."""

    verb: str
    name: str
    row: Desired | None = None
    existing: Existing | None = None


@dataclass(frozen=True)
class World:
    """What a plan is made of, besides the rows."""

    spec: TenantSourceSpec
    mine: Mapping[str, Existing]
    """The objects of the TenantSource, by name."""
    other: Callable[[str], Existing | None]
    """Returns the object of that name in the namespace, if it is of someone else."""
    confirm: str
    """The value of the annotation that confirms a removal; "" without one."""
    now: datetime
    """Real time."""
    before: Before
    """What was known of the rows that are gone."""
    refused: Mapping[str, tuple[str, Problem]] = field(default_factory=dict)
    """By name: the objects whose creation was refused, and is not tried again yet, with the digest of that
    row."""
    last: frozenset[str] = frozenset()
    """Names of the objects whose last write was refused: a new one of them is created after all others."""


@dataclass(frozen=True)
class Plan:
    """What to do, and what to say."""

    record: Record
    """What is known now of the rows that are gone."""
    actions: Sequence[Action] = ()
    removals: Sequence[Action] = ()
    """What is removed, once the record is stored."""
    problems: Mapping[str, Problem] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    """Names of the objects whose row is gone, sorted."""
    waiting: int = 0
    """Rows whose object is not created yet."""
    waits_for: str = ""
    """What they wait for."""
    removal: Removal | None = None


def planned(table: Table, world: World) -> Plan:
    """The plan after a complete read of `table`, which is settled (see `rows.settled`)."""
    problems = dict(table.problems)
    updates = [action for row in table.desired.values() for action in _applied(row, world, problems)]
    new = [
        row for row in table.desired.values() if row.name not in world.mine and world.other(row.name) is None
    ]
    waiting = {row.key: why for row in new if (why := _refused(row, world)) is not None}
    problems |= waiting
    new = [row for row in new if row.key not in waiting]
    absent = _absent(table, world)
    gone = [each for each in absent if not each.managed.deleted]
    creates, waits_for = _paced(new, world, {each.name for each in gone})
    found = _judged(world, absent)
    verb = Verb.DELETE if world.spec.when_gone is WhenGone.DELETE else Verb.SUSPEND
    return Plan(
        found.record,
        [*updates, *_restored(table, world), *creates],
        [Action(verb, each.name, existing=each) for each in found.due],
        problems,
        tuple(sorted(each.name for each in gone)),
        len(new) - len(creates),
        waits_for,
        found.removal,
    )


def _refused(row: Desired, world: World) -> Problem | None:
    """Why the object of a new row was refused, if that is not tried again yet."""
    digest, problem = world.refused.get(row.name, ("", None))
    return problem if digest and digest == row.digest else None


def _applied(row: Desired, world: World, problems: dict[str, Problem]) -> Iterable[Action]:
    existing = world.mine.get(row.name)
    if existing is None:
        other = world.other(row.name)
        if other is None:
            return
        if not _may_adopt(other, world.spec):
            expected = f"no other {other.kind.kind} with its name, or one that adopt.matchLabels selects"
            problems[row.key] = Problem(shown(row.key), "metadata.name", expected)
            return
        existing = other
    if existing.managed.deleted:
        # It is created again once it is gone.
        return
    if existing.marked_gone or not _as_desired(row, existing):
        yield Action(Verb.UPDATE, row.name, row, existing)


def _may_adopt(other: Existing, spec: TenantSourceSpec) -> bool:
    if spec.adopt is None or other.owner:
        return False
    labels = other.managed.labels
    return all(labels.get(key) == value for key, value in spec.adopt.match_labels.items())


def _as_desired(row: Desired, existing: Existing) -> bool:
    if existing.hash != row.digest:
        return False
    return contains(existing.managed.spec, row.spec) and contains(existing.managed.labels, row.labels)


def contains(stored: Any, wanted: Any) -> bool:
    """The stored value has all of the wanted one; the API server and others may have added fields."""
    if isinstance(wanted, Mapping):
        return isinstance(stored, Mapping) and all(
            key in stored and contains(stored[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(stored, list | tuple)
            and len(stored) == len(wanted)
            and all(map(contains, stored, wanted))
        )
    return bool(stored == wanted)


def differences(stored: Any, wanted: Mapping[str, Any], at: Location = ()) -> Iterator[Location]:
    """Where `contains` says no: the innermost objects' fields whose stored value lacks some of the wanted."""
    for key, value in wanted.items():
        there = stored.get(key, _NOTHING) if isinstance(stored, Mapping) else _NOTHING
        if isinstance(value, Mapping) and isinstance(there, Mapping):
            yield from differences(there, value, (*at, key))
        elif not contains(there, value):
            yield (*at, key)


def _restored(table: Table, world: World) -> list[Action]:
    """Objects whose row is back, and invalid."""
    valid = {row.name for row in table.desired.values()}
    return [
        Action(Verb.RESTORE, each.name, existing=each)
        for each in world.mine.values()
        if each.marked_gone and each.key in table.keys and each.name not in valid and not each.managed.deleted
    ]


def _paced(new: list[Desired], world: World, gone: set[str]) -> tuple[list[Action], str]:
    """Which new objects are created now, and what the others wait for."""
    spec, ours = world.spec, world.mine.values()
    recent = sum(1 for each in ours if each.created is not None and world.now - each.created < _MINUTE)
    room, waits_for = max(0, spec.max_new - recent), f"maxNew: at most {spec.max_new} are created in a minute"
    if spec.max_not_live is not None:
        leaving = (each.suspended or each.name in gone or each.managed.deleted for each in ours)
        not_live = sum(1 for each, leaves in zip(ours, leaving, strict=True) if not (leaves or each.live))
        if spec.max_not_live - not_live < room:
            room = max(0, spec.max_not_live - not_live)
            waits_for = f"maxNotLive: {not_live} objects are not live yet"
    ordered = sorted(new, key=lambda row: (row.name in world.last, row.order, row.key))
    actions = [Action(Verb.CREATE, row.name, row) for row in ordered[:room]]
    return actions, waits_for if len(ordered) > room else ""


def _absent(table: Table, world: World) -> list[Existing]:
    """The objects that have no row: neither one with their key, nor one that takes over their name. Whose the
    ones without a key are is unknown."""
    if table.keyless:
        return []
    names, keys = {row.name for row in table.desired.values()}, table.keys
    return [
        each
        for name, each in sorted(world.mine.items())
        if each.key and each.key not in keys and name not in names
    ]


def _judged(world: World, absent: list[Existing]) -> Judgement:
    missing = {each.name for each in absent}
    # An object without a key has no row that could still be there.
    present = [each for each in world.mine.values() if each.key and each.name not in missing]
    gone = [each for each in absent if not each.managed.deleted]
    leaving = [each for each in absent if each.managed.deleted]
    return judged(world.spec, world.before, gone, present, leaving, world.confirm)

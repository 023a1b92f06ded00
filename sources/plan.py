"""What to do: a pure function over the rows of a complete read and the objects that exist.

Going is the dangerous part. An object is suspended or deleted only if

- the policy says so (whenGone), and the read was complete, with a key in each row;
- complete reads have had no row for it for the grace (`after`), as an annotation of the object says;
- two complete reads of this process, at least one poll interval apart, had no row for it: an annotation alone
  may come from a backup, or from anyone who may write the object;
- not too many go within one hour (maxGone), and not all: else someone has to confirm exactly this set.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from apis.tenantsource import MaxGone, TenantSourceSpec, WhenGone, seconds
from sources.objects import Existing
from sources.rows import Desired, Problem, Table, digest_of, shown

__all__ = ["Action", "Plan", "Reads", "Removal", "Verb", "World", "planned", "table_digest"]

_BURST: Final = timedelta(hours=1)
"""Rows that go within this time count as gone at once."""
_MINUTE: Final = timedelta(minutes=1)


class Verb:
    """What an action does."""

    CREATE: Final = "create"
    """Create the object of a row."""
    UPDATE: Final = "update"
    """Apply the row to its object, and take back what its absence had set."""
    RESTORE: Final = "restore"
    """Take back what the row's absence had set: the row is back, and invalid."""
    MARK: Final = "mark"
    """Note on the object since when its row has been gone."""
    CONFIRM: Final = "confirm"
    """Note on the object that its removal is confirmed."""
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
class Removal:
    """Objects that are not removed before someone confirms it."""

    names: tuple[str, ...]
    """Sorted."""
    token: str


@dataclass
class Reads:
    """What this process has seen of a table: it can only make a removal later."""

    table: str = ""
    first_gone: dict[str, float] = field(default_factory=dict)
    """By uid of the object: when a complete read first had no row for it, in seconds of the clock."""

    removed: deque[float] = field(default_factory=lambda: deque(maxlen=100_000))
    """When this process removed objects, in seconds of the clock. Rows that go one after the other are gone
    at once, too, even if the first objects are gone already."""

    def recently_removed(self, now: float) -> int:
        """The number of objects that this process removed within the last hour."""
        while self.removed and now - self.removed[0] > _BURST.total_seconds():
            self.removed.popleft()
        return len(self.removed)

    def note(self, table: str, gone: Iterable[Existing], now: float) -> None:
        """A complete read of the table had no row for these objects, and one for each other."""
        before = self.first_gone if table == self.table else {}
        self.table = table
        self.first_gone = {uid: before.get(uid, now) for uid in (each.managed.uid for each in gone)}

    def for_seconds(self, each: Existing, now: float) -> float:
        """For how long complete reads have had no row for the object."""
        return now - self.first_gone.get(each.managed.uid, now)


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
    """Real time, as in the annotations."""
    clock: float
    """Seconds of the clock, as in `Reads`."""
    refused: Mapping[str, tuple[str, Problem]] = field(default_factory=dict)
    """By name: the objects whose creation was refused, and is not tried again yet, with the digest of that
    row."""
    last: frozenset[str] = frozenset()
    """Names of the objects whose last write was refused: a new one of them is created after all others."""


@dataclass(frozen=True)
class Plan:
    """What to do, and what to say."""

    actions: Sequence[Action] = ()
    problems: Mapping[str, Problem] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    """Names of the objects whose row is gone, sorted."""
    waiting: int = 0
    """Rows whose object is not created yet."""
    waits_for: str = ""
    """What they wait for."""
    removal: Removal | None = None


def table_digest(spec: TenantSourceSpec) -> str:
    """Identifies the table that is read: a row that another table does not have is not gone from this one."""
    return digest_of([spec.source.to_json(), spec.key], characters=8)


def planned(table: Table, world: World, reads: Reads) -> Plan:
    """The plan after a complete read of `table`, which is settled (see `rows.settled`). It notes in `reads`
    what is gone."""
    problems = dict(table.problems)
    updates = [action for row in table.desired.values() for action in _applied(row, world, problems)]
    new = [
        row for row in table.desired.values() if row.name not in world.mine and world.other(row.name) is None
    ]
    waiting = {row.key: why for row in new if (why := _refused(row, world)) is not None}
    problems |= waiting
    new = [row for row in new if row.key not in waiting]
    creates, waits_for = _paced(new, world)
    gone = _gone(table, world)
    goings, removal = _going(gone, world, reads)
    return Plan(
        [*updates, *_restored(table, world), *goings, *creates],
        problems,
        tuple(sorted(each.name for each in gone)),
        len(new) - len(creates),
        waits_for,
        removal,
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


def _restored(table: Table, world: World) -> list[Action]:
    """Objects whose row is back, and invalid."""
    valid = {row.name for row in table.desired.values()}
    return [
        Action(Verb.RESTORE, each.name, existing=each)
        for each in world.mine.values()
        if each.marked_gone and each.key in table.keys and each.name not in valid and not each.managed.deleted
    ]


def _paced(new: list[Desired], world: World) -> tuple[list[Action], str]:
    """Which new objects are created now, and what the others wait for."""
    spec, ours = world.spec, world.mine.values()
    recent = sum(1 for each in ours if each.created is not None and world.now - each.created < _MINUTE)
    room, waits_for = max(0, spec.max_new - recent), f"maxNew: at most {spec.max_new} are created in a minute"
    if spec.max_not_live is not None:
        leaving = (each.suspended or each.marked_gone or each.managed.deleted for each in ours)
        not_live = sum(1 for each, leaves in zip(ours, leaving, strict=True) if not (leaves or each.live))
        if spec.max_not_live - not_live < room:
            room = max(0, spec.max_not_live - not_live)
            waits_for = f"maxNotLive: {not_live} objects are not live yet"
    ordered = sorted(new, key=lambda row: (row.name in world.last, row.order, row.key))
    actions = [Action(Verb.CREATE, row.name, row) for row in ordered[:room]]
    return actions, waits_for if len(ordered) > room else ""


def _gone(table: Table, world: World) -> list[Existing]:
    """The objects that have no row: neither one with their key, nor one that takes over their name."""
    if table.keyless:
        return []
    names, keys = {row.name for row in table.desired.values()}, table.keys
    return [
        each
        for name, each in sorted(world.mine.items())
        if each.key not in keys and name not in names and not each.managed.deleted
    ]


def _going(gone: list[Existing], world: World, reads: Reads) -> tuple[list[Action], Removal | None]:
    spec = world.spec
    if spec.when_gone is WhenGone.ORPHAN:
        return [], None
    digest = table_digest(spec)
    reads.note(digest, gone, world.clock)
    ask = [each for each in gone if not (spec.when_gone is WhenGone.SUSPEND and each.suspended)]
    suspicious = _suspicious(ask, gone, world, _removed(world, reads))
    token = digest_of(sorted(each.managed.uid for each in suspicious), characters=16) if suspicious else ""
    confirmed = bool(token) and world.confirm == token
    withheld = {each.name for each in suspicious if not _is_confirmed(each, world)}
    held = withheld and not confirmed
    actions: list[Action] = []
    for each in ask:
        if each.gone_since(digest) is None:
            actions.append(Action(Verb.MARK, each.name, existing=each))
        elif confirmed and each.name in withheld:
            actions.append(Action(Verb.CONFIRM, each.name, existing=each))
        elif each.name not in withheld and _is_due(each, digest, world, reads):
            verb = Verb.DELETE if spec.when_gone is WhenGone.DELETE else Verb.SUSPEND
            actions.append(Action(verb, each.name, existing=each))
    removal = Removal(tuple(sorted(each.name for each in suspicious)), token) if held else None
    return actions, removal


def _is_due(each: Existing, digest: str, world: World, reads: Reads) -> bool:
    since = each.gone_since(digest)
    if since is None:
        return False
    grace = world.now - since >= timedelta(seconds=seconds(world.spec.after))
    return grace and reads.for_seconds(each, world.clock) >= seconds(world.spec.poll_interval)


def _is_confirmed(each: Existing, world: World) -> bool:
    return bool(world.confirm) and each.confirmed == world.confirm


def _removed(world: World, reads: Reads) -> int:
    """How many objects were removed recently, by this process, or by an earlier one if they are going
    still."""
    going = sum(1 for each in world.mine.values() if each.managed.deleted and each.marked_gone)
    return max(going, reads.recently_removed(world.clock))


def _suspicious(ask: list[Existing], gone: list[Existing], world: World, removed: int) -> list[Existing]:
    """The objects that went with all others, or with too many; `removed`: how many were removed recently."""
    if len(gone) == sum(not each.managed.deleted for each in world.mine.values()):
        return ask
    digest = table_digest(world.spec)
    moments = {each.name: each.gone_since(digest) or world.now for each in ask}
    ordered = sorted(moments.values())
    most = limit(world.spec.max_gone, len(world.mine))

    def beside(moment: datetime) -> int:
        return removed + bisect_right(ordered, moment + _BURST) - bisect_left(ordered, moment - _BURST)

    return [each for each in ask if beside(moments[each.name]) > most]


def limit(most: MaxGone, objects: int) -> int:
    """How many rows may go within one hour."""
    return max(most.rows, most.percent * objects // 100)

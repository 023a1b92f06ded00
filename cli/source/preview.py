"""What the next read of a TenantSource would do: a pure function over the plan of the process itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from apis.errors import step
from apis.tenantsource import WhenGone
from sources.going import Record, absences
from sources.objects import Existing
from sources.plan import Action, Plan, Verb, World, differences, planned
from sources.rows import Desired, Problem, Table, settled, shown
from sources.template import Compiled, path_of

__all__ = ["Change", "Fate", "Gone", "Preview", "previewed"]

_UNPACED: Final = {"max_new": 10**9, "max_not_live": None}


class Fate(StrEnum):
    """What becomes of an object whose row is gone."""

    STAYS = "stays"
    """It stays as it is."""
    LATER = "later"
    """It is removed when its row has been gone for long enough."""
    NOW = "now"
    """The next read removes it."""
    HELD = "held"
    """Its removal waits for a confirmation."""


@dataclass(frozen=True)
class Change:
    """An object that would be created or changed."""

    name: str
    key: str
    """The key of its row, as shown."""
    what: str = Verb.CREATE
    """create, update, adopt or restore."""
    fields: tuple[str, ...] = ()
    """The paths that differ, without values. Empty: only what the row no longer sets, or annotations."""


@dataclass(frozen=True)
class Gone:
    """An object whose row is gone."""

    name: str
    key: str
    fate: Fate
    counted: float = 0.0
    """Seconds of its absence that count, as stored."""


@dataclass(frozen=True)
class Preview:
    """What follows from a complete read."""

    rows: int
    creates: tuple[Change, ...]
    """In the order in which they are created."""
    at_once: int
    """How many of them the next read creates."""
    waits_for: str
    """What the others wait for."""
    changes: tuple[Change, ...]
    gone: tuple[Gone, ...]
    unchanged: int
    problems: tuple[Problem, ...]
    """All of them, by key."""
    keyless: int
    """Rows without a usable key."""
    nameless: tuple[Problem, ...] = ()
    """The first twenty of these, by their place."""
    token: str = ""
    """Confirms the removals that are held; "" if the process has not seen exactly this absence yet."""

    @property
    def invalid(self) -> int:
        """The rows that have a problem."""
        return len(self.problems) + self.keyless

    @property
    def held(self) -> int:
        """The removals that wait for a confirmation."""
        return sum(each.fate is Fate.HELD for each in self.gone)

    @property
    def writes(self) -> bool:
        """Whether anything would be created, changed or removed, at once or later."""
        return bool(self.creates or self.changes) or any(each.fate is not Fate.STAYS for each in self.gone)


def previewed(read: Table, world: World, template: Compiled, stored: Record | None) -> Preview:
    """The preview after a complete read.

    Args:
        read: its rows.
        world: as the process has it, with what is on record.
        template: the template of the TenantSource.
        stored: what is on record; None if nothing is.
    """
    table = settled(read, world.mine)
    plan = planned(table, world)
    all_new = planned(table, replace(world, spec=world.spec.model_copy(update=_UNPACED)))
    changes = tuple(_changed(action, template) for action in plan.actions if action.existing is not None)
    updated = {each.name for each in changes}
    known = [row for row in table.desired.values() if row.name in world.mine and row.name not in updated]
    return Preview(
        table.rows,
        tuple(Change(row.name, shown(row.key)) for row in _created(all_new)),
        sum(1 for _ in _created(plan)),
        plan.waits_for,
        changes,
        tuple(_gone(plan, world)),
        sum(not world.mine[row.name].managed.deleted for row in known),
        tuple(problem for _, problem in sorted(plan.problems.items())),
        table.keyless,
        table.nameless,
        _token(plan, stored),
    )


def _created(plan: Plan) -> Iterator[Desired]:
    return (each.row for each in plan.actions if each.verb == Verb.CREATE and each.row is not None)


def _changed(action: Action, template: Compiled) -> Change:
    existing, row = action.existing, action.row
    if existing is None or row is None:
        return Change(action.name, shown(existing.key if existing else ""), action.verb)
    # Names below a placeholder may be values of the row.
    spec = {template.shown(at) for at in differences(existing.managed.spec, row.spec)}
    labels = sorted(str(at[0]) for at in differences(existing.managed.labels, row.labels))
    fields = (*map(path_of, sorted(spec, key=str)), *(f"metadata.labels{step(each)}" for each in labels))
    return Change(row.name, shown(row.key), action.verb if existing.owner else "adopt", fields)


def _gone(plan: Plan, world: World) -> Iterator[Gone]:
    due = {each.name for each in plan.removals}
    held = set(plan.removal.names) if plan.removal else set()
    objects = [world.mine[name] for name in plan.gone]
    counted = absences(plan.record, objects)
    for each in objects:
        fate = Fate.NOW if each.name in due else Fate.HELD if each.name in held else _waits(each, world)
        yield Gone(each.name, shown(each.key), fate, counted.get(each.name, 0) / 1000)


def _waits(each: Existing, world: World) -> Fate:
    policy = world.spec.when_gone
    done = policy is WhenGone.ORPHAN or (policy is WhenGone.SUSPEND and each.suspended)
    return Fate.STAYS if done else Fate.LATER


def _token(plan: Plan, stored: Record | None) -> str:
    """A batch that is not stored yet may get another number, and so its token."""
    if plan.removal is None or stored is None:
        return ""
    same = stored.last == plan.record.last and stored.scope == plan.record.scope
    return plan.removal.token if same else ""

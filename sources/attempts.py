"""What came of the writes of objects: one that was refused is not tried with each read, and keeps no other
write waiting. All of it is in memory: another process tries once more."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from sources.objects import Existing
from sources.plan import Action, Verb
from sources.rows import Problem

__all__ = ["Attempt", "Attempts"]

_FIRST: Final = 600.0
"""Seconds until a write that was refused is tried again though nothing changed here: a quota may have room
since, or another field manager may have given a field up."""
_LONGEST: Final = 6 * 3600.0


@dataclass(frozen=True)
class Attempt:
    """A write, and what came of it."""

    of: tuple[object, ...]
    """What was tried. Another object, generation or row is another attempt."""
    problem: Problem | None
    """Why it was refused. None: it was accepted, and the object still differs from its row: someone else
    changed it back, or the API server writes the value in another way."""
    tries: int
    again: float
    """When it is tried again, in seconds of the clock."""


class Attempts:
    """Those for one TenantSource, by the name of the object."""

    def __init__(self) -> None:
        self._by_name: dict[str, Attempt] = {}

    @property
    def refused(self) -> frozenset[str]:
        """The objects whose last write was refused."""
        return frozenset(name for name, each in self._by_name.items() if each.problem is not None)

    def ordered(self, actions: Iterable[Action]) -> list[Action]:
        """The actions, those whose last try was refused after all others."""
        refused = self.refused
        return sorted(actions, key=lambda action: action.name in refused)

    def waiting(self, now: float) -> dict[str, tuple[str, Problem]]:
        """The objects whose creation was refused, and is not tried again yet: see `World.refused`."""
        return {
            name: (str(each.of[1]), each.problem)
            for name, each in self._by_name.items()
            if each.problem is not None and each.of[0] == Verb.CREATE and each.again > now
        }

    def same(self, action: Action, now: float) -> Attempt | None:
        """The attempt at this very action, if it is not to be tried now."""
        found = self._by_name.get(action.name)
        if found is None or found.again <= now or found.of != _of(action, None):
            return None
        return found

    def note(
        self,
        action: Action,
        problem: Problem | None,
        now: float,
        *,
        stored: Existing | None = None,
        soon: bool = False,
    ) -> None:
        """An action was tried. `stored`: the object since. `soon`: what refused it may be about all objects,
        such as an API server that is away, so the next read tries again."""
        before = self._by_name.pop(action.name, None)
        of = _of(action, stored if problem is None else None)
        if problem is None:
            if action.verb in (Verb.UPDATE, Verb.RESTORE):
                self._by_name[action.name] = Attempt(of, None, 1, math.inf)
            return
        tries = before.tries + 1 if before is not None and before.of == of else 1
        pause = min(_FIRST * 2.0 ** min(tries - 1, 10), _LONGEST)
        again = now if soon or not _is_remembered(action) else now + pause
        self._by_name[action.name] = Attempt(of, problem, tries, again)

    @property
    def next(self) -> float:
        """When the first of them is tried again, in seconds of the clock."""
        return min((each.again for each in self._by_name.values()), default=math.inf)

    def keep(self, names: Collection[str]) -> None:
        """Forget all other objects."""
        self._by_name = {name: each for name, each in self._by_name.items() if name in names}


def _is_remembered(action: Action) -> bool:
    """The mark of an absence must go at once when the row is back; and what concerns rows that are gone waits
    long enough without us."""
    existing = action.existing
    return action.verb in (Verb.CREATE, Verb.UPDATE) and not (existing is not None and existing.marked_gone)


def _of(action: Action, stored: Existing | None) -> tuple[object, ...]:
    """What is tried, on which object. Another client's mark stays when ours is taken back."""
    digest = action.row.digest if action.row is not None else ""
    if action.existing is None:
        return (action.verb, digest, "", 0, "")
    found = stored or action.existing
    return (action.verb, digest, action.existing.managed.uid, found.managed.generation, found.mark)

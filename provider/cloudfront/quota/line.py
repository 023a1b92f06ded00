"""The line of creations that wait for one quota of an account.

                  refused                        due: something was deleted, or a pause has passed
    creations go ─────────▶ the line is held ─────────▶ one tries ─── refused ─▶ one other tries
         ▲                                                  │                         │ refused:
         └── the line is empty ◀── the next ones try ◀──────┴─────── accepted ◀───────┘ a longer pause

Only AWS's refusal holds the line, never a number: AWS raises quotas. One refusal holds the namespace of the
refused resource, those of two namespaces hold all: a message may not tell that it is about one resource, such
as a tenant with too many domains, and that must not hold other namespaces. If another resource is accepted
after a refusal, and nothing was deleted meanwhile, the refusal was about the refused resource: it goes apart
for a while, and so does the next such resource.

A resource that does not come when it is called is passed over until it asks again. So the line needs no news
of what is paused, deleted, or stuck. Each waiting resource asks every ten minutes at the latest.

All times are seconds of the injected clock. Nothing here is needed for correctness: after a restart, AWS
refuses again. What the status says of a resource only lets it wait for some seconds after a restart, so that
those that waited before it begin in order.
"""

from __future__ import annotations

import heapq
import threading
from collections import Counter
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.cloudfront.quota.order import Waiting, in_order

__all__ = ["FIRST_PAUSE", "LONGEST", "Answer", "Line"]

FIRST_PAUSE: Final = 60.0
LONGEST: Final = 600.0
"""Seconds until the next try while AWS refuses: at first, and at most."""
_GRACE: Final = 5.0
"""Seconds within which a resource comes when it is called."""
_SETTLE: Final = 10.0
"""Seconds after a restart in which those that waited before it gather."""
_UNUSED: Final = 10.0
"""Seconds until the next try after one that AWS did not answer."""
_GONE: Final = 2 * LONGEST + 60.0
"""A resource that has not asked for this long waits no more."""
_HUNG: Final = 180.0
"""A try takes no longer; its reconcile hangs."""
_MOST_AT_ONCE: Final = 8
_MOST: Final = 5_000
"""Maximum number of resources in the line, as each question takes time that grows with it (2 ms), and of
namespaces that had a turn. Of the others, none is lost: each asks again."""


class _How(Enum):
    """Why a creation may try."""

    FREE = auto()
    """The line does not hold it."""
    PROBE = auto()
    """It finds out whether there is room."""
    SECOND = auto()
    """It finds out whether a refusal is about all."""


@dataclass(frozen=True)
class _Try:
    how: _How
    began: int
    at: float


@dataclass
class _Entry:
    who: Waiting
    asked: float
    due: float
    """When it asks next, or was called."""
    called: bool = False
    """It was called, and has not asked since."""
    refused: int = 0
    """The number of its last refusal; 0: none."""
    round: int = -1
    """Of its last refusal."""
    words: str = ""
    """AWS's message to it."""
    apart: float = float("-inf")
    """Until then, it is not in the order."""
    apart_for: float = 0.0


@dataclass(frozen=True)
class Answer:
    """What a creation does now."""

    seconds: float = 0.0
    """0: it may be made now. Otherwise it asks again after this time."""
    held: bool = False
    """AWS refuses creations, so it waits for room. Otherwise it waits for its turn only."""
    words: str = ""
    """AWS's message when it refused this resource or, unless that names another one, the first one."""


class Line:
    """The line for one quota. Thread-safe. Methods that change it return the resources to reconcile now."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._tries: dict[str, _Try] = {}
        self._refusing: set[str] = set()
        """Of the namespaces whose creations AWS refused since it last accepted one, two: that is all of
        them, as far as the line goes."""
        self._number = 0
        """Counts tries and their results."""
        self._refused = 0
        """The number of the last refusal."""
        self._round = 0
        """In one round, no more room is known to have come."""
        self._second = False
        """One other resource is to confirm the last refusal."""
        self._next = float("-inf")
        """When the next one tries while the line is held."""
        self._pause = FIRST_PAUSE
        self._window = 1
        """How many try at the same time while resources wait."""
        self._served: dict[str, int] = {}
        self._settled: float | None = None
        self._used: int | None = None
        self._valid = float("-inf")
        self._at_last: int | None = None
        """How many the last list showed since the refusal."""
        self._shown: int | None = None
        self._words = ""

    # For the creations.

    def ask(self, who: Waiting, *, waited: bool = False) -> tuple[Answer, list[Waiting]]:
        """Whether a creation may be made now. If so, `done` must follow. `waited`: it seems to have waited
        before a restart."""
        with self._lock:
            now = self._clock.now()
            self._expire(now)
            self._tries.pop(who.uid, None)
            if waited and self._settled is None and not self._refused:
                self._settled = now + _SETTLE
            if not self._is_in_use(now):
                self._begin(who.uid, _How.FREE, now)
                return Answer(), []
            entry = self._join(who, now)
            entry.asked = entry.due = now
            entry.called = False
            seconds = self._seconds(entry, now)
            entry.due = now + seconds
            words = entry.words or self._words
            return Answer(seconds, self._holds(who.namespace), words), self._call(now)

    def refused(self, who: Waiting, words: str, *, for_all: bool = True) -> tuple[float, list[Waiting]]:
        """AWS refused the creation, and its message does not say that this is about `who` alone. `for_all`:
        the message names nothing of it. Returns the seconds until it asks again."""
        with self._lock:
            now = self._clock.now()
            if not self._refusing:
                self._words = words if for_all else ""
            tried = self._tries.pop(who.uid, None)
            self._note_refusal(who, tried.how if tried else _How.FREE, now)
            entry = self._join(who, now)
            self._refused = entry.refused = self._count()
            entry.round, entry.words, entry.asked = self._round, words, now
            entry.due = now + LONGEST
            if self._order(now)[:1] == [who]:
                entry.due = max(now + 0.1, self._next)
            return entry.due - now, self._call(now)

    def made(self, who: Waiting) -> list[Waiting]:
        """AWS accepted the creation."""
        with self._lock:
            now = self._clock.now()
            tried, entry = self._tries.pop(who.uid, None), self._entries.pop(who.uid, None)
            began = max(tried.began if tried else 0, entry.refused if entry else 0)
            if self._entries:
                self._had_turn(who.namespace)
            else:
                self._served.clear()
            self._used = None if self._used is None else self._used + 1
            if began >= self._refused:
                # Otherwise it may have had the last place.
                self._accepted(now)
            return self._call(now)

    def done(self, uid: str, *, at_once: bool) -> list[Waiting]:
        """The turn of a creation ends. If AWS neither accepted nor refused it, the next one has the turn: now
        or, after a failure that may concern all, in a moment."""
        with self._lock:
            tried = self._tries.pop(uid, None)
            if tried is None:
                return []
            now, entry = self._clock.now(), self._entries.pop(uid, None)
            if entry is not None:
                # Otherwise a namespace whose resources fail for other reasons has all turns.
                self._had_turn(entry.who.namespace)
            if tried.how is _How.PROBE:
                self._next = now if at_once else now + _UNUSED
            return self._call(now) if at_once or tried.how is _How.FREE else []

    def left(self, uid: str) -> list[Waiting]:
        """The resource is being deleted, or needs no creation."""
        with self._lock:
            if self._entries.pop(uid, None) is None:
                return []
            return self._call(self._clock.now())

    # What may make room.

    def released(self) -> list[Waiting]:
        """This provider deleted one."""
        with self._lock:
            self._used = None if self._used is None else max(0, self._used - 1)
            return self._room(self._clock.now())

    def raised(self) -> list[Waiting]:
        """An administrator says that AWS allows another number."""
        with self._lock:
            return self._room(self._clock.now())

    def counted(self, number: int | None, valid: float) -> list[Waiting]:
        """A complete list of the account shows this number, which counts for `valid` seconds; None: it may
        not be listed."""
        with self._lock:
            now = self._clock.now()
            self._expire(now)
            if number is None:
                return self._call(now)
            last, self._at_last = self._at_last, number
            self._used, self._valid = number, now + valid
            fewer = last is not None and number < last
            return self._room(now) if fewer else self._call(now)

    # Numbers.

    @property
    def used(self) -> int | None:
        """How many the account has; None if unknown."""
        with self._lock:
            return self._known_use(self._clock.now())

    @property
    def used_when_refused(self) -> int | None:
        """How many it had when AWS began to refuse; None if that was unknown."""
        with self._lock:
            return self._shown

    @property
    def waiting(self) -> int:
        """How many creations wait."""
        with self._lock:
            self._expire(self._clock.now())
            return len(self._entries)

    # Under the lock.

    def _holds(self, namespace: str) -> bool:
        return namespace in self._refusing or len(self._refusing) > 1

    def _is_in_use(self, now: float) -> bool:
        if self._refusing or (self._settled is not None and now < self._settled):
            return True
        return any(self._is_present(each, now) for each in self._entries.values())

    def _is_present(self, entry: _Entry, now: float) -> bool:
        """Whether it has a place in the order: it comes when it is called."""
        return now >= entry.apart and now <= entry.due + _GRACE and entry.who.uid not in self._tries

    def _order(self, now: float) -> list[Waiting]:
        """Those that have a place; the first ones only."""
        present = (each.who for each in self._entries.values() if self._is_present(each, now))
        return in_order(present, self._served, _MOST_AT_ONCE + 1)

    def _places(self, now: float) -> tuple[int, list[Waiting], _How]:
        """How many of those that wait may try now, and who they are, in order."""
        if self._settled is not None and now < self._settled:
            return 0, [], _How.FREE
        order = self._order(now)
        free = [each for each in order if not self._holds(each.namespace)]
        if free:
            return max(0, self._window - len(self._tries)), free, _How.FREE
        if self._tries:
            return 0, order, _How.PROBE
        others = self._longest_untried(now) if self._second else []
        if others:
            return 1, others, _How.SECOND
        return int(now >= self._next), order, _How.PROBE

    def _longest_untried(self, now: float) -> list[Waiting]:
        """One that was not refused in this round, and one in reserve."""
        present = (each for each in self._entries.values() if self._is_present(each, now))
        others = (each for each in present if each.round != self._round)
        first = heapq.nsmallest(2, others, key=lambda each: (each.refused, each.who.created, each.who.uid))
        return [each.who for each in first]

    def _seconds(self, entry: _Entry, now: float) -> float:
        """0 if it may try now, otherwise the seconds until it asks again."""
        if self._settled is not None and now < self._settled:
            return self._settled - now
        if now < entry.apart:
            return entry.apart - now
        number, order, how = self._places(now)
        if entry.who not in order[: number + 1]:
            return LONGEST
        if entry.who in order[:number]:
            self._begin(entry.who.uid, how, now)
            return 0.0
        waits_for_time = how is _How.PROBE and not self._tries and now < self._next
        # The one in reserve comes soon: if the one before it does not, it has the turn.
        return min(LONGEST, max(0.1, self._next - now)) if waits_for_time else _GRACE

    def _begin(self, uid: str, how: _How, now: float) -> None:
        if how is _How.PROBE:
            self._round += 1
            self._next = now + self._pause
        if how is _How.SECOND:
            self._second = False
        self._tries[uid] = _Try(how, self._count(), now)

    def _note_refusal(self, who: Waiting, how: _How, now: float) -> None:
        first, was_held = not self._refusing, self._holds(who.namespace)
        if len(self._refusing) < 2:
            self._refusing.add(who.namespace)
        if not any(not self._holds(each.namespace) for each in self._order(now)):
            # Otherwise, a namespace with refusals of its own slows down those that go on.
            self._window = 1
        if first:
            self._shown = self._at_last = self._known_use(now)
        if how is _How.PROBE:
            self._pause = min(LONGEST, 2 * self._pause)
        elif not was_held:
            self._pause = FIRST_PAUSE
        if how is _How.PROBE or not was_held:
            self._next = now + self._pause
        self._second = first or how is _How.PROBE

    def _accepted(self, now: float) -> None:
        for each in self._entries.values():
            if each.refused and each.round == self._round:
                each.apart_for = min(LONGEST, max(FIRST_PAUSE, 2 * each.apart_for))
                each.apart = now + each.apart_for
        self._refusing.clear()
        self._second = False
        self._pause = FIRST_PAUSE
        self._window = min(_MOST_AT_ONCE, self._window + 1)

    def _room(self, now: float) -> list[Waiting]:
        """There may be room: the next one tries now."""
        self._round += 1
        self._second = False
        self._next, self._pause = now, FIRST_PAUSE / 2
        return self._call(now)

    def _call(self, now: float) -> list[Waiting]:
        """Return those whose turn it is and who do not know it yet, and the one in reserve."""
        number, order, _ = self._places(now)
        called = []
        for place, who in enumerate(order[: number + 1] if number else ()):
            entry = self._entries[who.uid]
            if entry.due > now + (_GRACE if place == number else 0.0):
                entry.due, entry.called = now, True
                called.append(who)
        return called

    def _join(self, who: Waiting, now: float) -> _Entry:
        entry = self._entries.get(who.uid)
        if entry is None:
            entry = self._entries[who.uid] = _Entry(who, now, now)
            if len(self._entries) > _MOST:
                self._drop_one()
        entry.who = who
        return entry

    def _drop_one(self) -> None:
        """Drop the youngest of the namespace that has most."""
        homes = Counter(each.who.namespace for each in self._entries.values())
        largest, _ = homes.most_common(1)[0]
        those = [each.who for each in self._entries.values() if each.who.namespace == largest]
        del self._entries[max(those, key=lambda each: (each.created, each.uid)).uid]

    def _expire(self, now: float) -> None:
        for uid in [uid for uid, each in self._entries.items() if now > each.asked + _GONE]:
            del self._entries[uid]
        for each in self._entries.values():
            if each.called and now > each.due + _GRACE:
                # Otherwise a namespace with many that do not come has all turns.
                each.called = False
                self._had_turn(each.who.namespace)
        for uid in [uid for uid, each in self._tries.items() if now > each.at + _HUNG]:
            del self._tries[uid]

    def _had_turn(self, namespace: str) -> None:
        self._served.pop(namespace, None)
        self._served[namespace] = self._count()
        while len(self._served) > _MOST:
            del self._served[next(iter(self._served))]

    def _known_use(self, now: float) -> int | None:
        return self._used if now <= self._valid else None

    def _count(self) -> int:
        self._number += 1
        return self._number

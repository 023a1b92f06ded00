"""The line of creations that wait for one quota of an account.

    refused ──▶ one of another namespace tries ── refused ──▶ a pause of 60 to 600 s ──▶ the first one tries
       ▲                    │                                                                  │
       └──── the next ──────┴── accepted: the next ones try, at first one at a time ◀── accepted ──┘

Only AWS's refusal makes creations wait, never a number: AWS raises quotas. Its message may not tell that it
is about one resource, such as a tenant with too many domains. So it takes the refusals of two namespaces to
end a round. If AWS accepts the second creation, the first refusal was about the refused resource.

A turn counts for the namespace when the line calls a resource, whatever comes of it: AWS or a check may
refuse it, or it does not come, because it is paused or gone. So no namespace has more than its share of the
turns, and nothing has to tell the line what becomes of resources.

All times are seconds of the injected clock. Nothing here is needed for correctness: after a restart, AWS
refuses again. What the status says of a resource only makes it wait for its turn among others.
"""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.cloudfront.quota.order import Entry, Home, Waiting, first, second
from provider.cloudfront.quota.use import Use

__all__ = ["FIRST_PAUSE", "LONGEST", "Answer", "Line"]

FIRST_PAUSE: Final = 60.0
LONGEST: Final = 600.0
"""Seconds until the next round while AWS refuses: at first, and at most. Each waiting resource asks again
after `LONGEST`, whatever happens."""
_GRACE: Final = 5.0
"""Seconds within which a resource comes when it is called."""
_SLOW: Final = 30.0
"""Others wait no longer for the answer to one creation, with its checks."""
_REST: Final = 10.0
"""Seconds without tries after a failure that may concern all."""
_LOST: Final = 15.0
"""Seconds after a list that shows fewer, in which those whose tenants are gone notice it."""
_EXPECTED: Final = 180.0
"""Seconds in which those come: the provider first looks at the others for a poll interval."""
_EXPECTED_AGAIN: Final = 3600.0
_SECOND_RATE: Final = 60.0
_GONE: Final = 2 * LONGEST + 60.0
"""A resource that has not asked for this long waits no more."""
_MOST_AT_ONCE: Final = 8
_MOST: Final = 5_000
"""Maximum number of resources in the line, as choosing one takes time that grows with it (5 ms), and of
namespaces. Of the others, none is lost: each asks again."""
_ALARMS: Final = 3


@dataclass
class _Call:
    """A resource that has the turn."""

    until: float
    """Others wait for it until then."""
    turn_before: int
    """Of its namespace."""
    after: int = -1
    """How many refusals there were when its try began; -1: it has not come yet."""


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
        self._clock, self._lock, self._use = clock, threading.Lock(), Use(clock)
        self._entries: dict[str, Entry] = {}
        self._homes: dict[str, Home] = {}
        """By namespace."""
        self._calls: dict[str, _Call] = {}
        self._alarms: dict[str, tuple[str, float]] = {}
        """Who asks when the line may go on, and when, for a few namespaces."""
        self._turns = self._refusals = 0
        self._rest_until = self._tidied_at = float("-inf")
        self._gathered = False
        """Those that waited before a restart had the time to come."""
        self._words = ""
        self._when_refused: int | None = None
        self._round: dict[str, set[str]] = {}
        """The uids that AWS refused in this round, by namespace."""
        self._first_refusal = 0
        """Its number."""
        self._is_confirmed = False
        """AWS refused one that tried because of another refusal of this round."""
        self._refusing: set[str] = set()
        """The namespaces that AWS refused since it last accepted one."""
        self._pause, self._next = FIRST_PAUSE, float("-inf")
        """Of the next round."""
        self._window = 1
        """How many try at the same time."""
        self._is_finding_out = False
        """There is probably no room."""

    # For the creations.

    def ask(
        self, who: Waiting, *, holder: bool = False, waited: bool = False
    ) -> tuple[Answer, list[Waiting]]:
        """Whether a creation may be made now. If so, `done` must follow. `holder`: its namespace is recorded
        for its domains or its name. `waited`: it seems to have waited before a restart."""
        with self._lock:
            now = self._tidied()
            if not self._entries and not waited:
                return Answer(), []
            if waited and not self._gathered:
                self._gathered, self._rest_until = True, now + _REST
            entry = self._join(who, now)
            entry.holder = holder
            called = self._go_on(now, entry)
            if (call := self._calls.get(who.uid)) is not None:
                call.until, call.after = now + _SLOW, self._refusals
                return Answer(), called
            held = who.namespace in self._refusing or len(self._refusing) > 1
            return Answer(self._seconds(entry, now), held, entry.words or self._words), called

    def refused(
        self, who: Waiting, words: str, *, for_all: bool = True, holder: bool = False
    ) -> tuple[float, list[Waiting]]:
        """AWS refused the creation, and its message does not say that this is about `who` alone. `for_all`:
        the message names nothing of it. Returns the seconds until it asks again."""
        with self._lock:
            now = self._tidied()
            if not self._refusing:
                self._words, self._when_refused = words if for_all else "", self._use.number
            call, entry = self._calls.pop(who.uid, None), self._join(who, now)
            if call is not None:
                entry.home.turn = call.turn_before
            entry.home.tried, entry.home.accepted = self._turn(), False
            self._gathered = True
            self._refusals += 1
            if not self._round:
                self._first_refusal = self._refusals
            elif call is not None and call.after >= self._first_refusal:
                # The answers to calls that were under way before confirm nothing.
                self._is_confirmed = True
            entry.refused, entry.words, entry.holder = self._refusals, words, holder
            self._round.setdefault(who.namespace, set()).add(who.uid)
            if len(self._refusing) < _MOST:
                self._refusing.add(who.namespace)
            if now >= self._next:
                self._next, self._pause = now + self._pause, min(LONGEST, 2 * self._pause)
            calls = self._go_on(now, entry)
            return self._seconds(entry, now), calls

    def made(self, who: Waiting) -> list[Waiting]:
        """AWS accepted the creation."""
        with self._lock:
            now, call = self._tidied(), self._calls.pop(who.uid, None)
            self._entries.pop(who.uid, None)
            self._use.add(1)
            if self._entries or call is not None:
                home = self._home(who.namespace)
                home.accepted = True
            if call is not None and call.after == self._refusals:
                # Otherwise it may have had the last place.
                self._note_own_refusals()
                self._accept(self._window + 1)
                home.suspect = False
            return self._go_on(now)

    def done(self, uid: str, *, at_once: bool) -> list[Waiting]:
        """The turn of a creation ends. If AWS neither accepted nor refused it, the next one has the turn: now
        or, after a failure that may concern all, in a moment."""
        with self._lock:
            if self._calls.pop(uid, None) is None:
                return []
            now, entry = self._tidied(), self._entries.pop(uid, None)
            if entry is not None:
                self._come_to_nothing(entry.home, now)
            if not at_once and self._window == 1:
                self._rest_until = now + _REST
            return self._go_on(now)

    def left(self, uid: str) -> list[Waiting]:
        """The resource is being deleted, or needs no creation."""
        with self._lock:
            if self._entries.pop(uid, None) is None:
                return []
            self._calls.pop(uid, None)
            return self._go_on(self._tidied())

    def expect(self, namespace: str) -> None:
        """A tenant that a record vouches for is gone in AWS, and its resource will create it again. While
        AWS refuses, others wait for that, for a few minutes an hour and namespace."""
        with self._lock:
            home, now = self._home(namespace), self._clock.now()
            if now >= home.expected_again:
                home.expected_until, home.expected_again = now + _EXPECTED, now + _EXPECTED_AGAIN

    # What may make room.

    def released(self) -> list[Waiting]:
        """This provider deleted one."""
        with self._lock:
            self._use.add(-1)
            return self._try_again(self._tidied())

    def raised(self) -> list[Waiting]:
        """An administrator says that AWS allows another number."""
        with self._lock:
            return self._try_again(self._tidied())

    def counted(self, number: int | None, valid: float) -> list[Waiting]:
        """A complete list of the account shows this number, which counts for `valid` seconds; None: it may
        not be listed."""
        with self._lock:
            now = self._tidied()
            if not self._use.note(number, valid):
                return self._go_on(now)
            self._rest_until = now + _LOST
            return self._try_again(now)

    # Numbers.

    @property
    def used(self) -> int | None:
        """How many the account has; None if unknown."""
        with self._lock:
            return self._use.number

    @property
    def used_when_refused(self) -> int | None:
        """How many it had when AWS began to refuse; None if that was unknown."""
        with self._lock:
            return self._when_refused

    @property
    def waiting(self) -> int:
        """How many creations wait."""
        with self._lock:
            self._tidied()
            return len(self._entries)

    # Under the lock: who has the turn.

    def _go_on(self, now: float, asks: Entry | None = None) -> list[Waiting]:
        """Return those who have the turn now, but the one that asks, and one that asks when it goes on."""
        if not self._entries:
            self._accept()
            return []
        called = []
        while (entry := self._next_one(now)) is not None:
            if entry is not asks:
                called.append(entry.who)
        if asks is None and not self._alarmed(now):
            spare = first(self._ready(now), now)
            called += [] if spare is None else [spare.who]
        return called

    def _next_one(self, now: float) -> Entry | None:
        if self._round and now >= self._next:
            self._begin_round(is_finding_out=True)
        if len(self._calls) >= self._window or now < self._rest_until:
            return None
        if not self._round:
            entry = first(self._ready(now), now, finding_out=self._is_finding_out)
            return None if entry is None else self._call(entry, now)
        entry = self._second_one(now)
        if entry is None:
            return None
        entry.home.second = self._turn()
        return self._call(entry, now)

    def _second_one(self, now: float) -> Entry | None:
        """After a refusal, one of another namespace; if there is none, one more of the same namespace."""
        is_doubtful = all(self._home(each).suspect for each in self._round)
        may_confirm = not self._calls and (not self._is_confirmed or len(self._round) == 1)
        if not (is_doubtful or may_confirm):
            return None
        ready = self._ready(now)
        others = [each for each in ready if each.who.namespace not in self._round]
        if is_doubtful and not may_confirm:
            # Refusals of namespaces that were refused for their own sake hold no others than such ones.
            return second((each for each in others if not each.home.suspect), self._refusing)
        if others or self._is_confirmed:
            return second(others, self._refusing)
        refused = set[str]().union(*self._round.values())
        return second((each for each in ready if each.who.uid not in refused), self._refusing)

    def _call(self, entry: Entry, now: float) -> Entry:
        self._calls[entry.who.uid] = _Call(now + _GRACE, entry.home.turn)
        entry.home.turn = self._turn()
        return entry

    def _ready(self, now: float) -> list[Entry]:
        """Those that may try, as far as they are concerned."""
        ready = [each for uid, each in self._entries.items() if each.is_present and uid not in self._calls]
        if now >= self._expected_until(now):
            return ready
        return [each for each in ready if each.comes_first(now)]

    def _expected_until(self, now: float) -> float:
        """Until when others wait for holders whose tenants are gone; only in an account that is full."""
        if len(self._refusing) < 2:
            return now
        return max((each.expected_until for each in self._homes.values()), default=now)

    def _goes_on_at(self, now: float) -> float:
        """When somewhat else may have the turn, if nothing happens until then."""
        if self._calls:
            return min(each.until for each in self._calls.values())
        return max(now, self._rest_until, self._next if self._round else now, self._expected_until(now))

    def _alarmed(self, now: float) -> int:
        """How many ask when it goes on."""
        at = self._goes_on_at(now)
        self._alarms = {
            home: (uid, due)
            for home, (uid, due) in self._alarms.items()
            if uid in self._entries and uid not in self._calls and now < due <= at + _GRACE
        }
        return len(self._alarms)

    def _seconds(self, entry: Entry, now: float) -> float:
        """Until it asks again. A few ask as soon as it may go on, and call the one whose turn it is."""
        home, alarmed = entry.who.namespace, self._alarmed(now)
        if home in self._alarms or alarmed >= _ALARMS:
            return LONGEST
        seconds = min(LONGEST, max(0.1, self._goes_on_at(now) - now))
        self._alarms[home] = (entry.who.uid, now + seconds)
        return seconds

    # Under the lock: what happened.

    def _accept(self, window: int = 1) -> None:
        """AWS accepts creations."""
        self._begin_round(min(window, _MOST_AT_ONCE))
        self._refusing = set()
        self._pause, self._next = FIRST_PAUSE, float("-inf")

    def _begin_round(self, window: int = 1, *, is_finding_out: bool = False) -> None:
        self._round, self._is_confirmed = {}, False
        self._window, self._is_finding_out = window, is_finding_out

    def _note_own_refusals(self) -> None:
        """AWS accepted one after the refusals of this round: they were about the refused resources."""
        for namespace, uids in self._round.items():
            home = self._home(namespace)
            home.suspect, home.turn = True, self._turn()
            for uid in uids & self._entries.keys():
                self._entries[uid].own += 1

    def _try_again(self, now: float) -> list[Waiting]:
        """There may be room."""
        self._begin_round()
        self._pause, self._next = FIRST_PAUSE / 2, now
        return self._go_on(now)

    def _turn(self) -> int:
        self._turns += 1
        return self._turns

    def _come_to_nothing(self, home: Home, now: float) -> None:
        """One of that namespace did not come when it was called, or could not be created."""
        home.turn, home.second_rate_until = self._turn(), now + _SECOND_RATE

    def _home(self, namespace: str) -> Home:
        if len(self._homes) > _MOST:
            # Those that wait keep theirs.
            waiting = {each.who.namespace for each in self._entries.values()}
            self._homes = {each: home for each, home in self._homes.items() if each in waiting}
        return self._homes.setdefault(namespace, Home(self._turns, self._turns, self._turns))

    def _join(self, who: Waiting, now: float) -> Entry:
        entry = self._entries.get(who.uid)
        if entry is None:
            entry = self._entries[who.uid] = Entry(who, self._home(who.namespace), now)
            if len(self._entries) > _MOST:
                self._drop_one()
        entry.who, entry.asked, entry.is_present = who, now, True
        return entry

    def _drop_one(self) -> None:
        """Drop the youngest of the namespace that has most."""
        largest, _ = Counter(each.who.namespace for each in self._entries.values()).most_common(1)[0]
        those = [each for each in self._entries.values() if each.who.namespace == largest]
        youngest = max(those, key=lambda each: (not each.holder, each.who.created, each.who.uid)).who.uid
        del self._entries[youngest]
        self._calls.pop(youngest, None)

    def _tidied(self) -> float:
        """Pass over those that do not come or take too long, and forget those that are gone. Returns now."""
        now = self._clock.now()
        for uid in [uid for uid, each in self._calls.items() if now > each.until]:
            entry, call = self._entries[uid], self._calls.pop(uid)
            entry.is_present = call.after >= 0
            self._come_to_nothing(entry.home, now)
        if now >= self._tidied_at + FIRST_PAUSE:
            self._tidied_at = now
            for uid in [uid for uid, each in self._entries.items() if now > each.asked + _GONE]:
                del self._entries[uid]
                self._calls.pop(uid, None)
        return now

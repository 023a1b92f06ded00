"""The order in which creations try again that AWS refused because a quota of the account is used up.

    there may be room ──▶ the first one tries ── accepted ──▶ the next one tries, and so on
                                │
                             refused ──▶ one of another namespace tries ── refused ──▶ a sign of room, or 60 s

Each waiting resource also tries by its own back-off, at least every `LONGEST` seconds, whatever happens to
others. So nothing here is needed for correctness, and a restart loses nothing but whose turn it is.

A new resource tries at once, unless the numbers say that those in the line need all room that there is.
Resources that AWS refuses for reasons of their own, such as too many domains, do not count for that: AWS
refused them although the numbers show room, or between two others that it accepted.

A refusal proves nothing about what happened after the call was sent. An answer that was lost, or that AWS was
throttling, decides nothing: the resource keeps its place.

All times are seconds of the injected clock.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.cloudfront.quota.allowances import Allowed
from provider.cloudfront.quota.use import Use
from provider.cloudfront.quota.waiting import (
    FIRST,
    GRACE,
    LONG_AGO,
    LONGEST,
    NOT_YET,
    Answer,
    Entry,
    Try,
    Waiting,
    back_off,
    spread,
)

__all__ = ["Line"]

_SLOW: Final = 30.0
"""Others wait no longer for one that has the turn to come, nor for the answer to its creation, with its
checks. Where the account's rate is used up, a reconcile begins late."""
_PROMPT: Final = 5.0
"""A call that is sent so soon after it was let try needs not ask again."""
_CLOSE: Final = 6.0
"""So soon after the first one others may be sent."""
_PAUSE: Final = 5.0
_OVERTAKEN: Final = 2
"""How often others must be accepted right after one until AWS is taken to refuse it for its own sake."""
_TRIES, _PASSES = 2, 10
"""How many woken resources may be refused, and how many may try in vain or not at all, until the next sign of
room."""
_MOST: Final = 5_000
"""Maximum number of resources, and of namespaces: choosing one takes time that grows with it (5 ms). The
others have their own back-off."""


class Line:
    """The line for one quota. Thread-safe. Methods that change it return the resources to reconcile now."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._lock, self._use = clock, threading.Lock(), Use(clock)
        self._entries: dict[str, Entry] = {}
        self._served: dict[str, int] = {}
        """By namespace, the number of its last creation, in this order."""
        self._creations = self._lately = 0
        """How many there were, and how many about a minute ago."""
        self._woken, self._woken_until, self._turn_ends = "", LONG_AGO, LONG_AGO
        """The uid of the one that has the turn; until when it has to come, and may come back."""
        self._has_come = False
        """It has asked since."""
        self._round: dict[str, str] = {}
        """The namespaces of those that were woken in vain since the last sign of room, by uid."""
        self._refusals, self._by_timer = 0, False
        self._trying: dict[str, Try] = {}
        """By uid, those that may be made now."""
        self._signs = 0
        self._sign_at = self._accepted_at = self._tidied_at = LONG_AGO

    def ask(self, who: Waiting, allowed: Allowed) -> tuple[Answer, list[Waiting]]:
        """Whether a creation may be made now. If so, `done` must follow."""
        with self._lock:
            now, taken = self._tidied(), self._is_taken(who.uid, allowed)
            entry = self._entries.get(who.uid) or (self._joined(who, now) if taken else None)
            if entry is None:
                self._trying[who.uid] = Try(now, self._signs)
                return Answer(), self._go_on(now)
            entry.asked = now
            if entry.passed_until == NOT_YET:
                entry.passed_until = LONG_AGO
                self._take_over(entry, now)
            if self._woken == who.uid and not self._has_come:
                # It comes late, and no one noticed that before.
                self._woken_until = max(self._woken_until, now)
            woken = [each for each in self._go_on(now) if each.uid != who.uid]
            seconds = self._wait(entry, taken, now)
            if not seconds:
                self._trying[who.uid] = Try(now, self._signs)
            return Answer(seconds, entry.words, entry.used), woken

    def still(self, who: Waiting, allowed: Allowed) -> Answer:
        """Whether the creation may still be made, right before its call is sent. It may have waited for its
        config's rate, while others had the turn: one that is sent at any moment finds a free place more
        often than the first one, which tries once a minute. Otherwise `ask` must follow."""
        with self._lock:
            now, began = self._clock.now(), self._trying.get(who.uid)
            if began is None or now <= began.at + _PROMPT or self._woken == who.uid:
                return Answer()
            taken, entry = self._is_taken(who.uid, allowed), self._entries.get(who.uid)
            if entry is None:
                entry = self._joined(who, now) if taken else None
                wait = 0.0 if entry is None else entry.due - now
            else:
                wait = 0.0 if taken is False else self._until_close(entry, now)
            if entry is None or wait <= 0:
                return Answer()
            del self._trying[who.uid]
            return Answer(wait, entry.words, entry.used)

    def refused(self, who: Waiting, words: str, allowed: Allowed) -> tuple[Answer, list[Waiting]]:
        """AWS refused the creation. The answer says when it asks again."""
        with self._lock:
            now, room = self._tidied(), self._room(allowed)
            began = self._trying.pop(who.uid, Try(now, self._signs))
            entry, had_turn = self._join(who, now), self._end_turn(who.uid)
            if entry is None:
                return Answer(back_off(who.uid), words), self._wake(now) if had_turn else []
            entry.words, entry.tried, entry.asked, entry.latest = words, now, now, NOT_YET
            woken: list[Waiting] = []
            entry.sent = LONG_AGO
            if began.signs == self._signs:
                entry.sent = began.at
                # One that AWS has accepted, and whose answer is not here yet, may have the room.
                shown = None if room and room <= len(self._trying) else room
                self._judge(entry, shown, allowed, now)
                if had_turn:
                    self._round[who.uid] = who.namespace
                    self._refusals += 1
                    woken = self._wake(now) if room != 0 and self._refusals < _TRIES else []
            elif had_turn:
                woken = self._wake(now)
            is_first = self._first(now) is entry and now >= entry.own_until
            entry.due = now + (FIRST if is_first else back_off(who.uid))
            return Answer(entry.due - now, words, entry.used), woken

    def undecided(self, who: Waiting, *, maybe_made: bool, after: float = 0.0) -> list[Waiting]:
        """AWS neither accepted nor refused the creation. `maybe_made`: the answer was lost, so this counts as
        its namespace's turn. Otherwise, if it has the turn, it keeps it until it comes again, `after` these
        seconds, but for a minute at most."""
        with self._lock:
            now = self._clock.now()
            self._trying.pop(who.uid, None)
            if maybe_made:
                # The next list shows whether it was.
                self._use.add(1)
                self._serve(who.namespace)
                return self._pass(now, now + GRACE) if self._woken == who.uid else []
            if self._woken == who.uid:
                self._woken_until = min(now + after + GRACE, self._turn_ends)
            return []

    def made(self, who: Waiting, allowed: Allowed) -> list[Waiting]:
        """AWS accepted the creation. The next one tries, unless the numbers say that there is no room."""
        with self._lock:
            now, entry = self._tidied(), self._entries.pop(who.uid, None)
            began = self._trying.pop(who.uid, Try(now, self._signs))
            self._use.add(1)
            self._serve(who.namespace)
            before = self._round.keys() if self._end_turn(who.uid) else ()
            shown_at, self._accepted_at = max(self._sign_at, self._accepted_at), now
            self._judge_overtaken(before, shown_at, began.at, now)
            if self._room(allowed) == 0:
                return []
            self._begin()
            first = self._first(now)
            # Any creation in an account with room would wake those that AWS never accepts.
            return self._wake(now) if first and (entry or now >= first.own_until) else []

    def done(self, uid: str, allowed: Allowed) -> list[Waiting]:
        """The try ends. If it came to no creating call, another one has the turn, and this one waits for
        something else. It stays in the line only if the numbers say that the account is full."""
        with self._lock:
            now = self._clock.now()
            if self._trying.pop(uid, None) is None:
                return []
            woken = self._pass(now, now + FIRST) if self._woken == uid else []
            if self._room(allowed) != 0:
                self._entries.pop(uid, None)
            return woken

    def left(self, uid: str) -> list[Waiting]:
        """The resource is being deleted, needs no creation, or does not wait for this quota."""
        with self._lock:
            entry = self._entries.pop(uid, None)
            if not self._end_turn(uid):
                return []
            if entry and uid in self._trying:
                # AWS refuses it for another reason, and perhaps all others, too.
                self._round[uid] = entry.who.namespace
            return self._wake(self._clock.now())

    def may_have_room(self, *, deleted: int = 0) -> list[Waiting]:
        """This provider deleted one, or an administrator says that AWS allows another number."""
        with self._lock:
            self._use.add(-deleted)
            return self._note_sign()

    def counted(self, number: int | None, valid: float, began: float | None = None) -> list[Waiting]:
        """A complete list of the account shows this number, which counts for `valid` seconds; None: it may
        not be listed. `began`: when the list began; None: now."""
        with self._lock:
            now, since = self._tidied(), self._use.certain_at
            change = self._use.note(number, valid, began)
            if change > 0:
                # Others took the room that the numbers showed when AWS refused these.
                for each in self._entries.values():
                    each.own_until = LONG_AGO if each.tried >= since else each.own_until
            return self._note_sign() if change < 0 else self._go_on(now)

    @property
    def used(self) -> int | None:
        """How many the account has; None if unknown."""
        with self._lock:
            return self._use.number

    @property
    def waiting(self) -> int:
        """How many creations wait."""
        with self._lock:
            self._tidied()
            return len(self._entries)

    # Under the lock.

    def _wait(self, entry: Entry, taken: bool | None, now: float) -> float:
        if self._woken == entry.who.uid:
            self._woken_until, self._has_come = now + _SLOW, True
            return 0.0
        if taken is False:
            return 0.0
        if now < entry.due:
            return entry.due - now if taken else _PAUSE * bool(self._woken)
        longest = FIRST + GRACE if entry.words else GRACE
        entry.latest = min(entry.latest, max(entry.due + longest, now + _PAUSE))
        wait = max(_PAUSE, self._woken_until - now) if self._woken else self._until_first(entry, now)
        return max(0.0, min(wait, entry.latest - now))

    def _until_close(self, entry: Entry, now: float) -> float:
        """The seconds until it may be sent soon after the first one; 0: now. One of a namespace may be sent
        at any moment, in the time within which each tries."""
        first = self._first(now)
        if first is None or first is entry or not first.tried + _CLOSE < now < first.tried + 2 * FIRST:
            return 0.0
        namespace = entry.who.namespace
        others = (each.loose_at for each in self._entries.values() if each.who.namespace == namespace)
        if now >= max(others) + LONGEST:
            entry.loose_at = now
            return 0.0
        return max(1.0, self._until_first(entry, now))

    def _judge(self, entry: Entry, room: int | None, allowed: Allowed, now: float) -> None:
        """Whether AWS refuses it for its own sake, as far as the numbers say."""
        if room == 0:
            entry.own_until = LONG_AGO
        elif room is not None and not allowed.is_default and now >= self._sign_at + GRACE:
            entry.own_until = now + LONGEST

    def _judge_overtaken(self, before: Collection[str], shown_at: float, sent: float, now: float) -> None:
        """AWS accepted a call that was `sent` then. It overtook those that AWS refused just `before`, in the
        same round, and those that it refused after it had shown room. Otherwise others may have made room in
        between. AWS may count a deletion a moment later, so only the second time proves something."""
        since = max(shown_at, now - GRACE) if shown_at >= now - FIRST else NOT_YET
        for uid, each in self._entries.items():
            if each.words and each.tried <= sent and each.sent >= (now - _SLOW if uid in before else since):
                each.overtaken += 1
                each.own_until = now + LONGEST if each.overtaken >= _OVERTAKEN else each.own_until

    def _until_first(self, entry: Entry, now: float) -> float:
        """Any other than the first one may find its room. So they try right after it."""
        first = self._first(now)
        if first is None or first is entry or now < max(first.own_until, first.tried + GRACE):
            return 0.0
        return max(0.0, first.tried + FIRST + spread(entry.who.uid, 1.0, _PAUSE) - now)

    def _room(self, allowed: Allowed) -> int | None:
        """None if it is unknown. More than what is allowed proves that AWS allows more than is noted."""
        used = self._use.number
        return None if used is None or used > allowed.number else allowed.number - used

    def _is_taken(self, uid: str, allowed: Allowed) -> bool | None:
        """Whether others in the line need all room; None if the numbers do not say that."""
        room, now = self._room(allowed), self._clock.now()
        if not self._entries or room is None:
            return None
        others = (each for each in self._entries.values() if each.who.uid != uid)
        is_taken = 0 < sum(now >= max(each.own_until, each.passed_until) for each in others) >= room
        # AWS may allow less than its default.
        return is_taken or (None if allowed.is_default else False)

    def _note_sign(self) -> list[Waiting]:
        now = self._sign_at = self._tidied()
        self._signs += 1
        self._begin()
        return self._wake(now)

    def _begin(self, *, by_timer: bool = False) -> None:
        self._round, self._refusals, self._by_timer = {}, 0, by_timer

    def _go_on(self, now: float) -> list[Waiting]:
        """Pass over one that did not come, or let the first one try if it has not tried for a while."""
        if self._woken:
            until = now + FIRST if self._has_come else NOT_YET
            return self._pass(now, until) if now > self._woken_until else []
        first = self._first(now)
        if first is None or now < max(first.own_until, first.tried + FIRST - _PAUSE):
            return []
        self._begin(by_timer=True)
        return self._wake(now)

    def _pass(self, now: float, until: float) -> list[Waiting]:
        if (entry := self._entries.get(self._woken)) is not None:
            # It had its time: the timer does not wake it again at once.
            entry.passed_until, entry.tried = until, now
            self._round[entry.who.uid] = entry.who.namespace
        self._end_turn(self._woken)
        return self._wake(now)

    def _end_turn(self, uid: str) -> bool:
        had_turn = self._woken == uid
        self._woken = "" if had_turn else self._woken
        return had_turn

    def _wake(self, now: float) -> list[Waiting]:
        first = self._first(now, self._round)
        if self._woken or first is None or len(self._round) >= _PASSES:
            return []
        self._give_turn(first, now)
        return [first.who]

    def _give_turn(self, entry: Entry, now: float) -> None:
        self._woken, self._woken_until, self._turn_ends = entry.who.uid, now + _SLOW, now + FIRST
        self._has_come = False

    def _take_over(self, entry: Entry, now: float) -> None:
        """It was passed over, as it came late. It has the turn if the next one has not come yet, either."""
        if self._woken and not self._has_come and self._first(now) is entry:
            self._round.pop(entry.who.uid, None)
            self._give_turn(entry, now)

    def _first(self, now: float, tried: Mapping[str, str] | None = None) -> Entry | None:
        """The one that tries first; after those of this round, one of another namespace."""
        but: Mapping[str, str] = tried or {}
        namespaces = set(but.values())
        # Those that come first may be ones that AWS never accepts, without a number that shows it.
        by_age = self._by_timer and bool(but)

        def key(each: Entry) -> tuple[bool, bool, float, tuple[int, bool], str, str]:
            who, served = each.who, self._served.get(each.who.namespace)
            turn = (each.joined, False) if served is None else (served, True)
            tried = each.tried if by_age else 0.0
            return (who.namespace in namespaces, now < each.own_until, tried, turn, who.created, who.uid)

        those = (each for uid, each in self._entries.items() if now >= each.passed_until and uid not in but)
        return min(those, key=key, default=None)

    def _serve(self, namespace: str) -> None:
        self._creations += 1
        self._served.pop(namespace, None)
        self._served[namespace] = self._creations
        if len(self._served) > _MOST:
            # The one that was served least recently: its resources count as those of a new namespace.
            del self._served[next(iter(self._served))]

    def _joined(self, who: Waiting, now: float) -> Entry | None:
        """A new one that is to wait; None if there are too many."""
        entry = self._join(who, now)
        if entry is not None:
            entry.due = now + spread(who.uid, FIRST - 2 * GRACE, FIRST - GRACE)
        return entry

    def _join(self, who: Waiting, now: float) -> Entry | None:
        """Return its entry; None if the line has too many. That one has its own back-off only."""
        entry = self._entries.setdefault(who.uid, Entry(who, self._use.number, now, now, self._lately))
        entry.who = who
        if len(self._entries) > _MOST:
            # Drop the youngest of the namespace that has most.
            most, _ = Counter(each.who.namespace for each in self._entries.values()).most_common(1)[0]
            those = [each.who for each in self._entries.values() if each.who.namespace == most]
            self._drop(max(those, key=lambda each: (each.created, each.uid)).uid)
        return self._entries.get(who.uid)

    def _drop(self, uid: str) -> None:
        del self._entries[uid]
        self._end_turn(uid)

    def _tidied(self) -> float:
        """Forget those that have not asked for long. Returns now."""
        now = self._clock.now()
        if now >= self._tidied_at + FIRST:
            self._tidied_at, self._lately = now, self._creations
            for uid in [u for u, each in self._entries.items() if now > each.asked + 2 * LONGEST + FIRST]:
                self._drop(uid)
            self._trying = {uid: each for uid, each in self._trying.items() if now <= each.at + LONGEST}
        return now

"""When to check again what a Get of a tenant does not show: its DNS, and once a day its tags."""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Callable
from datetime import datetime
from typing import Final

from edgetenants_runtime.clock import Clock, utc_now

__all__ = ["DEEP_CHECK_SECONDS", "DeepChecks", "DnsTurns", "share"]

DEEP_CHECK_SECONDS: Final = 24 * 3600.0
"""The longest interval between checks of what a tenant's own description does not show, such as its tags,
while a process lives that long."""
_TURN_SECONDS: Final = 23 * 3600.0
"""The interval between these checks. It is not a whole day: a process that does not run at the same hours of
each day misses other resources each day."""
_CATCH_UP_SECONDS: Final = 3000.0
"""A resource whose turn came this long before the first look of a process, or less, has another one this long
after that turn: it may have come while no process ran. A day is not a multiple of it, so regular restarts do
not miss both."""
_RETRY_SECONDS: Final = 600.0
"""The interval between tries of a deep check that fails."""
_DNS_SECONDS: Final = 600.0
"""The interval between DNS checks of a served tenant, if there are few tenants."""
_DNS_SHARE: Final = 0.1
"""The share of the rate for these checks; most of the rate is for polls."""


class DeepChecks:
    """The next deep check of each resource. Thread-safe.

    The turn of a resource does not depend on when the process started: a provider that restarts more often
    than once a day would never check the same resources.
    """

    def __init__(self, clock: Clock, today: Callable[[], datetime] = utc_now) -> None:
        """`today` is read once: a wall clock that is wrong moves the turns, and nothing else."""
        self._clock = clock
        self._ahead = today().timestamp() - clock.now()
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    def is_due(self, uid: str) -> bool:
        """Whether a deep check is due: at least every `DEEP_CHECK_SECONDS` for each resource, spread evenly,
        but not at the first reconcile, so a restart costs nothing. Unless it is `done`, it is due again ten
        minutes later: AWS may have refused a call."""
        now = self._clock.now()
        with self._lock:
            due = self._next.get(uid)
            if due is None:
                due = self._next[uid] = self._first(uid, now)
            if now < due:
                return False
            self._next[uid] = now + min(_RETRY_SECONDS, self._until_turn(uid, now))
            return True

    def is_near(self, uid: str) -> bool:
        """Whether `is_due` would return True now."""
        with self._lock:
            due = self._next.get(uid)
            return due is not None and self._clock.now() >= due

    def done(self, uid: str) -> None:
        """The deep check that was due has read everything."""
        now = self._clock.now()
        with self._lock:
            self._next[uid] = now + self._until_turn(uid, now)

    def _first(self, uid: str, now: float) -> float:
        turn = now + self._until_turn(uid, now)
        late = turn - _TURN_SECONDS + _CATCH_UP_SECONDS
        return late if late > now else turn

    def _until_turn(self, uid: str, now: float) -> float:
        """Return the seconds until the resource's next turn, more than 0."""
        since = (now + self._ahead - share(uid) * _TURN_SECONDS) % _TURN_SECONDS
        return _TURN_SECONDS - since

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._next.pop(uid, None)


class DnsTurns:
    """The DNS checks of an account's tenants. Thread-safe."""

    def __init__(self, clock: Clock, rate: Callable[[], float]) -> None:
        """`rate` returns the permitted requests per second to CloudFront."""
        self._clock, self._rate = clock, rate
        self._rng = random.Random()  # noqa: S311 - an order, not a secret
        self._first: list[str] = []
        """The tenants that got a first turn after the start."""
        self._not_yet: set[str] = set()
        """Those of them that have not had it."""
        self._lock = threading.Lock()
        self._verified: dict[str, float] = {}
        self._turns: dict[str, float] = {}
        self._last_turn = float("-inf")

    def is_due_every(self, uid: str, every: float, *, never: bool) -> bool:
        """Whether to check the DNS of a tenant now: immediately if it was never checked, otherwise at this
        interval, spread evenly after a restart."""
        now = self._clock.now()
        with self._lock:
            last = self._verified.get(uid)
            if last is None and not never:
                last = self._verified[uid] = now - (1 - share(uid)) * every
            if last is not None and now < last + every:
                return False
            self._verified[uid] = now
            return True

    def is_due(self, uid: str, longest: float, *, never: bool) -> bool:
        """Whether to check the DNS of a served tenant: immediately if it was never checked, and at the latest
        after `longest`. Otherwise every ten minutes, or less often, in turns, if there are so many tenants
        that the checks would take more than a tenth of the rate."""
        now, between = self._clock.now(), 1 / (_DNS_SHARE * self._rate())
        with self._lock:
            turn = self._turns.get(uid)
            if turn is None and not never:
                # A restart costs nothing.
                self._verified.setdefault(uid, now)
                self._turns[uid] = self._turn(now + share(uid) * _DNS_SECONDS, between)
                self._shuffle_in(uid)
                return False
            if turn is not None and now < min(turn, self._verified.get(uid, now) + longest):
                return False
            self._not_yet.discard(uid)
            self._verified[uid] = now
            self._turns[uid] = self._turn(now + _DNS_SECONDS, between)
            return True

    def left(self, uid: str) -> float:
        """Return the seconds until the next turn of a served tenant; 0 if it has none yet."""
        with self._lock:
            return max(0.0, self._turns.get(uid, float("-inf")) - self._clock.now())

    def forget(self, uid: str) -> None:
        """Forget a resource, and give its turns to the others."""
        with self._lock:
            self._verified.pop(uid, None)
            self._turns.pop(uid, None)
            self._not_yet.discard(uid)

    def _shuffle_in(self, uid: str) -> None:
        """Exchange its first turn with that of any tenant which still waits for its own. Each process looks
        at the tenants in the same order: with many tenants and restarts, the last ones had no turn ever."""
        if len(self._first) > 2 * len(self._not_yet):
            self._first = sorted(self._not_yet)
        self._first.append(uid)
        self._not_yet.add(uid)
        other = self._rng.choice(self._first)
        if other in self._not_yet:
            self._turns[uid], self._turns[other] = self._turns[other], self._turns[uid]

    def _turn(self, earliest: float, between: float) -> float:
        self._last_turn = max(earliest, self._last_turn + between)
        return self._last_turn


def share(uid: str) -> float:
    """Return a fixed share in (0, 1] for each resource."""
    return (int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4], "big") + 1) / 2**32

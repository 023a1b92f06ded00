"""When to check again what neither a list nor a Get of a tenant shows: its DNS, its tags and its certificate.

All these checks together have a share of the account's rate, as no one waits for them. The tags and the
certificate come first, at least once in the check interval. What they leave is for DNS: of tenants whose
domains wait for it, then of those that are served.
"""

from __future__ import annotations

import hashlib
import random
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from datetime import datetime
from typing import Final

from edgetenants_runtime.clock import Clock, utc_now
from provider.cloudfront.aws.pacing.rates import DEFAULT_RATE

__all__ = ["DEEP_CHECK_SECONDS", "DEEP_REQUESTS", "DeepChecks", "DnsTurns", "share"]

DEEP_CHECK_SECONDS: Final = 24 * 3600.0
"""By default, the longest interval between checks of what a tenant's own description does not show, such as
its tags, while a process lives that long."""
_TURN_SHARE: Final = 23 / 24
"""Of that interval: the time between these checks. With a day, it is not a whole day: a process that does not
run at the same hours of each day misses other resources each day."""
_CATCH_UP_SECONDS: Final = 3000.0
_CATCH_UP_SHARE: Final = 0.13
"""A resource whose turn came this long before the first look of a process, or less, has another one this long
after that turn, but at most this share of the time between two: it may have come while no process ran. A day
is not a multiple of it, so regular restarts do not miss both."""
_RETRY_SECONDS: Final = 600.0
"""The interval between tries of a deep check that fails."""
_DNS_SECONDS: Final = 600.0
"""The interval between DNS checks of a served tenant, if there are few tenants."""
DEEP_REQUESTS: Final = 3
"""Of a deep check: the external resource, its tags, and its certificate."""
_DEEP_SHARE: Final = 0.2
"""The share of the rate for deep checks. With more tenants than it is enough for, they come later."""
_BURST_SECONDS: Final = 60.0
"""The share of so much time may be used at once."""
_DNS_SHARE: Final = 0.1
"""The share of the rate for these checks; most of the rate is for changes."""
_WAITING_SHARE: Final = 0.2
"""The same for tenants whose domains are not served: their customers wait."""


class DeepChecks:
    """The next deep check of each resource. Thread-safe.

    The turn of a resource does not depend on when the process started: a provider that restarts more often
    than once a day would never check the same resources.
    """

    def __init__(
        self,
        clock: Clock,
        today: Callable[[], datetime] = utc_now,
        seconds: float = DEEP_CHECK_SECONDS,
        rate: Callable[[], float] = lambda: DEFAULT_RATE,
    ) -> None:
        """`today` is read once: a wall clock that is wrong moves the turns, and nothing else. `seconds` is
        the longest interval between two checks, if `rate`, the permitted requests per second, is enough for
        that."""
        self._clock, self._rate = clock, rate
        self._paid = float("-inf")
        """Until when the checks so far have used their share of the rate."""
        self.seconds = seconds
        self._between = _TURN_SHARE * seconds
        self._ahead = today().timestamp() - clock.now()
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    def is_due(self, uid: str) -> bool:
        """Whether a deep check is due: at least once in the interval for each resource, spread evenly, but
        not at the first reconcile, so a restart costs nothing. Unless it is `done`, it is due again ten
        minutes later: AWS may have refused a call."""
        now = self._clock.now()
        with self._lock:
            due = self._next.get(uid)
            if due is None:
                due = self._next[uid] = self._first(uid, now)
            if now < due or not self._has_share(now):
                return False
            self._paid = max(self._paid, now) + DEEP_REQUESTS / (_DEEP_SHARE * self._rate())
            self._next[uid] = now + min(_RETRY_SECONDS, self._until_turn(uid, now))
            return True

    def is_near(self, uid: str) -> bool:
        """Whether `is_due` would return True now."""
        with self._lock:
            due = self._next.get(uid)
            return due is not None and self._clock.now() >= due and self._has_share(self._clock.now())

    def done(self, uid: str) -> None:
        """The deep check that was due has read everything."""
        now = self._clock.now()
        with self._lock:
            self._next[uid] = now + self._until_turn(uid, now)

    def _has_share(self, now: float) -> bool:
        return self._paid <= now + _BURST_SECONDS

    def _first(self, uid: str, now: float) -> float:
        turn = now + self._until_turn(uid, now)
        late = turn - self._between + min(_CATCH_UP_SECONDS, _CATCH_UP_SHARE * self._between)
        return late if late > now else turn

    def _until_turn(self, uid: str, now: float) -> float:
        """Return the seconds until the resource's next turn, more than 0."""
        since = (now + self._ahead - share(uid) * self._between) % self._between
        return self._between - since

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._next.pop(uid, None)


class DnsTurns:
    """The DNS checks of an account's tenants. Thread-safe."""

    def __init__(self, clock: Clock, rate: Callable[[], float], longest: float = DEEP_CHECK_SECONDS) -> None:
        """`rate` returns the permitted requests per second to CloudFront. `longest` is the longest interval
        between the checks of a tenant whose records are all present."""
        self._clock, self._rate, self.longest = clock, rate, longest
        self._rng = random.Random()  # noqa: S311 - an order, not a secret
        self._first: list[str] = []
        """The tenants that got a first turn after the start."""
        self._not_yet: set[str] = set()
        """Those of them that have not had it."""
        self._lock = threading.Lock()
        self._verified: dict[str, float] = {}
        self._turns: dict[str, float] = {}
        self._last_turn = float("-inf")
        self._waiting: dict[str, float] = {}
        """The turns of tenants whose domains are not served."""
        self._taken: list[float] = []
        """The same, sorted."""

    def spent(self, requests: int) -> None:
        """Note that other checks make so many requests: the turns of served tenants come later."""
        now, between = self._clock.now(), 1 / (_DNS_SHARE * self._rate())
        with self._lock:
            # At most one round of all tenants later: these checks may take more than their share.
            latest = now + _DNS_SECONDS + between * len(self._turns)
            self._last_turn = min(max(self._last_turn, now) + requests * between, latest)

    def checked(self, uid: str) -> None:
        """Note that the DNS of a tenant is checked out of turn, as a user requested it."""
        with self._lock:
            self._verified[uid] = self._clock.now()

    def is_due_every(self, uid: str, every: float, *, never: bool) -> bool:
        """Whether to check the DNS of a tenant whose domains are not all served: immediately if it was never
        checked, otherwise at this interval, spread evenly after a restart. If there are so many of them that
        this would take more than a fifth of the rate, less often."""
        now, between = self._clock.now(), 1 / (_WAITING_SHARE * self._rate())
        with self._lock:
            turn = self._waiting.get(uid)
            if turn is None and not never:
                turn = self._wait(uid, now + share(uid) * every, between)
            if turn is not None and now < turn:
                return False
            self._verified[uid] = now
            self._wait(uid, now + every, between)
            return True

    def is_due(self, uid: str, longest: float, *, never: bool) -> bool:
        """Whether to check the DNS of a served tenant: immediately if it was never checked, and at the latest
        after `longest`. Otherwise every ten minutes, or less often, in turns, if there are so many tenants
        that the checks would take more than a tenth of the rate."""
        now, between = self._clock.now(), 1 / (_DNS_SHARE * self._rate())
        with self._lock:
            self._waits_no_more(uid)
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
        """Return the seconds until the next turn of a tenant; 0 if it has none yet."""
        with self._lock:
            turn = self._waiting.get(uid, self._turns.get(uid, float("-inf")))
            return max(0.0, turn - self._clock.now())

    def forget(self, uid: str) -> None:
        """Forget a resource, and give its turns to the others."""
        with self._lock:
            self._verified.pop(uid, None)
            self._turns.pop(uid, None)
            self._waits_no_more(uid)
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

    def _wait(self, uid: str, earliest: float, between: float) -> float:
        """Give it the first turn from then on that is as far from those of the others."""
        self._waits_no_more(uid)
        turn, place = earliest, bisect_right(self._taken, earliest - between)
        while place < len(self._taken) and self._taken[place] < turn + between:
            turn = self._taken[place] + between
            place += 1
        self._taken.insert(place, turn)
        self._waiting[uid] = turn
        return turn

    def _waits_no_more(self, uid: str) -> None:
        turn = self._waiting.pop(uid, None)
        if turn is not None:
            del self._taken[bisect_left(self._taken, turn)]

    def _turn(self, earliest: float, between: float) -> float:
        self._last_turn = max(earliest, self._last_turn + between)
        return self._last_turn


def share(uid: str) -> float:
    """Return a fixed share in (0, 1] for each resource."""
    return (int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4], "big") + 1) / 2**32

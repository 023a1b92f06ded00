"""Pauses before the provider believes AWS, or checks again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["BackOff", "SecondChecks", "Standstills"]

_LONGEST_CHECK: Final = 60.0
_MOST_STATES: Final = 10
_STALE_SECONDS: Final = 600.0
"""Who has not asked for this long no longer waits for the same thing."""
_KEPT_SECONDS: Final = 7 * 24 * 3600.0
"""A resource may end while something is missing, and then no one asks again."""


class SecondChecks:
    """The pauses before the provider believes that something is not there, as a single response may be wrong.
    Thread-safe."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._lock = threading.Lock()
        self._since: OrderedDict[str, tuple[str, float]] = OrderedDict()
        """The id that was missing, and the time of the first observation; the oldest is first."""

    def left(self, uid: str, id_: str) -> float:
        """Return the seconds until the provider believes it; 0 if it does."""
        with self._lock:
            now = self._clock.now()
            while self._since and next(iter(self._since.values()))[1] < now - _KEPT_SECONDS:
                self._since.popitem(last=False)
            of, since = self._since.get(uid, (None, now))
            if of != id_:
                since = now
                self._since[uid] = (id_, since)
                self._since.move_to_end(uid)
            return max(0.0, since + self._seconds - now)

    def start_over(self, uid: str) -> float:
        """Note that it is there; return the seconds that the provider waits once it is not."""
        self.forget(uid)
        return self._seconds

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._since.pop(uid, None)


class BackOff:
    """The pauses between checks; they double each time. Thread-safe."""

    def __init__(self, first: float) -> None:
        self._first = first
        self._lock = threading.Lock()
        self._times: dict[str, int] = {}

    def next(self, uid: str) -> float:
        """Return the seconds to the next check."""
        with self._lock:
            times = self._times[uid] = self._times.get(uid, 0) + 1
        return float(min(self._first * 2.0 ** min(times - 1, 30), _LONGEST_CHECK))

    def forget(self, uid: str) -> None:
        """Forget a resource: its next pause is the first one."""
        with self._lock:
            self._times.pop(uid, None)


@dataclass(frozen=True)
class _Standstill:
    since: float
    """When AWS last showed something new."""
    known: frozenset[Hashable]
    """All that AWS has shown."""
    asked: float
    """When the provider last asked for a pause."""


class Standstills:
    """The pauses before the provider looks again at something that AWS does not change. They double as long
    as AWS shows the same, and begin again when AWS shows something new. Thread-safe."""

    def __init__(self, clock: Clock, longest: float = _LONGEST_CHECK) -> None:
        """`longest` is the longest pause in seconds."""
        self._clock, self._longest = clock, longest
        self._lock = threading.Lock()
        self._shown: OrderedDict[str, _Standstill] = OrderedDict()
        """Who asked last is last."""

    def pause(self, uid: str, shown: Hashable, first: float, *, steady: float = 0.0) -> float:
        """Return the seconds to the next poll.

        Args:
            uid: the uid of the managed resource.
            shown: what AWS shows.
            first: the pause after something new.
            steady: the seconds for which the pause does not grow, because AWS may take that long.
        """
        with self._lock:
            now = self._clock.now()
            while self._shown and next(iter(self._shown.values())).asked < now - _STALE_SECONDS:
                self._shown.popitem(last=False)
            last = self._shown.pop(uid, None)
            since, known = (last.since, last.known) if last else (now, frozenset[Hashable]())
            # After many states, a new one is no progress: another client may write in turn with us.
            if shown not in known and len(known) < _MOST_STATES:
                since, known = now, known | {shown}
            self._shown[uid] = _Standstill(since, known, now)
        stood_still = max(0.0, now - since - steady)
        return max(first, min(first + stood_still, self._longest))

    def forget(self, uid: str) -> None:
        """Forget a resource: its next pause is the first one."""
        with self._lock:
            self._shown.pop(uid, None)

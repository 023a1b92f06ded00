"""Pauses before the provider believes AWS, or checks again."""

from __future__ import annotations

import threading
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["BackOff", "SecondChecks"]

_LONGEST_CHECK: Final = 60.0


class SecondChecks:
    """The pauses before the provider believes that something is not there, as a single response may be wrong.
    Thread-safe."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._lock = threading.Lock()
        self._since: dict[str, tuple[str, float]] = {}
        """The id that was missing, and the time of the first observation."""

    def left(self, uid: str, id_: str) -> float:
        """Return the seconds until the provider believes it; 0 if it does."""
        with self._lock:
            now = self._clock.now()
            of, since = self._since.get(uid, (id_, now))
            since = since if of == id_ else now
            self._since[uid] = (id_, since)
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

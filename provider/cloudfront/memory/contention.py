"""Whether another client keeps writing to the same external resource."""

from __future__ import annotations

import threading
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["Contentions"]

_CONTENTION_SECONDS: Final = 600.0
_CONTENTIONS: Final = 3
"""This many foreign writes within that time are no accident."""


class Contentions:
    """The times of foreign writes to the external resources of an account. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._times: dict[str, list[float]] = {}

    def note(self, uid: str) -> None:
        """Note that another client wrote to the external resource: at the same time, or against the desired
        state."""
        with self._lock:
            self._times[uid] = [*self._times.get(uid, ()), self._clock.now()][-_CONTENTIONS:]

    def are_many(self, uid: str) -> bool:
        """Whether this happened so often that it is no accident."""
        with self._lock:
            times = self._times.get(uid, ())
            return len(times) == _CONTENTIONS and times[0] > self._clock.now() - _CONTENTION_SECONDS

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._times.pop(uid, None)

"""Messages that any client can cause: each is logged once a minute, with how many others there were."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from edgetenants_runtime.clock import SystemClock

__all__ = ["Repeats"]

_SECONDS: Final = 60.0


class Repeats:
    """Counts messages. Thread-safe. There must be a bounded number of different ones."""

    def __init__(self) -> None:
        self._clock = SystemClock()
        self._lock = threading.Lock()
        self._logged: dict[Hashable, tuple[float, int]] = {}

    def due(self, message: Hashable) -> int | None:
        """Return how often the message was left out since it was last logged; None: leave it out."""
        now = self._clock.now()
        with self._lock:
            at, left_out = self._logged.get(message, (float("-inf"), 0))
            if now < at + _SECONDS:
                self._logged[message] = (at, left_out + 1)
                return None
            self._logged[message] = (now, 0)
            return left_out

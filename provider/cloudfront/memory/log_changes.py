"""Which facts the log already has: it has one line per change."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

__all__ = ["LogChanges"]

_MOST: Final = 10_000
"""Maximum number of logged facts to remember; a repeated log line is harmless."""


class LogChanges:
    """The last logged fact for each resource and topic. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logged: dict[tuple[str, str], Hashable] = {}

    def is_new(self, uid: str, topic: str, what: Hashable) -> bool:
        """Whether this process last logged something else on a topic."""
        with self._lock:
            if len(self._logged) >= _MOST:
                self._logged.clear()
            before = self._logged.get((uid, topic))
            self._logged[uid, topic] = what
            return before != what

    def take_back(self, uid: str, topic: str) -> None:
        """What was logged last turned out to be unknown."""
        with self._lock:
            self._logged.pop((uid, topic), None)

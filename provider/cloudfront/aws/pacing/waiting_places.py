"""Places for calls that wait in their workers.

A call that waits in its worker costs nothing else, while one that comes back later costs the reads of its
reconcile again. But a worker that waits does no other work. So few workers wait, however many operations,
accounts and provider configs are slow:

    TURN   a quarter of the workers: for a turn at a throttled operation
    SHARE  an eighth: because of the rate of a namespaced provider config

A list takes no place: it would lose it between two pages, and begin again.
"""

from __future__ import annotations

import threading
from enum import Enum
from typing import Final

__all__ = ["For", "WaitingPlaces"]


class For(Enum):
    """What a call waits for."""

    TURN = "turn"
    SHARE = "share"


_WORKERS: Final = {For.TURN: 4, For.SHARE: 8}
"""For so many workers there is one place; there is one of each at least."""


class WaitingPlaces:
    """The places of all accounts. Thread-safe."""

    def __init__(self, workers: int) -> None:
        """`workers` is the number of workers of each kind; without any, there are no places."""
        self._lock = threading.Lock()
        least = min(1, workers)
        self._free = {each: max(least, workers // number) for each, number in _WORKERS.items()}
        self.lists = self._free[For.TURN]
        """How many lists of an operation that AWS throttles may be under way at a time in one account."""

    def take(self, what: For, keep: int = 0) -> bool:
        """Take a place if more than `keep` are free; return whether it was taken. `leave` must follow."""
        with self._lock:
            if self._free[what] <= keep:
                return False
            self._free[what] -= 1
            return True

    def leave(self, what: For) -> None:
        """Give the place back."""
        with self._lock:
            self._free[what] += 1

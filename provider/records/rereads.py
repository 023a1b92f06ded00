"""Bounds how often the records are read again for domains that are refused.

An administrator may have released a domain, so a refusal reads its ConfigMap first. Anyone may list hundreds
of domains of others, and change their resources many times a second. What is spared is spared for all, and a
released domain is then noticed a few seconds later.
"""

from __future__ import annotations

import threading
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["Rereads"]

_BURST: Final = 128.0
"""How many reads come at once: twice as many as there are ConfigMaps."""
_PER_SECOND: Final = 10.0
_AGAIN_SECONDS: Final = 5.0
"""After this time, a ConfigMap may be read in any case."""


class Rereads:
    """The reads of a process. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        """`clock` is real time."""
        self._clock = clock
        self._lock = threading.Lock()
        self._left, self._at = _BURST, clock.now()
        self._read: dict[int, float] = {}

    def due(self, shard: int) -> bool:
        """Whether to read the ConfigMap with this number now; the caller does so if it is."""
        with self._lock:
            now = self._clock.now()
            self._left = min(_BURST, self._left + (now - self._at) * _PER_SECOND)
            self._at = now
            if self._left >= 1:
                self._left -= 1
            elif now < self._read.get(shard, float("-inf")) + _AGAIN_SECONDS:
                return False
            self._read[shard] = now
            return True

"""When the provider last observed each external resource, so that it can forget the others."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["LastSeen"]

_IDLE_SECONDS: Final = 7 * 24 * 3600.0
"""A resource that was not observed for this long is forgotten: one that leaves its tenant in AWS is not
observed when it is deleted."""


class LastSeen:
    """The last observations of an account's resources. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, float] = OrderedDict()

    def note(self, uid: str) -> list[str]:
        """Note an observation, and return the resources that were not observed for long."""
        now = self._clock.now()
        with self._lock:
            self._seen[uid] = now
            self._seen.move_to_end(uid)
            return list(itertools.takewhile(lambda each: self._seen[each] < now - _IDLE_SECONDS, self._seen))

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._seen.pop(uid, None)

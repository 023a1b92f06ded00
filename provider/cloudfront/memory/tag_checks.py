"""The results of recent checks of owner tags, for the records of domains and names."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["TagChecks"]

_CHECK_SECONDS: Final = 600.0


class TagChecks:
    """The last check of each resource. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._checks: dict[str, tuple[Hashable, bool, float]] = {}

    def note(self, uid: str, what: Hashable, *, proven: bool) -> None:
        """Note that the tags of a tenant prove, or do not prove, that it belongs to this resource."""
        with self._lock:
            self._checks[uid] = (what, proven, self._clock.now() + _CHECK_SECONDS)

    def last(self, uid: str, what: Hashable) -> bool | None:
        """Return the result if the same was recently checked; None if not."""
        with self._lock:
            asked, proven, until = self._checks.get(uid, (None, False, 0.0))
            return proven if asked == what and self._clock.now() < until else None

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._checks.pop(uid, None)

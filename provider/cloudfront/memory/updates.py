"""Updates after which a difference remained, parts of refused changes, and writes by other clients."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["AppliedParts", "Attempt", "Contentions", "UpdateAttempts"]

_CONTENTION_SECONDS: Final = 600.0
_CONTENTIONS: Final = 3
"""This many foreign writes within that time are no accident."""


@dataclass(frozen=True)
class Attempt:
    """An update after which a difference remained."""

    asked: str
    """A digest of the desired state."""
    left: tuple[tuple[str, str, str], ...]
    """The fields that still differed, with both values."""
    etag: str
    """The tenant's ETag after the update."""
    count: int


class UpdateAttempts:
    """The last update of each resource, if a difference remained after it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._attempts: dict[str, Attempt] = {}

    def last(self, uid: str) -> Attempt | None:
        """Return the last update after which a difference remained."""
        with self._lock:
            return self._attempts.get(uid)

    def note(self, uid: str, attempt: Attempt | None) -> None:
        """Remember an update after which a difference remained; None if none did."""
        with self._lock:
            if attempt is None:
                self._attempts.pop(uid, None)
                return
            before = self._attempts.get(uid)
            same = before is not None and (before.asked, before.left) == (attempt.asked, attempt.left)
            count = before.count + 1 if before and same else 1
            self._attempts[uid] = Attempt(attempt.asked, attempt.left, attempt.etag, count)

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        self.note(uid, None)


class AppliedParts:
    """The last applied part of each refused change, with the version after it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: dict[str, Hashable] = {}

    def last(self, uid: str) -> Hashable:
        """Return the last applied part of a refused change, and the tenant's version after it."""
        with self._lock:
            return self._parts.get(uid)

    def note(self, uid: str, part: Hashable) -> None:
        """Remember the last applied part of a refused change."""
        with self._lock:
            self._parts[uid] = part

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._parts.pop(uid, None)


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

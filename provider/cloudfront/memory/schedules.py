"""When to check again what a Get of a tenant does not show: its DNS, and once a day its tags."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["DEEP_CHECK_SECONDS", "DeepChecks", "DnsTurns"]

DEEP_CHECK_SECONDS: Final = 24 * 3600.0
"""The interval between checks of what a tenant's own description does not show, such as its tags."""
_DNS_SECONDS: Final = 600.0
"""The interval between DNS checks of a served tenant, if there are few tenants."""
_DNS_SHARE: Final = 0.1
"""The share of the rate for these checks; most of the rate is for polls."""


class DeepChecks:
    """The next deep check of each resource. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._next: dict[str, float] = {}

    def is_due(self, uid: str) -> bool:
        """Whether a deep check is due: every `DEEP_CHECK_SECONDS` for each resource, spread evenly, but not
        at the first reconcile, so a restart costs nothing."""
        now = self._clock.now()
        with self._lock:
            due = self._next.setdefault(uid, now + _share(uid) * DEEP_CHECK_SECONDS)
            if now < due:
                return False
            self._next[uid] = now + DEEP_CHECK_SECONDS
            return True

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._next.pop(uid, None)


class DnsTurns:
    """The DNS checks of an account's tenants. Thread-safe."""

    def __init__(self, clock: Clock, rate: Callable[[], float]) -> None:
        """`rate` returns the permitted requests per second to CloudFront."""
        self._clock, self._rate = clock, rate
        self._lock = threading.Lock()
        self._verified: dict[str, float] = {}
        self._turns: dict[str, float] = {}
        self._last_turn = float("-inf")

    def is_due_every(self, uid: str, every: float, *, never: bool) -> bool:
        """Whether to check the DNS of a tenant now: immediately if it was never checked, otherwise at this
        interval, spread evenly after a restart."""
        now = self._clock.now()
        with self._lock:
            last = self._verified.get(uid)
            if last is None and not never:
                last = self._verified[uid] = now - (1 - _share(uid)) * every
            if last is not None and now < last + every:
                return False
            self._verified[uid] = now
            return True

    def is_due(self, uid: str, longest: float, *, never: bool) -> bool:
        """Whether to check the DNS of a served tenant: immediately if it was never checked, and at the latest
        after `longest`. Otherwise every ten minutes, or less often, in turns, if there are so many tenants
        that the checks would take more than a tenth of the rate."""
        now, between = self._clock.now(), 1 / (_DNS_SHARE * self._rate())
        with self._lock:
            turn = self._turns.get(uid)
            if turn is None and not never:
                # A restart costs nothing.
                self._verified.setdefault(uid, now)
                self._turns[uid] = self._turn(now + _share(uid) * _DNS_SECONDS, between)
                return False
            if turn is not None and now < min(turn, self._verified.get(uid, now) + longest):
                return False
            self._verified[uid] = now
            self._turns[uid] = self._turn(now + _DNS_SECONDS, between)
            return True

    def forget(self, uid: str) -> None:
        """Forget a resource, and give its turns to the others."""
        with self._lock:
            self._verified.pop(uid, None)
            self._turns.pop(uid, None)

    def _turn(self, earliest: float, between: float) -> float:
        self._last_turn = max(earliest, self._last_turn + between)
        return self._last_turn


def _share(uid: str) -> float:
    """Return a fixed share in (0, 1] for each resource."""
    return (int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4], "big") + 1) / 2**32

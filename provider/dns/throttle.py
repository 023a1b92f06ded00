"""The pace at which a DNS service takes requests."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.dns.errors import DnsError, Failure

__all__ = ["LONGEST_PAUSE", "Rate", "Throttle"]

LONGEST_PAUSE: Final = 3600.0
"""Seconds. A service that asks for more is asked again after this."""


@dataclass(frozen=True)
class Rate:
    """A token bucket: in any time of S seconds, at most `burst` + S * `per_second` requests."""

    per_second: float
    burst: int


class Throttle:
    """Refuses requests above the rate, and while the service wants none. Thread-safe.

    It waits for nothing: a worker that would wait has other resources to look at.
    """

    def __init__(self, clock: Clock, what: str, rate: Rate | None = None) -> None:
        """`what` names the service in messages; without `rate`, only the service sets the pace."""
        self._clock, self._what, self._rate = clock, what, rate
        self._lock = threading.Lock()
        self._until = float("-inf")
        self._paid_until = float("-inf")
        """The time at which the bucket is full again, less the time that the burst takes."""

    def check(self, doing: str, *, before: int = 0) -> None:
        """Take a token, if there are `before` more for the requests that follow.

        Raises:
            DnsError: with LATER, if the request must not be sent yet.
        """
        with self._lock:
            now = self._clock.now()
            left = max(self._until - now, self._wait(now, before + 1))
            if left <= 0:
                self._take(now)
                return
        # Without the seconds: words that change would be written to the status each time.
        words = f"{self._what}: {doing}: not sent yet: the service allows no further request at the moment"
        raise DnsError(Failure.LATER, words, after=left)

    def pause(self, seconds: float) -> float:
        """Begin a pause of at most `LONGEST_PAUSE`; return its seconds."""
        seconds = max(0.0, min(seconds, LONGEST_PAUSE))
        with self._lock:
            self._until = max(self._until, self._clock.now() + seconds)
        return seconds

    def _wait(self, now: float, tokens: int) -> float:
        if self._rate is None:
            return 0.0
        burst = self._rate.burst / self._rate.per_second
        return max(self._paid_until, now - burst) + tokens / self._rate.per_second - now

    def _take(self, now: float) -> None:
        if self._rate is not None:
            burst = self._rate.burst / self._rate.per_second
            self._paid_until = max(self._paid_until, now - burst) + 1 / self._rate.per_second

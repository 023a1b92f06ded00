"""The time of the API server, from the Date header of its responses (RFC 9110, section 6.6.1).

The API server sets deletionTimestamp, and several processes, on several nodes, write and read the annotations
of creations. A node whose clock is wrong must not shorten a grace period, and a step of the clock must not
end one. So the runtime compares such times with the API server's clock.

Between two responses, the time advances with the monotonic clock. A difference of a few seconds is left as it
is: the header has whole seconds, and a time that jitters is of no use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

import structlog

from edgetenants_runtime.clock import Clock, SystemClock, utc_now

__all__ = ["ServerTime"]

_log = structlog.get_logger("edgetenants_runtime.kube.server_time")

_TOLERANCE: Final = timedelta(seconds=5)
_FARTHEST: Final = timedelta(days=36525)
"""A date farther away is no time of a clock, and calculations with it could overflow."""
_LONGEST_ANSWER: Final = 2.0
"""Seconds. The header of a response that took longer may be old."""


class ServerTime:
    """An estimate of the API server's time; this machine's until the first response. Thread-safe."""

    def __init__(self, clock: Clock | None = None, local: Callable[[], datetime] = utc_now) -> None:
        """`clock` measures real seconds."""
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._local = local
        self._base, self._at = local(), self._clock.now()
        self._told = False

    def now(self) -> datetime:
        """The time in UTC."""
        with self._lock:
            return self._now()

    def sent(self) -> float:
        """The time for `answered` at which a request was sent."""
        return self._clock.now()

    def answered(self, sent: float, date: str | None) -> None:
        """Take the Date header of the response to a request. A missing or malformed one is ignored, and one
        that is years away."""
        server = _parsed(date)
        if server is None:
            return
        with self._lock:
            difference = server - self._now()
            if abs(server - self._local()) > _FARTHEST or abs(difference) <= _TOLERANCE:
                return
            if self._clock.now() - sent > _LONGEST_ANSWER:
                return
            self._base, self._at = server, self._clock.now()
            told, self._told = self._told, True
        if not told:
            _log.warning(
                "the clocks of this machine and of the API server differ; the API server's is used",
                seconds=round(difference.total_seconds()),
            )

    def _now(self) -> datetime:
        return self._base + timedelta(seconds=self._clock.now() - self._at)


def _parsed(date: str | None) -> datetime | None:
    try:
        return parsedate_to_datetime(date).astimezone(UTC) if date else None
    except (ValueError, TypeError, OverflowError):
        return None

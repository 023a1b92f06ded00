"""A circuit breaker for each service of an account: an endpoint that does not answer takes few workers.

A call without an answer takes its worker until the time-out; one whose answer drips takes it for longer.
So after a few such calls, only one call at a time is sent to that service, and all others fail at once. The
first answer ends this.

While a call is under way for unusually long, few are sent beside it.

    closed ── 3 calls without an answer ──▶ open: one call at a time ── an answer ──▶ closed

The times are real, because it is the connection that hangs.
"""

from __future__ import annotations

import threading
from typing import Final

from edgetenants_runtime.clock import Clock, SystemClock
from provider.cloudfront.aws.errors import PAUSED, AwsError

__all__ = ["Circuit"]

_FAILURES: Final = 3
"""Calls without an answer, in a row, that open the circuit."""
_LATE_SECONDS: Final = 35.0
"""After this, another call is tried beside one that is still under way. Time-outs are shorter, but an answer
that drips has none."""
_AGAIN_SECONDS: Final = 10.0
_MOST_LATE: Final = 4
"""Calls that may hang for longer than that. Each takes a worker."""
_SLOW_SECONDS: Final = 15.0
"""After this, a call that is under way takes unusually long. Half of a call's time-out: AWS may be slow for
hours, and then all workers are needed."""
_MOST_BESIDE: Final = 8
"""Calls that may be under way if one of them does: half of the workers."""
_SOON_SECONDS: Final = 2.0


class Circuit:
    """The calls to one service of one account. Thread-safe. A thread makes one call at a time."""

    def __init__(self, clock: Clock | None = None) -> None:
        """`clock` measures real seconds."""
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._under_way: dict[int, float] = {}
        """When the call of a thread began."""
        self._failures = 0

    def check(self, operation: str) -> None:
        """Check that this thread may send a call. Nothing else must be used up for it before.

        Raises:
            AwsError: it may not, as AWS has not answered other calls.
        """
        with self._lock:
            self._under_way.pop(threading.get_ident(), None)
            now = self._clock.now()
            lasting = [now - began for began in self._under_way.values()]
            tries = any(seconds <= _LATE_SECONDS for seconds in lasting) or len(lasting) >= _MOST_LATE
            if self._failures >= _FAILURES and tries:
                words = "AWS does not answer; one call at a time is sent until it does"
                raise AwsError(operation, "Endpoint", words, after=_AGAIN_SECONDS, sent=False)
            if len(lasting) >= _MOST_BESIDE and max(lasting) > _SLOW_SECONDS:
                words = "AWS answers slowly, so few calls are sent"
                raise AwsError(operation, PAUSED, words, after=_SOON_SECONDS)

    def begin(self) -> None:
        """This thread sends a call now."""
        with self._lock:
            self._under_way[threading.get_ident()] = self._clock.now()

    def ended(self, *, answered: bool) -> None:
        """The call of this thread has ended."""
        with self._lock:
            self._under_way.pop(threading.get_ident(), None)
            self._failures = 0 if answered else self._failures + 1

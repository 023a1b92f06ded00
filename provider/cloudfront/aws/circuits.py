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
_SLOW_SECONDS: Final = 5.0
"""After this, a call that is under way takes unusually long."""
_MOST_BESIDE: Final = 4
"""Calls that may be under way if one of them does. Each takes a worker."""
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

    def begin(self, operation: str) -> None:
        """A call is to be sent by this thread.

        Raises:
            AwsError: it may not, as AWS has not answered other calls.
        """
        with self._lock:
            self._under_way.pop(threading.get_ident(), None)
            now = self._clock.now()
            lasting = [now - began for began in self._under_way.values()]
            tries = any(seconds <= _LATE_SECONDS for seconds in lasting) or len(lasting) >= _MOST_BESIDE
            if self._failures >= _FAILURES and tries:
                words = "AWS does not answer; one call at a time is sent until it does"
                raise AwsError(operation, "Endpoint", words, after=_AGAIN_SECONDS, sent=False)
            if len(lasting) >= _MOST_BESIDE and max(lasting) > _SLOW_SECONDS:
                raise AwsError(
                    operation, PAUSED, "AWS answers slowly, so few calls are sent", after=_SOON_SECONDS
                )
            self._under_way[threading.get_ident()] = now

    def ended(self, *, answered: bool) -> None:
        """The call of this thread has ended."""
        with self._lock:
            self._under_way.pop(threading.get_ident(), None)
            self._failures = 0 if answered else self._failures + 1

"""A circuit breaker for each service of an account: an endpoint that does not answer takes few workers.

A call without an answer takes its worker until the time-out; one whose answer drips takes it for longer.
So after a few such calls, only one call at a time is sent to that service, and all others fail at once. The
first answer ends this.

An endpoint of which only a part is silent answers in between. So while a call takes unusually long, and for
a minute after each time-out, at most a quarter of the workers make calls to that service, whatever it
answers. The others fail at once.

    closed ── 3 calls without an answer ──▶ open: one call at a time ── an answer ──▶ closed
      a time-out ──▶ few calls at a time ── a minute without a time-out ──▶ any number

The times are real, because it is the connection that hangs.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.clock import Clock, SystemClock
from provider.cloudfront.aws.errors import PAUSED, AwsError

__all__ = ["STS", "USUAL_WORKERS", "Circuit", "circuits"]

STS: Final = "sts"
"""The service that gives the credentials for the others."""
USUAL_WORKERS: Final = 16
"""Workers of each kind, unless a flag sets another number."""
_FAILURES: Final = 3
"""Calls without an answer, in a row, that open the circuit."""
_FAILURES_OF_STS: Final = 1
"""For STS: botocore calls it one thread at a time, and the next one waits for the end of the last."""
_LATE_SECONDS: Final = 35.0
"""After this, another call is tried beside one that is still under way. Time-outs are shorter, but an answer
that drips has none."""
_AGAIN_SECONDS: Final = 10.0
"""Seconds after a time-out until an open circuit lets the next call try."""
_SLOW_SECONDS: Final = 15.0
"""After this, a call that is under way takes unusually long. Half of a call's time-out: AWS may be slow for
hours, and then all workers are needed."""
_CALM_SECONDS: Final = 60.0
"""After this time without a time-out, any number of calls is sent again."""
_SOON_SECONDS: Final = 2.0


def circuits(workers: int) -> dict[str, Circuit]:
    """Return the circuits of an account, by service. `workers` is the number of workers of each kind."""
    return {
        "cloudfront": Circuit(workers),
        "acm": Circuit(workers),
        STS: Circuit(workers, failures=_FAILURES_OF_STS),
    }


@dataclass
class _Call:
    began: float
    """When it was sent, or when its thread was let through."""
    sent: bool = False


class Circuit:
    """The calls to one service of one account. Thread-safe. A thread makes one call at a time."""

    def __init__(
        self, workers: int = USUAL_WORKERS, clock: Clock | None = None, *, failures: int = _FAILURES
    ) -> None:
        """`workers` is the number of workers of each kind; `clock` measures real seconds; `failures` is the
        number of calls without an answer that open the circuit."""
        self._few = max(2, workers // 4)
        self._clock = clock or SystemClock()
        self._opened_by = failures
        self._lock = threading.Lock()
        self._under_way: dict[threading.Thread, _Call] = {}
        self._failures = 0
        self._timed_out = float("-inf")
        """When the last call ended without an answer."""

    def check(self, operation: str) -> None:
        """Check that this thread may send a call, and note it: `ended` must follow, even if it sends none.
        Nothing else must be used up for the call before.

        Raises:
            AwsError: it may not, as AWS has not answered other calls.
        """
        with self._lock:
            self._under_way.pop(threading.current_thread(), None)
            self._forget_ended_threads()
            now = self._clock.now()
            if self._failures >= self._opened_by and not self._may_try(now):
                words = "AWS does not answer; one call at a time is sent until it does"
                raise AwsError(operation, "Endpoint", words, after=_AGAIN_SECONDS, sent=False)
            if len(self._under_way) >= self._few and self._is_slow(now):
                words = "AWS answers slowly or not always, so few calls are sent"
                raise AwsError(operation, PAUSED, words, after=_SOON_SECONDS)
            # From now on, or all that wait for the account's pace would be sent together.
            self._under_way[threading.current_thread()] = _Call(now)

    def begin(self) -> None:
        """This thread sends a call now."""
        with self._lock:
            self._under_way[threading.current_thread()] = _Call(self._clock.now(), sent=True)

    def ended(self, *, answered: bool) -> None:
        """The call of this thread has ended. A call that was not sent, or that has ended already, does not
        count."""
        with self._lock:
            call = self._under_way.pop(threading.current_thread(), None)
            if call is None or not call.sent:
                return
            self._failures = 0 if answered else self._failures + 1
            if not answered:
                self._timed_out = self._clock.now()

    def _forget_ended_threads(self) -> None:
        """A worker that was replaced cannot say that its call ended."""
        for thread in [thread for thread in self._under_way if not thread.is_alive()]:
            del self._under_way[thread]

    def _may_try(self, now: float) -> bool:
        """Whether a call may try if the endpoint answers again."""
        late = [call for call in self._under_way.values() if call.sent and now - call.began > _LATE_SECONDS]
        is_tried = len(late) < len(self._under_way) or len(late) >= self._few
        return not is_tried and now >= self._timed_out + _AGAIN_SECONDS

    def _is_slow(self, now: float) -> bool:
        """Whether a call has timed out lately, or takes unusually long."""
        sent = [now - call.began for call in self._under_way.values() if call.sent]
        return now < self._timed_out + _CALM_SECONDS or max(sent, default=0.0) > _SLOW_SECONDS

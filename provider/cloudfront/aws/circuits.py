"""A circuit breaker for each service of an account: an endpoint that does not answer takes few workers.

A call without an answer takes its worker until the time-out; one whose answer drips takes it for longer.
So after a few such calls, only one call at a time is sent to that service, and all others fail at once. The
first answer ends this.

An endpoint of which only a part is silent answers in between. So a call also fails at once while about a
quarter of the workers hang in calls to that service. A call hangs if it takes unusually long. Of the others,
the circuit expects that as many hang as in the last minutes, measured in the time of the workers:

    16 workers   hang now   are in other calls   of their time, calls that hang took   then hang   next call
                    4               0                          0 %                        4        fails
                    1              15                          4 %                        1.6      is sent
                    0               4                        100 %                        4        fails

An account that is slow and answers keeps all workers, also if a call times out now and then. After an outage,
the circuit forgets by the clock, but only while no call hangs: a part may be silent for hours.

    closed ── 3 calls without an answer ──▶ open: one call at a time ── an answer ──▶ closed

The times are real, because it is the connection that hangs.
"""

from __future__ import annotations

import math
import random
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
_LONG_SECONDS: Final = 5.0
"""After this, a call that is under way takes unusually long, unless AWS is slow."""
_SLOW_SECONDS: Final = 15.0
"""The same, however slow AWS is. Half of a call's time-out."""
_TIMES_USUAL: Final = 3.0
"""In between, as many times the usual duration of an answered call."""
_SMOOTHED: Final = 8
"""The usual duration follows about so many answered calls."""
_REMEMBERED_SECONDS: Final = 30.0
"""How much of all workers' time the share of calls that hang follows. One time-out must not be enough."""
_FORGOTTEN_SECONDS: Final = 60.0
"""After this time without a call that hangs, about a third of the share is left. It must not depend on how
many answers there are, or an account that answers fast would stay limited for long after an outage."""
_SOON_SECONDS: Final = 2.0
"""The shortest time until a refused call is tried again; the longest is twice as much, so that not all come
back together."""


def circuits(workers: int) -> dict[str, Circuit]:
    """Return the circuits of an account, by service. `workers` is the number of workers of each kind."""
    return {
        "cloudfront": Circuit(workers),
        "acm": Circuit(workers),
        "route53": Circuit(workers),
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
        self._remembered = workers * _REMEMBERED_SECONDS
        self._clock = clock or SystemClock()
        self._opened_by = failures
        self._lock = threading.Lock()
        self._under_way: dict[threading.Thread, _Call] = {}
        self._failures = 0
        self._timed_out = float("-inf")
        """When the last call ended without an answer."""
        self._usual = 0.0
        """Smoothed seconds of an answered call."""
        self._share = 0.0
        """Of the workers' time in calls, what those took that hung, as of `_share_at`."""
        self._share_at = self._clock.now()
        self._rng = random.Random()  # noqa: S311 - spreads load, guards nothing

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
            if self._is_open and not self._may_try(now):
                words = "AWS does not answer; one call at a time is sent until it does"
                raise AwsError(operation, "Endpoint", words, after=_AGAIN_SECONDS, sent=False)
            if self._hanging(now) >= self._few:
                words = "AWS does not answer some calls, so few calls are sent"
                raise AwsError(operation, PAUSED, words, after=self._rng.uniform(1, 2) * _SOON_SECONDS)
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
            thread = threading.current_thread()
            call = self._under_way.get(thread)
            if call is not None and call.sent:
                now = self._clock.now()
                self._learn(now, now - call.began, answered=answered)
                self._failures = 0 if answered else self._failures + 1
                if not answered:
                    self._timed_out = now
            self._under_way.pop(thread, None)

    @property
    def _is_open(self) -> bool:
        return self._failures >= self._opened_by

    def _forget_ended_threads(self) -> None:
        """A worker that was replaced cannot say that its call ended."""
        for thread in [thread for thread in self._under_way if not thread.is_alive()]:
            del self._under_way[thread]

    def _may_try(self, now: float) -> bool:
        """Whether a call may try if the endpoint answers again."""
        late = [call for call in self._under_way.values() if call.sent and now - call.began > _LATE_SECONDS]
        is_tried = len(late) < len(self._under_way) or len(late) >= self._few
        return not is_tried and now >= self._timed_out + _AGAIN_SECONDS

    def _hanging(self, now: float) -> float:
        """How many of the calls under way hang: those that take unusually long, and the share to expect of
        the others. All workers may enter calls that hang before the first one takes long."""
        long = self._long_seconds()
        hang = sum(call.sent and now - call.began > long for call in self._under_way.values())
        return hang + self._share_now(now) * (len(self._under_way) - hang)

    def _share_now(self, now: float) -> float:
        return self._share * math.exp(min(0.0, self._share_at - self._quiet_until(now)) / _FORGOTTEN_SECONDS)

    def _quiet_until(self, now: float) -> float:
        """Until when no call hung, as far as is known: each one under way may hang, unless it drips. While
        the circuit is open, no answer shows anything."""
        if self._is_open:
            return self._share_at
        sent = (call.began for call in self._under_way.values() if call.sent)
        return min((now, *(began for began in sent if now - began <= _LATE_SECONDS)))

    def _long_seconds(self) -> float:
        """A call that lasts for longer takes unusually long."""
        return min(_SLOW_SECONDS, max(_LONG_SECONDS, _TIMES_USUAL * self._usual))

    def _learn(self, now: float, lasted: float, *, answered: bool) -> None:
        """A call ends after `lasted` seconds. It is still noted as under way."""
        hung = not answered or lasted > self._long_seconds()
        share = self._share_now(now)
        self._share = share + (hung - share) * min(1.0, lasted / self._remembered)
        self._share_at = now if hung or self._is_open else max(self._share_at, self._quiet_until(now))
        if answered:
            self._usual += (lasted - self._usual) / _SMOOTHED

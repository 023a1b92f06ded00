"""Rate limits of one account: a token bucket per service, and a pause of each operation that AWS throttles.

AWS limits requests by operation and account, and publishes no numbers for CloudFront. So all resources of the
account share one bucket, whatever provider config they use, and the lowest rate of those configs applies. A
namespaced config, which a team writes, does not slow down other namespaces: its rate applies only if the
account has no cluster-scoped config, and not below the default rate. When AWS throttles an operation, the
provider pauses that operation for the whole account, and for longer if the throttling continues. Other
operations continue, so throttled creations of one team do not delay the changes of another. After the pause
the operation resumes call by call, and the namespaces take turns (`turns.py`). A list is only paused, 1 s
doubling to 60 s: its pages follow each other immediately, and one page alone is of no use.

All times are on the injected clock. Nothing here is needed for correctness.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final, Protocol

from edgetenants_runtime.clock import Clock
from edgetenants_runtime.clock import pause as wait
from provider.cloudfront.aws import operations, turns
from provider.cloudfront.aws.circuits import USUAL_WORKERS, circuits
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.aws.turns import Turns

__all__ = ["DEFAULT_RATE", "LONGEST_WAIT", "Pace"]

DEFAULT_RATE: Final = 5.0
"""Requests per second to one service if no provider config sets a rate."""
LONGEST_WAIT: Final = 10.0
"""Seconds that a call waits in its worker; a longer wait is left to the queue."""
_BURST_SECONDS: Final = 4.0
"""An idle account may send this many seconds' worth of requests in one burst."""
_NOTHING: Final = 1e-6
"""Tolerance in seconds for rounding errors."""
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0


@dataclass
class _Bucket:
    """The token bucket of one service. The rate is used up until `paid_until`."""

    rates: dict[str, float | None] = field(default_factory=dict)
    """Rate by cluster-scoped provider config; None if it sets no rate."""
    of_teams: dict[str, float] = field(default_factory=dict)
    """Rate by namespaced provider config, for those that set one."""
    paid_until: float = float("-inf")

    @property
    def rate(self) -> float:
        if self.rates:
            # The account is the platform team's: namespaced configs do not change its rate.
            return min((rate for rate in self.rates.values() if rate is not None), default=DEFAULT_RATE)
        return max(DEFAULT_RATE, min(self.of_teams.values(), default=DEFAULT_RATE))

    def take(self, now: float) -> float:
        """Take a token and return the seconds to wait; take none if the wait is too long."""
        burst = max(_BURST_SECONDS, 1 / self.rate)
        paid = max(self.paid_until, now - burst) + 1 / self.rate
        waiting = paid - now if paid - now > _NOTHING else 0.0
        if waiting <= LONGEST_WAIT:
            self.paid_until = paid
        return waiting


class _Throttle(Protocol):
    """The state of one operation that AWS may throttle. All times are seconds of one clock."""

    def pause(self, now: float) -> float:
        """Return the seconds until the next call is possible."""
        ...

    def take(self, namespace: str, now: float) -> float:
        """Return the seconds to wait before asking again; 0 if the call may be made now."""
        ...

    def throttled(self, began: float, now: float) -> None:
        """AWS throttled a call that started at `began`."""
        ...

    def answered(self, began: float) -> None:
        """AWS did not throttle a call that started at `began`."""
        ...


@dataclass
class _Pause:
    """The pause of an operation that lists in pages."""

    until: float = float("-inf")
    seconds: float = 0.0

    def pause(self, now: float) -> float:
        return max(0.0, self.until - now)

    def take(self, namespace: str, now: float) -> float:  # noqa: ARG002 - pages take no turns
        return self.pause(now)

    def throttled(self, began: float, now: float) -> None:
        if began < self.until:
            # Sent before the pause started.
            return
        again = now - self.until < max(self.seconds, _FIRST_PAUSE)
        self.seconds = min(_LONGEST_PAUSE, self.seconds * 2) if again else _FIRST_PAUSE
        self.until = now + self.seconds

    def answered(self, began: float) -> None:
        pass


class Pace:
    """The pace of one account. Thread-safe."""

    def __init__(self, clock: Clock, workers: int = USUAL_WORKERS) -> None:
        """`workers` is the number of workers of each kind."""
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: defaultdict[str, _Bucket] = defaultdict(_Bucket)
        self.circuits = circuits(workers)
        """By service."""
        self._throttles: dict[str, _Throttle] = {}
        """By operation, for those that AWS has throttled."""

    def limit(self, service: str, config: str, rate: float | None, *, of_team: bool = False) -> None:
        """Set the rate of a service from one provider config; None if it sets no rate. `of_team`: it is
        namespaced."""
        with self._lock:
            bucket = self._buckets[service]
            if not of_team:
                bucket.rates[config] = rate
            elif rate is not None:
                bucket.of_teams[config] = rate

    def forget(self, config: str) -> None:
        """Drop a provider config's rates: it is for another account now, or is being read again."""
        with self._lock:
            for bucket in self._buckets.values():
                bucket.rates.pop(config, None)
                bucket.of_teams.pop(config, None)

    def rate(self, service: str) -> float:
        """Return the requests per second that the provider may send for this account."""
        with self._lock:
            return self._buckets[service].rate

    @property
    def paused(self) -> float:
        """Seconds until a paused operation resumes; the longest of several."""
        with self._lock:
            now = self._clock.now()
            return max((each.pause(now) for each in self._throttles.values()), default=0.0)

    def admit(self, service: str, operation: str) -> float:
        """Wait until a call may be made; return the seconds waited.

        Raises:
            AwsError: the wait is too long for a worker; the code is Paused, and `after` is set.
        """
        with self._lock:
            now = self._clock.now()
            throttle = self._throttles.get(operation)
            turn = throttle.take(turns.caller(), now) if throttle else 0.0
            if turn > 0:
                words = f"AWS is throttling {operation} requests; they are paused for this account"
                raise AwsError(operation, PAUSED, words, after=turn)
            bucket = self._buckets[service]
            waiting = bucket.take(now)
            rate = bucket.rate
        if waiting > LONGEST_WAIT:
            words = f"the provider sends at most {rate:g} requests per second to {service} for this account"
            raise AwsError(operation, PAUSED, words, after=waiting)
        if waiting > 0:
            wait(self._clock, waiting)
        return waiting

    def now(self) -> float:
        """Return the time that `throttled` and `answered` expect as the start of a call."""
        return self._clock.now()

    def throttled(self, operation: str, began: float) -> None:
        """AWS throttled a call of the operation that started at `began`."""
        with self._lock:
            throttle = self._throttles.get(operation)
            if throttle is None:
                throttle = self._throttles[operation] = _throttle(operation)
            throttle.throttled(began, self._clock.now())

    def answered(self, operation: str, began: float) -> None:
        """AWS did not throttle a call of the operation that started at `began`."""
        with self._lock:
            throttle = self._throttles.get(operation)
            if throttle is not None:
                throttle.answered(began)


def _throttle(operation: str) -> _Throttle:
    if operations.has_pages(operation):
        return _Pause()
    return Turns() if operations.writes(operation) else Turns(turns.LONGEST_READING_GAP)

"""How fast one account is called: a token bucket for each service, and a pause of an operation that AWS
throttles.

AWS limits requests by operation and account, and publishes no figures for CloudFront. So one bucket is shared
by every resource of the account, whatever provider config they use, and the lowest rate that any of those
configs sets holds. A config of a namespace, which a team writes, slows down nobody else: what it sets counts
where no cluster-scoped config of the account sets anything, and not below the usual rate. A throttled answer
pauses its operation in the whole account, and longer while it goes on. Other operations go on, so that
creations of one team, which AWS throttles, hold up no changes of another. After the pause the operation goes
on call by call, and the namespaces take turns (`turns.py`). A list is only paused, 1 s, doubling to 60 s: its
pages follow each other at once, and there is no use for one of them.

All on the injected clock. Nothing here is needed for correctness.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final, Protocol

from edgetenants_runtime.clock import Clock
from edgetenants_runtime.clock import pause as wait
from provider.cloudfront.aws import operations, turns
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.aws.turns import Turns

__all__ = ["DEFAULT_RATE", "LONGEST_WAIT", "Pace"]

DEFAULT_RATE: Final = 5.0
"""Requests a second to one service where no provider config says otherwise."""
LONGEST_WAIT: Final = 10.0
"""Seconds that a call is held back in place; what takes longer is the queue's to wait for, not a worker's."""
_BURST_SECONDS: Final = 4.0
"""An idle account has so many seconds' requests to spend at once."""
_NOTHING: Final = 1e-6
"""Seconds that come of sums of fractions."""
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0


@dataclass
class _Bucket:
    """Requests of one service. `paid_until` is the moment up to which the rate is used up."""

    rates: dict[str, float | None] = field(default_factory=dict)
    """By the provider config; None where it sets none."""
    of_teams: dict[str, float] = field(default_factory=dict)
    """By the provider config of a namespace that sets it."""
    paid_until: float = float("-inf")

    @property
    def rate(self) -> float:
        if self.rates:
            # The account is the platform's, and no team's word makes it slower or faster.
            return min((rate for rate in self.rates.values() if rate is not None), default=DEFAULT_RATE)
        return max(DEFAULT_RATE, min(self.of_teams.values(), default=DEFAULT_RATE))

    def take(self, now: float) -> float:
        """Seconds to wait before a request; it is paid for, unless the wait would be too long."""
        burst = max(_BURST_SECONDS, 1 / self.rate)
        paid = max(self.paid_until, now - burst) + 1 / self.rate
        waiting = paid - now if paid - now > _NOTHING else 0.0
        if waiting <= LONGEST_WAIT:
            self.paid_until = paid
        return waiting


class _Throttle(Protocol):
    """What is known of one operation that AWS may throttle. All times are seconds of one clock."""

    def pause(self, now: float) -> float:
        """Seconds for which nobody may call."""
        ...

    def take(self, namespace: str, now: float) -> float:
        """Seconds to wait before it is worth asking again; 0: the call may be made now."""
        ...

    def throttled(self, began: float, now: float) -> None:
        """AWS throttled a call that began then."""
        ...

    def answered(self, began: float) -> None:
        """AWS did not throttle a call that began then."""
        ...


@dataclass
class _Pause:
    """Of an operation that lists in pages."""

    until: float = float("-inf")
    seconds: float = 0.0

    def pause(self, now: float) -> float:
        return max(0.0, self.until - now)

    def take(self, namespace: str, now: float) -> float:  # noqa: ARG002 - pages take no turns
        return self.pause(now)

    def throttled(self, began: float, now: float) -> None:
        if began < self.until:
            # Made before the pause began.
            return
        again = now - self.until < max(self.seconds, _FIRST_PAUSE)
        self.seconds = min(_LONGEST_PAUSE, self.seconds * 2) if again else _FIRST_PAUSE
        self.until = now + self.seconds

    def answered(self, began: float) -> None:
        pass


class Pace:
    """The pace of one account. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: defaultdict[str, _Bucket] = defaultdict(_Bucket)
        self._throttles: dict[str, _Throttle] = {}
        """By operation, of those that AWS has throttled."""

    def limit(self, service: str, config: str, rate: float | None, *, of_team: bool = False) -> None:
        """What one provider config says of a service; None: nothing. `of_team`: it is a team's."""
        with self._lock:
            bucket = self._buckets[service]
            if not of_team:
                bucket.rates[config] = rate
            elif rate is not None:
                bucket.of_teams[config] = rate

    def forget(self, config: str) -> None:
        """The provider config is of another account, or is read anew."""
        with self._lock:
            for bucket in self._buckets.values():
                bucket.rates.pop(config, None)
                bucket.of_teams.pop(config, None)

    def rate(self, service: str) -> float:
        """Requests a second that the account may make."""
        with self._lock:
            return self._buckets[service].rate

    @property
    def paused(self) -> float:
        """Seconds for which an operation is not called; of several the longest."""
        with self._lock:
            now = self._clock.now()
            return max((each.pause(now) for each in self._throttles.values()), default=0.0)

    def admit(self, service: str, operation: str) -> float:
        """Hold a call back until it may be made; the seconds that it took.

        Raises:
            AwsError: of code Paused, with `after`: it must wait longer than a worker should.
        """
        with self._lock:
            now = self._clock.now()
            throttle = self._throttles.get(operation)
            turn = throttle.take(turns.caller(), now) if throttle else 0.0
            if turn > 0:
                words = f"AWS throttles {operation} requests, so those of this account wait"
                raise AwsError(operation, PAUSED, words, after=turn)
            bucket = self._buckets[service]
            waiting = bucket.take(now)
            rate = bucket.rate
        if waiting > LONGEST_WAIT:
            words = f"the provider makes at most {rate:g} requests a second to {service} for this account"
            raise AwsError(operation, PAUSED, words, after=waiting)
        if waiting > 0:
            wait(self._clock, waiting)
        return waiting

    def now(self) -> float:
        """What `throttled` and `answered` take for the beginning of a call."""
        return self._clock.now()

    def throttled(self, operation: str, began: float) -> None:
        """AWS throttled a call of the operation, which began then."""
        with self._lock:
            throttle = self._throttles.get(operation)
            if throttle is None:
                throttle = self._throttles[operation] = _throttle(operation)
            throttle.throttled(began, self._clock.now())

    def answered(self, operation: str, began: float) -> None:
        """AWS did not throttle a call of the operation, which began then."""
        with self._lock:
            throttle = self._throttles.get(operation)
            if throttle is not None:
                throttle.answered(began)


def _throttle(operation: str) -> _Throttle:
    if operations.has_pages(operation):
        return _Pause()
    return Turns() if operations.writes(operation) else Turns(turns.LONGEST_READING_GAP)

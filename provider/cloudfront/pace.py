"""How fast one account is called: a token bucket for each service, and a pause of an operation that AWS
throttles.

AWS limits requests by operation and account, and publishes no figures for CloudFront. So one bucket is shared
by every resource of the account, whatever provider config they use, and the lowest rate that any of those
configs sets holds. A config of a namespace, which a team writes, slows down nobody else: what it sets counts
where no cluster-scoped config of the account sets anything, and not below the usual rate. A throttled answer
pauses its operation, in the whole account: 1 s, doubling to 60 s while it goes on. Other operations go on, so
that creations of one team, which AWS throttles, hold up no changes of another.

All on the injected clock. Nothing here is needed for correctness.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from edgetenants_runtime.clock import Clock
from edgetenants_runtime.clock import pause as wait
from provider.cloudfront.errors import PAUSED, AwsError

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


@dataclass
class _Pause:
    """Of one operation."""

    until: float = float("-inf")
    seconds: float = 0.0

    def begin(self, now: float) -> None:
        """AWS throttled a call."""
        if now < self.until:
            # Made before the pause began.
            return
        again = now - self.until < max(self.seconds, _FIRST_PAUSE)
        self.seconds = min(_LONGEST_PAUSE, self.seconds * 2) if again else _FIRST_PAUSE
        self.until = now + self.seconds


class Pace:
    """The pace of one account. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: defaultdict[str, _Bucket] = defaultdict(_Bucket)
        self._pauses: defaultdict[str, _Pause] = defaultdict(_Pause)
        """By operation."""

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
            return max((each.until - now for each in self._pauses.values() if now < each.until), default=0.0)

    def admit(self, service: str, operation: str) -> float:
        """Hold a call back until it may be made; the seconds that it took.

        Raises:
            AwsError: of code Paused, with `after`: it must wait longer than a worker should.
        """
        with self._lock:
            now = self._clock.now()
            pause = self._pauses.get(operation)
            if pause is not None and now < pause.until:
                words = f"AWS throttles {operation} requests, so those of this account wait"
                raise AwsError(operation, PAUSED, words, after=pause.until - now)
            bucket = self._buckets[service]
            waiting = bucket.take(now)
            rate = bucket.rate
        if waiting > LONGEST_WAIT:
            words = f"the provider makes at most {rate:g} requests a second to {service} for this account"
            raise AwsError(operation, PAUSED, words, after=waiting)
        if waiting > 0:
            wait(self._clock, waiting)
        return waiting

    def throttled(self, operation: str) -> None:
        """AWS throttled a call of the operation."""
        with self._lock:
            self._pauses[operation].begin(self._clock.now())

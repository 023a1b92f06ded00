"""How fast one account is called: a token bucket for each service, and a pause for all after a throttling.

AWS limits requests by operation and account, and publishes no figures for CloudFront. So one bucket is shared
by every resource of the account, whatever provider config they use, and the lowest rate that any of those
configs sets holds. A config of a namespace, which a team writes, slows down nobody else: what it sets counts
where no cluster-scoped config of the account sets anything, and not below the usual rate. A throttled answer
pauses the whole account: 1 s, doubling to 60 s while it goes on.

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


class Pace:
    """The pace of one account. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: defaultdict[str, _Bucket] = defaultdict(_Bucket)
        self._paused_until = float("-inf")
        self._pause = 0.0

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
        """Seconds for which no call is made."""
        with self._lock:
            return max(0.0, self._paused_until - self._clock.now())

    def admit(self, service: str, operation: str) -> float:
        """Hold a call back until it may be made; the seconds that it took.

        Raises:
            AwsError: of code Paused, with `after`: it must wait longer than a worker should.
        """
        with self._lock:
            now = self._clock.now()
            if now < self._paused_until:
                words = "AWS answered that requests come too fast, so all of this account wait"
                raise AwsError(operation, PAUSED, words, after=self._paused_until - now)
            bucket = self._buckets[service]
            waiting = bucket.take(now)
            rate = bucket.rate
        if waiting > LONGEST_WAIT:
            words = f"the provider makes at most {rate:g} requests a second to {service} for this account"
            raise AwsError(operation, PAUSED, words, after=waiting)
        if waiting > 0:
            wait(self._clock, waiting)
        return waiting

    def throttled(self) -> None:
        """AWS throttled a call."""
        with self._lock:
            now = self._clock.now()
            if now < self._paused_until:
                # Made before the pause began.
                return
            again = now - self._paused_until < max(self._pause, _FIRST_PAUSE)
            self._pause = min(_LONGEST_PAUSE, self._pause * 2) if again else _FIRST_PAUSE
            self._paused_until = now + self._pause

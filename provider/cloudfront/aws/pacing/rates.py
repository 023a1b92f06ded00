"""The rates that provider configs set for one account: a token bucket per service.

All resources of the account share the bucket of a service, whatever provider config they use, and the lowest
rate of the cluster-scoped configs applies. A namespaced config, which a team writes, lowers only its own
share: its calls pay into a bucket of their own, too. It never raises the account's rate.

Not thread-safe: the account's Pace holds the lock.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from provider.cloudfront.aws.errors import PAUSED, AwsError

__all__ = ["DEFAULT_RATE", "LONGEST_WAIT", "Held", "Rates"]

DEFAULT_RATE: Final = 5.0
"""Requests per second to one service if no provider config sets a rate."""
LONGEST_WAIT: Final = 10.0
"""Seconds that a call waits in its worker; a longer wait is left to the queue. With the lowest rate that a
config may set, the second call of a reconcile waits as long."""
_BURST_SECONDS: Final = 4.0
"""After a time without requests, this many seconds' worth of them may come in one burst."""
_NOTHING: Final = 1e-6
"""Tolerance in seconds for rounding errors."""


@dataclass(frozen=True)
class Held:
    """The seconds that a call has to wait."""

    account: float
    """Because of the account's rate."""
    share: float
    """Because of the rate of its namespaced provider config."""

    @property
    def longest(self) -> float:
        """The longer of both."""
        return max(self.account, self.share)


@dataclass
class _Bucket:
    """The rate is used up until `paid_until`."""

    rates: dict[str, float | None] = field(default_factory=dict)
    """Rate by provider config; None if it sets no rate."""
    paid_until: float = float("-inf")

    @property
    def rate(self) -> float:
        return min((rate for rate in self.rates.values() if rate is not None), default=DEFAULT_RATE)

    def waits(self, now: float, calls: int = 1) -> float:
        """Return the seconds until there are tokens for so many calls."""
        waiting = self._paid(now) + (calls - 1) / self.rate - now
        return waiting if waiting > _NOTHING else 0.0

    def take(self, now: float) -> None:
        """Take that token."""
        self.paid_until = self._paid(now)

    def give_back(self) -> None:
        """A call took a token and is not made."""
        self.paid_until -= 1 / self.rate

    def _paid(self, now: float) -> float:
        burst = max(_BURST_SECONDS, 1 / self.rate)
        return max(self.paid_until, now - burst) + 1 / self.rate


class Rates:
    """The rates of one account. All times are seconds of one clock."""

    def __init__(self) -> None:
        self._buckets: defaultdict[str, _Bucket] = defaultdict(_Bucket)
        """By service."""
        self._shares: dict[tuple[str, str], _Bucket] = {}
        """By service and namespaced provider config, for those that set a rate."""

    def limit(self, service: str, config: str, rate: float | None, *, of_team: bool = False) -> None:
        """Set the rate of a service from one provider config; None if it sets no rate. `of_team`: it is
        namespaced."""
        if not of_team:
            self._buckets[service].rates[config] = rate
        elif rate is not None:
            self._shares[service, config] = _Bucket({config: rate})

    def forget(self, config: str) -> None:
        """Drop a provider config's rates."""
        for bucket in self._buckets.values():
            bucket.rates.pop(config, None)
        self._shares = {key: share for key, share in self._shares.items() if key[1] != config}

    def rate(self, service: str) -> float:
        """Return the account's requests per second."""
        return self._buckets[service].rate

    def check(self, service: str, operation: str, config: str, now: float, before: int = 0) -> Held:
        """Return how long a call would have to wait, after `before` other calls of the account.

        Raises:
            AwsError: too long for a worker; the code is Paused, and `after` is set.
        """
        account, share = self._buckets[service], self._share(service, config)
        held = Held(account.waits(now, before + 1), share.waits(now) if share else 0.0)
        if share and held.share > LONGEST_WAIT:
            raise self.refusal(service, operation, config, held.share)
        if held.account > LONGEST_WAIT:
            raise self.refusal_of_account(service, operation, held.account)
        return held

    def waits(self, service: str, now: float, calls: int = 1) -> float:
        """Return the seconds until the account's rate permits so many calls."""
        return self._buckets[service].waits(now, calls)

    def take(self, service: str, now: float) -> None:
        """A call of the account is made."""
        self._buckets[service].take(now)

    def take_share(self, service: str, config: str, now: float) -> None:
        """A call of a config is made, after the wait that `check` returned."""
        if share := self._share(service, config):
            share.take(now)

    def give_back_share(self, service: str, config: str) -> None:
        """That call is not made."""
        if share := self._share(service, config):
            share.give_back()

    def refusal(self, service: str, operation: str, config: str, after: float) -> AwsError:
        """Return the error of a call that does not wait in its worker for its config's share."""
        rate = self._shares[service, config].rate
        return _refusal(operation, rate, f"{service} with this ProviderConfig", after)

    def refusal_of_account(self, service: str, operation: str, after: float) -> AwsError:
        """Return the error of a call that waits no longer in its worker for the account's rate."""
        return _refusal(operation, self._buckets[service].rate, f"{service} for this account", after)

    def _share(self, service: str, config: str) -> _Bucket | None:
        """The bucket of a namespaced config that sets a lower rate than the account's."""
        share = self._shares.get((service, config))
        return share if share and share.rate < self._buckets[service].rate else None


def _refusal(operation: str, rate: float, whither: str, after: float) -> AwsError:
    words = f"the provider sends at most {rate:g} requests per second to {whither}"
    return AwsError(operation, PAUSED, words, after=after)

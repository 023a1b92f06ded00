"""Rate limits as token buckets on the virtual clock. By default there are none.

Route 53 publishes its limits (Developer Guide, "Throttling of API requests"). CloudFront publishes none, but
throttles with the same error, so any limit can be set for its operations.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.protocol.operations import CLOUDFRONT
from edgetenants_emulator.settings import Settings

__all__ = ["ALL", "EACH", "PUBLISHED", "Limit", "RateLimits", "TokenBucket", "Unit", "of_settings"]

ALL = "*"
"""All operations of a service together."""
EACH = "each"
"""Each operation of a service without its own limit, separately."""
_ACTION = re.compile(rb"<Action>\s*(CREATE|DELETE|UPSERT)\s*</Action>")


class Unit(StrEnum):
    """The unit of a limit."""

    REQUESTS = "requests"
    """Each request counts one."""
    CHANGES = "changes"
    """Changes of records in a request to Route 53: two for an UPSERT, one for a CREATE or DELETE."""


@dataclass(frozen=True)
class Limit:
    """A limit, with one bucket per account."""

    service: str
    operation: str
    """An operation's name, ALL or EACH."""
    burst: float
    """Tokens in a full bucket."""
    refill: float
    """Tokens added per virtual second."""
    unit: Unit = Unit.REQUESTS

    def __post_init__(self) -> None:
        if not (self.burst >= 1 and self.refill >= 0):
            raise ValueError(f"expected burst ≥ 1 and refill ≥ 0, got {self.burst} and {self.refill}")

    @property
    def key(self) -> tuple[str, str, Unit]:
        """The key of a limit; there is at most one limit per key."""
        return self.service, self.operation, self.unit


PUBLISHED: Mapping[str, tuple[Limit, ...]] = {
    "route53": (
        Limit("route53", ALL, 50, 10),
        Limit("route53", EACH, 50, 10),
        Limit("route53", "CreateHostedZone", 40, 2),
        Limit("route53", "ChangeResourceRecordSets", 50, 10),
        Limit("route53", "ChangeResourceRecordSets", 1500, 100, Unit.CHANGES),
    )
}
"""The limits that AWS publishes, by service."""


class TokenBucket:
    """A bucket that starts full and refills over time, up to its burst.

    >>> bucket = TokenBucket(burst=2, refill=0.5, now=0)
    >>> bucket.take(1, now=0), bucket.take(1, now=0), bucket.take(1, now=1), bucket.take(1, now=2)
    (True, True, False, True)
    """

    def __init__(self, burst: float, refill: float, now: float) -> None:
        self._burst, self._refill = burst, refill
        self._tokens, self._at = burst, now

    def has(self, cost: float, now: float) -> bool:
        """Whether the bucket contains `cost` tokens; a full bucket always has enough."""
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * self._refill)
        self._at = max(self._at, now)
        # The sum of many small refills may be slightly less than a whole token.
        return self._tokens + 1e-9 >= min(cost, self._burst)

    def take(self, cost: float, now: float) -> bool:
        """Take `cost` tokens; if there are too few, take none and return False."""
        if not self.has(cost, now):
            return False
        self._tokens = max(0.0, self._tokens - cost)
        return True


class RateLimits:
    """The limits of one emulator and the buckets of its accounts."""

    def __init__(self, now: Callable[[], float], standing: Callable[[], Iterable[Limit]] = tuple) -> None:
        """`standing` returns the default limits, which apply unless one with the same key is set."""
        self._now, self._standing = now, standing
        self._lock = threading.Lock()
        self._limits: dict[tuple[str, str, Unit], Limit] = {}
        self._buckets: dict[tuple[object, ...], TokenBucket] = {}

    def set(self, limits: Iterable[Limit]) -> None:
        """Add limits, replacing those of the same service, operation and unit, and refill all buckets."""
        with self._lock:
            self._limits.update({limit.key: limit for limit in limits})
            self._buckets.clear()

    def clear(self, service: str = "") -> None:
        """Remove the limits of a service, or all limits."""
        with self._lock:
            self._limits = {key: each for key, each in self._limits.items() if service not in ("", key[0])}
            self._buckets.clear()

    def listed(self) -> list[Limit]:
        """The configured limits."""
        with self._lock:
            return list(self._limits.values())

    def admit(self, service: str, operation: str, account: str, body: bytes) -> None:
        """Admit a request and count it.

        Raises AwsError Throttling if one of its buckets is empty, and then counts it in none.
        """
        with self._lock:
            limits = {limit.key: limit for limit in self._standing()} | self._limits
            if not limits:
                return
            now = self._now()
            costs = [
                (self._bucket(limit, operation, account, now), _cost(limit.unit, body))
                for limit in limits.values()
                if _concerns(limit, service, operation, own=(service, operation, limit.unit) in limits)
            ]
            if not all(bucket.has(cost, now) for bucket, cost in costs):
                raise AwsError(ErrorCode.THROTTLING, "Rate exceeded")
            for bucket, cost in costs:
                bucket.take(cost, now)

    def _bucket(self, limit: Limit, operation: str, account: str, now: float) -> TokenBucket:
        key = (limit, operation if limit.operation == EACH else "", account)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = TokenBucket(limit.burst, limit.refill, now)
        return bucket


def of_settings(settings: Settings) -> tuple[Limit, ...]:
    """The limit per operation of CloudFront from the settings."""
    per_second, burst = settings.cloudfront_requests_per_second, settings.cloudfront_requests_burst
    return (Limit(CLOUDFRONT, EACH, max(1, burst), per_second),) if per_second > 0 else ()


def _concerns(limit: Limit, service: str, operation: str, *, own: bool) -> bool:
    if limit.service != service:
        return False
    return limit.operation in (operation, ALL) or (limit.operation == EACH and not own)


def _cost(unit: Unit, body: bytes) -> int:
    if unit is Unit.REQUESTS:
        return 1
    return sum(2 if action == b"UPSERT" else 1 for action in _ACTION.findall(body))

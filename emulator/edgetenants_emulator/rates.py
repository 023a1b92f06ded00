"""Rate limits as token buckets on the virtual clock: a call takes a token, or is answered with Throttling.

of CloudFront   settings `cloudfront_requests_per_second` and `_burst`, for each account and operation
of Route 53     setting `route53_limits`: what its developer guide publishes
of any service  limits set by the admin API, for an operation or for all of a service together
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from edgetenants_emulator.clock import VirtualClock
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.operations import CLOUDFRONT
from edgetenants_emulator.settings import Settings

__all__ = ["Limit", "Rates"]

_ALL = "*"
_ROUTE53 = "route53"


@dataclass(frozen=True)
class Limit:
    """A bucket's size and how fast it fills."""

    service: str
    operation: str
    """`*` for all of the service together."""
    per_second: float
    """Tokens for each virtual second."""
    burst: float
    """Tokens in a full bucket."""


@dataclass
class _Bucket:
    tokens: float
    filled: float
    """The virtual time that `tokens` is of."""

    def fill(self, limit: Limit, now: float) -> None:
        self.tokens = min(limit.burst, self.tokens + (now - self.filled) * limit.per_second)
        self.filled = now


class Rates:
    """All buckets, one for each limit and account."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._own: dict[tuple[str, str], Limit] = {}
        self._buckets: dict[tuple[Limit, str], _Bucket] = {}

    def put(self, wanted: Mapping[str, Any]) -> None:
        """Set a limit, instead of one that its service and operation have. Raises ValueError."""
        known = {"service", "operation", "per_second", "burst"}
        if set(wanted) - known or "per_second" not in wanted:
            raise ValueError("a rate limit takes service, operation, per_second (virtual), burst")
        per_second = float(wanted["per_second"])
        burst = float(wanted.get("burst", max(1.0, per_second)))
        if per_second < 0 or burst < 1:
            raise ValueError("per_second is at least 0, and burst at least 1")
        limit = Limit(wanted.get("service", CLOUDFRONT), wanted.get("operation", _ALL), per_second, burst)
        with self._lock:
            self._own[limit.service, limit.operation] = limit

    def clear(self) -> None:
        """Forget the limits that were set, and fill all buckets."""
        with self._lock:
            self._own.clear()
            self._buckets.clear()

    def listed(self) -> list[dict[str, Any]]:
        """The limits that were set."""
        with self._lock:
            return [asdict(limit) for limit in self._own.values()]

    def take(self, settings: Settings, service: str, operation: str, account: str) -> None:
        """Take a token from each bucket of a call, or none of any. Raises AwsError Throttling."""
        with self._lock:
            limits = list(self._limits(settings, service, operation))
            if not limits:
                return
            now = self._clock.now()
            buckets = [self._bucket(limit, account, now) for limit in limits]
            if any(bucket.tokens < 1 for bucket in buckets):
                raise AwsError(ErrorCode.THROTTLING, "Rate exceeded")
            for bucket in buckets:
                bucket.tokens -= 1

    def _limits(self, settings: Settings, service: str, operation: str) -> Iterator[Limit]:
        for name in (operation, _ALL):
            if (service, name) in self._own:
                yield self._own[service, name]
        per_second = settings.cloudfront_requests_per_second
        if service == CLOUDFRONT and per_second > 0:
            yield Limit(service, operation, per_second, max(1, settings.cloudfront_requests_burst))
        if service == _ROUTE53 and settings.route53_limits:
            yield Limit(service, _ALL, 10, 50)
            slow = operation == "CreateHostedZone"
            yield Limit(service, operation, 2 if slow else 10, 40 if slow else 50)

    def _bucket(self, limit: Limit, account: str, now: float) -> _Bucket:
        bucket = self._buckets.setdefault((limit, account), _Bucket(limit.burst, now))
        bucket.fill(limit, now)
        return bucket

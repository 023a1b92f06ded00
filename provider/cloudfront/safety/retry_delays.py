"""Retries terminal failures less and less often, until the spec or the annotations change.

Each retry of a failure that only a change can fix costs calls, and a thousand claims of one bad plan fail
alike. The first retry comes after the poll interval, the next after twice that, and so on up to ten minutes:
the cause may also be fixed in AWS, which sends no notification. A change of the provider config starts over.
So does a cause that is known to have ended, and then the first retries come within seconds: CloudFront may
refuse a domain once more before the change that released it is rolled out.

Throttled calls are not terminal; see `aws/throttling.py`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from edgetenants_runtime.errors import ExternalError, Retry, RetryMode
from edgetenants_runtime.external import Change, ExternalClient, Observation
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.pacing.turns import on_behalf_of
from provider.cloudfront.state.creating import CREATING_IN
from provider.cloudfront.state.identity import namespace_of

__all__ = ["LONGEST", "DelayedRetryClient", "RetryDelays"]

LONGEST: Final = 600.0
"""Maximum seconds between two tries, unless the poll interval is longer."""
_SOON: Final = 8
"""The number of retries with back-off after a known change; they take about three minutes."""
_ATTEMPTS: Final = "crossplane.io/external-create-"
_T = TypeVar("_T")


_MOST: Final = 20_000
"""Maximum number of resources whose failures are counted, and of those that are retried soon: such a resource
may be deleted unnoticed, and anyone may create them again and again."""


@dataclass(frozen=True)
class _Refusal:
    asked: bytes
    """Digest of the desired state: annotations may be long."""
    tries: int


class RetryDelays:
    """Counts consecutive terminal failures of each resource. Thread-safe."""

    def __init__(self, poll_seconds: float = 60.0) -> None:
        self._poll_seconds = poll_seconds
        self._lock = threading.Lock()
        self._refusals: OrderedDict[str, _Refusal] = OrderedDict()
        """The resource that was refused last is the last one."""
        self._soon: OrderedDict[str, int] = OrderedDict()
        """The resource that was woken last is the last one."""

    def woken(self, uid: str) -> None:
        """What the resource waited for has happened: start over, with the first retries soon."""
        with self._lock:
            self._refusals.pop(uid, None)
            self._soon[uid] = _SOON
            self._soon.move_to_end(uid)
            if len(self._soon) > _MOST:
                self._soon.popitem(last=False)

    def refused(self, mr: Managed, config: str) -> Retry:
        """Count a terminal failure; return when to retry."""
        asked = _asked(mr, config)
        with self._lock:
            if soon := self._soon.pop(mr.uid, 0):
                self._soon |= {mr.uid: soon - 1} if soon > 1 else {}
                return Retry.backoff()
            before = self._refusals.pop(mr.uid, None)
            tries = before.tries + 1 if before and before.asked == asked else 1
            self._refusals[mr.uid] = _Refusal(asked, tries)
            if len(self._refusals) > _MOST:
                self._refusals.popitem(last=False)
        if tries == 1:
            return Retry.poll()
        seconds = self._poll_seconds * 2.0 ** min(tries - 1, 30)
        return Retry.after(max(self._poll_seconds, min(LONGEST, seconds)))

    def went_well(self, mr: Managed) -> None:
        """Forget the failures of a resource."""
        with self._lock:
            self._refusals.pop(mr.uid, None)
            self._soon.pop(mr.uid, None)


class DelayedRetryClient:
    """An external client that retries terminal failures less and less often, and whose calls wait for their
    namespace's turn while AWS throttles them."""

    def __init__(self, client: ExternalClient, delays: RetryDelays, config: str) -> None:
        """`config` identifies the provider config and its version: a different one starts over."""
        self._client, self._delays, self._config = client, delays, config

    def observe(self, mr: Managed) -> Observation:
        """See ExternalClient."""
        seen = self._delaying_retries(mr, lambda: self._client.observe(mr))
        settled = seen.exists and seen.up_to_date and not mr.deleted
        if settled or (mr.deleted and not seen.exists):
            self._delays.went_well(mr)
        return seen

    def create(self, mr: Managed, seen: Observation) -> Change:
        """See ExternalClient."""
        return self._changed(mr, lambda: self._client.create(mr, seen))

    def update(self, mr: Managed, seen: Observation) -> Change:
        """See ExternalClient."""
        return self._changed(mr, lambda: self._client.update(mr, seen))

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """See ExternalClient."""
        return self._changed(mr, lambda: self._client.delete(mr, seen))

    def _changed(self, mr: Managed, call: Callable[[], Change]) -> Change:
        change = self._delaying_retries(mr, call)
        self._delays.went_well(mr)
        return change

    def _delaying_retries(self, mr: Managed, call: Callable[[], _T]) -> _T:
        try:
            with on_behalf_of(namespace_of(mr)):
                return call()
        except ExternalError as error:
            if error.retry.mode is not RetryMode.POLL:
                raise
            raise error.but(retry=self._delays.refused(mr, self._config)) from error


def _asked(mr: Managed, config: str) -> bytes:
    """Return a digest of the desired state, without the annotations in which the runtime records
    creations."""
    ours = (_ATTEMPTS, CREATING_IN)
    annotations = {key: value for key, value in mr.annotations.items() if not key.startswith(ours)}
    asked = (mr.generation, mr.deleted, annotations, dict(mr.labels), config)
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).digest()

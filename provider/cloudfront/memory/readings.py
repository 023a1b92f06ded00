"""What AWS says about the tenants that resources of other namespaces have in a connection group.

Anyone may name a group in as many resources as they like, and edit, delete and create these at any time. So a
reading is bounded by the calls that it makes: for each namespace, and in all. It takes several reconciles.
Until it is over, and for a while after that, nothing is read twice:

    first reconcile ──▶ reads on in the next ones ──▶ complete ──▶ five minutes later: a new reading
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["NotRead", "Reading", "Readings"]

_MOST_OF_A_SHARE: Final = 20
"""The most tenants that are read for the resources of one namespace, apart from the newest ones."""
_MOST: Final = 200
"""The most tenants that are read for all of them."""
_KEPT_SECONDS: Final = 300.0
_LONGEST_SECONDS: Final = 1800.0
"""A reading that is not complete by then begins again: its first answers are too old."""

_Tenant = tuple[Hashable, str]


class NotRead(Exception):  # noqa: N818 - says what did not happen
    """The tenant was not read."""


class Reading:
    """One reading for one connection group. One worker at a time uses it."""

    def __init__(self, group: str, begun: float) -> None:
        self.group = group
        """The id of the connection group."""
        self.latest = begun + _LONGEST_SECONDS
        """When it has to be complete."""
        self.until = float("inf")
        self.complete = False
        self._answers: dict[_Tenant, ObservedTenant | NotRead | None] = {}
        self._calls = Counter[Hashable]()

    def get(
        self, share: Hashable, name: str, read: Callable[[], ObservedTenant | None]
    ) -> ObservedTenant | None:
        """Return what AWS said about that tenant of the share. What another share was told does not count:
        the tenant may be new.

        Raises:
            NotRead: enough was read for the share, or for all; or `read` raised it, now or before.
        """
        what = (share, name)
        if what not in self._answers:
            if self._calls[share] >= _MOST_OF_A_SHARE or self._calls.total() >= _MOST:
                raise NotRead
            self._answers[what] = _answer(read)
            self._calls[share] += 1
        answer = self._answers[what]
        if isinstance(answer, NotRead):
            raise NotRead from answer.__cause__
        return answer

    def in_turn(self, tenants: Iterable[_Tenant]) -> list[_Tenant]:
        """Order tenants with their shares: first those that were read already, then those of the shares for
        which the fewest were read. New names of many namespaces do not keep another one from its turn."""
        had = Counter(self._calls)
        turns: dict[_Tenant, int] = {}
        for tenant in tenants:
            share, _ = tenant
            known = tenant in self._answers
            turns[tenant] = 0 if known else 1 + had[share]
            had[share] += not known
        return sorted(turns, key=turns.__getitem__)


def _answer(read: Callable[[], ObservedTenant | None]) -> ObservedTenant | NotRead | None:
    try:
        return read()
    except NotRead as error:
        return error


class Readings:
    """The last reading for each managed resource. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._readings: dict[str, Reading] = {}

    def of(self, uid: str, group: str) -> Reading:
        """Return the reading for a managed resource and its connection group: the last one, or a new one."""
        with self._lock:
            now = self._clock.now()
            reading = self._readings.get(uid)
            if reading is None or reading.group != group or now >= reading.until:
                reading = self._readings[uid] = Reading(group, now)
            if not reading.complete:
                reading.until = min(now + _KEPT_SECONDS, reading.latest)
            return reading

    def end(self, reading: Reading) -> None:
        """Note that a reading is complete. It is good for a while, however often it is used."""
        with self._lock:
            if not reading.complete:
                reading.complete, reading.until = True, self._clock.now() + _KEPT_SECONDS

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._readings.pop(uid, None)

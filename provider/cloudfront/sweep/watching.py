"""The resources that the sweeps watch, instead of the runtime polling them.

At rest, a resource waits for a change that someone else makes. In motion, it waits for CloudFront: for the
end of a roll-out, or until a deleted tenant is gone. Resources in motion want lists more often. As long as
there are fewer of them than pages in a list, a Get for each costs less, and they are polled.

Not thread-safe: the Inventory holds the lock.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from edgetenants_runtime.managed import ObjectKey
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["Follower", "Motion", "Watch", "Watchers"]

_COUNTED: Final = 600.0
"""Seconds after which a resource in motion counts no more if it was not reconciled: it may be gone."""


@dataclass(frozen=True)
class Follower:
    """A managed resource that is watched."""

    uid: str
    api_version: str
    key: ObjectKey


@dataclass(frozen=True)
class Motion:
    """What a resource in motion waits for."""

    seen: ObservedTenant
    """Its tenant, as AWS answered last."""
    every: float
    """Seconds between two lists."""
    due: float
    """When it wants the next one."""
    gone: bool
    """It waits until no list shows the tenant."""


@dataclass(frozen=True)
class Watch:
    """What a resource waits for."""

    id: str
    """Of the tenant."""
    group: str | None
    until: float
    """The runtime reconciles it by then."""
    motion: Motion | None = None
    """None at rest."""
    certificate: str | None = None
    """The ARN of the pending certificate for which it waits, too."""


class Watchers:
    """All of them."""

    def __init__(self) -> None:
        self._watches: dict[Follower, Watch] = {}
        """The one that was watched first is first."""
        self._by_id: defaultdict[str, set[Follower]] = defaultdict(set)
        self._moving: OrderedDict[Follower, float] = OrderedDict()
        """The resources in motion, whether they are watched or polled, and since when."""

    def __iter__(self) -> Iterator[Follower]:
        return iter(self._watches)

    def __len__(self) -> int:
        return len(self._watches)

    def of(self, id_: str) -> list[tuple[Follower, Watch]]:
        """The watches of one tenant."""
        return [(each, self._watches[each]) for each in self._by_id.get(id_, ())]

    def add(self, follower: Follower, watch: Watch) -> None:
        """Watch a resource."""
        self.drop(follower)
        self._watches[follower] = watch
        self._by_id[watch.id].add(follower)

    def drop(self, follower: Follower) -> None:
        """Watch a resource no more."""
        watch = self._watches.pop(follower, None)
        if watch is None:
            return
        self._by_id[watch.id].discard(follower)
        if not self._by_id[watch.id]:
            del self._by_id[watch.id]

    def wake(self, which: Callable[[Watch], bool]) -> list[Follower]:
        """Watch these no more, and return them: they are to be reconciled."""
        found = [follower for follower, watch in self._watches.items() if which(watch)]
        for follower in found:
            self.reconciles(follower)
        return found

    # In motion.

    def moves(self, follower: Follower, now: float) -> int:
        """Note that a resource is in motion, until it is reconciled again. Returns how many are."""
        self._moving[follower] = now
        self._moving.move_to_end(follower)
        while next(iter(self._moving.values())) < now - _COUNTED:
            self._moving.popitem(last=False)
        return len(self._moving)

    def reconciles(self, follower: Follower) -> None:
        """Note that a resource is being reconciled, or exists no more."""
        self.drop(follower)
        self._moving.pop(follower, None)

    def few(self, pages: int) -> list[Follower]:
        """If a list has more `pages` than there are resources in motion, watch these no more; return them."""
        if len(self._moving) >= pages:
            return []
        return self.wake(lambda watch: watch.motion is not None)

    def wanted(self) -> float:
        """When the next list is wanted; inf if no resource in motion is watched."""
        dues = (watch.motion.due for watch in self._watches.values() if watch.motion)
        return min(dues, default=float("inf"))

    def listed(self, began: float) -> None:
        """Note that a list that began then is complete: resources in motion want another one later."""
        for follower, watch in self._watches.items():
            if watch.motion and watch.motion.due <= began + watch.motion.every:
                later = replace(watch.motion, due=began + watch.motion.every)
                self._watches[follower] = replace(watch, motion=later)

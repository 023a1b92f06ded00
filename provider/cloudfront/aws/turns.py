"""Whose turn it is, of the namespaces whose calls of one operation AWS throttles.

After a throttled answer one call is made in each gap: of 1 s at first, twice as long after each further
throttled answer, at most 20 s (5 s where it reads), half as long after each other answer, until the operation
is free again. So what AWS permits is used, and those that wait do not all call when a pause ends.

Who has to wait is told when to come again. A few of each namespace come at the next call that may be made,
and of those the namespace that had its turn longest ago goes first: one with many resources that wait delays
another one by a gap, and not by all of its own. The others of a namespace come a little later, and take the
places of those that had their turn.

Not thread-safe: the pace of the account holds the lock.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

__all__ = ["LONGEST_READING_GAP", "Turns", "caller", "on_behalf_of"]

FIRST_GAP: Final = 1.0
LONGEST_GAP: Final = 20.0
LONGEST_READING_GAP: Final = 5.0
"""Reading is most of what an account is asked for, and a minute has to see most of its tenants."""
_SHORTEST_GAP: Final = 0.25
"""Below it the operation is free: the account's rate is lower by itself."""
_IDLE: Final = 60.0
"""Seconds without a call after which the operation is free."""
_FIRST: Final = 3
"""Of a namespace come at the next call that may be made."""
_SHORTEST_WAIT: Final = 15.0
_LONGEST_WAIT: Final = 90.0
"""Seconds after which the others come, one longer for each that waits: AWS may permit more by then, and each
costs calls that read."""
_LATE: Final = 5.0
"""Seconds for which a namespace that was told to come now is waited for, at most half a gap."""

_caller: ContextVar[str] = ContextVar("caller", default="")


@contextmanager
def on_behalf_of(namespace: str) -> Iterator[None]:
    """The calls that the block makes are those of the namespace; "" is nobody's in particular."""
    token = _caller.set(namespace)
    try:
        yield
    finally:
        _caller.reset(token)


def caller() -> str:
    """The namespace whose call this is."""
    return _caller.get()


class Turns:
    """Of one operation in one account. All times are seconds of one clock."""

    def __init__(self, longest: float = LONGEST_GAP) -> None:
        """`longest` is the longest gap."""
        self._longest = longest
        self._gap = 0.0
        """0: the operation is free."""
        self._throttled_at = float("-inf")
        self._next = float("-inf")
        """When the next call may be made."""
        self._told: defaultdict[str, list[float]] = defaultdict(list)
        """By namespace: when those that wait were told to come, in order."""
        self._had: dict[str, float] = {}
        """By namespace: when it had its last turn, or did not come for it."""

    def pause(self, now: float) -> float:
        """Seconds for which nobody may call."""
        return max(0.0, self._next - now) if self._gap else 0.0

    def take(self, namespace: str, now: float) -> float:
        """Seconds to wait before it is worth asking again; 0: the call may be made now."""
        if self._gap and now - self._next > _IDLE:
            self._free()
        if not self._gap:
            return 0.0
        self._expire(now)
        mine = self._told[namespace]
        if mine and mine[0] <= now:
            del mine[0]
        if now < self._next or self._is_anothers_turn(namespace, now):
            return self._tell(mine, now) - now
        self._had[namespace] = now
        self._next = now + self._gap
        return 0.0

    def throttled(self, began: float, now: float) -> None:
        """AWS throttled a call that began then."""
        if began <= self._throttled_at:
            # Made before the gaps began, or grew.
            return
        self._throttled_at = now
        self._gap = min(self._longest, self._gap * 2) if self._gap else FIRST_GAP
        self._next = now + self._gap

    def answered(self, began: float) -> None:
        """AWS did not throttle a call that began then."""
        if not self._gap or began <= self._throttled_at:
            return
        self._next -= self._gap / 2
        self._gap /= 2
        if self._gap < _SHORTEST_GAP:
            self._free()

    @property
    def _late(self) -> float:
        return min(_LATE, self._gap / 2)

    def _free(self) -> None:
        self._gap = 0.0
        self._told.clear()
        self._had.clear()

    def _expire(self, now: float) -> None:
        late = now - self._late
        for namespace, told in list(self._told.items()):
            missed = bisect_left(told, late)
            if missed:
                # Who does not come loses the turn, or the others would wait for it each time.
                self._had[namespace] = now
                del told[:missed]
            if not told:
                del self._told[namespace]

    def _is_anothers_turn(self, namespace: str, now: float) -> bool:
        before = self._had.get(namespace, float("-inf"))
        return any(
            told and told[0] <= now and self._had.get(other, float("-inf")) < before
            for other, told in self._told.items()
            if other != namespace
        )

    def _tell(self, mine: list[float], now: float) -> float:
        come = self._next if now < self._next else now + self._late
        if len(mine) >= _FIRST and mine[_FIRST - 1] <= come:
            longest = min(_LONGEST_WAIT, _SHORTEST_WAIT + len(mine))
            waiting = sum(1 for told in self._told.values() if told)
            come = max(come, now + min(longest, self._gap * len(mine) * waiting))
        insort(mine, come)
        return come

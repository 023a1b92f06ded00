"""Turns of namespaces while AWS throttles an operation.

After AWS throttles a call, the provider makes one call per gap. The gap is 1 s at first; each further
throttled call doubles it, up to 20 s (5 s for reads), and each other response halves it, until the operation
is free again. So the provider uses what AWS permits, and waiting resources do not all call when a pause ends.

A call that has to wait is given the time of its next try. A few calls of each namespace try at the next
possible moment, and the namespace whose last turn is longest ago goes first: a namespace with many waiting
resources delays another one by one gap, not by all of its own calls. The other calls of a namespace try a
little later, and take the places of those that had their turn.

Not thread-safe: the account's Pace holds the lock.
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
"""Most calls are reads, and the provider has to observe most tenants within a minute."""
_SHORTEST_GAP: Final = 0.25
"""Below it the operation is free: the account's own rate is lower."""
_IDLE: Final = 60.0
"""Seconds without a call after which the operation is free."""
_FIRST: Final = 3
"""Calls of a namespace that try at the next possible moment."""
_SHORTEST_WAIT: Final = 15.0
_LONGEST_WAIT: Final = 90.0
"""Seconds after which the other calls try, plus one for each waiting call: AWS may permit more by then, and
each try costs reads."""
_LATE: Final = 5.0
"""Seconds to wait for a namespace whose turn it is; at most half a gap."""

_caller: ContextVar[str] = ContextVar("caller", default="")


@contextmanager
def on_behalf_of(namespace: str) -> Iterator[None]:
    """Attribute the block's calls to the namespace; "" is no particular one."""
    token = _caller.set(namespace)
    try:
        yield
    finally:
        _caller.reset(token)


def caller() -> str:
    """Return the namespace of the current call."""
    return _caller.get()


class Turns:
    """The turns for one operation in one account. All times are seconds of one clock."""

    def __init__(self, longest: float = LONGEST_GAP) -> None:
        """`longest` is the maximum gap."""
        self._longest = longest
        self._gap = 0.0
        """0: the operation is free."""
        self._throttled_at = float("-inf")
        self._next = float("-inf")
        """When the next call may be made."""
        self._told: defaultdict[str, list[float]] = defaultdict(list)
        """By namespace: the times of the next tries of its waiting calls, in order."""
        self._had: dict[str, float] = {}
        """By namespace: when it had or missed its last turn."""

    def pause(self, now: float) -> float:
        """Return the seconds until the next call is possible."""
        return max(0.0, self._next - now) if self._gap else 0.0

    def take(self, namespace: str, now: float) -> float:
        """Return the seconds to wait before asking again; 0 if the call may be made now."""
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
        """AWS throttled a call that started at `began`."""
        if began <= self._throttled_at:
            # Sent before the gaps started or grew.
            return
        self._throttled_at = now
        self._gap = min(self._longest, self._gap * 2) if self._gap else FIRST_GAP
        self._next = now + self._gap

    def answered(self, began: float) -> None:
        """AWS did not throttle a call that started at `began`."""
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
                # A namespace that does not call loses its turn; otherwise the others would wait each time.
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

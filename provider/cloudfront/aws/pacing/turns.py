"""Turns of namespaces while AWS throttles an operation.

The calls of a throttled operation are spaced evenly, at the rate that AWS was found to permit
(`permitted_rate.py`). So what AWS permits is used, and waiting resources do not all call when a pause ends.

A call that has to wait either waits in its worker, or is given the time of its next try. The namespace whose
last turn is longest ago goes first: a namespace with many waiting resources delays another one by one call,
not by all of its own. The times of the next tries are in that order, one after the other. A call that comes
too late, or too early because others did not come, gets another time; a few calls that wait in their workers
fill the gaps.

Not thread-safe: the account's Pace holds the lock.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from provider.cloudfront.aws.pacing.permitted_rate import NOTHING, Spacing
from provider.cloudfront.aws.pacing.waiting_places import For, WaitingPlaces

__all__ = ["LOWEST_RATE", "LOWEST_READING_RATE", "Turns", "caller", "on_behalf_of"]

LOWEST_RATE: Final = 1 / 20
"""Calls per second."""
LOWEST_READING_RATE: Final = 1 / 5
"""The same for reads. Most calls are reads, and the provider has to observe most tenants within a minute."""
_SHORTEST_WAIT: Final = 15.0
_WAIT_OF_EACH: Final = 0.25
_LONGEST_WAIT: Final = 300.0
"""Seconds after which a call tries at the latest: the shortest wait and a part for each waiting call. AWS may
permit more by then, and each try costs reads."""
_LATE: Final = 5.0
"""Seconds to wait for a namespace whose turn it is; at most half a gap."""
_LONG_GAP: Final = 2.0
"""Seconds. With shorter gaps, a call whose time has come arrives too late for that."""
_EXPECTED: Final = 1.0
"""Seconds for which the others leave a place to a namespace whose turn it is, if a call of it is due."""

_NEVER: Final = -1e12
"""Seconds: before all times of a clock."""

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


class Turns(Spacing):
    """The turns for one operation in one account. All times are seconds of one clock."""

    patience: Final = 3.0
    """Seconds that a call waits in its worker at most."""

    def __init__(self, places: WaitingPlaces, lowest: float = LOWEST_RATE) -> None:
        """`places` are for the calls that wait in their workers; `lowest` is the minimum rate, in calls per
        second."""
        super().__init__(lowest)
        self._places = places
        self._here: Counter[str] = Counter()
        """By namespace: the calls that wait in their workers."""
        self._told: defaultdict[str, list[float]] = defaultdict(list)
        """By namespace: the times of the next tries of its other waiting calls, in order."""
        self._had: dict[str, float] = {}
        """By namespace: when it had or missed its last turn. Before all others are those that had none, in
        the order in which they came."""

    def take(self, namespace: str, now: float, *, waited: bool = False) -> float:
        """Return 0 if the call may be made now, otherwise the seconds until it may ask again. `waited`: it
        waits in its worker, and has no time of a next try."""
        if self._is_free(now):
            self._told.clear()
            self._had.clear()
            return 0.0
        self._expire(now)
        told = self._told.get(namespace)
        if told and told[0] <= now + NOTHING and not waited:
            del told[0]
        if now < self._next - NOTHING:
            return self._next - now
        if self._is_anothers_turn(namespace, now):
            return min(_LATE, self._gap / 2)
        self._had[namespace] = now
        self._next = now + self._gap
        return 0.0

    def tell(self, namespace: str, now: float) -> float:
        """Return the seconds after which a call that does not wait in its worker tries again."""
        self._came(namespace)
        mine = self._told[namespace]
        come = self._place(namespace, mine, now)
        insort(mine, come)
        return come - now

    def wait_here(self, namespace: str, seconds: float, now: float) -> bool:
        """Whether a call that may ask again after `seconds` waits in its worker; `left` must follow."""
        if seconds + self._here.total() * self._gap > self.patience:
            return False
        # Another namespace, whose last turn is longer ago, may be about to come.
        keep = 1 if self._is_due(now - _EXPECTED, now + _EXPECTED, before=namespace) else 0
        if not self._places.take(For.TURN, keep):
            return False
        self._came(namespace)
        self._here[namespace] += 1
        return True

    def left(self, namespace: str) -> None:
        """The call waits no more."""
        self._places.leave(For.TURN)
        self._here[namespace] -= 1
        if not self._here[namespace]:
            del self._here[namespace]

    @property
    def _late(self) -> float:
        """Seconds to wait for a namespace whose turn it is."""
        return min(_LATE, self._gap / 2) if self._gap >= _LONG_GAP else 0.0

    def _expire(self, now: float) -> None:
        late = now - max(self._late, _EXPECTED)
        for namespace, told in list(self._told.items()):
            missed = bisect_left(told, late)
            if missed:
                # A namespace that does not call loses its turn; otherwise the others would wait each time.
                self._had[namespace] = now
                del told[:missed]
            if not told:
                del self._told[namespace]

    def _is_anothers_turn(self, namespace: str, now: float) -> bool:
        if any(self._goes_before(other, namespace) for other in self._here):
            return True
        return now < self._next + self._late and self._is_due(now - self._late, now, before=namespace)

    def _is_due(self, since: float, until: float, *, before: str) -> bool:
        """Whether a call of a namespace that goes before this one is due in that time."""
        for other, told in self._told.items():
            first = bisect_left(told, since)
            if first < len(told) and told[first] <= until and self._goes_before(other, before):
                return True
        return False

    def _came(self, namespace: str) -> None:
        self._had.setdefault(namespace, self._had_last(namespace))

    def _goes_before(self, other: str, namespace: str) -> bool:
        return self._had_last(other) < self._had_last(namespace)

    def _had_last(self, namespace: str) -> float:
        return self._had.get(namespace, _NEVER + len(self._had))

    def _place(self, namespace: str, mine: list[float], now: float) -> float:
        """Return the time of the first place in the order of all namespaces that no call of its own has."""
        others = {*self._told, *self._here} - {namespace}
        before = sum(1 for other in others if self._goes_before(other, namespace))
        start = self._next if now < self._next else now + min(_LATE, self._gap / 2)
        waiting = sum(map(len, self._told.values()))
        last = max(start, now + min(_LONGEST_WAIT, _SHORTEST_WAIT + waiting * _WAIT_OF_EACH))
        for number in range(len(mine) + 1):
            come = start + (number * (len(others) + 1) + before) * self._gap
            if come >= last:
                return last
            if number == len(mine) or mine[number] > come:
                return come
        raise AssertionError("unreachable: the last number is free")

"""Turns of lists while AWS throttles an operation that lists in pages.

The pages are spaced evenly, at the rate that AWS was found to permit (`permitted_rate.py`). One page alone is
of no use. So the lists that are under way go on until their end, page by page, and the others wait: if all
took turns, none would come to its end before the deadline of its reconcile.

Not thread-safe: the account's Pace holds the lock.
"""

from __future__ import annotations

import threading
from typing import Final

from provider.cloudfront.aws.pacing.permitted_rate import NOTHING, Spacing
from provider.cloudfront.aws.pacing.rates import LONGEST_WAIT

__all__ = ["ListTurns"]

_LOWEST_RATE: Final = 1 / 20
"""Pages per second."""
_RATE_OF_EACH: Final = 2.0
"""Pages per second for which another list may be under way. One list makes about five."""
_BETWEEN: Final = 3.0
"""Seconds after which a list that asks for no other page has ended; at least two gaps."""


class ListTurns(Spacing):
    """The turns for one operation in one account. All times are seconds of one clock."""

    patience: Final = LONGEST_WAIT
    """Seconds that a page waits in its worker at most."""

    def __init__(self, most: int) -> None:
        """`most` is the maximum number of lists under way whose pages wait in their workers."""
        super().__init__(_LOWEST_RATE)
        self._most = most
        self._under_way: dict[int, float] = {}
        """By thread: when its list has ended, unless it asks for another page."""

    def take(self, namespace: str, now: float, *, waited: bool = False) -> float:  # noqa: ARG002 - no turns
        """Return 0 if this thread may ask for a page now, otherwise the seconds until it may ask again."""
        if self._is_free(now):
            return 0.0
        if not self._goes_on(now):
            return self._until_one_ends(now)
        self._under_way[threading.get_ident()] = max(now, self._next) + max(_BETWEEN, 2 * self._gap)
        if now < self._next - NOTHING:
            return self._next - now
        self._next = now + self._gap
        return 0.0

    def wait_here(self, namespace: str, seconds: float, now: float) -> bool:  # noqa: ARG002 - as `take`
        """Whether a page that may be asked for after `seconds` waits in its worker; `left` must follow."""
        return self._most > 0 and seconds <= self.patience and self._goes_on(now)

    def left(self, namespace: str) -> None:
        """The page waits no more."""

    def tell(self, namespace: str, now: float) -> float:  # noqa: ARG002 - as `take`
        """Return the seconds after which a list that does not wait in its worker begins again."""
        if self._under_way.pop(threading.get_ident(), None) is None:
            return self._until_one_ends(now)
        return max(self.pause(now), self._gap)

    def _until_one_ends(self, now: float) -> float:
        return max(min(self._under_way.values()) - now, self.pause(now), self._gap)

    def _goes_on(self, now: float) -> bool:
        """Whether this thread's list is under way, or may begin."""
        self._under_way = {thread: until for thread, until in self._under_way.items() if now < until}
        most = max(1, min(self._most, int(self.rate / _RATE_OF_EACH)))
        return threading.get_ident() in self._under_way or len(self._under_way) < most

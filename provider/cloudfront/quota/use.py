"""How much of a quota the account uses, from its last complete list and from own calls since."""

from __future__ import annotations

from collections import deque
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["Use"]

_LAG: Final = 10.0
"""Seconds before a list within which an own call may not be in it yet."""
_REMEMBERED: Final = 600.0
"""Seconds for which own calls are remembered. A list that takes longer may show what they changed, or not."""
_MOST: Final = 20_000
"""Maximum number of remembered calls."""


class Use:
    """The use of one quota. Not thread-safe; its owner has a lock. Seconds are of the injected clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._number: int | None = None
        self._valid_until = float("-inf")
        self._began = float("-inf")
        """When the last list began."""
        self.certain_at = float("-inf")
        """When a list was complete that left no doubt about own calls."""
        self._own: deque[tuple[float, int]] = deque(maxlen=_MOST)
        """When an own call made or deleted how many."""

    @property
    def number(self) -> int | None:
        """How many there are; None if that is unknown, or too old."""
        return self._number if self._clock.now() <= self._valid_until else None

    def note(self, number: int | None, valid: float, began: float | None = None) -> int:
        """Note what a list shows, which counts for `valid` seconds; None: it may not be listed. The list may
        show own calls since it `began` or not (None: it took no time).

        Returns how many more, or fewer (negative), there are for certain than were known.
        """
        if number is None:
            return 0
        now, before = self._clock.now(), self._number
        if (now if began is None else began) < self._began:
            # Of another caller, and older than the last one.
            return 0
        self._began = now if began is None else began
        since = [many for at, many in self._own if at >= (now if began is None else began) - _LAG]
        most = number + sum(many for many in since if many > 0)
        least = max(0, number + sum(many for many in since if many < 0))
        self._number = number if before is None else min(max(before, least), most)
        self._valid_until = now + valid
        self.certain_at = now if least == most else self.certain_at
        return 0 if before is None else self._number - before

    def add(self, difference: int) -> None:
        """Note an own creation or deletion."""
        now = self._clock.now()
        while self._own and self._own[0][0] < now - _REMEMBERED:
            self._own.popleft()
        self._own.append((now, difference))
        if self._number is not None:
            self._number = max(0, self._number + difference)

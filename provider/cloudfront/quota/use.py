"""How much of a quota the account uses, from its last complete list and from own calls since."""

from __future__ import annotations

from edgetenants_runtime.clock import Clock

__all__ = ["Use"]


class Use:
    """The use of one quota. Not thread-safe; its owner has a lock. Seconds are of the injected clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._number: int | None = None
        self._valid_until = float("-inf")

    @property
    def number(self) -> int | None:
        """How many there are; None if that is unknown, or too old."""
        return self._number if self._clock.now() <= self._valid_until else None

    def note(self, number: int | None, valid: float) -> bool:
        """Note what a list shows, which counts for `valid` seconds; None: it may not be listed. Returns
        whether it shows fewer than there were."""
        if number is None:
            return False
        before, self._number = self._number, number
        self._valid_until = self._clock.now() + valid
        return before is not None and number < before

    def add(self, difference: int) -> None:
        """Note an own creation or deletion."""
        if self._number is not None:
            self._number = max(0, self._number + difference)

"""A list of all actions, and a simulated crash at any point of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Journal", "Killed"]

T = TypeVar("T")


class Killed(BaseException):
    """The process dies here. Not an Exception, so that no handler of the code under test catches it."""


@dataclass
class Journal:
    """All actions, in order. `kill` = (index, "before" or "after") dies before or after that entry's
    effect."""

    entries: list[str] = field(default_factory=list)
    kill: tuple[int, str] | None = None

    def act(self, entry: str, effect: Callable[[], T]) -> T:
        """Record the entry and run the effect, unless the process dies before or after it."""
        index = len(self.entries)
        if self.kill == (index, "before"):
            raise Killed(entry)
        self.entries.append(entry)
        result = effect()
        if self.kill == (index, "after"):
            raise Killed(entry)
        return result

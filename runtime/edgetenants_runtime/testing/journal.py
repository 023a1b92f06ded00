"""One list of all that was done, and death at any point of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["Journal", "Killed"]

T = TypeVar("T")


class Killed(BaseException):
    """The process dies here. Not an Exception: no handler of the code under test may catch it."""


@dataclass
class Journal:
    """What was done, in order. `kill` = (index, "before" or "after") dies around that entry's effect."""

    entries: list[str] = field(default_factory=list)
    kill: tuple[int, str] | None = None

    def act(self, entry: str, effect: Callable[[], T]) -> T:
        """Note the entry and have the effect, unless the process dies before, between or after."""
        index = len(self.entries)
        if self.kill == (index, "before"):
            raise Killed(entry)
        self.entries.append(entry)
        result = effect()
        if self.kill == (index, "after"):
            raise Killed(entry)
        return result

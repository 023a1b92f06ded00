"""Views with a lag: the state that a name server before INSYNC, or a remote resolver, sees."""

from __future__ import annotations

import threading
from bisect import bisect_right, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Former", "History"]

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Former(Generic[V]):
    """The value of a key before a change."""

    until: float
    """The time of the change, in virtual seconds."""
    value: V | None
    """The former value; None if there was none."""
    lag: float | None = None
    """The lag of the change in virtual seconds; None for the lag of the view."""

    def still_seen(self, now: float, lag: float) -> bool:
        """Whether a view with that lag does not contain the change yet."""
        return self.until + (lag if self.lag is None else self.lag) > now


class History(Generic[K, V]):
    """The former values of a mapping's keys."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._formers: dict[K, list[Former[V]]] = {}
        # Sorted, because every lookup counts them: changes without their own lag by the time of the change,
        # others by the time when they become visible.
        self._made: list[float] = []
        self._seen_at: list[float] = []

    def note(self, key: K, former: Former[V]) -> None:
        """Record the former value of a key that is changed now."""
        with self._lock:
            self._formers.setdefault(key, []).append(former)
            self._count(former)

    def seen(self, present: Mapping[K, V], now: float, lag: float) -> dict[K, V]:
        """The mapping as a view with that lag sees it."""
        found = dict(present)
        with self._lock:
            for key, formers in self._formers.items():
                value = _seen(formers, present.get(key), now, lag)
                if value is None:
                    found.pop(key, None)
                else:
                    found[key] = value
        return found

    def unseen(self, now: float, lag: float) -> int:
        """The number of changes that a view with that lag does not contain yet."""
        with self._lock:
            made = bisect_right(self._made, now, key=lambda at: at + lag)
            return len(self._made) - made + sum(at > now for at in self._seen_at)

    def forget(self, now: float, lag: float) -> None:
        """Drop the former values that no view with that lag or a smaller one needs."""
        with self._lock:
            for key, formers in list(self._formers.items()):
                formers[:] = [each for each in formers if each.still_seen(now, lag)]
                if not formers:
                    del self._formers[key]
            self._made, self._seen_at = [], []
            for formers in self._formers.values():
                for each in formers:
                    self._count(each)

    def items(self) -> Iterator[tuple[K, Former[V]]]:
        """Each former value with its key, the oldest of a key first."""
        with self._lock:
            noted = [(key, each) for key, formers in self._formers.items() for each in formers]
        return iter(noted)

    def _count(self, former: Former[V]) -> None:
        if former.lag is None:
            insort(self._made, former.until)
        else:
            self._seen_at.append(former.until + former.lag)


def _seen(formers: list[Former[V]], present: V | None, now: float, lag: float) -> V | None:
    value = present
    for former in reversed(formers):
        if not former.still_seen(now, lag):
            break
        value = former.value
    return value

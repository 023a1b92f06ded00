"""Bounds the memory that large requests need at the same time.

A request takes up to some twenty times its size while it is answered. It has the objects that Crossplane
reads for a claim, and users of the claim's namespace can make them large. So there are two lanes: a claim
with many tenants does not wait for a request that only very large objects can make. In a lane, the first to
come is the first to be answered.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

__all__ = ["HUGE", "LARGE", "Call", "LargeRequests", "NobodyWaits", "TooMany"]

_MEBIBYTE: Final = 1024 * 1024
LARGE: Final = 512 * 1024
"""Bytes from which a request counts. A claim with a hundred tenants has less."""
HUGE: Final = 4 * _MEBIBYTE
"""Bytes from which a request has the second lane. A claim with a thousand tenants has less."""
_LONGEST_WAIT: Final = 5.0
_TO_SAY_SO: Final = 1.0
"""Seconds of the client's patience that are left when it is refused. Crossplane waits for ten seconds in all
(internal/xfn/function_runner.go)."""


class Call(Protocol):
    """What is used of `grpc.ServicerContext`."""

    def is_active(self) -> bool:
        """The client waits for the answer."""

    def time_remaining(self) -> float | None:
        """Seconds that the client goes on waiting."""

    def add_callback(self, callback: Callable[[], None]) -> bool:
        """Call it when the client has gone; False if it has already."""


class TooMany(Exception):  # noqa: N818 - says what happened
    """Other large requests are in progress. Crossplane calls again, after a pause that grows."""


class NobodyWaits(Exception):  # noqa: N818 - says what happened
    """The client has gone."""


class LargeRequests:
    """Admits large requests, as many as fit into the memory. Thread-safe."""

    def __init__(self, longest_wait: float = _LONGEST_WAIT) -> None:
        self._lanes = (
            _Lane(HUGE, most_bytes=16 * _MEBIBYTE, most_waiting=3, longest_wait=longest_wait),
            _Lane(LARGE, most_bytes=8 * _MEBIBYTE, most_waiting=4, longest_wait=longest_wait),
        )
        """Those that wait hold seven of the server's sixteen threads."""

    @contextmanager
    def turn(self, size: int, call: Call) -> Iterator[None]:
        """Wait until a request of that many bytes may be read.

        Raises:
            TooMany: several others wait already, or the wait takes too long.
            NobodyWaits: the client has gone.
        """
        lane = next((lane for lane in self._lanes if size >= lane.least), None)
        if lane is None:
            yield
            return
        with lane.turn(size, call):
            yield


@dataclass(eq=False)
class _Place:
    """A request in a lane."""

    size: int
    admitted: bool = False


class _Lane:
    """Requests of a size: those in progress, followed by those that wait."""

    def __init__(self, least: int, *, most_bytes: int, most_waiting: int, longest_wait: float) -> None:
        self.least = least
        self._most_bytes, self._most_waiting, self._longest_wait = most_bytes, most_waiting, longest_wait
        self._changed = threading.Condition()
        self._places: deque[_Place] = deque()

    @contextmanager
    def turn(self, size: int, call: Call) -> Iterator[None]:
        place = self._place(size)
        try:
            if not place.admitted:
                self._wait(place, call)
            yield
        finally:
            with self._changed:
                self._places.remove(place)
                self._changed.notify_all()

    def _place(self, size: int) -> _Place:
        """The request is admitted at once, or it has to wait."""
        place = _Place(size)
        with self._changed:
            waiting = sum(not each.admitted for each in self._places)
            place.admitted = not waiting and self._fits(size)
            if not place.admitted and waiting >= self._most_waiting:
                raise _too_many(size)
            self._places.append(place)
        return place

    def _wait(self, place: _Place, call: Call) -> None:
        call.add_callback(self._wake)
        with self._changed:
            self._changed.wait_for(lambda: self._is_next(place) or not call.is_active(), self._patience(call))
            if not call.is_active():
                raise NobodyWaits
            if not self._is_next(place):
                raise _too_many(place.size)
            place.admitted = True
            self._changed.notify_all()  # the one behind it may fit too

    def _is_next(self, place: _Place) -> bool:
        """Call with the lock."""
        first = next((each for each in self._places if not each.admitted), None)
        return place is first and self._fits(place.size)

    def _fits(self, size: int) -> bool:
        """Call with the lock. A request that is larger than all bytes is answered alone."""
        used = sum(each.size for each in self._places if each.admitted)
        return not used or used + size <= self._most_bytes

    def _patience(self, call: Call) -> float:
        left = call.time_remaining()
        return self._longest_wait if left is None else max(0.0, min(self._longest_wait, left - _TO_SAY_SO))

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _too_many(size: int) -> TooMany:
    return TooMany(
        f"the request has {size} bytes, and other large requests are in progress. No action is needed: it is "
        "answered at a later attempt"
    )

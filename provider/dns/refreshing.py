"""A value that many workers need and that one of them reads again from time to time.

No lock is held while it is read. The others use the last value while it may be used, and otherwise wait a
little: a request that hangs does not stop them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock
from provider.dns.errors import DnsError, Failure

__all__ = ["Refreshing"]

_LONGEST_WAIT: Final = 5.0
"""Seconds that a worker waits for another one's request; real time, as connections hang in real time."""
_AGAIN: Final = 2.0

T = TypeVar("T")


class Refreshing(Generic[T]):
    """One such value. Thread-safe."""

    def __init__(self, clock: Clock, what: str) -> None:
        """`what` names the value in messages."""
        self._clock, self._what = clock, what
        self._lock = threading.Lock()
        self._value: T | None = None
        self._at = float("-inf")
        """When the reading of the value began."""
        self._reading: threading.Event | None = None

    def get(self, read: Callable[[], T], seconds: float) -> T:
        """Return a value whose reading began at most that many seconds ago.

        Raises:
            DnsError: `read` raised it; or, with LATER, another worker's request has no answer yet.
        """
        while True:
            with self._lock:
                if self._value is not None and self._clock.now() <= self._at + seconds:
                    return self._value
                others = self._reading
                if others is None:
                    self._reading = mine = threading.Event()
            if others is None:
                return self._read(read, mine)
            if not others.wait(min(_LONGEST_WAIT, deadline.remaining())):
                words = f"{self._what}: another worker's request has no answer yet"
                raise DnsError(Failure.LATER, words, after=_AGAIN)

    def forget(self) -> None:
        """Read it again at the next `get`. A reading under way does not count."""
        with self._lock:
            self._value, self._at, self._reading = None, float("-inf"), None

    def _read(self, read: Callable[[], T], mine: threading.Event) -> T:
        began = self._clock.now()
        try:
            value = read()
        except BaseException:
            with self._lock:
                if self._reading is mine:
                    self._reading = None
            mine.set()
            raise
        with self._lock:
            if self._reading is mine:
                self._value, self._at, self._reading = value, began, None
        mine.set()
        return value

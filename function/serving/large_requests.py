"""Bounds the memory that large requests need at the same time.

A request takes up to thirteen times its size while it is answered. It has the objects that Crossplane reads
for a claim, and users of the claim's namespace can make them large.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["LARGE", "MOST_BYTES", "LargeRequests", "TooMany"]

LARGE: Final = 256 * 1024
"""Bytes from which a request counts. A claim with some ten tenants has less."""
MOST_BYTES: Final = 16 * 1024 * 1024
"""Bytes of the requests that are answered at a time. A larger request is answered alone."""
_MOST_WAITING: Final = 8
"""Requests that wait, each with its thread: the others are for small requests."""
_MOST_BYTES_WAITING: Final = 32 * 1024 * 1024
_LONGEST_WAIT: Final = 10.0


class TooMany(Exception):  # noqa: N818 - says what happened
    """Other large requests are in progress. Crossplane calls again, after a pause that grows."""


class LargeRequests:
    """Admits large requests, as many as fit into the memory. Thread-safe."""

    def __init__(self, longest_wait: float = _LONGEST_WAIT) -> None:
        self._longest_wait = longest_wait
        self._changed = threading.Condition()
        self._admitted = self._waiting = self._bytes_waiting = 0

    @contextmanager
    def turn(self, size: int) -> Iterator[None]:
        """Wait until a request of that many bytes may be read.

        Raises:
            TooMany: several others wait already, or the wait takes too long.
        """
        if size < LARGE:
            yield
            return
        self._admit(size)
        try:
            yield
        finally:
            with self._changed:
                self._admitted -= size
                self._changed.notify_all()

    def _admit(self, size: int) -> None:
        with self._changed:
            if not self._fits(size):
                self._wait(size)
            self._admitted += size

    def _fits(self, size: int) -> bool:
        return not self._admitted or self._admitted + size <= MOST_BYTES

    def _wait(self, size: int) -> None:
        """Call with the lock."""
        if self._waiting >= _MOST_WAITING or self._bytes_waiting + size > _MOST_BYTES_WAITING:
            raise _too_many(size)
        self._waiting, self._bytes_waiting = self._waiting + 1, self._bytes_waiting + size
        try:
            if not self._changed.wait_for(lambda: self._fits(size), self._longest_wait):
                raise _too_many(size)
        finally:
            self._waiting, self._bytes_waiting = self._waiting - 1, self._bytes_waiting - size


def _too_many(size: int) -> TooMany:
    return TooMany(
        f"the request has {size} bytes, and other large requests are in progress. No action is needed: it is "
        "answered at a later attempt"
    )

"""Bounds the memory that large requests need at the same time.

A request takes several times its size while it is answered. It has the objects that Crossplane reads for a
claim, and users of the claim's namespace can make them large.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["LARGE", "LargeRequests", "TooMany"]

LARGE: Final = 4 * 1024 * 1024
"""Bytes from which a request is large. A claim with 100 tenants needs less than 2 MiB."""
_MOST: Final = 4
"""Large requests at a time: one is answered, the others wait."""


class TooMany(Exception):  # noqa: N818 - says what happened
    """Other large requests are in progress. Crossplane calls again, after a pause that grows."""


class LargeRequests:
    """Admits large requests one at a time, so that they leave most threads to small ones. Thread-safe."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(_MOST)

    @contextmanager
    def turn(self, size: int) -> Iterator[None]:
        """Wait until a request of that many bytes may be read.

        Raises:
            TooMany: several others wait already.
        """
        if size < LARGE:
            yield
            return
        if not self._places.acquire(blocking=False):
            raise TooMany(
                f"the request has {size} bytes, and {_MOST} other large requests are in progress. No action "
                "is needed: it is answered at a later attempt"
            )
        try:
            with self._turn:
                yield
        finally:
            self._places.release()

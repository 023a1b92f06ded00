"""A lock that many holders share, or one holds alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["SharedLock"]


class SharedLock:
    """Requests for exclusive access go first: new sharers wait until they are done. Not reentrant."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharers = 0
        self._wanting = 0
        self._alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Share it with other holders."""
        with self._changed:
            self._changed.wait_for(lambda: not self._wanting)
            self._sharers += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharers -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold it exclusively."""
        with self._changed:
            self._wanting += 1
            self._changed.wait_for(lambda: not self._sharers and not self._alone)
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._wanting -= 1
                self._alone = False
                self._changed.notify_all()

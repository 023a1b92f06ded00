"""A lock that many hold together, or one alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["SharedLock"]


class SharedLock:
    """Those who want it alone go first: new sharers wait until they are done. Not reentrant."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharers = 0
        self._wanting = 0
        self._alone = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold it together with others."""
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
        """Hold it while nobody else does."""
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

"""Locks that many holders share, or one holds alone."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["SharedLock", "SharedLocks"]


class SharedLock:
    """Requests for exclusive access go first: new sharers wait until they are done. Not reentrant."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._sharers = 0
        self._wanting = 0
        self._alone = False

    @contextmanager
    def shared(self, timeout: float | None = None) -> Iterator[None]:
        """Share it with other holders. Raises TimeoutError after `timeout` real seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: not self._wanting, timeout):
                raise TimeoutError
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


class SharedLocks:
    """A lock for each of any number of objects, which exists while someone holds it or waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Hashable, SharedLock] = {}
        self._users: Counter[Hashable] = Counter()

    @contextmanager
    def shared(self, *names: Hashable, timeout: float | None = None) -> Iterator[None]:
        """Share the locks of all of them. Raises TimeoutError if one is not free within `timeout` real
        seconds."""
        with ExitStack() as held:
            # In one order for all: two holders that wait for each other would wait for ever.
            for name in sorted(set(names), key=repr):
                held.enter_context(held.enter_context(self._of(name)).shared(timeout))
            yield

    @contextmanager
    def alone(self, name: Hashable) -> Iterator[None]:
        """Hold the lock of one of them exclusively."""
        with self._of(name) as lock, lock.alone():
            yield

    @contextmanager
    def _of(self, name: Hashable) -> Iterator[SharedLock]:
        with self._lock:
            lock = self._locks.setdefault(name, SharedLock())
            self._users[name] += 1
        try:
            yield lock
        finally:
            with self._lock:
                self._users[name] -= 1
                if not self._users[name]:
                    del self._users[name], self._locks[name]

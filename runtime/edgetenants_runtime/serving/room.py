"""Shares memory among the clients of a server."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from edgetenants_runtime.clock import SystemClock

__all__ = ["NoRoom", "Room"]

_WAIT_SECONDS: Final = 1.0
"""How long a client waits for memory that others use."""
_LOOK_SECONDS: Final = 0.05
"""How often it looks whether its client is still there."""


class NoRoom(Exception):  # noqa: N818 - says what is missing
    """Others use the memory."""


class Room:
    """A number of bytes for all clients. Thread-safe.

    Small amounts always have room: the number of connections bounds them. Larger ones share a budget, of
    which one client gets at most half, so that one client cannot use up all of it.
    """

    def __init__(self, small: int, shared: int, wait: float | None = None) -> None:
        """`wait`: how many seconds a client waits for others. None: about one."""
        self._small, self._shared = small, shared
        self._wait = _WAIT_SECONDS if wait is None else wait
        self._used: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._clock = SystemClock()

    @contextmanager
    def of(self, client: str, size: int, gone: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Use `size` bytes for a client. `gone` tells whether there is still anyone to wait for.

        Raises:
            NoRoom: others used the memory for longer than the client waits.
        """
        if size <= self._small:
            yield
            return
        self._take(client, size, gone)
        try:
            yield
        finally:
            self._free(client, size)

    def _take(self, client: str, size: int, gone: Callable[[], bool]) -> None:
        until = self._clock.now() + self._wait
        with self._changed:
            while not self._fits(client, size):
                if gone() or self._clock.now() >= until:
                    raise NoRoom
                self._clock.wait(self._changed, self._clock.now() + _LOOK_SECONDS)
            self._used[client] += size

    def _fits(self, client: str, size: int) -> bool:
        mine = self._used.get(client, 0)
        fair = not mine or mine + size <= self._shared // 2
        return fair and self._used.total() + size <= self._shared

    def _free(self, client: str, size: int) -> None:
        with self._changed:
            self._used[client] -= size
            if not self._used[client]:
                del self._used[client]
            self._changed.notify_all()

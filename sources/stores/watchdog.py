"""Ends what takes too long: a server that sends a byte now and then keeps its reader waiting for ever."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from edgetenants_runtime.clock import Clock

__all__ = ["Sockets", "Watchdog"]


class Watchdog:
    """Calls `end` in a thread if its block is still running at the deadline, in seconds of the clock."""

    def __init__(self, clock: Clock, deadline: float, end: Callable[[], None]) -> None:
        self.fired = False
        self._clock, self._deadline, self._end = clock, deadline, end
        self._changed, self._over = threading.Condition(), False
        self._thread = threading.Thread(target=self._run, name="store-watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        with self._changed:
            while not self._over and self._clock.now() < self._deadline:
                self._clock.wait(self._changed, self._deadline)
            if self._over:
                return
            self.fired = True
        self._end()


class Sockets:
    """The connections of one reading, which another thread can cut: also while they are in a TLS handshake,
    whose own object is not for two threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[socket.socket] = []
        self._cut = False

    def hold(self, fileno: int) -> None:
        """A connection begins; the one before it is not used any more."""
        copy = socket.socket(fileno=os.dup(fileno))
        with self._lock:
            for each in self._held:
                each.close()
            self._held = [copy]
            cut = self._cut
        if cut:
            self.cut()

    def cut(self) -> None:
        """Cut it, and each that begins later."""
        with self._lock:
            self._cut = True
            for each in self._held:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Release the copies."""
        with self._lock:
            for each in self._held:
                each.close()
            self._held = []

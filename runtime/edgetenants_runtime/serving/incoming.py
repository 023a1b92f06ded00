"""Reads from a client until a moment, and no more than a number of bytes."""

from __future__ import annotations

import io
import socket
from typing import TYPE_CHECKING

from edgetenants_runtime.clock import SystemClock

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

__all__ = ["Incoming"]


class Incoming(io.RawIOBase):
    """What a client sends. The time-out of a socket is for one read, and a client that sends a byte now and
    then never reaches it. This one is for all reads together."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection
        self._clock = SystemClock()
        self._until, self._most = 0.0, 0

    def within(self, seconds: float) -> None:
        """Set by when everything must have been read."""
        self._until = self._clock.now() + seconds

    def at_most(self, count: int) -> None:
        """Set how many bytes may come from now on."""
        self._most = count

    def readable(self) -> bool:
        """See io."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what there is. Raises TimeoutError when the time is over, and OSError for too many bytes."""
        left = self._until - self._clock.now()
        if left <= 0:
            raise TimeoutError("the client took too long")
        if self._most <= 0:
            raise ConnectionAbortedError("the client sent too many bytes")
        self._connection.settimeout(left)
        count = self._connection.recv_into(memoryview(buffer)[: self._most])
        self._most -= count
        return count

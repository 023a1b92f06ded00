"""A connection with a deadline for reads and writes, so that no client blocks a thread for longer."""

from __future__ import annotations

import io
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

__all__ = ["TimedStream"]


class TimedStream(io.RawIOBase):
    """The input and output stream of a connection. Its creator closes the connection."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection
        self._deadline = 0.0

    def allow(self, seconds: float) -> None:
        """Set the deadline for all reads and writes to this many real seconds from now."""
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        """Always."""
        return True

    def writable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read the available bytes; none at the end. Raises TimeoutError at the deadline."""
        self._wait_until_deadline()
        return self._connection.recv_into(buffer)

    def write(self, data: ReadableBuffer) -> int:
        """Send some bytes, and return their number. Raises TimeoutError at the deadline."""
        self._wait_until_deadline()
        return self._connection.send(data)

    def _wait_until_deadline(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)

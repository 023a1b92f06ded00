"""Connections for HTTP whose requests end in time, however slowly the answer comes.

A time-out of a socket begins again with each byte, so a server that sends a byte a second keeps a worker for
hours. Here each read of the socket gets what is left of the request's time.
"""

from __future__ import annotations

import http.client
import io
import socket
from typing import Any, Final

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Stopwatch

__all__ = ["manager"]

_SECONDS: Final = 10.0
"""Of a request, from its begin to the end of its answer; real time, as connections hang in real time."""
_LEAST_SECONDS: Final = 0.01
"""A socket takes no time-out of zero."""


def manager(connections: int, **how: Any) -> urllib3.PoolManager:
    """Return a pool for one server, which keeps some connections open. `how`: as for urllib3.PoolManager."""
    made = urllib3.PoolManager(num_pools=1, maxsize=connections, retries=False, **how)
    made.pool_classes_by_scheme = {"http": _Pool, "https": _PoolOfTls}
    return made


class _Time:
    """What is left of the time of a request."""

    def __init__(self) -> None:
        self._watch, self._seconds = Stopwatch(), min(_SECONDS, deadline.remaining())

    def left(self) -> float:
        """Seconds for the next read.

        Raises:
            TimeoutError: none are left.
        """
        left = self._seconds - self._watch.elapsed()
        if left <= 0:
            raise TimeoutError("the answer did not end in time")
        return max(_LEAST_SECONDS, left)


class _Reader(io.RawIOBase):
    """The answer on a socket. It keeps the socket open as any file of it does."""

    def __init__(self, opened: socket.socket, time: _Time) -> None:
        self._socket, self._file, self._time = opened, opened.makefile("rb", buffering=0), time
        self._longest = opened.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._time.left()
        self._socket.settimeout(left if self._longest is None else min(left, self._longest))
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    def __init__(self, opened: socket.socket, *how: Any, time: _Time, **more: Any) -> None:
        super().__init__(opened, *how, **more)
        unbounded, self.fp = self.fp, io.BufferedReader(_Reader(opened, time))
        unbounded.close()


class _Bounded:
    """Mixed into a connection."""

    _time: _Time

    def request(self, *how: Any, **more: Any) -> None:
        self._time = _Time()
        super().request(*how, **more)  # type: ignore[misc] # of the connection

    def response_class(self, opened: socket.socket, *how: Any, **more: Any) -> _Answer:
        """Named and called as the attribute of http.client.HTTPConnection."""
        return _Answer(opened, *how, time=self._time, **more)


class _Connection(_Bounded, HTTPConnection):  # type: ignore[misc] # a method in place of an attribute
    pass


class _ConnectionOfTls(_Bounded, HTTPSConnection):  # type: ignore[misc] # as above
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _PoolOfTls(HTTPSConnectionPool):
    ConnectionCls = _ConnectionOfTls

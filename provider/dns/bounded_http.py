"""Connections for HTTP whose requests end in time, however slowly the answer comes.

A time-out of a socket begins again with each byte, so a server that sends a byte a second keeps a worker for
hours. Here each read of the socket gets what is left of the request's time. An answer has a limit, too, and
is never unpacked: a few bytes may be unpacked to many.
"""

from __future__ import annotations

import http.client
import io
import re
import socket
from functools import partial
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Stopwatch

__all__ = ["Bounded", "bound", "manager", "proxy_of", "words"]

_LEAST_SECONDS: Final = 0.01
"""A socket takes no time-out of zero."""
_PLACE: Final = re.compile(r"\b_?[A-Za-z]+\(host=[^()]*\): | at 0x[0-9a-f]+")
"""How urllib3's words begin, and the address of an object, which is another one at each attempt."""


def manager(connections: int, **how: Any) -> urllib3.PoolManager:
    """Return a pool for one server, which keeps some connections open. `how`: as for urllib3.PoolManager;
    `proxy`: the URL of a proxy."""
    proxy = how.pop("proxy", None)
    make = partial(urllib3.ProxyManager, proxy) if proxy else urllib3.PoolManager
    return bound(make(num_pools=1, maxsize=connections, retries=False, **how))


def bound(made: urllib3.PoolManager) -> urllib3.PoolManager:
    """Have the connections of a new pool bounded, and return it."""
    made.pool_classes_by_scheme = {"http": _Pool, "https": _PoolOfTls}
    return made


def proxy_of(url: str) -> str | None:
    """Return the proxy for a URL that the environment names (HTTPS_PROXY, NO_PROXY), as other clients do."""
    split = urlsplit(url)
    return None if proxy_bypass(split.netloc) else getproxies().get(split.scheme)


def words(error: BaseException) -> str:
    """Return the words of an error of these connections, without the objects that they name."""
    return _PLACE.sub("", str(error)) or type(error).__name__


class _Time:
    """What is left of the time of a request."""

    def __init__(self, seconds: float) -> None:
        self._watch, self._seconds = Stopwatch(), seconds

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

    def __init__(self, opened: socket.socket, time: _Time, most: int) -> None:
        self._socket, self._file, self._time = opened, opened.makefile("rb", buffering=0), time
        self._longest = opened.gettimeout()
        self._most = self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._time.left()
        self._socket.settimeout(left if self._longest is None else min(left, self._longest))
        count = self._file.readinto(buffer)
        self._left -= count or 0
        if self._left < 0:
            raise OSError(f"expected at most {self._most} bytes")
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


class _Answer(http.client.HTTPResponse):
    def __init__(self, opened: socket.socket, *how: Any, time: _Time, most: int, **more: Any) -> None:
        super().__init__(opened, *how, **more)
        unbounded, self.fp = self.fp, io.BufferedReader(_Reader(opened, time, most))
        unbounded.close()

    def begin(self) -> None:
        super().begin()
        # So no client unpacks it; it was asked not to be packed.
        del self.headers["Content-Encoding"]


class Bounded:
    """Mixed into a connection of urllib3, before its class."""

    SECONDS: ClassVar[float] = 10.0
    """Of a request, from its begin to the end of its answer; real time, as connections hang in real time."""
    MOST_BYTES: ClassVar[int] = 8 * 1024 * 1024
    """Of an answer with its headers."""
    _time: _Time | None = None

    @classmethod
    def seconds(cls) -> float:
        """The time of a request that begins now: it ends with the reconcile that makes it."""
        return min(cls.SECONDS, deadline.remaining())

    def request(self, *how: Any, **more: Any) -> None:
        """See urllib3's HTTPConnection."""
        self._time = _Time(self.seconds())
        super().request(*how, **more)  # type: ignore[misc] # of the connection

    def response_class(self, opened: socket.socket, *how: Any, **more: Any) -> _Answer:
        """Named and called as the attribute of http.client.HTTPConnection."""
        # The first answer may be that of a proxy, to a request that is not one of these.
        time = self._time or _Time(self.seconds())
        return _Answer(opened, *how, time=time, most=self.MOST_BYTES, **more)


class _Connection(Bounded, HTTPConnection):  # type: ignore[misc] # a method in place of an attribute
    pass


class _ConnectionOfTls(Bounded, HTTPSConnection):  # type: ignore[misc] # as above
    pass


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _PoolOfTls(HTTPSConnectionPool):
    ConnectionCls = _ConnectionOfTls

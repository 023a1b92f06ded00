"""The pace of the requests to one DNS server, which all record stores of it share.

A server that does not answer costs a worker some seconds for each request. So after a failure there is a
pause, and all requests meanwhile fail at once; after it, one request tries again. A server that answers gets
a few requests at a time, so it may be slow and delays only some workers. What a reconcile waits for turns,
it waits once, however many domains it has.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Protocol

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock, Stopwatch
from provider.dns.errors import DnsError, Failure, NoConnection, Unreachable

__all__ = ["HostedPace", "Pace", "Patience", "ServerPace", "connections_to", "waiting"]

_AT_ONCE: Final = 4
"""Requests at the same time."""
_TURN_SECONDS: Final = 5.0
"""How long a reconcile waits for its turns; real time, as connections hang in real time."""
_BUSY_AGAIN: Final = 2.0
_FIRST_PAUSE: Final = 2.0
_LONGEST_PAUSE: Final = 30.0
_TRY_SECONDS: Final = 10.0
"""How long others wait for the one request that tries a server again."""
_SHORT: Final = 1.0
"""A request with less time left than this says nothing about the server."""


@dataclass
class Patience:
    """How long one reconcile still waits for turns. Belongs to one thread."""

    left: float = field(default_factory=lambda: _TURN_SECONDS)


_patience: ContextVar[Patience | None] = ContextVar("patience", default=None)


@contextmanager
def waiting(patience: Patience) -> Iterator[None]:
    """In the block, wait for turns as long as this says. Without it, each turn has its own time."""
    token = _patience.set(patience)
    try:
        yield
    finally:
        _patience.reset(token)


class Pace(Protocol):
    """What a record store asks before its requests."""

    def turn(self) -> AbstractContextManager[None]:
        """See ServerPace.turn."""
        ...

    def watched(self) -> AbstractContextManager[None]:
        """See ServerPace.watched."""
        ...


class ServerPace:
    """The pace of one server. Thread-safe."""

    def __init__(self, clock: Clock, name: str, pausing: type[Unreachable] = Unreachable) -> None:
        """`name` names the server in messages. `pausing`: the failures after which there is a pause."""
        self._clock, self._name, self._pausing = clock, name, pausing
        self._lock = threading.Lock()
        self._turns = threading.BoundedSemaphore(_AT_ONCE)
        self._pause = 0.0
        self._until = float("-inf")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One request, or some in a row.

        Raises:
            DnsError: with LATER if the server did not answer a moment ago, or is busy. The block's own errors
                pass.
        """
        with self._lock:
            self._refuse()
        if not self._acquired(_patience.get() or Patience()):
            words = f"{self._name}: {_AT_ONCE} other requests have no answer yet"
            raise DnsError(Failure.LATER, words, after=_BUSY_AGAIN)
        try:
            # Again: the requests before this one may have had no answer.
            with self.watched():
                yield
        finally:
            self._turns.release()

    def _acquired(self, patience: Patience) -> bool:
        watch = Stopwatch()
        try:
            return self._turns.acquire(timeout=min(patience.left, deadline.remaining()))
        finally:
            patience.left = max(0.0, patience.left - watch.elapsed())

    @contextmanager
    def watched(self) -> Iterator[None]:
        """A request that takes no turn, as it also asks other servers.

        Raises:
            DnsError: as `turn`.
        """
        self._begin()
        try:
            yield
        except self._pausing:
            if deadline.remaining() > _SHORT:
                self._failed()
            raise
        except DnsError:
            self._answered()
            raise
        self._answered()

    def _begin(self) -> None:
        with self._lock:
            self._refuse()
            if self._pause:
                # This request tries; the others wait for what becomes of it.
                self._until = self._clock.now() + _TRY_SECONDS

    def _refuse(self) -> None:
        """Call under the lock."""
        left = self._until - self._clock.now()
        if left > 0:
            # Without the seconds: words that change would be written to the status each time.
            words = f"{self._name}: it did not answer; it is asked again within {_LONGEST_PAUSE:.0f} s"
            raise Unreachable(Failure.LATER, words, after=left)

    def _failed(self) -> None:
        with self._lock:
            self._pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, 2 * self._pause))
            self._until = self._clock.now() + self._pause

    def _answered(self) -> None:
        with self._lock:
            self._pause, self._until = 0.0, float("-inf")


class HostedPace:
    """The pace of some configs at a service that many strangers use, such as Cloudflare. Thread-safe.

    What these configs ask for may take long, and that says nothing about the requests of others. So they have
    turns and pauses of their own. Only a connection that is not made pauses everyone's requests.
    """

    def __init__(self, own: ServerPace, connections: ServerPace) -> None:
        """`own` is of these configs; `connections` of the service, see `connections_to`."""
        self._own, self._connections = own, connections

    @contextmanager
    def turn(self) -> Iterator[None]:
        """As ServerPace.turn."""
        with self._own.turn(), self._connections.watched():
            yield

    @contextmanager
    def watched(self) -> Iterator[None]:
        """As ServerPace.watched."""
        with self._own.watched(), self._connections.watched():
            yield


def connections_to(clock: Clock, name: str) -> ServerPace:
    """Return the pace of the connections to a service."""
    return ServerPace(clock, name, NoConnection)

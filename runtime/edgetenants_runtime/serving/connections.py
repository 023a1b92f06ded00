"""Who is connected: a bounded number of connections, shared fairly among the addresses of the clients."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.clock import SystemClock

__all__ = ["Connections"]

_MOST_LEAVING: Final = 32
"""Connections that gave their place to one of the same client, and whose threads have not ended: they may be
in a check. For a new connection of another client, there may be as many as there are places."""


_FREE: Final = 16
"""Connections of a client that do not count if one of them has brought a complete request, as those of an API
server do: clients of a single silent connection each must not take its places."""


@dataclass
class _Place:
    client: str
    since: float
    """When the connection was accepted, or its last request was answered."""
    answered: bool = False
    """It has brought a complete request."""


class Connections:
    """The open connections of a server. Thread-safe.

    When all places are taken, a new connection gets the place of another: of the client address that has the
    most connections, the one that has been without a complete request for the longest time. So a client with
    many connections takes places from itself only. Clients that bring complete requests come last.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[socket.socket, _Place] = {}
        self._leaving: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._clock = SystemClock()

    def add(self, connection: socket.socket, client: str) -> bool:
        """Give a place to a new connection. False: there is none."""
        with self._lock:
            if len(self._places) >= self._most and not self._end_one(client):
                return False
            self._places[connection] = _Place(client, self._clock.now())
            return True

    def answered(self, connection: socket.socket) -> None:
        """Note a complete request."""
        with self._lock:
            if connection in self._places:
                self._places[connection].since = self._clock.now()
                self._places[connection].answered = True

    def has(self, connection: socket.socket) -> bool:
        """Whether the connection still has its place."""
        with self._lock:
            return connection in self._places

    def remove(self, connection: socket.socket) -> None:
        """Free the place. Call it before the connection is closed: its number may then be another's."""
        with self._lock:
            self._places.pop(connection, None)
            self._leaving.discard(connection)

    def _end_one(self, client: str) -> bool:
        connection = self._victim()
        most = _MOST_LEAVING if self._places[connection].client == client else self._most
        if len(self._leaving) >= most:
            return False
        del self._places[connection]
        self._leaving.add(connection)
        # Wakes its thread, which then removes it. TLS's own shutdown would wait for the client.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
        return True

    def _victim(self) -> socket.socket:
        count = Counter(place.client for place in self._places.values())
        for client in {place.client for place in self._places.values() if place.answered}:
            count[client] -= _FREE
        found = max(self._places.items(), key=lambda each: (count[each[1].client], -each[1].since))
        return found[0]

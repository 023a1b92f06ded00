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
    many connections takes places from itself only.

    A client brings requests if one of its open connections has brought a complete one, as those of an API
    server do. Those that bring some, and those that bring none, have half of the places each, and take the
    other half only while it is free. So many clients with a silent connection each take no places from an API
    server, and clients that bring requests take none from one that has just connected.
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
        connection = self._victim(client)
        most = _MOST_LEAVING if self._places[connection].client == client else self._most
        if len(self._leaving) >= most:
            return False
        del self._places[connection]
        self._leaving.add(connection)
        # Wakes its thread, which then removes it. TLS's own shutdown would wait for the client.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
        return True

    def _victim(self, client: str) -> socket.socket:
        bring = {place.client for place in self._places.values() if place.answered}
        silent = sum(place.client not in bring for place in self._places.values())
        crowded = silent > 0 and silent + (client not in bring) > self._most // 2
        group = [each for each in self._places.items() if (each[1].client not in bring) == crowded]
        count = Counter(place.client for _, place in group)
        found = max(group, key=lambda each: (count[each[1].client], -each[1].since))
        return found[0]

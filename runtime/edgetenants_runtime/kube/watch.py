"""A watch stream that another thread can close."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse

from edgetenants_runtime.decoding import decode
from edgetenants_runtime.kube.errors import KubeError, Operation, refusal, why

__all__ = ["EventType", "Watch", "WatchEvent"]


class EventType(StrEnum):
    """The type of a watch event."""

    ADDED = "ADDED"
    """The object is new."""
    MODIFIED = "MODIFIED"
    """The object changed."""
    DELETED = "DELETED"
    """The object was deleted."""
    BOOKMARK = "BOOKMARK"
    """There are no other changes up to this resource version."""


@dataclass(frozen=True)
class WatchEvent:
    """One line of the stream."""

    type: EventType
    object: dict[str, Any]


class Watch:
    """Iterate over it once. It ends when the server ends the stream, the connection breaks or `close` is
    called.

    Raises KubeError (including Gone) for an error line.
    """

    def __init__(self, operation: Operation, response: BaseHTTPResponse) -> None:
        self._operation = operation
        self._response = response
        self._closed = False
        self.broken = False
        """The connection broke, or was silent for too long: the server did not end the stream."""

    def __iter__(self) -> Iterator[WatchEvent]:
        try:
            for line in self._lines():
                yield self._event(decode(line))
        except (HTTPError, OSError, AttributeError):
            # Broken, silent for too long, or closed by another thread: the caller watches again from the last
            # version, and gets the actual error there.
            self.broken = not self._closed
            return
        except ValueError as error:
            if not self._closed:
                raise KubeError(self._operation, 0, why(error)) from error
        finally:
            self._response.close()

    def close(self) -> None:
        """End the iteration, even if it waits in another thread."""
        self._closed = True
        connection = getattr(self._response, "connection", None)
        sock = getattr(connection, "sock", None)
        if sock is not None:
            with suppress(OSError, ValueError):
                sock.shutdown(socket.SHUT_RDWR)

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        for chunk in self._response.stream(amt=None, decode_content=False):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from (line for line in lines if line.strip())

    def _event(self, line: dict[str, Any]) -> WatchEvent:
        if line["type"] == "ERROR":
            status = line["object"]
            raise refusal(self._operation, int(status.get("code") or 0), status)
        return WatchEvent(EventType(line["type"]), line["object"])

"""A stream of changes that another thread can end."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from urllib3.exceptions import HTTPError
from urllib3.response import BaseHTTPResponse

from edgetenants_runtime.kube.errors import KubeError, Operation, refusal, why

__all__ = ["EventType", "Watch", "WatchEvent"]


class EventType(StrEnum):
    """What a line of a watch stream tells."""

    ADDED = "ADDED"
    """The object is new."""
    MODIFIED = "MODIFIED"
    """The object changed."""
    DELETED = "DELETED"
    """The object is gone."""
    BOOKMARK = "BOOKMARK"
    """Nothing changed up to this resource version."""


@dataclass(frozen=True)
class WatchEvent:
    """One line of the stream."""

    type: EventType
    object: dict[str, Any]


class Watch:
    """Iterate once; it ends when the server ends the stream or `close` is called.

    A broken connection ends it too. Raises KubeError (Gone among them) for an error line.
    """

    def __init__(self, operation: Operation, response: BaseHTTPResponse) -> None:
        self._operation = operation
        self._response = response
        self._closed = False

    def __iter__(self) -> Iterator[WatchEvent]:
        try:
            for line in self._lines():
                yield self._event(json.loads(line))
        except (HTTPError, OSError, AttributeError):
            # Cut, silent for too long, or closed by another thread: the caller watches anew from where it
            # was, and meets there what is really wrong.
            return
        except ValueError as error:
            if not self._closed:
                raise KubeError(self._operation, 0, why(error)) from error
        finally:
            self._response.close()

    def close(self) -> None:
        """End the iteration, also one that waits in another thread."""
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

"""Accepts connections within bounds, in a thread."""

from __future__ import annotations

import socket
import sys
import threading
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from socketserver import BaseRequestHandler
from typing import Any, Final

import structlog

from edgetenants_runtime.serving.connections import Connections

__all__ = ["Bounds", "Listener", "Serving"]

_log = structlog.get_logger("edgetenants_runtime.serving")

_STOP_POLL: Final = 0.05
"""Seconds between two checks whether to stop."""


@dataclass(frozen=True)
class Bounds:
    """What clients may use."""

    connections: int
    head: int
    """Bytes of a request before its body."""
    request_seconds: float
    """How long a client may take to send one request, head and body together."""
    answer_seconds: float
    """How long a client may take to receive an answer."""
    received: int
    """Bytes that the kernel keeps of what a client sends: they count for the pod's memory, too."""
    sent: int
    """Bytes that the kernel keeps of what a client has not received yet."""
    idle_seconds: float = 0.0
    """How long a client may wait between two requests of a connection."""


class Listener(ThreadingHTTPServer):
    """A server with a bounded number of connections, each in a thread."""

    request_queue_size = 128
    daemon_threads = True

    def __init__(self, where: tuple[str, int], handler: type[BaseRequestHandler], bounds: Bounds) -> None:
        """Port 0 selects a free one. Raises OSError if the port is in use."""
        self.bounds = bounds
        self.connections = Connections(bounds.connections)
        super().__init__(where, handler)

    def server_bind(self) -> None:
        """Bind the port. Its connections get its settings."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.bounds.received)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.bounds.sent)
        super().server_bind()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve the connection in a thread, if it gets a place."""
        if self.connections.add(request, str(client_address[0])):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        self.connections.remove(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a broken connection for those who debug: port scanners and probes cause them."""
        del request
        error = sys.exc_info()[1]
        # A traceback says nothing about a client that left, and costs more than its request.
        unexpected = not isinstance(error, OSError)
        _log.debug("connection ended", client=str(client_address[0]), error=str(error), exc_info=unexpected)


class Serving:
    """A bound server, and the thread that accepts its connections."""

    def __init__(self, server: Listener, name: str) -> None:
        """`name` is that of the thread."""
        self._server = server
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_STOP_POLL,), name=name, daemon=True
        )

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Start serving."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving and free the port."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()

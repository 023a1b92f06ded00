"""Runs an HTTP server in a thread."""

from __future__ import annotations

import threading
from http.server import ThreadingHTTPServer
from typing import Final

__all__ = ["Serving"]

_STOP_POLL: Final = 0.05
"""Seconds between two checks whether to stop."""


class Serving:
    """A bound server, and the thread that accepts its connections."""

    def __init__(self, server: ThreadingHTTPServer, name: str) -> None:
        """`name` is that of the thread."""
        self._server = server
        self._server.daemon_threads = True
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

"""Answers the kubelet's probes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["HealthServer", "Probe"]

Probe = Callable[[], tuple[bool, list[str]]]
"""Whether it is well, and lines that say what is not."""

_STOP_POLL = 0.05
"""Seconds between two looks whether to stop."""


class HealthServer:
    """Serves each probe at its path: 200 when it is well, else 503; the body says why, a line each."""

    def __init__(self, address: str, port: int, probes: dict[str, Probe]) -> None:
        """Port 0 takes a free one. Raises OSError when the port is taken."""

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                probe = probes.get(self.path.partition("?")[0])
                if probe is None:
                    self.send_error(404)
                    return
                well, lines = probe()
                body = ("\n".join(["ok" if well else "not ok", *lines]) + "\n").encode()
                self.send_response(200 if well else 503)
                self.send_header("Content-Type", "text/plain; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
                # A probe each second is no news.
                del format, args

        self._server = ThreadingHTTPServer((address, port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_STOP_POLL,), name="health", daemon=True
        )

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    def start(self) -> None:
        """Start answering."""
        self._thread.start()

    def stop(self) -> None:
        """Stop answering and free the port."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()

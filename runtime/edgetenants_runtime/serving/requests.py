"""Reads the requests of one connection within bounds, and sends the answers."""

from __future__ import annotations

import io
from http.server import BaseHTTPRequestHandler

from edgetenants_runtime.serving.answers import Answer
from edgetenants_runtime.serving.incoming import Incoming
from edgetenants_runtime.serving.listener import Listener

__all__ = ["Requests"]


class Requests(BaseHTTPRequestHandler):
    """The base of handlers; a subclass has the methods `do_GET` or `do_POST`."""

    server: Listener

    def setup(self) -> None:
        """Read through a deadline."""
        super().setup()
        self.rfile.close()
        self.incoming = Incoming(self.connection)
        self.rfile = self._reader = io.BufferedReader(self.incoming)

    def handle_one_request(self) -> None:
        """Wait for the next request of the connection, then for the rest of it."""
        bounds = self.server.bounds
        self.incoming.at_most(bounds.head)
        self.incoming.within(bounds.idle_seconds if self._served else bounds.request_seconds)
        try:
            self._reader.peek(1)
        except TimeoutError:
            self.close_connection = True
            return
        self.incoming.within(bounds.request_seconds)
        super().handle_one_request()

    @property
    def _served(self) -> bool:
        return bool(getattr(self, "raw_requestline", b""))

    @property
    def client(self) -> str:
        """The address of the client."""
        return str(self.client_address[0])

    def gone(self) -> bool:
        """Whether another connection has the place of this one."""
        return not self.server.connections.has(self.connection)

    def send(self, answer: Answer) -> None:
        """Send an answer. After one that is not 200, the connection ends."""
        self.connection.settimeout(self.server.bounds.answer_seconds)
        if answer.status != 200:
            # What is left of the request would be read as the next one.
            self.close_connection = True
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Do nothing: clients must not fill the log."""
        del format, args

"""The HTTP server: one thread per connection, keep-alive, by default on loopback."""

from __future__ import annotations

import io
import os
import socket
import socketserver
import struct
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NoReturn

from edgetenants_emulator.admin.api import PREFIX, Admin
from edgetenants_emulator.admin.client import EmulatorAdmin
from edgetenants_emulator.application import Application
from edgetenants_emulator.clock import VirtualClock
from edgetenants_emulator.dns.server import DnsServer
from edgetenants_emulator.errors import AwsError, ConnectionDropped, ErrorCode
from edgetenants_emulator.protocol.exchange import Request, Response
from edgetenants_emulator.protocol.request_body import read_body
from edgetenants_emulator.protocol.timed_stream import TimedStream
from edgetenants_emulator.settings import Settings
from edgetenants_emulator.state.world import World

__all__ = ["DnsPortError", "EmulatorServer"]

_LONGEST_LINE = 65_536
"""Maximum bytes of the request line. Python limits headers."""
_ADMIN_BYTES = 268_435_456
"""Maximum bytes of a body for the admin API. A saved state is large."""
_LINGER_SECONDS, _LINGER_BYTES = 2.0, 67_108_864
"""How long, and how many bytes, the server keeps reading after a refusal."""


class DnsPortError(OSError):
    """The DNS server cannot listen."""


class EmulatorServer:
    """An emulator with its own state. It listens as soon as it is created.

        with EmulatorServer() as emulator:
            boto3.client("cloudfront", endpoint_url=emulator.url, ...)

    moto's part of the state (ACM, STS, Route 53) is shared by the process. With a `dns_port` (0 selects a
    free one), a DNS server serves the zones at `dns.address`.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        rate: float = 1.0,
        settings: Settings | None = None,
        dns_port: int | None = None,
    ) -> None:
        self.world = World(VirtualClock(rate), settings or Settings())
        self.application = Application(self.world)
        self._server = _Server((host, port), self.application, Admin(self.application))
        self.dns = self._dns(host, dns_port) if dns_port is not None else None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The endpoint for AWS's SDKs. The admin API is at `/_edgetenants`."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def admin(self) -> EmulatorAdmin:
        """A client of the admin API."""
        return EmulatorAdmin(self.url)

    def serve(self) -> None:
        """Serve requests in the calling thread, until it is interrupted."""
        if self.dns:
            self.dns.start()
        self._server.serve_forever(poll_interval=0.02)  # the maximum time that `stop` waits

    def start(self) -> None:
        """Serve requests in a background thread."""
        self._thread = threading.Thread(target=self.serve, name="emulator", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening. Does not wait for held calls and long polls."""
        if self._thread:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
        if self.dns:
            self.dns.stop()

    def _dns(self, host: str, port: int) -> DnsServer:
        try:
            dns = DnsServer(self.application.resolver.lookup, host, port)
        except OSError as error:
            self._server.server_close()
            raise DnsPortError(error.errno, error.strerror) from error
        self.application.dns_address = dns.address
        return dns

    def __enter__(self) -> EmulatorServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], application: Application, admin: Admin) -> None:
        self.application = application
        self.admin = admin
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind without looking up the host name, which can take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Record the connection, because a stopped server must not serve keep-alive connections."""
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection."""
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Stop listening and close all connections."""
        super().server_close()
        with self._open_lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnected; any other error is a bug of the emulator."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "edgetenants-emulator"
    disable_nagle_algorithm = True
    command = ""
    server: _Server

    def setup(self) -> None:
        """Set up reads and writes with deadlines."""
        super().setup()
        for stream in (self.rfile, self.wfile):
            stream.close()
        self._stream = TimedStream(self.connection)
        self.rfile = self._incoming = io.BufferedReader(self._stream)
        self.wfile = io.BufferedWriter(self._stream)

    def handle_one_request(self) -> None:
        """Read a request and respond to it. After an unreadable one, the connection is closed."""
        self.close_connection = True
        if not self._begins():
            return
        self._head: Request | None = None
        self._stream.allow(self._settings.request_seconds)
        try:
            request = self._request()
        except TimeoutError:
            self._refuse(AwsError(ErrorCode.REQUEST_TIMEOUT, "The request did not arrive in time."))
        except AwsError as error:
            self._refuse(error)
        else:
            self._serve(request)

    @property
    def _settings(self) -> Settings:
        return self.server.application.world.settings

    def _begins(self) -> bool:
        """Whether another request arrives before the idle timeout."""
        self._stream.allow(self._settings.connection_idle_seconds)
        try:
            return bool(self._incoming.peek(1))
        except TimeoutError:
            return False

    def _request(self) -> Request:
        """Read the next request. Raises AwsError for an invalid one, TimeoutError for one that takes too
        long."""
        self.raw_requestline = self._incoming.readline(_LONGEST_LINE + 1)
        if len(self.raw_requestline) > _LONGEST_LINE:
            self.send_error(HTTPStatus.REQUEST_URI_TOO_LONG, "the request line is too long")
        if not self.parse_request() or self.request_version == "HTTP/0.9" or self.headers.defects:
            self.send_error(HTTPStatus.BAD_REQUEST, "its head is not valid HTTP/1.1")
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._head = Request(self.command, path, query, headers, b"")
        limit = _ADMIN_BYTES if path.startswith(PREFIX) else self._settings.request_bytes
        return replace(self._head, body=read_body(self.headers, self._incoming, limit, self._go_on))

    def _serve(self, request: Request) -> None:
        try:
            if request.path.startswith(PREFIX):
                response = self.server.admin.handle(request)
            else:
                response = self.server.application.handle(request)
        except ConnectionDropped:
            self._drop()
        else:
            self._send(response)

    def _refuse(self, error: AwsError) -> None:
        """Respond to an unreadable request, and close the connection, because the next request cannot be
        found."""
        self.close_connection, self.request_version = True, self.protocol_version
        head = self._head or Request("", "", "", {}, b"")
        refuse = self.server.admin.refuse if head.path.startswith(PREFIX) else self.server.application.refuse
        self._send(refuse(head, error))
        self._linger()

    def _linger(self) -> None:
        """Keep reading briefly. Closing a connection with unread bytes resets it, and the response is
        lost."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self._stream.allow(_LINGER_SECONDS)
            left = _LINGER_BYTES
            while left > 0 and (unread := self._incoming.read1()):
                left -= len(unread)

    def handle_expect_100(self) -> bool:
        """Do not continue yet, because the body may be refused without reading it."""
        return True

    def _go_on(self) -> None:
        """Tell a client that waits for `100 Continue` to send its body."""
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(HTTPStatus.CONTINUE)
            self.end_headers()
            self.wfile.flush()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> NoReturn:
        """Raise an AwsError for a head that the standard library refuses."""
        why = message or explain or HTTPStatus(code).phrase
        # An unsupported HTTP version is the client's error, and a retry does not help.
        status = code if code < HTTPStatus.INTERNAL_SERVER_ERROR else HTTPStatus.BAD_REQUEST
        text = f"The request cannot be read: {why}."
        raise AwsError(ErrorCode.MALFORMED_HTTP_REQUEST, text, status)

    def _send(self, response: Response) -> None:
        self._stream.allow(self._settings.answer_seconds)
        self.send_response_only(response.status)
        bodiless = response.status in (204, 304)
        for name, value in response.headers.items():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        if not bodiless:
            self.send_header("Content-Length", str(len(response.body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if not bodiless and self.command != "HEAD":
            self.wfile.write(response.body)
        self.wfile.flush()

    def _drop(self) -> None:
        """Reset the connection, so that the client cannot mistake it for a complete response."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing on the terminal; the call log has the requests."""

"""The HTTP server: one thread for each connection, kept alive, on loopback unless told otherwise."""

from __future__ import annotations

import os
import socket
import socketserver
import struct
import sys
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from edgetenants_emulator.admin import PREFIX, Admin
from edgetenants_emulator.application import Application
from edgetenants_emulator.clock import VirtualClock
from edgetenants_emulator.dns_server import DnsServer
from edgetenants_emulator.errors import ConnectionDropped
from edgetenants_emulator.exchange import Request, Response
from edgetenants_emulator.settings import Settings
from edgetenants_emulator.world import World

__all__ = ["DnsPortError", "EmulatorServer"]


class DnsPortError(OSError):
    """The DNS server cannot listen."""


class EmulatorServer:
    """An emulator with its own state, listening from the moment it is made.

        with EmulatorServer() as emulator:
            boto3.client("cloudfront", endpoint_url=emulator.url, ...)

    moto's part of the state (ACM, STS, Route 53) is the process's, as moto has it. With a `dns_port` (0 for a
    free one) a DNS server answers for the zones at `dns.address`.
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
        """The endpoint for AWS's SDKs; the admin API lies under `/_edgetenants`."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def serve(self) -> None:
        """Answer requests on the calling thread, until it is interrupted."""
        if self.dns:
            self.dns.start()
        self._server.serve_forever(poll_interval=0.02)  # how long `stop` waits at most

    def start(self) -> None:
        """Answer requests on a thread of its own."""
        self._thread = threading.Thread(target=self.serve, name="emulator", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening. Held calls and long polls are abandoned, not awaited."""
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
        """Bind without the look-up of the host's name, which can take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection: a stopped server must not go on answering on those kept alive."""
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection."""
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Stop listening and cut off whoever is connected."""
        super().server_close()
        with self._open_lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away; anything else is a bug of ours."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "edgetenants-emulator"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: _Server

    def _serve(self) -> None:
        try:
            request = self._request()
        except ValueError as error:
            self.send_error(400, f"the request cannot be read: {error}")
            return
        try:
            if request.path.startswith(PREFIX):
                response = self.server.admin.handle(request)
            else:
                response = self.server.application.handle(request)
        except ConnectionDropped:
            self._drop()
        else:
            self._send(response)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _serve  # noqa: N815

    def _request(self) -> Request:
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Request(self.command, path, query, headers, self._body(headers))

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks()
        return self.rfile.read(int(headers.get("content-length") or 0))

    def _chunks(self) -> bytes:
        body = bytearray()
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return bytes(body)

    def _send(self, response: Response) -> None:
        self.send_response_only(response.status)
        bodiless = response.status in (204, 304)
        for name, value in response.headers.items():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        if not bodiless:
            self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        if not bodiless and self.command != "HEAD":
            self.wfile.write(response.body)
        self.wfile.flush()

    def _drop(self) -> None:
        """End the connection with a reset: unread by the client is not the same as answered."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing on the terminal: the call log has it."""

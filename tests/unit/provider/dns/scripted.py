"""Servers that answer as a test says: DNS over TCP, and HTTP."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST = "127.0.0.1"


@contextmanager
def dns_over_tcp(answer: Callable[[bytes], bytes | None]) -> Iterator[int]:
    """The port of a server that answers each message; None closes the connection."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while len(size := self.rfile.read(2)) == 2:
                data = answer(self.rfile.read(*struct.unpack("!H", size)))
                if data is None:
                    return
                with suppress(OSError):
                    self.wfile.write(struct.pack("!H", len(data)) + data)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, block_on_close = True, False

    with Server((HOST, 0), Handler) as server, _serving(server):
        yield server.server_address[1]


@contextmanager
def http(answer: Callable[[str, str, bytes], tuple[int, dict[str, str], bytes] | None]) -> Iterator[int]:
    """The port of a server that answers method, path and body with status, headers and body; None closes the
    connection."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            given = answer(self.command, self.path, self.rfile.read(length))
            if given is None:
                self.close_connection = True
                return
            status, headers, body = given
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PATCH = do_POST = handle_one  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server, _serving(server):
        server.daemon_threads, server.block_on_close = True, False
        yield server.server_address[1]


@contextmanager
def bytes_over_tcp(send: Callable[[Callable[[bytes], None]], None]) -> Iterator[int]:
    """The port of a server that reads the begin of a request, and answers with the bytes that `send` gives
    to its argument, until the client is gone."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            with suppress(OSError):
                send(self._write)

        def _write(self, data: bytes) -> None:
            self.wfile.write(data)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, block_on_close = True, False

    with Server((HOST, 0), Handler) as server, _serving(server):
        yield server.server_address[1]


@contextmanager
def _serving(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield
    server.shutdown()
    thread.join()

"""Servers that answer a reader as a test says, with a certificate that it trusts."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import trustme

from tests.contract.sources import servers

Served = TypeVar("Served", bound="Listening")


class Listening:
    """Listens on a port of its own. A test's server says how one connection is served."""

    def __init__(self) -> None:
        authority = trustme.CA()
        self.ca = authority.cert_pem.bytes().decode()
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(servers.HOST).configure_cert(self.context)
        self.listener = socket.create_server(("127.0.0.1", 0))

    @property
    def port(self) -> int:
        return self.listener.getsockname()[1]

    def run(self) -> None:
        with suppress(OSError):
            while True:
                plain, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(plain,), daemon=True).start()

    def serve(self, plain: socket.socket) -> None:
        raise NotImplementedError


@contextmanager
def serving(server: Served) -> Iterator[Served]:
    """The server, while it listens."""
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        thread.join(5)

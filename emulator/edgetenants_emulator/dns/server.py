"""The authoritative DNS server: UDP and TCP on one port, by default on loopback."""

from __future__ import annotations

import socketserver
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from edgetenants_emulator.dns import wire
from edgetenants_emulator.zones.authority import Answer, Code

__all__ = ["DnsServer", "Lookup"]

Lookup = Callable[[str, str], Answer]
"""A function from a name and a type to an answer."""

_TRIES = 20
_IDLE_SECONDS = 10.0
_LONGEST = 65_535


class DnsServer:
    """Listens as soon as it is created, and answers after `start`. Raises OSError if the port is in use."""

    def __init__(self, lookup: Lookup, host: str = "127.0.0.1", port: int = 0) -> None:
        self._servers = _bind(host, port)
        self._threads: list[threading.Thread] = []
        for server in self._servers:
            server.lookup = lookup

    @property
    def address(self) -> tuple[str, int]:
        """Host and port, the same for UDP and TCP."""
        host, port = self._servers[0].server_address[:2]
        return str(host), int(port)

    def start(self) -> None:
        """Answer queries in background threads."""
        for server in self._servers:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,), name="dns", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Stop listening."""
        for server, thread in zip(self._servers, self._threads, strict=False):
            server.shutdown()
            thread.join()
        for server in self._servers:
            server.server_close()


def respond(lookup: Lookup, data: bytes, limit: int | None) -> bytes | None:
    """The message that answers a message; `limit` in bytes, None for what the client takes over UDP."""
    if not wire.is_query(data):
        return wire.refusal(data, Code.NOT_IMPLEMENTED)
    try:
        query = wire.parse(data)
    except wire.MalformedMessage:
        return wire.refusal(data, Code.FORMAT_ERROR)
    try:
        found = lookup(query.name, query.type_name) if query.code is Code.NO_ERROR else Answer(query.code)
        return wire.answer(query, found, limit or query.udp_size)
    except Exception:  # noqa: BLE001 a record that cannot be written must not silence the server
        traceback.print_exc(file=sys.stderr)
        return wire.refusal(data, Code.SERVER_FAILURE)


class _Udp(socketserver.UDPServer):
    max_packet_size = 4096
    lookup: Lookup

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnected."""


class _Tcp(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    lookup: Lookup

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnected."""


class _Datagram(socketserver.BaseRequestHandler):
    server: _Udp

    def handle(self) -> None:
        data, listener = self.request
        response = respond(self.server.lookup, data, None)
        if response:
            listener.sendto(response, self.client_address)


class _Stream(socketserver.StreamRequestHandler):
    timeout = _IDLE_SECONDS
    server: _Tcp

    def handle(self) -> None:
        with suppress(TimeoutError):
            while len(size := self.rfile.read(2)) == 2:
                response = respond(self.server.lookup, self.rfile.read(*struct.unpack("!H", size)), _LONGEST)
                if response is None:
                    return
                self.wfile.write(struct.pack("!H", len(response)) + response)


def _bind(host: str, port: int) -> tuple[_Udp, _Tcp]:
    """Bind both servers to one port. If port 0 selects one that is free only for UDP, try again."""
    for tries_left in reversed(range(_TRIES)):
        udp = _Udp((host, port), _Datagram)
        try:
            return udp, _Tcp((host, udp.server_address[1]), _Stream)
        except OSError:
            udp.server_close()
            if port or not tries_left:
                raise
    raise OSError("no port is free for both UDP and TCP")

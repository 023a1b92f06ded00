"""A DNS server of this process that answers what a test tells it, over UDP and TCP."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from struct import pack, unpack

import dns.flags
import dns.message
import dns.rcode
import dns.rrset

HOST = "127.0.0.1"
_SECONDS = 5.0


@dataclass
class Answering:
    """What the server has. Names are without a final dot."""

    port: int = 0
    texts: dict[str, list[str]] = field(default_factory=dict)
    """The values of TXT records, by name."""
    aliases: dict[str, str] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)
    """The code of the answer, such as SERVFAIL, by name."""
    silent: set[str] = field(default_factory=set)
    """Names for which it never replies."""
    truncated: set[str] = field(default_factory=set)
    """Names whose answers are complete over TCP only."""
    asked: Counter[str] = field(default_factory=Counter)
    """How often a name was asked for."""

    def answer(self, data: bytes, *, datagram: bool) -> bytes | None:
        """The answer to a request; None for no reply."""
        query = dns.message.from_wire(data)
        name = str(query.question[0].name).removesuffix(".").lower()
        self.asked[name] += 1
        if name in self.silent:
            return None
        reply = dns.message.make_response(query, recursion_available=True)
        if name in self.codes:
            reply.set_rcode(dns.rcode.from_text(self.codes[name]))
        elif datagram and name in self.truncated:
            reply.flags |= dns.flags.TC
        else:
            self._fill(reply, name)
        return reply.to_wire()

    def _fill(self, reply: dns.message.Message, name: str) -> None:
        if target := self.aliases.get(name):
            reply.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", "CNAME", f"{target}."))
            name = target
        values = self.texts.get(name)
        if values:
            quoted = [" ".join(f'"{part}"' for part in _parts(value)) for value in values]
            reply.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", "TXT", *quoted))
        elif values is None:
            reply.set_rcode(dns.rcode.NXDOMAIN)


def _parts(value: str) -> list[str]:
    """A TXT record has strings of at most 255 characters."""
    return [value[start : start + 20] for start in range(0, len(value), 20)]


@contextmanager
def answering() -> Iterator[Answering]:
    """A server, while the test runs."""
    server, ends = Answering(), threading.Event()
    with socket.create_server((HOST, 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        server.port = tcp.getsockname()[1]
        udp.bind((HOST, server.port))
        tcp.settimeout(0.05)
        udp.settimeout(0.05)
        threads = [
            threading.Thread(target=_datagrams, args=(udp, server, ends), daemon=True),
            threading.Thread(target=_connections, args=(tcp, server, ends), daemon=True),
        ]
        for each in threads:
            each.start()
        try:
            yield server
        finally:
            ends.set()
            for each in threads:
                each.join(_SECONDS)


def _datagrams(udp: socket.socket, server: Answering, ends: threading.Event) -> None:
    while not ends.is_set():
        with suppress(TimeoutError, OSError):
            data, peer = udp.recvfrom(65536)
            if (reply := server.answer(data, datagram=True)) is not None:
                udp.sendto(reply, peer)


def _connections(tcp: socket.socket, server: Answering, ends: threading.Event) -> None:
    while not ends.is_set():
        with suppress(TimeoutError, OSError):
            client, _ = tcp.accept()
            with client:
                client.settimeout(_SECONDS)
                (length,) = unpack("!H", client.recv(2))
                reply = server.answer(client.recv(length), datagram=False)
                if reply is not None:
                    client.sendall(pack("!H", len(reply)) + reply)

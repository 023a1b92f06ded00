"""Messages to one DNS server, over TCP: never truncated, and the source address is no forgery.

Each message is signed, queries too, so that no other host can answer. An answer without a signature is
believed only as far as it refuses. Each connect, send and receive takes 5 s at most, each exchange 10 s, and
neither takes longer than what is left of the reconcile.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import dns.exception
import dns.message
import dns.rcode
import dns.tsig

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock
from provider.dns.errors import DnsError, Failure, Unreachable
from provider.dns.rdata import name_of

__all__ = ["ALGORITHMS", "Connection", "Exchange", "Key", "Refusal", "Server"]

ALGORITHMS: Final = ("hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512")
"""Of TSIG keys."""

_STEP_SECONDS: Final = 5.0
_EXCHANGE_SECONDS: Final = 10.0
_LEAST_SECONDS: Final = 0.01
"""A socket takes no time-out of zero."""
_ANSWERED: Final = frozenset({dns.rcode.NOERROR, dns.rcode.NXDOMAIN})
_CHANGED: Final = frozenset({dns.rcode.YXDOMAIN, dns.rcode.YXRRSET, dns.rcode.NXRRSET, dns.rcode.NXDOMAIN})
_MEANING: Final = {
    dns.rcode.SERVFAIL: (Failure.LATER, "it failed, and changed nothing"),
    dns.rcode.NOTZONE: (Failure.NO_ZONE, "a name is not in the zone"),
    dns.rcode.NOTAUTH: (
        Failure.NOT_PERMITTED,
        "it is not authoritative for the zone, or does not accept the key: check the zone and the key there",
    ),
    dns.rcode.REFUSED: (
        Failure.NOT_PERMITTED,
        "its policy does not permit it: allow the key to query and update the zone there",
    ),
    dns.rcode.NOTIMP: (Failure.REFUSED, "it takes no dynamic updates"),
}
_SIGNATURE: Final = {
    dns.tsig.PeerBadKey: (
        "BADKEY: it does not have this key, or does not permit it: check the key's name, algorithm and rights"
    ),
    dns.tsig.PeerBadSignature: "BADSIG: it has another secret for this key",
    dns.tsig.PeerBadTime: "BADTIME: its clock and this one differ by more than five minutes",
    dns.tsig.PeerBadTruncation: "BADTRUNC: it does not accept the length of the signature",
}
"""What the server says of our signature."""


@dataclass(frozen=True)
class Server:
    """A primary server, which takes updates."""

    host: str
    """Host name or address."""
    port: int = 53

    def __str__(self) -> str:
        return f"{self.host} port {self.port}"


@dataclass(frozen=True)
class Key:
    """A TSIG key. Its secret is in no text that is made of it."""

    name: str
    secret: bytes = field(repr=False)
    algorithm: str = "hmac-sha256"


class Refusal(DnsError):  # noqa: N818 - an answer of the server
    """The server answered with the code of an error."""

    def __init__(self, failure: Failure, message: str, code: dns.rcode.Rcode) -> None:
        super().__init__(failure, message)
        self.code = code


class Exchange:
    """Sends messages to a server, signed. Thread-safe: each connection belongs to its block."""

    def __init__(self, server: Server, key: Key | None, clock: Clock) -> None:
        """`key` is None for a server that permits updates by address.

        Raises:
            ValueError: the key cannot be used. The message does not have the secret.
        """
        self._server = server
        self._key = _tsig(key)
        self._clock = clock

    def __str__(self) -> str:
        return f"DNS server {self._server}"

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Connect for some messages.

        Raises:
            DnsError: with LATER if no connection is made.
        """
        address = (self._server.host, self._server.port)
        try:
            opened = socket.create_connection(address, timeout=_seconds(_STEP_SECONDS))
        except (OSError, UnicodeError) as error:
            raise Unreachable(Failure.LATER, f"{self}: no connection: {_words(error)}") from error
        with opened:
            yield Connection(str(self), opened, self._key, self._clock)


class Connection:
    """One TCP connection. An exchange that fails ends it: a late answer must not be taken for the next."""

    def __init__(self, name: str, opened: socket.socket, key: dns.tsig.Key | None, clock: Clock) -> None:
        self._name = name
        self._socket = opened
        self._key = key
        self._clock = clock

    def query(self, message: dns.message.Message, doing: str) -> dns.message.Message:
        """Return the answer to a question; NXDOMAIN is one, too.

        Raises:
            DnsError: the server did not answer, or refused.
        """
        answer = self._exchanged(message, doing, Failure.LATER)
        if answer.rcode() not in _ANSWERED:
            raise self._refusal(answer, doing)
        return answer

    def update(self, message: dns.message.Message, doing: str) -> None:
        """Make an update.

        Raises:
            DnsError: with CHANGED if a prerequisite is not met, with UNCERTAIN if it may have been made.
        """
        answer = self._exchanged(message, doing, Failure.UNCERTAIN)
        if answer.rcode() in _CHANGED:
            said = f"{dns.rcode.to_text(answer.rcode())}: the records are not as they were read"
            raise DnsError(Failure.CHANGED, f"{self._name}: {doing}: {said}")
        if answer.rcode() != dns.rcode.NOERROR:
            raise self._refusal(answer, doing)

    def holds(self, message: dns.message.Message, doing: str) -> bool:
        """Whether the prerequisites of an update that changes nothing are met.

        Raises:
            DnsError: the server did not answer, or refused.
        """
        try:
            self.update(message, doing)
        except DnsError as error:
            if error.failure is Failure.CHANGED:
                return False
            if error.failure is not Failure.UNCERTAIN:
                raise
            kind = Unreachable if isinstance(error, Unreachable) else DnsError
            raise kind(Failure.LATER, str(error), after=error.after) from error
        return True

    def __str__(self) -> str:
        return self._name

    def _exchanged(
        self, message: dns.message.Message, doing: str, unanswered: Failure
    ) -> dns.message.Message:
        wire = self._wire(message, doing)
        end = self._clock.now() + _EXCHANGE_SECONDS
        try:
            self._before(end)
            self._socket.sendall(struct.pack("!H", len(wire)) + wire)
            (size,) = struct.unpack("!H", self._received(2, end))
            data = self._received(size, end)
        except OSError as error:
            raise Unreachable(unanswered, f"{self._name}: {doing}: no answer: {_words(error)}") from error
        return self._read(message, data, doing, unanswered)

    def _wire(self, message: dns.message.Message, doing: str) -> bytes:
        if self._key is not None:
            message.use_tsig(self._key)
        try:
            return message.to_wire()
        except (dns.exception.DNSException, ValueError) as error:
            raise DnsError(Failure.REFUSED, f"{self._name}: {doing}: {_words(error)}") from error

    def _before(self, end: float) -> None:
        """Bound the next step on the socket."""
        self._socket.settimeout(_seconds(min(_STEP_SECONDS, end - self._clock.now())))

    def _received(self, size: int, end: float) -> bytes:
        data = b""
        while len(data) < size:
            self._before(end)
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionResetError("the server closed the connection")
            data += part
        return data

    def _read(
        self, message: dns.message.Message, data: bytes, doing: str, unanswered: Failure
    ) -> dns.message.Message:
        try:
            answer = dns.message.from_wire(data, keyring=self._key, request_mac=message.mac)
        except dns.tsig.PeerError as error:
            words = _SIGNATURE.get(type(error), _words(error))
            raise DnsError(Failure.NOT_PERMITTED, f"{self._name}: {doing}: {words}") from error
        except (dns.exception.DNSException, ValueError) as error:
            raise self._unsigned(data, doing, error, unanswered) from error
        if not message.is_response(answer):
            raise DnsError(unanswered, f"{self._name}: {doing}: the answer is to another message")
        return answer

    def _unsigned(self, data: bytes, doing: str, error: Exception, unanswered: Failure) -> DnsError:
        """An answer whose signature is missing or wrong. Knot DNS and BIND do not sign some refusals."""
        try:
            answer = dns.message.from_wire(data, keyring=False)
        except (dns.exception.DNSException, ValueError):
            return DnsError(unanswered, f"{self._name}: {doing}: no DNS answer: {_words(error)}")
        if answer.had_tsig or answer.rcode() in _ANSWERED | _CHANGED:
            return DnsError(unanswered, f"{self._name}: {doing}: the answer is not signed with the key")
        return self._refusal(answer, doing)

    def _refusal(self, answer: dns.message.Message, doing: str) -> DnsError:
        code = dns.rcode.to_text(answer.rcode())
        failure, words = _MEANING.get(answer.rcode(), (Failure.REFUSED, "it does not accept the message"))
        return Refusal(failure, f"{self._name}: {doing}: {code}: {words}", answer.rcode())


def _tsig(key: Key | None) -> dns.tsig.Key | None:
    if key is None:
        return None
    if key.algorithm not in ALGORITHMS:
        raise ValueError(f"TSIG key: expected an algorithm of {', '.join(ALGORITHMS)}, got {key.algorithm!r}")
    if not key.secret:
        raise ValueError(f"TSIG key {key.name!r}: expected a secret, got an empty one")
    return dns.tsig.Key(name_of(key.name.removesuffix(".")), key.secret, key.algorithm)


def _seconds(most: float) -> float:
    return max(_LEAST_SECONDS, min(most, deadline.remaining()))


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__

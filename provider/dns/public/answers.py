"""The values of public DNS: what was asked, and what a server answered."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address
from typing import Final, Protocol

__all__ = ["PORT", "Answer", "Lookup", "Outcome", "Server"]

PORT: Final = 53
_PORTS: Final = 65536


class Outcome(StrEnum):
    """What an answer says."""

    FOUND = "Found"
    """There are records of the type."""
    NO_NAME = "NoName"
    """The name, or a name to which it leads, does not exist (NXDOMAIN)."""
    NO_TYPE = "NoType"
    """The name exists and has no records of the type."""
    BOGUS = "Bogus"
    """The resolver rejects the DNSSEC signatures: it answers only if it is asked not to check them."""
    FAILED = "Failed"
    """No usable answer: a time-out, a refusal, a server that does not serve the zone, a broken message."""


@dataclass(frozen=True)
class Server:
    """The address of a DNS server."""

    address: str
    port: int = PORT

    @classmethod
    def parse(cls, text: str) -> Server:
        """Return the server that a person wrote: 192.0.2.1, 192.0.2.1:5353, 2001:db8::1, [2001:db8::1]:5353,
        or with # before the port, as dig and resolvers have it.

        Raises:
            ValueError: it is none of these.
        """
        host, port = _split(text)
        if not (port.isascii() and port.isdecimal() and 0 < int(port) < _PORTS):
            raise ValueError(f"expected a port from 1 to {_PORTS - 1}, got {port!r}")
        try:
            return cls(str(ip_address(host)), int(port))
        except ValueError:
            raise ValueError(f"expected an IP address, ADDRESS:PORT or [IPV6]:PORT, got {text!r}") from None

    def __str__(self) -> str:
        return self.address if self.port == PORT else f"{self.address}#{self.port}"


def _split(text: str) -> tuple[str, str]:
    """Host and port. One colon begins a port; more are of an IPv6 address without one."""
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if closed and not rest:
            return host, str(PORT)
        return (host, rest[1:]) if rest[:1] in (":", "#") else (text, str(PORT))
    separator = "#" if "#" in text else ":"
    if separator == ":" and text.count(":") != 1:
        return text, str(PORT)
    host, _, port = text.partition(separator)
    return host, port


@dataclass(frozen=True)
class Answer:
    """The answer to a question for a name and a type."""

    outcome: Outcome
    name: str
    """The asked name, in lower-case A-labels, without a final dot."""
    type: str
    chain: tuple[str, ...] = ()
    """The names to which CNAME records lead from `name`, in order."""
    values: tuple[str, ...] = ()
    """The records' values, sorted: addresses; names without a final dot; the joined strings of a TXT."""
    why: str = ""
    """Why it failed or is bogus."""
    servers: tuple[str, ...] = ()
    """Who answered: the names of the zone's name servers, or the addresses of resolvers."""

    @property
    def is_known(self) -> bool:
        """Whether it says what the name has."""
        return self.outcome in (Outcome.FOUND, Outcome.NO_NAME, Outcome.NO_TYPE)


class Lookup(Protocol):
    """Asks public DNS. Thread-safe. Raises nothing: a lookup that fails returns FAILED or BOGUS."""

    def ask(self, name: str, kind: str) -> Answer:
        """Return the answer for a name (A-labels) and a type, such as "CNAME", "A", "TXT" or "CAA"."""
        ...

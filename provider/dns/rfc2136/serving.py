"""Whether all name servers of a zone answer with a change.

A secondary has it when its serial is that of the primary, or newer. Servers that do not share their serials,
such as several primaries on one database, have it when they answer with the record itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.resolver

from edgetenants_runtime import deadline
from provider.dns.errors import Failure, SilentNameServer
from provider.dns.rdata import record_set
from provider.dns.records import Zone
from provider.dns.rfc2136 import messages
from provider.dns.store import Change

__all__ = ["Mark", "Resolve", "has", "system_addresses"]

Resolve = Callable[[str], Iterable[str]]
"""Return the addresses of a host name, with none if it has none."""

_SECONDS: Final = 2.0
_MOST_ADDRESSES: Final = 4
_HALF: Final = 1 << 31
_WHOLE: Final = 1 << 32
_GONE: Final = "-"


class _NotAuthoritativeError(Exception):
    """A name server of the zone has no data of it, or its data have expired: a refusal, a failure, or the
    answer of a resolver."""


@dataclass(frozen=True)
class Mark:
    """How to recognize a server that has a change: by the serial, or by one record of the change."""

    serial: int
    name: str
    type: str
    digest: str
    """Of the record's values; "-" if the change removed it."""

    @classmethod
    def of(cls, serial: int, change: Change) -> Mark:
        """Return the mark of a change, after which the primary has that serial."""
        if change.creates:
            first = change.creates[0]
            return cls(serial, first.name, first.type, _digest(first.values))
        first = (*change.deletes, *change.keeps)[0]
        return cls(serial, first.name, first.type, _GONE if change.deletes else _digest(first.values))

    @classmethod
    def parse(cls, ticket: str) -> Mark | None:
        """Return the mark in a ticket; None if it has none."""
        serial, *rest = ticket.split(" ")
        if not serial.isdecimal() or len(rest) != 3:
            return None
        return cls(int(serial), *rest)

    def __str__(self) -> str:
        return f"{self.serial} {self.name} {self.type} {self.digest}"


def has(zone: Zone, mark: Mark, server: str, addresses: Iterable[str], port: int) -> bool:
    """Whether a name server has a change. The first of its addresses that answers counts.

    Raises:
        SilentNameServer: if none answers.
    """
    failed = "it has no address"
    # Resolvers change their order, which must not change the words.
    for address in sorted(dict.fromkeys(addresses))[:_MOST_ADDRESSES]:
        try:
            return _has(zone, mark, address, port)
        except _NotAuthoritativeError:
            failed = f"{address} does not serve the zone"
        except dns.exception.Timeout:
            # Its own words have the seconds, which change.
            failed = f"{address} does not answer in time"
        except (OSError, EOFError, dns.exception.DNSException, ValueError) as error:
            failed = f"{address} does not answer: {str(error) or type(error).__name__}"
    raise SilentNameServer(Failure.LATER, f"name server {server} of zone {zone.name}: {failed}")


def system_addresses(host: str) -> Iterable[str]:
    """Return the addresses of a name server, from the resolvers of the system. Not by the system's own
    functions: they take any time, and complete names with the domain of the cluster."""
    seconds = min(_SECONDS, deadline.remaining())
    try:
        found = dns.resolver.Resolver().resolve_name(f"{host}.", lifetime=seconds)
    except (dns.exception.DNSException, OSError, ValueError):
        return ()
    return dict.fromkeys(found.addresses())


def _has(zone: Zone, mark: Mark, address: str, port: int) -> bool:
    soa = messages.soa_owner(_asked(messages.query(zone.name, "SOA"), address, port))
    if soa is not None and soa[0] == zone.name and _is_since(soa[1], mark.serial):
        return True
    answer = _asked(messages.query(mark.name, mark.type), address, port)
    if not answer.flags & dns.flags.AA:
        raise _NotAuthoritativeError
    found = messages.answered(answer, mark.name, mark.type)
    there = _GONE if found is None else _digest(record_set(mark.name, found).values)
    return there == mark.digest


def _asked(message: dns.message.Message, address: str, port: int) -> dns.message.Message:
    seconds = max(0.01, min(_SECONDS, deadline.remaining()))
    answer, _ = dns.query.udp_with_fallback(message, address, timeout=seconds, port=port)
    return answer


def _is_since(serial: int, other: int) -> bool:
    """Whether a serial is another one or newer (RFC 1982)."""
    return (serial - other) % _WHOLE < _HALF


def _digest(values: tuple[str, ...]) -> str:
    data = "\0".join(values).encode(errors="surrogateescape")
    return hashlib.sha256(data).hexdigest()[:16]

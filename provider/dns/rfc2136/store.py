"""The record store of a primary server that takes dynamic updates.

Reading. A query cannot tell a record from the answer of a wildcard, and many servers refuse the type ANY. So
the store asks for the types that names usually have, and asks by prerequisites, in updates that change
nothing, whether the name exists and whether it has any other type. A private type that dnspython has no name
for is not found; a CNAME is never created beside one, since its prerequisite is that the name has no record
of any type, unless the change itself deletes one. A zone transfer is not needed.

A name below a delegation or a DNAME is refused: the zone does not answer with its own records there.

Writing. One message, with prerequisites for all that the change expects, then a read of the same names from
the same server: a server may ignore a record without an error.

Limits: the class IN, one primary per store, no GSS-TSIG, no TLS.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import dns.exception
import dns.message
import dns.rcode

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock, Stopwatch
from provider.dns.errors import DnsError, Failure, SilentNameServer
from provider.dns.expectations import differs_after
from provider.dns.rdata import record_set, value_of
from provider.dns.records import RecordSet, Zone, is_within, longest_match, normal
from provider.dns.rfc2136 import messages, serving
from provider.dns.rfc2136.exchange import Connection, Exchange, Key, Refusal, Server
from provider.dns.rfc2136.serving import Mark, Resolve
from provider.dns.rfc2136.silence import SilentServers
from provider.dns.store import Change, Found, Written, no_alias

__all__ = ["NameServers", "Rfc2136Store"]

_MOST_SERVERS: Final = 13
"""Name servers of a zone that are asked; more than the root zone has."""
_SERVED_SECONDS: Final = 10.0
"""After which no further name server is asked; real time, as they are slow in real time."""
_FAIR_SECONDS: Final = 2.0
"""What a reconcile must have left for a name server that does not answer to count as silent for others."""
_MOST_LABELS: Final = 128
"""Labels of a name (RFC 1035, section 2.3.4: at most 255 bytes)."""


@dataclass(frozen=True)
class NameServers:
    """How the name servers of a zone are asked whether they have a change."""

    port: int = 53
    addresses: Resolve = serving.system_addresses


class Rfc2136Store:
    """One primary server and one key. Thread-safe: it keeps no connection, and of all that it was told only
    which name servers do not answer."""

    def __init__(
        self,
        server: Server,
        key: Key | None,
        *,
        clock: Clock,
        zones: Sequence[str] = (),
        name_servers: NameServers | None = NameServers(),
    ) -> None:
        """Connects to nothing yet.

        Args:
            server: the primary, which takes the updates.
            key: signs them; None for a server that permits updates by address.
            clock: bounds the waits for the server, and for how long a silent name server is left alone.
            zones: names of the zones that the provider may write to; empty to find them by SOA queries.
            name_servers: how to ask them for a change; None for a primary whose name servers cannot be
                reached from here: a change then counts as served when it is written.

        Raises:
            ValueError: the key cannot be used.
        """
        self._exchange = Exchange(server, key, clock)
        self._zones = tuple(Zone(normal(each), normal(each)) for each in zones)
        self._name_servers = name_servers
        self._silent = SilentServers(clock)

    def zone_of(self, domain: str) -> Zone | None:
        """Return the configured zone, or the one that the server is authoritative for."""
        if self._zones:
            return longest_match(domain, self._zones)
        with self._exchange.connection() as connection:
            return _found_zone(connection, domain)

    def read(self, zone: Zone, names: Iterable[str], *, fresh: bool = False) -> Found:  # noqa: ARG002
        """Return the record sets of these names, always fresh. See the module for the types."""
        wanted = sorted(set(names))
        with self._exchange.connection() as connection:
            return Found({name: _read(connection, zone, name) for name in wanted})

    def write(self, zone: Zone, change: Change) -> Written:
        """Make a change in one message, and read it back."""
        doing = f"update of {change.domain} in zone {zone.name}"
        try:
            message = messages.update(zone, change)
        except ValueError as error:
            raise DnsError(Failure.REFUSED, f"{self._exchange}: {doing}: {error}") from error
        with self._exchange.connection() as connection:
            connection.update(message, doing)
            try:
                return self._read_back(connection, zone, change)
            except DnsError as error:
                said = f"{self._exchange}: {doing}: accepted, but not confirmed: {error}"
                raise DnsError(Failure.UNCERTAIN, said) from error

    def is_served(self, zone: Zone, written: Written) -> bool:
        """Whether each name server of the zone has the primary's serial, or the record."""
        mark = Mark.parse(written.ticket)
        if self._name_servers is None or mark is None:
            return True
        with self._exchange.connection() as connection:
            answer = _asked(connection, zone.name, "NS")
            found = messages.answered(answer, zone.name, "NS")
        servers = sorted(value_of(each) for each in found or ())[:_MOST_SERVERS]
        return self._all_have(zone, mark, servers, self._name_servers)

    def apex(self, domain: str, target: str, ttl: int) -> tuple[RecordSet, ...]:  # noqa: ARG002
        """Refuse: DNS has no record that leads the apex of a zone to a name."""
        raise no_alias(domain)

    def _all_have(self, zone: Zone, mark: Mark, servers: Iterable[str], how: NameServers) -> bool:
        watch = Stopwatch()
        for each in servers:
            if watch.elapsed() > _SERVED_SECONDS:
                words = f"the name servers of zone {zone.name} did not answer within {_SERVED_SECONDS:.0f} s"
                raise SilentNameServer(Failure.LATER, words)
            if not self._has(zone, mark, each, how):
                return False
        return True

    def _has(self, zone: Zone, mark: Mark, server: str, how: NameServers) -> bool:
        if known := self._silent.why(zone.name, server):
            raise SilentNameServer(Failure.LATER, known)
        addresses = tuple(how.addresses(server))
        try:
            has = serving.has(zone, mark, server, addresses, how.port)
        except SilentNameServer as error:
            # What a resolver or a reconcile without time did not find out says nothing about the server.
            if addresses and deadline.remaining() >= _FAIR_SECONDS:
                self._silent.note(zone.name, server, str(error))
            raise
        self._silent.answered(zone.name, server)
        return has

    def _read_back(self, connection: Connection, zone: Zone, change: Change) -> Written:
        found = Found({name: _read(connection, zone, name) for name in sorted(change.names)})
        if wrong := differs_after(change, found):
            raise DnsError(Failure.UNCERTAIN, wrong)
        soa = messages.soa_owner(_asked(connection, zone.name, "SOA"))
        if soa is None:
            raise DnsError(Failure.LATER, f"zone {zone.name} has no SOA record")
        return Written(str(Mark.of(soa[1], change)))


def _found_zone(connection: Connection, domain: str) -> Zone | None:
    """Walk up from the domain to the zone that the server is authoritative for."""
    labels = domain.removeprefix("*.").split(".")[:_MOST_LABELS]
    cuts: list[str] = []
    refused: list[str] = []
    for first in range(len(labels)):
        name = ".".join(labels[first:])
        answer = _answer_of_any_zone(connection, name)
        if answer is None:
            refused.append(name)
            continue
        found = messages.soa_owner(answer)
        if found and is_within(domain, found[0]):
            # Below a cut in this zone, other servers answer.
            lost = any(cut != found[0] and is_within(cut, found[0]) for cut in cuts)
            return None if lost else Zone(found[0], found[0])
        cuts += messages.cuts(answer, domain)
    for name in refused:
        _require_no_zone(connection, name)
    return None


def _answer_of_any_zone(connection: Connection, name: str) -> dns.message.Message | None:
    """The answer for the SOA of a name; None where the server refuses: it does not have the zone, or has it
    and does not permit the query."""
    try:
        return _asked(connection, name, "SOA")
    except Refusal as error:
        if error.code in (dns.rcode.REFUSED, dns.rcode.NOTAUTH):
            return None
        raise


def _require_no_zone(connection: Connection, name: str) -> None:
    """Raise unless the server says that it has no zone of this name. It says so to an update that changes
    nothing: the check of the zone comes before that of the rights (RFC 2136, sections 3.1.2 and 3.3)."""
    doing = f"check whether there is a zone {name}"
    said = "it has the zone, and refuses queries for it"
    try:
        connection.holds(messages.absence(Zone(name, name), name), doing)
    except Refusal as error:
        if error.code == dns.rcode.NOTAUTH:
            return
        if error.failure is Failure.LATER:
            raise
        said = f"it refuses to say so: {dns.rcode.to_text(error.code)}"
    words = f"{connection}: {doing}: {said}. Permit the key to query the zone, or list the zones to write to"
    raise DnsError(Failure.NOT_PERMITTED, words)


def _read(connection: Connection, zone: Zone, name: str) -> tuple[RecordSet, ...]:
    answer = _asked(connection, name, "CNAME")
    if reason := messages.led_away(answer, zone, name):
        raise DnsError(Failure.REFUSED, f"zone {zone.name} does not answer for {name}: {reason}")
    if connection.holds(messages.absence(zone, name), f"check of {name}"):
        return ()
    # The name exists, so that no wildcard answers for it.
    cname = messages.answered(answer, name, "CNAME")
    if cname is not None:
        return (record_set(name, cname),)
    found = tuple(_of_all_types(connection, zone, name))
    return tuple(sorted(found, key=lambda each: each.type)) or (RecordSet(name, "unknown", ()),)


def _of_all_types(connection: Connection, zone: Zone, name: str) -> Iterator[RecordSet]:
    """Ask for the types in steps, until the name has none of those that are left."""
    for step, types in enumerate(messages.TYPES):
        yield from _of_types(connection, name, types)
        rest = list(chain.from_iterable(messages.TYPES[step + 1 :]))
        if not rest or connection.holds(messages.absence(zone, name, rest), f"check of {name}"):
            return


def _of_types(connection: Connection, name: str, types: Iterable[str]) -> list[RecordSet]:
    asked = ((each, _asked(connection, name, each)) for each in types)
    found = (messages.answered(answer, name, each) for each, answer in asked)
    return [record_set(name, each) for each in found if each is not None]


def _asked(connection: Connection, name: str, record_type: str) -> dns.message.Message:
    doing = f"query for {record_type} of {name}"
    try:
        message = messages.query(name, record_type)
    except (dns.exception.DNSException, ValueError) as error:
        raise DnsError(Failure.REFUSED, f"{doing}: {error}") from error
    return connection.query(message, doing)

"""Asks the name servers of the zone, which have a change at once, where resolvers may have an old answer.

The resolvers say where the zone begins, which name servers it has, and their addresses. A CNAME that leads
out of the zone is followed by the resolvers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

import dns.flags

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock, SystemClock
from provider.dns.public import reading
from provider.dns.public.answers import PORT, Answer, Lookup, Outcome, Server
from provider.dns.public.exchange import Exchange, Network, NoAnswer, question

__all__ = ["Authoritative", "parents"]

_MOST_SERVERS: Final = 4
_MOST_ADDRESSES: Final = 2
_MOST_LABELS: Final = 32
_SECONDS: Final = 2.0
_TOTAL: Final = 10.0
_LEAST: Final = 0.05


def parents(name: str) -> Iterator[str]:
    """The name and the names above it, without the root: at most 32."""
    labels = name.split(".")
    yield from (".".join(labels[start:]) for start in range(min(len(labels), _MOST_LABELS)))


@dataclass(frozen=True)
class Authoritative:
    """A lookup at the zone's name servers. See Lookup."""

    resolvers: Lookup
    exchange: Exchange = field(default_factory=Network)
    clock: Clock = field(default_factory=SystemClock)
    port: int = PORT
    """Of all name servers."""
    seconds: float = _SECONDS
    total: float = _TOTAL
    """The longest lookup, in seconds; one of the resolvers' lookups may exceed it."""

    def ask(self, name: str, kind: str) -> Answer:
        """See Lookup."""
        end = self.clock.now() + min(self.total, deadline.remaining())
        zone = self._zone(name, end)
        if zone.outcome is not Outcome.FOUND:
            return replace(zone, name=name, type=kind)
        answer = self._at(zone, name, kind, end)
        return self._followed(answer) if answer.chain and not answer.values else answer

    def _zone(self, name: str, end: float) -> Answer:
        """The name servers of the zone of a name: the first name upwards that has NS records of its own."""
        last = reading.failed(name, "NS", "no zone of the name was found")
        for parent in parents(name):
            if self.clock.now() > end - _LEAST:
                return reading.failed(name, "NS", "the time for a lookup is over")
            found = self.resolvers.ask(parent, "NS")
            if found.outcome is Outcome.FOUND and found.values and not found.chain:
                return found
            if found.outcome is Outcome.BOGUS:
                return found
            # A CNAME to a broken name fails here, too. Servers above a broken zone do not answer for it.
            last = last if found.is_known else found
        return last

    def _at(self, zone: Answer, name: str, kind: str, end: float) -> Answer:
        """The answer of the first name server that has one."""
        whys: list[str] = []
        for host in zone.values[:_MOST_SERVERS]:
            for address in self._addresses(host, end):
                left = end - self.clock.now()
                if left < _LEAST:
                    return reading.failed(name, kind, "; ".join([*whys, "the time for a lookup is over"]))
                answer = self._ask(Server(address, self.port), name, kind, min(self.seconds, left))
                if answer.is_known:
                    return replace(answer, servers=zone.values)
                whys.append(f"name server {host} ({address}): {answer.why}")
        why = "; ".join(whys) or f"no name server of {zone.name} has an address"
        return replace(reading.failed(name, kind, why), servers=zone.values)

    def _addresses(self, host: str, end: float) -> tuple[str, ...]:
        for kind in ("A", "AAAA"):
            if self.clock.now() > end - _LEAST:
                return ()
            found = self.resolvers.ask(host, kind).values
            if found:
                return found[:_MOST_ADDRESSES]
        return ()

    def _ask(self, server: Server, name: str, kind: str, seconds: float) -> Answer:
        try:
            message = self.exchange.send(question(name, kind, recursive=False), server, seconds)
        except NoAnswer as error:
            return reading.failed(name, kind, str(error))
        if not message.flags & dns.flags.AA and not message.rcode():
            return reading.failed(name, kind, "it does not serve the zone")
        return reading.read(message, name, kind)

    def _followed(self, answer: Answer) -> Answer:
        """The answer with what the resolvers say at the end of its chain."""
        rest = self.resolvers.ask(answer.chain[-1], answer.type)
        chain = (*answer.chain, *rest.chain)
        if answer.name in rest.chain or len(set(chain)) < len(chain) or len(chain) > reading.LONGEST_CHAIN:
            return reading.failed(answer.name, answer.type, "its CNAME records lead in a circle or too far")
        return replace(rest, name=answer.name, chain=chain, servers=answer.servers)

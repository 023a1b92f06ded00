"""Asks recursive resolvers, one after the other, until one answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import dns.rcode

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock, SystemClock
from provider.dns.public import reading
from provider.dns.public.answers import Answer, Outcome, Server
from provider.dns.public.exchange import Exchange, Network, NoAnswer, question, system_resolvers

__all__ = ["Recursive", "SystemResolvers"]

_SECONDS: Final = 2.0
"""For one question to one resolver. A resolver asks others in this time."""
_TOTAL: Final = 6.0
_LEAST: Final = 0.05


@dataclass(frozen=True)
class Recursive:
    """A lookup at resolvers. See Lookup."""

    resolvers: tuple[Server, ...]
    exchange: Exchange = field(default_factory=Network)
    clock: Clock = field(default_factory=SystemClock)
    seconds: float = _SECONDS
    """The longest wait for one answer."""
    total: float = _TOTAL
    """The longest lookup."""

    def ask(self, name: str, kind: str) -> Answer:
        """See Lookup."""
        end = self.clock.now() + min(self.total, deadline.remaining())
        whys: list[str] = []
        for server in self.resolvers:
            left = end - self.clock.now()
            if left < _LEAST:
                whys.append("the time for a lookup is over")
                break
            answer = self._ask(server, name, kind, min(self.seconds, left))
            if answer.outcome is not Outcome.FAILED:
                return replace(answer, servers=(str(server),))
            whys.append(f"{server}: {answer.why}")
        return reading.failed(name, kind, "; ".join(whys) or "no resolver is configured")

    def _ask(self, server: Server, name: str, kind: str, seconds: float) -> Answer:
        try:
            asked = question(name, kind, recursive=True)
            message = self.exchange.send(asked, server, seconds)
            if message.rcode() == dns.rcode.SERVFAIL and self._answers_unchecked(server, name, kind, seconds):
                # The failure may have been one of the moment, and over when it was asked without a check.
                message = self.exchange.send(asked, server, seconds)
                if message.rcode() != dns.rcode.SERVFAIL:
                    return reading.read(message, name, kind)
                why = f"{server} rejects the DNSSEC signatures of the zone"
                return Answer(Outcome.BOGUS, name, kind, why=why)
            return reading.read(message, name, kind)
        except NoAnswer as error:
            return reading.failed(name, kind, str(error))

    def _answers_unchecked(self, server: Server, name: str, kind: str, seconds: float) -> bool:
        """Whether the resolver answers if it is asked not to check DNSSEC (RFC 4035, section 3.2.2)."""
        asked = question(name, kind, recursive=True, checking=False)
        try:
            code = self.exchange.send(asked, server, seconds).rcode()
        except NoAnswer:
            return False
        return code in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)


@dataclass(frozen=True)
class SystemResolvers:
    """A lookup at the resolvers of the system. Their file is read each time, as it may change. See Lookup."""

    total: float = _TOTAL
    """The longest lookup, in seconds."""

    def ask(self, name: str, kind: str) -> Answer:
        """See Lookup."""
        return Recursive(system_resolvers(), total=self.total).ask(name, kind)

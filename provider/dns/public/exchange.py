"""One question to one server, over UDP, and over TCP where the answer is truncated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.resolver

from provider.dns.public.answers import Server

__all__ = ["Exchange", "Network", "NoAnswer", "question", "system_resolvers"]

_PAYLOAD: Final = 1232
"""Bytes of a UDP answer that no network fragments (DNS flag day 2020)."""
_MOST_RESOLVERS: Final = 3
"""As in resolv.conf(5)."""


class NoAnswer(Exception):  # noqa: N818 - names the thing found
    """The server sent no usable answer; the message says why."""


class Exchange(Protocol):
    """Sends a question to a server."""

    def send(self, asked: dns.message.Message, server: Server, seconds: float) -> dns.message.Message:
        """Return the answer. Waits at most that many seconds of real time.

        Raises:
            NoAnswer: there is none, or it is no answer to the question.
        """
        ...


@dataclass(frozen=True)
class Network:
    """The real network. dnspython drops answers with another id, question or source address, and waits for
    the right one."""

    def send(self, asked: dns.message.Message, server: Server, seconds: float) -> dns.message.Message:
        """See Exchange."""
        try:
            answer, _ = dns.query.udp_with_fallback(
                asked, server.address, timeout=seconds, port=server.port, ignore_unexpected=True,
                ignore_errors=True,
            )  # fmt: skip
        except dns.exception.Timeout as error:
            raise NoAnswer("it does not answer in time") from error
        except (OSError, EOFError, dns.exception.DNSException, ValueError) as error:
            raise NoAnswer(str(error) or type(error).__name__) from error
        return answer


def question(name: str, kind: str, *, recursive: bool, checking: bool = True) -> dns.message.Message:
    """Return the message that asks for a name and a type.

    Args:
        recursive: the server is a resolver; else it answers from its own zones only.
        checking: the resolver checks DNSSEC.

    Raises:
        NoAnswer: the name is no DNS name.
    """
    try:
        asked = dns.message.make_query(f"{name}.", kind, use_edns=0, payload=_PAYLOAD)
    except (dns.exception.DNSException, ValueError) as error:
        raise NoAnswer(f"{name} is no name of DNS: {error}") from error
    asked.flags = dns.flags.RD if recursive else dns.flags.Flag(0)
    if not checking:
        asked.flags |= dns.flags.CD
    return asked


def system_resolvers(path: str = "/etc/resolv.conf") -> tuple[Server, ...]:
    """Return the resolvers of the system; none if it has no such file."""
    try:
        found: Iterable[object] = dns.resolver.Resolver(path).nameservers
    except (OSError, dns.exception.DNSException):
        return ()
    return tuple(Server(each) for each in found if isinstance(each, str))[:_MOST_RESOLVERS]

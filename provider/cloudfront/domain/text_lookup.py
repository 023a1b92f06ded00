"""Looks up TXT records in public DNS, with recursive resolvers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import dns.exception
import dns.nameserver
import dns.resolver

from provider.dns.public import Server

__all__ = ["LookupFailed", "Resolvers", "TextLookup", "Texts", "server"]

_MOST_VALUES: Final = 100
_LONGEST_VALUE: Final = 512
"""Characters. A proof has fewer; the others are only shown."""


@dataclass(frozen=True)
class Texts:
    """What public DNS has at a name. No values: the name has no TXT record, or does not exist."""

    values: tuple[str, ...] = ()
    alias_of: str = ""
    """The name is an alias (CNAME or DNAME) of this one, which has the values; "" if it is none."""


class LookupFailed(Exception):  # noqa: N818 - says what happened
    """DNS gave no answer, which says nothing about the records."""

    def __init__(self, why: str, *, silent: bool = False) -> None:
        """`silent`: no server replied in time."""
        super().__init__(why)
        self.silent = silent


class TextLookup(Protocol):
    """Looks up the TXT records of a name."""

    def __call__(self, name: str, seconds: float) -> Texts:
        """Look them up within this time.

        Raises:
            LookupFailed: there was no answer.
        """
        ...


def server(text: str) -> tuple[str, int]:
    """Return the address and port of a resolver, as `provider.dns.public.Server.parse`.

    Raises:
        ValueError: it is none.
    """
    found = Server.parse(text)
    return found.address, found.port


class Resolvers:
    """Implements TextLookup. Thread-safe: each look-up only reads what is configured."""

    def __init__(self, servers: Sequence[tuple[str, int]] = ()) -> None:
        """`servers` are address and port of recursive resolvers; empty: those of the system."""
        self._servers = tuple(servers)

    def __call__(self, name: str, seconds: float) -> Texts:
        """See TextLookup. A truncated answer is asked for again over TCP."""
        try:
            # Not a search: a name without a final dot could be completed with the domain of the cluster.
            answer = self._resolver().resolve(
                f"{name}.", "TXT", lifetime=seconds, search=False, raise_on_no_answer=False
            )
        except dns.resolver.NXDOMAIN as error:
            return Texts(alias_of=_other(str(error.canonical_name), name))
        except dns.resolver.LifetimeTimeout as error:
            raise LookupFailed("no resolver replied in time", silent=True) from error
        except dns.resolver.NoNameservers as error:
            raise LookupFailed(_codes(error)) from error
        except (dns.exception.DNSException, OSError, ValueError) as error:
            raise LookupFailed(f"{type(error).__name__}: {error}") from error
        found = () if answer.rrset is None else tuple(answer.rrset)[:_MOST_VALUES]
        values = (b"".join(each.strings)[:_LONGEST_VALUE].decode("ascii", "replace") for each in found)
        return Texts(tuple(values), _other(str(answer.canonical_name), name))

    def _resolver(self) -> dns.resolver.Resolver:
        """Return the resolver. That of the system is read again each time: its file may change."""
        if not self._servers:
            return dns.resolver.Resolver()
        resolver = dns.resolver.Resolver(configure=False)
        resolver.nameservers = [dns.nameserver.Do53Nameserver(host, port) for host, port in self._servers]
        return resolver


def _other(canonical: str, name: str) -> str:
    found = canonical.removesuffix(".").lower()
    return "" if found == name.lower() else found


def _codes(error: dns.resolver.NoNameservers) -> str:
    """What the resolvers answered, such as SERVFAIL, without their addresses."""
    told = {str(each[3]) for each in error.kwargs.get("errors") or () if len(each) > 3}
    return f"the resolvers answered {', '.join(sorted(told)) or 'with an error'}"

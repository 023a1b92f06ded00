"""A wanted record against what public DNS answers.

A CNAME that leads to the routing endpoint, at once or over other names, is in place. CloudFront's addresses
change with the place that asks, so other addresses than those of the endpoint prove nothing about an alias.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from provider.dns.public.answers import Answer, Lookup, Outcome

__all__ = ["Finding", "Seen", "look"]


class Seen(StrEnum):
    """What a look says about a record."""

    UNKNOWN = "Unknown"
    MISSING = "Missing"
    WRONG = "Wrong"
    PRESENT = "Present"


@dataclass(frozen=True)
class Finding:
    """What a look found in the place of a record."""

    seen: Seen
    found: tuple[str, ...] = ()
    """What is there instead, such as "A 192.0.2.1"."""
    why: str = ""
    """Why it is not known."""
    bogus: bool = False
    """Resolvers reject the DNSSEC signatures."""
    servers: tuple[str, ...] = ()
    """Who answered."""


def look(lookup: Lookup, kind: str, name: str, value: str) -> Finding:
    """Look for a record.

    Args:
        kind: CNAME, ALIAS or TXT.
        name: in lower-case A-labels.
        value: the routing endpoint.
    """
    if kind == "TXT":
        return _text(lookup.ask(name, "TXT"), value)
    answers = [lookup.ask(name, each) for each in ("A", "AAAA")]
    unknown = next((each for each in answers if not each.is_known), None)
    if any(value.lower() in each.chain for each in answers):
        return Finding(Seen.PRESENT, servers=answers[0].servers)
    if unknown is not None:
        bogus = unknown.outcome is Outcome.BOGUS
        return Finding(Seen.UNKNOWN, why=unknown.why, bogus=bogus, servers=unknown.servers)
    found = _routes(answers)
    if not found:
        return Finding(Seen.MISSING, servers=answers[0].servers)
    seen = Seen.WRONG if any(each.chain for each in answers) else _addressed(lookup, kind, value, answers)
    # The addresses of an alias that is in place are CloudFront's.
    return Finding(seen, () if seen is Seen.PRESENT else found, servers=answers[0].servers)


def _text(answer: Answer, value: str) -> Finding:
    if not answer.is_known:
        bogus = answer.outcome is Outcome.BOGUS
        return Finding(Seen.UNKNOWN, why=answer.why, bogus=bogus, servers=answer.servers)
    if any(each.rstrip(".").lower() == value.lower() for each in answer.values):
        return Finding(Seen.PRESENT, servers=answer.servers)
    found = tuple(f"TXT {each}" for each in answer.values)
    return Finding(Seen.WRONG if found else Seen.MISSING, found, servers=answer.servers)


def _routes(answers: Iterable[Answer]) -> tuple[str, ...]:
    """What leads visitors elsewhere: the first CNAME, or else the addresses."""
    answers = tuple(answers)
    first = next((each.chain[0] for each in answers if each.chain), None)
    if first is not None:
        return (f"CNAME {first}",)
    return tuple(f"{each.type} {value}" for each in answers for value in each.values)


def _addressed(lookup: Lookup, kind: str, endpoint: str, answers: Iterable[Answer]) -> Seen:
    """The state of a record in whose place the name has addresses, as an alias has them."""
    for answer in (each for each in answers if each.values):
        there = lookup.ask(endpoint, answer.type)
        if there.outcome is Outcome.NO_TYPE:
            # Visitors who use this type of address get to another place.
            return Seen.WRONG
        if not set(answer.values) & set(there.values):
            return Seen.WRONG if kind == "CNAME" and there.values else Seen.UNKNOWN
    return Seen.PRESENT

"""DNS zones, and the answers of an authoritative server (RFC 1034, wildcards by RFC 4592).

Names are in lower case without the final dot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

__all__ = ["FAIL", "Answer", "Code", "RecordSet", "Zone", "Zones", "lookup", "normal"]

FAIL = "FAIL"
"""A special type: every lookup of the name fails."""
_LONGEST_CHAIN = 16
_ALIAS_TTL = 60
"""Route 53 uses the TTL of an alias's target, which is 60 seconds for CloudFront."""
_ESCAPE = re.compile(r"\\([0-7]{3})")


class Code(IntEnum):
    """The response codes of RFC 1035."""

    NO_ERROR = 0
    """The query is answered. Without records, the name has none of that type."""
    FORMAT_ERROR = 1
    """The query cannot be parsed."""
    SERVER_FAILURE = 2
    """A bug of the server, or a FAIL record."""
    NAME_ERROR = 3
    """The name does not exist (NXDOMAIN)."""
    NOT_IMPLEMENTED = 4
    """The message is not a query."""
    REFUSED = 5
    """The name is in none of the zones."""


@dataclass(frozen=True)
class RecordSet:
    """The records of one name and type."""

    name: str
    type: str
    values: tuple[str, ...] = ()
    """The values in Route 53's format: text in quotation marks, absolute names."""
    ttl: int = 300
    alias: str | None = None
    """The name whose records of the same type are used (Route 53's alias); in answers, the last name of a
    chain; None for records with their own values."""


@dataclass(frozen=True)
class Answer:
    """The answer to a query."""

    code: Code
    records: tuple[RecordSet, ...] = ()
    """The chain of CNAMEs in order, and the records at its end."""
    authority: tuple[RecordSet, ...] = ()
    """The SOA if there are no records, the name servers of a delegation."""
    authoritative: bool = True

    def values(self, record_type: str) -> tuple[str, ...]:
        """All values of one type."""
        return tuple(value for each in self.records if each.type == record_type for value in each.values)


@dataclass(frozen=True)
class Zone:
    """One zone with its records."""

    name: str
    records: Mapping[str, Mapping[str, RecordSet]]
    """The records by name, then by type."""
    names: frozenset[str] = field(repr=False)
    """All existing names, including those between the apex and a record."""

    @classmethod
    def of(cls, name: str, record_sets: Iterable[RecordSet]) -> Zone:
        """A zone with these records. Of several sets with the same name and type, the first is used."""
        apex = normal(name)
        records: dict[str, dict[str, RecordSet]] = {}
        names = {apex}
        for each in record_sets:
            records.setdefault(each.name, {}).setdefault(each.type, each)
            names.update(_upwards(each.name, apex))
        return cls(apex, records, frozenset(names))

    @property
    def soa(self) -> tuple[RecordSet, ...]:
        """The SOA record, for answers without records."""
        found = self.records.get(self.name, {}).get("SOA")
        return (found,) if found else ()

    def at(self, name: str) -> Mapping[str, RecordSet] | None:
        """The records of a name by type, including those of a matching wildcard; None if the name does not
        exist."""
        if name in self.names:
            return self.records.get(name, {})
        encloser = next((each for each in _upwards(name, self.name) if each in self.names), self.name)
        wild = self.records.get(f"*.{encloser}")
        if wild is None:
            return None
        return {kind: RecordSet(name, kind, each.values, each.ttl, each.alias) for kind, each in wild.items()}

    def handed_on(self, name: str) -> RecordSet | None:
        """The NS records of a delegation below the apex that contains the name; None if there is none."""
        cuts = [self.records.get(each, {}).get("NS") for each in _upwards(name, self.name)[:-1]]
        return next((cut for cut in reversed(cuts) if cut), None)


Zones = Mapping[str, Zone]
"""Zones by name."""


def normal(name: str) -> str:
    r"""A name in the format of zones, with Route 53's octal escapes resolved.

    >>> normal("\\052.Example.com.")
    '*.example.com'
    """
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), name).rstrip(".").lower()


def lookup(zones: Zones, name: str, record_type: str) -> Answer:
    """The answer of the zones for a name and a type.

    the name is in none of the zones    REFUSED, or the chain so far if a CNAME led there
    delegated to other name servers     their NS records, not authoritative
    the name does not exist             NAME_ERROR with the zone's SOA
    the type, or an alias to it         the records
    a CNAME                             the CNAME, and the answer for its target
    FAIL                                SERVER_FAILURE
    no records of that type             NO_ERROR with the zone's SOA
    """
    chain: tuple[RecordSet, ...] = ()
    name = normal(name)
    for _ in range(_LONGEST_CHAIN):
        answer = _at(zones, name, record_type)
        chain += answer.records
        target = _target(answer, record_type)
        if target is None:
            left = answer.code is Code.REFUSED and chain
            code = Code.NO_ERROR if left else answer.code
            return Answer(code, chain, answer.authority, answer.authoritative)
        name = target
    return Answer(Code.NO_ERROR, chain)


def _at(zones: Zones, name: str, record_type: str) -> Answer:
    """The answer for one name, without following its CNAME."""
    zone = next((zones[each] for each in _upwards(name, "") if each in zones), None)
    if zone is None:
        return Answer(Code.REFUSED, authoritative=False)
    cut = zone.handed_on(name)
    if cut:
        return Answer(Code.NO_ERROR, authority=(cut,), authoritative=False)
    here = zone.at(name)
    if here is None:
        return Answer(Code.NAME_ERROR, authority=zone.soa)
    if FAIL in here:
        return Answer(Code.SERVER_FAILURE, authoritative=False)
    found = here.get(record_type) or here.get("CNAME")
    if found and found.alias is not None:
        found = _aliased(zones, found)
    return Answer(Code.NO_ERROR, (found,)) if found else Answer(Code.NO_ERROR, authority=zone.soa)


def _aliased(zones: Zones, alias: RecordSet) -> RecordSet | None:
    """The records of an alias's target, with the alias's name; None if the target has none."""
    seen = {alias.name}
    target: RecordSet | None = alias
    while target and target.alias is not None:
        name = normal(target.alias)
        if name in seen:
            return None
        seen.add(name)
        zone = next((zones[each] for each in _upwards(name, "") if each in zones), None)
        target = ((zone.at(name) if zone else None) or {}).get(alias.type)
    return RecordSet(alias.name, alias.type, target.values, _ALIAS_TTL, name) if target else None


def _target(answer: Answer, record_type: str) -> str | None:
    """The target of a CNAME; None at the end of a chain."""
    last = answer.records[-1] if answer.records else None
    if last is None or last.type != "CNAME" or record_type == "CNAME" or not last.values:
        return None
    return normal(last.values[0])


def _upwards(name: str, apex: str) -> list[str]:
    """A name and its parents up to the apex, or up to the top level without an apex.

    >>> _upwards("a.b.example.com", "example.com")
    ['a.b.example.com', 'b.example.com', 'example.com']
    """
    labels = name.split(".")
    count = len(labels) - (len(apex.split(".")) - 1 if apex else 0)
    return [".".join(labels[i:]) for i in range(count)]

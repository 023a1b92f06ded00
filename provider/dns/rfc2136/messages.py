"""Queries, updates with their prerequisites, and what answers say (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

import dns.flags
import dns.message
import dns.name
import dns.rdataclass
import dns.rdataset
import dns.rdatatype
import dns.rrset
import dns.update

from provider.dns.rdata import name_of, rdataset_of
from provider.dns.records import Zone, is_within, normal
from provider.dns.store import Change

__all__ = [
    "TYPES",
    "absence",
    "answered",
    "cuts",
    "led_away",
    "query",
    "soa_owner",
    "update",
]

_BESIDE_CNAME: Final = frozenset({"RRSIG", "NSEC", "NSEC3", "KEY", "SIG", "NXT"})
"""Types that may be beside a CNAME (RFC 4034, section 3; RFC 2181, section 10.1)."""
_USUAL: Final = ("A", "AAAA", "TXT")
_SOME: Final = ("MX", "NS", "HTTPS", "SVCB", "CAA", "SRV")
_LEFT_OUT: Final = frozenset({"NONE", "TYPE0", "CNAME", *_USUAL, *_SOME, *_BESIDE_CNAME})
_RARE: Final = tuple(
    name
    for each in dns.rdatatype.RdataType
    if (name := dns.rdatatype.to_text(each)) not in _LEFT_OUT and not dns.rdatatype.is_metatype(each)
)
TYPES: Final = (_USUAL, _SOME, _RARE)
"""All types that may not be beside a CNAME, in three steps: a name with one of the last is rare."""


def query(name: str, record_type: str) -> dns.message.QueryMessage:
    """Return a question to an authoritative server: without the wish for recursion.

    Raises:
        ValueError: `name` is none.
    """
    return dns.message.make_query(name_of(name), record_type, flags=0)


def absence(zone: Zone, name: str, types: Iterable[str] = ()) -> dns.update.UpdateMessage:
    """Return an update that changes nothing, and fails if the name has one of these types, or any at all.

    A wildcard answers queries for names that do not exist. A prerequisite is about the name itself.
    """
    message = _update(zone)
    for each in types:
        message.absent(name_of(name), each)
    if not types:
        message.absent(name_of(name))
    return message


def update(zone: Zone, change: Change) -> dns.update.UpdateMessage:
    """Return the update of a change, which is made only if the records are as the change expects.

    A server checks all prerequisites before it changes anything (RFC 2136, section 3.2). It ignores a record
    beside a CNAME, and replaces a CNAME by another, both without an error (section 3.4.2.2), so that the
    absence of each is a prerequisite.

    Raises:
        ValueError: a name or value is none.
    """
    message = _update(zone)
    for each in (*change.deletes, *change.keeps):
        message.present(name_of(each.name), _without_ttl(rdataset_of(each)))
    for name in sorted({each.name for each in change.creates}):
        _require_absence(message, name, change)
    for each in change.deletes:
        message.delete(name_of(each.name), each.type)
    for each in change.creates:
        message.add(name_of(each.name), rdataset_of(each))
    return message


def _require_absence(message: dns.update.UpdateMessage, name: str, change: Change) -> None:
    created = {each.type for each in change.creates if each.name == name}
    there = {each.type for each in (*change.deletes, *change.keeps) if each.name == name}
    if "CNAME" in created and not there:
        message.absent(name_of(name))
        return
    others = {"CNAME", *chain.from_iterable(TYPES)} if "CNAME" in created else {"CNAME", *created}
    for each in sorted(others - there):
        message.absent(name_of(name), each)


def _update(zone: Zone) -> dns.update.UpdateMessage:
    return dns.update.UpdateMessage(name_of(zone.name))


def _without_ttl(rdataset: dns.rdataset.Rdataset) -> dns.rdataset.Rdataset:
    """The values only: the TTL of a prerequisite is 0 (RFC 2136, section 2.4.2)."""
    bare = dns.rdataset.Rdataset(rdataset.rdclass, rdataset.rdtype, ttl=0)
    for each in rdataset:
        bare.add(each, 0)
    return bare


def answered(answer: dns.message.Message, name: str, record_type: str) -> dns.rdataset.Rdataset | None:
    """Return the record set that was asked for, at that name itself."""
    for each in answer.answer:
        if normal(each.name.to_text()) == name and dns.rdatatype.to_text(each.rdtype) == record_type:
            return each.to_rdataset()
    return None


def led_away(answer: dns.message.Message, zone: Zone, name: str) -> str | None:
    """Return why the zone does not answer for a name with its own records; None if it does."""
    for each in answer.answer:
        if each.rdtype == dns.rdatatype.DNAME and normal(each.name.to_text()) != name:
            return f"{normal(each.name.to_text())} has a DNAME record, which covers it"
    if answer.flags & dns.flags.AA:
        owner = soa_owner(answer)
        child = owner is not None and owner[0] != zone.name and is_within(name, owner[0])
        return f"zone {owner[0]} of the same server answers for it" if owner and child else None
    for cut in cuts(answer, name):
        if cut != zone.name:
            return f"{cut} is delegated to other name servers"
    return f"the server is not authoritative for zone {zone.name}"


def cuts(answer: dns.message.Message, name: str) -> list[str]:
    """Return the names at or above a name that a referral says other servers answer for."""
    if answer.flags & dns.flags.AA:
        return []
    owners = [normal(each.name.to_text()) for each in answer.authority if each.rdtype == dns.rdatatype.NS]
    return [owner for owner in owners if is_within(name, owner)]


def soa_owner(answer: dns.message.Message) -> tuple[str, int] | None:
    """Return the name and serial of the SOA record in an authoritative answer."""
    if not answer.flags & dns.flags.AA:
        return None
    for each in (*answer.answer, *answer.authority):
        if each.rdtype == dns.rdatatype.SOA:
            return normal(each.name.to_text()), int(each[0].serial)
    return None

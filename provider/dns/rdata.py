"""Values of record sets as dnspython's rdata, and back (pure).

A long text is several strings of at most 255 bytes in DNS (RFC 1035, section 3.3.14), and one text here. So
what was read keeps the strings that it has in the zone, for a comparison on the server.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import dns.exception
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdataset
import dns.rdatatype
import dns.rdtypes.ANY.TXT

from provider.dns.records import RecordSet, normal

__all__ = ["name_of", "rdataset_of", "rdataset_of_texts", "record_set", "value_of"]

_STRING: Final = 255
_TARGETS: Final = frozenset({"CNAME", "NS", "PTR", "DNAME"})
"""Types whose value is a name."""


def name_of(name: str) -> dns.name.Name:
    """Return a name for DNS, absolute.

    Raises:
        ValueError: it is no name in ASCII. International names come as A-labels (RFC 5890).
    """
    try:
        name.encode("ascii")
        return dns.name.from_text(f"{name}.")
    except (dns.exception.DNSException, UnicodeError) as error:
        raise ValueError(f"{name!r} is not a DNS name: {error}") from error


def rdataset_of(record: RecordSet) -> dns.rdataset.Rdataset:
    """Return a record set for DNS: as it was read from DNS, or else from its values.

    Raises:
        ValueError: a value does not fit the type.
    """
    if isinstance(record.as_stored, dns.rdataset.Rdataset):
        return record.as_stored
    rdataset = dns.rdataset.Rdataset(dns.rdataclass.IN, _number(record.type))
    for value in record.values:
        rdataset.add(_rdata(record.type, value), record.ttl or 0)
    return rdataset


def rdataset_of_texts(record_type: str, texts: Iterable[str], ttl: int | None) -> dns.rdataset.Rdataset:
    """Return a record set from values as a zone file has them.

    Raises:
        ValueError: a value does not fit the type.
    """
    rdataset = dns.rdataset.Rdataset(dns.rdataclass.IN, _number(record_type))
    for text in texts:
        rdataset.add(_parsed(record_type, text), ttl or 0)
    return rdataset


def record_set(name: str, rdataset: dns.rdataset.Rdataset) -> RecordSet:
    """Return what DNS has as a record set. `name` is in normal form."""
    values = tuple(sorted(value_of(each) for each in rdataset))
    kind = dns.rdatatype.to_text(rdataset.rdtype)
    return RecordSet(name, kind, values, rdataset.ttl, as_stored=rdataset)


def value_of(rdata: dns.rdata.Rdata) -> str:
    """Return a value: a target in normal form, a text without quotation marks, others as in a zone file."""
    if isinstance(rdata, dns.rdtypes.ANY.TXT.TXT):
        return b"".join(rdata.strings).decode(errors="surrogateescape")
    text = str(rdata.to_text())
    return normal(text) if dns.rdatatype.to_text(rdata.rdtype) in _TARGETS else text


def _rdata(record_type: str, value: str) -> dns.rdata.Rdata:
    if record_type == "TXT":
        data = value.encode(errors="surrogateescape")
        strings = [data[i : i + _STRING] for i in range(0, max(len(data), 1), _STRING)]
        return dns.rdtypes.ANY.TXT.TXT(dns.rdataclass.IN, dns.rdatatype.TXT, strings)
    if record_type in _TARGETS:
        return _parsed(record_type, name_of(value).to_text())
    return _parsed(record_type, value)


def _parsed(record_type: str, text: str) -> dns.rdata.Rdata:
    number = _number(record_type)
    try:
        return dns.rdata.from_text(dns.rdataclass.IN, number, text, origin=dns.name.root, relativize=False)
    except (dns.exception.DNSException, ValueError) as error:
        raise ValueError(f"{text!r} is not a value of {record_type}: {error}") from error


def _number(record_type: str) -> dns.rdatatype.RdataType:
    try:
        return dns.rdatatype.from_text(record_type)
    except (dns.exception.DNSException, ValueError) as error:
        raise ValueError(f"{record_type!r} is not a type of records") from error

"""Record sets as Azure has them, and back (pure).

Azure has a field for each type, in the JSON of its REST API (version 2018-05-01). The SDK's models are not
used here, so that nothing of it is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from provider.dns.rdata import name_of
from provider.dns.records import RecordSet, normal

__all__ = ["STAMP", "TYPES", "UNFINISHED", "Stored", "body", "relative", "stored"]

STAMP: Final = "edgetenants"
"""The key in the metadata of each record set that this provider writes. Its value is the owner."""
UNFINISHED: Final = "edgetenants-unfinished"
"""The key in the metadata of a mark whose records were not all written yet."""
_STRING: Final = 255
"""Bytes of one string of a TXT record (RFC 1035, section 3.3.14)."""
_LISTS: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "A": ("ARecords", lambda one: str(one["ipv4Address"])),
    "AAAA": ("AAAARecords", lambda one: str(one["ipv6Address"])),
    "CAA": ("caaRecords", lambda one: f'{one["flags"]} {one["tag"]} "{one["value"]}"'),
    "MX": ("MXRecords", lambda one: f"{one['preference']} {one['exchange']}"),
    "NS": ("NSRecords", lambda one: normal(str(one["nsdname"]))),
    "PTR": ("PTRRecords", lambda one: normal(str(one["ptrdname"]))),
    "SRV": ("SRVRecords", lambda one: f"{one['priority']} {one['weight']} {one['port']} {one['target']}"),
    "TXT": ("TXTRecords", lambda one: "".join(one["value"])),
}
"""By type: the field with its records, and the value of one."""
TYPES: Final = ("CNAME", *_LISTS)
"""The types of API version 2018-05-01. SOA is only at the apex, and never in the way."""


@dataclass(frozen=True)
class Stored:
    """What Azure has beside the values."""

    etag: str
    owner: str = ""
    """The stamp; "" for a record set that this provider did not write."""
    unfinished: bool = False


def relative(name: str, zone: str) -> str:
    """Return a name as Azure's paths have it: without the zone, and `@` for the apex.

    Raises:
        ValueError: it is no name, or not in the zone.
    """
    name_of(name)
    if name == zone:
        return "@"
    if not name.endswith(f".{zone}"):
        raise ValueError(f"{name} is not in zone {zone}")
    return name.removesuffix(f".{zone}")


def stored(name: str, kind: str, answer: Mapping[str, Any]) -> RecordSet:
    """Return a record set as Azure answers it.

    One that leads to a resource of Azure (`targetResource`) is never changed: its values are Azure's.

    Raises:
        KeyError, TypeError, ValueError: the answer has another form.
    """
    properties = answer["properties"]
    metadata = properties.get("metadata") or {}
    target = (properties.get("targetResource") or {}).get("id")
    values = (str(target),) if target else _values(kind, properties)
    # JSON may have halves of characters, which no other text can have.
    "".join(values).encode()
    about = Stored(str(answer["etag"]), str(metadata.get(STAMP, "")), UNFINISHED in metadata)
    return RecordSet(
        name, kind, values, int(properties["TTL"]), bool(target), routed=bool(target), as_stored=about
    )


def body(record: RecordSet, owner: str, *, unfinished: bool = False) -> dict[str, Any]:
    """Return the body of a PUT.

    Raises:
        ValueError: Azure DNS has no such record set.
    """
    metadata = {STAMP: owner, **({UNFINISHED: "true"} if unfinished else {})}
    return {"properties": {"metadata": metadata, "TTL": record.ttl, **_records(record)}}


def _values(kind: str, properties: Mapping[str, Any]) -> tuple[str, ...]:
    if kind == "CNAME":
        return (normal(str(properties["CNAMERecord"]["cname"])),)
    field, value = _LISTS[kind]
    return tuple(sorted(value(each) for each in properties.get(field) or ()))


def _records(record: RecordSet) -> dict[str, Any]:
    if record.alias:
        raise ValueError(f"{record.type} alias: Azure DNS has aliases to resources of Azure only")
    if record.type == "CNAME":
        (target,) = record.values
        return {"CNAMERecord": {"cname": target}}
    if record.type == "TXT":
        return {"TXTRecords": [{"value": _strings(each)} for each in record.values]}
    if record.type in ("A", "AAAA"):
        key = "ipv4Address" if record.type == "A" else "ipv6Address"
        return {f"{record.type}Records": [{key: each} for each in record.values]}
    raise ValueError(f"the provider makes no {record.type} records")


def _strings(text: str) -> list[str]:
    """A text in strings of at most 255 bytes; none of them ends within a character."""
    found, size = [""], 0
    for each in text:
        more = len(each.encode(errors="surrogateescape"))
        if size + more > _STRING:
            found.append("")
            size = 0
        found[-1] += each
        size += more
    return found

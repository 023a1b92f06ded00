"""Record sets as Cloudflare's records, and back (pure). Cloudflare has an object, with an id, for a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from provider.dns.rdata import name_of, rdataset_of, rdataset_of_texts, value_of
from provider.dns.records import RecordSet, Zone, normal

__all__ = ["APEX", "Stored", "posts", "record_sets"]

APEX: Final = "ALIAS"
"""The type of a CNAME at the apex of its zone, which Cloudflare answers with the target's addresses. Other
records may be beside it, as DNS shows no CNAME there."""
_TARGETS: Final = frozenset({"CNAME", "NS", "PTR"})


@dataclass(frozen=True)
class Stored:
    """The ids of the records of a set, in the order of its values."""

    ids: tuple[str, ...]


def record_sets(zone: Zone, rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[RecordSet, ...]]:
    """Return the record sets of rows of the API, by name.

    A proxied record is an alias: Cloudflare answers with its own addresses, and visitors go through it. So it
    is never the same as one that leads to the target.

    Raises:
        KeyError, TypeError, ValueError: a row has another form.
    """
    keyed = sorted(((normal(str(row["name"])), str(row["type"])), row["id"], row) for row in rows)
    found: dict[str, tuple[RecordSet, ...]] = {}
    for (name, kind), group in groupby(keyed, key=lambda each: each[0]):
        found[name] = (*found.get(name, ()), _record_set(zone, name, kind, [row for _, _, row in group]))
    return found


def posts(zone: Zone, record: RecordSet) -> list[dict[str, Any]]:
    """Return the records to post for a record set, in the order of its values. None is proxied.

    Raises:
        ValueError: a name or a value does not fit.
    """
    name_of(record.name)
    kind = "CNAME" if record.type == APEX and record.name == zone.name else record.type
    if record.alias and kind == record.type:
        raise ValueError(f"{record}: the provider makes no proxied records")
    common = {"name": record.name, "type": kind, "ttl": record.ttl, "proxied": False}
    if kind == "TXT":
        common.pop("proxied")
    return [{**common, "content": _content(kind, each)} for each in record.values]


def _record_set(zone: Zone, name: str, kind: str, rows: list[Mapping[str, Any]]) -> RecordSet:
    values = sorted((_value(kind, row), str(row["id"])) for row in rows)
    ttls = {int(row["ttl"]) for row in rows}
    proxied = any(row.get("proxied") for row in rows)
    flat = kind == "CNAME" and name == zone.name
    return RecordSet(
        name,
        APEX if flat and not proxied else kind,
        tuple(value for value, _ in values),
        # Of different TTLs, none is the one that is wanted.
        ttls.pop() if len(ttls) == 1 else None,
        alias=flat or proxied,
        as_stored=Stored(tuple(one for _, one in values)),
    )


def _value(kind: str, row: Mapping[str, Any]) -> str:
    content = str(row["content"])
    if kind in _TARGETS:
        return normal(content)
    if kind == "TXT" and content.startswith('"'):
        (rdata,) = rdataset_of_texts(kind, [content], 0)
        return value_of(rdata)
    return f"{row['priority']} {content}" if row.get("priority") is not None else content


def _content(kind: str, value: str) -> str:
    if kind == "TXT":
        (rdata,) = rdataset_of(RecordSet("x", kind, (value,)))
        return str(rdata.to_text())
    if kind == "CNAME":
        name_of(value)
    return value

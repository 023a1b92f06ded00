"""Batches of changes to a hosted zone, with Route 53's checks. A batch is applied as a whole or not at all.

    CREATE   the record set must not exist
    UPSERT   replaces the record set with the same name, type and set identifier, or creates it
    DELETE   the record set must exist with exactly these values

Changes are checked in order, each against the zone after the previous ones. Rules: API reference of
ChangeResourceRecordSets; Route 53 developer guide, "Quotas" and "Supported DNS record types". The error
messages are those that users report.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edgetenants_emulator.errors import AwsError
from edgetenants_emulator.zones.authority import normal

__all__ = ["Key", "Row", "apply", "key_of", "normalized"]

Row = Mapping[str, Any]
"""A resource record set by the model's names, with its records as plain values."""
Key = tuple[str, str, str]
"""The name, type and set identifier of a record set. The identifier is empty for simple routing."""

MOST_RECORDS = 1_000
MOST_CHARACTERS = 32_000
MOST_IN_SET = 100
LONGEST_TTL = 2_147_483_647
CLOUDFRONT_ZONE = "Z2FDTNDATAQYW2"
_ROUTED = ("Weight", "Region", "Failover", "GeoLocation", "MultiValueAnswer", "GeoProximityLocation")
_ADDRESSES = {"A": ("IPv4", ipaddress.IPv4Address), "AAAA": ("IPv6", ipaddress.IPv6Address)}


@dataclass(frozen=True)
class _Draft:
    """A zone while a batch is applied."""

    zone: str
    rows: dict[Key, Row]
    at: dict[str, set[Key]]
    """The keys by name, for speed: a zone may have thousands of names, and a batch as many changes."""

    @classmethod
    def of(cls, zone: str, present: Mapping[Key, Row]) -> _Draft:
        at: dict[str, set[Key]] = {}
        for key in present:
            at.setdefault(key[0], set()).add(key)
        return cls(zone, dict(present), at)

    def do(self, action: str, row: Row) -> None:
        key = key_of(row)
        if action == "DELETE":
            del self.rows[key]
            self.at[key[0]].discard(key)
        else:
            self.rows[key] = row
            self.at.setdefault(key[0], set()).add(key)


def apply(zone: str, present: Mapping[Key, Row], changes: Sequence[Row]) -> dict[Key, Row]:
    """The zone's record sets after a batch.

    Raises AwsError InvalidChangeBatch with a message for each refused change, InvalidInput for a malformed
    record set.
    """
    _check_size(changes)
    rows = [(change["Action"], normalized(change["ResourceRecordSet"])) for change in changes]
    for action, row in rows:
        _check_form(action, row)
    problems = list(_repeated(rows))
    draft = _Draft.of(zone, present)
    for action, row in rows:
        found = list(_problems(draft, action, row))
        problems += found
        if not found:
            draft.do(action, row)
    problems += _apex_problems(draft) if not problems else []
    if problems:
        raise _invalid(problems)
    return draft.rows


def key_of(row: Row) -> Key:
    """The key of a record set, unique in its zone."""
    return normal(row["Name"]), str(row["Type"]), str(row.get("SetIdentifier") or "")


def normalized(given: Row) -> dict[str, Any]:
    """A record set as Route 53 stores and lists it: an absolute name in lower case, with wildcards
    escaped."""
    row = {name: value for name, value in given.items() if value is not None}
    row["Name"] = _absolute(given["Name"])
    if "ResourceRecords" in given:
        row["ResourceRecords"] = [each["Value"] for each in given["ResourceRecords"]]
    if "AliasTarget" in given:
        target = given["AliasTarget"]
        row["AliasTarget"] = {**target, "DNSName": _absolute(target["DNSName"])}
    return row


def _absolute(name: str) -> str:
    return normal(name).replace("*", "\\052") + "."


def _check_size(changes: Sequence[Row]) -> None:
    records = characters = 0
    for change in changes:
        values = [each["Value"] for each in change["ResourceRecordSet"].get("ResourceRecords") or ()]
        times = 2 if change["Action"] == "UPSERT" else 1
        records += times * len(values)
        characters += times * sum(map(len, values))
    if records > MOST_RECORDS:
        raise _invalid([f"Number of records limit of {MOST_RECORDS} exceeded."])
    if characters > MOST_CHARACTERS:
        raise _invalid([f"RDATA character limit of {MOST_CHARACTERS} exceeded."])


def _check_form(action: str, row: Row) -> None:
    """Check that a record set has either records with a TTL or an alias. Raises AwsError InvalidInput."""
    if action not in ("CREATE", "DELETE", "UPSERT"):
        message = (
            f"Invalid XML ; cvc-enumeration-valid: Value '{action}' is not facet-valid with respect to "
            "enumeration '[CREATE, DELETE, UPSERT]'. It must be a value from the enumeration."
        )
        raise AwsError("InvalidInput", message, 400)
    records = bool(row.get("ResourceRecords")) and "TTL" in row
    alias = "AliasTarget" in row
    halves = "ResourceRecords" in row or "TTL" in row
    if (alias and not halves) or (records and not alias):
        return
    found = "more than one" if alias and halves else "none"
    message = (
        "Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and ResourceRecords], or "
        f"TrafficPolicyInstanceId], but found {found} in Change with [Action={action}, Name={row['Name']}, "
        f"Type={row['Type']}, SetIdentifier={row.get('SetIdentifier', 'null')}]"
    )
    raise AwsError("InvalidInput", message, 400)


def _repeated(rows: Iterable[tuple[str, Row]]) -> Iterator[str]:
    """The errors for repeated record sets. Only a delete followed by a create may repeat one in a batch."""
    before: dict[Key, str] = {}
    for action, row in rows:
        key = key_of(row)
        if key in before and (before[key], action) != ("DELETE", "CREATE"):
            yield (
                "The request contains an invalid set of changes for a resource record set "
                f"'{row['Type']} {row['Name']}'"
            )
        before[key] = action


def _problems(draft: _Draft, action: str, row: Row) -> Iterator[str]:
    zone, name, kind = draft.zone, row["Name"], row["Type"]
    if not f".{normal(name)}".endswith(f".{zone}"):
        yield f"RRSet with DNS name {name} is not permitted in zone {zone}."
        return
    known = draft.rows.get(key_of(row))
    if action == "DELETE":
        if known is None:
            yield f"Tried to delete resource record set {_called(row)} but it was not found"
        elif not _same(known, row):
            yield (
                f"Tried to delete resource record set {_called(row)} but the values provided do not match "
                "the current values"
            )
        return
    if action == "CREATE" and known is not None:
        yield f"Tried to create resource record set {_called(row)} but it already exists"
        return
    yield from _value_problems(row)
    if kind == "CNAME" and normal(name) == zone:
        yield f"RRSet of type CNAME with DNS name {name} is not permitted at apex in zone {zone}."
        return
    yield from _neighbour_problems(draft, row)
    yield from _alias_problems(row)


def _neighbour_problems(draft: _Draft, row: Row) -> Iterator[str]:
    name, kind, set_id = key_of(row)
    zone, here = draft.zone, draft.at.get(name, set())
    types = {each[1] for each in here} - {kind}
    if kind == "CNAME" and types:
        yield (
            f"RRSet of type CNAME with DNS name {row['Name']} is not permitted as it conflicts with other "
            f"records with the same DNS name in zone {zone}."
        )
    elif "CNAME" in types:
        yield (
            f"RRSet of type {kind} with DNS name {row['Name']} is not permitted because a conflicting RRSet "
            f"of type CNAME with the same DNS name already exists in zone {zone}."
        )
    others = {each[2] for each in here if each[1] == kind} - {set_id}
    if others and (set_id == "" or "" in others):
        yield (
            f"RRSet with DNS name {row['Name']}, type {kind}, SetIdentifier {set_id or 'null'} cannot be "
            "created as other RRSets exist with the same name and type."
        )


def _value_problems(row: Row) -> Iterator[str]:
    values, kind = row.get("ResourceRecords", []), row["Type"]
    if not 0 <= row.get("TTL", 0) <= LONGEST_TTL:
        yield f"Invalid TTL value {row['TTL']} of {_called(row)}"
    if ("SetIdentifier" in row) is not any(name in row for name in _ROUTED):
        yield f"SetIdentifier and a routing policy are given together or not at all, unlike in {_called(row)}"
    if len(values) > MOST_IN_SET:
        yield f"Cannot have more than {MOST_IN_SET} records in a RRSet."
    if kind == "CNAME" and len(values) > 1:
        yield f"Multiple records of type CNAME with DNS name {row['Name']}: exactly one is allowed."
    repeated = sorted({value for value in values if values.count(value) > 1})
    yield from (f"Duplicate Resource Record: '{value}'" for value in repeated)
    yield from (problem for value in values for problem in _value_problem(kind, value))


def _value_problem(kind: str, value: str) -> Iterator[str]:
    fatal = ""
    if kind in _ADDRESSES:
        version, parse = _ADDRESSES[kind]
        try:
            parse(value)
        except ValueError:
            fatal = f"{kind}RRDATAIllegal{version}Address (Value is not a valid {version} address)"
    elif kind in ("TXT", "SPF") and not (len(value) > 1 and value[0] == value[-1] == '"'):
        fatal = "InvalidCharacterString (Value should be enclosed in quotation marks)"
    elif kind in ("CNAME", "NS", "PTR") and (not value or set(value) & set(' "\t')):
        fatal = "DomainLabelInvalid (Value is not a valid domain name)"
    if fatal:
        yield f"Invalid Resource Record: 'FATAL problem: {fatal} encountered with '{value}''"


def _alias_problems(row: Row) -> Iterator[str]:
    target = row.get("AliasTarget", {})
    name = normal(target.get("DNSName", ""))
    if target.get("HostedZoneId") == CLOUDFRONT_ZONE and not name.endswith(".cloudfront.net"):
        yield (
            f"Tried to create an alias that targets {name}., type {row['Type']} in zone {CLOUDFRONT_ZONE}, "
            "but the alias target name does not lie within the target zone"
        )


def _apex_problems(draft: _Draft) -> list[str]:
    kinds = {kind for _, kind, _ in draft.at.get(draft.zone, ())}
    missing = []
    if "SOA" not in kinds:
        missing.append("A HostedZone must contain exactly one SOA record.")
    if "NS" not in kinds:
        missing.append("A HostedZone must contain at least one NS record for the zone itself.")
    return missing


def _same(one: Row, other: Row) -> bool:
    return _compared(one) == _compared(other)


def _compared(row: Row) -> dict[str, Any]:
    known = {name: value for name, value in row.items() if value not in (None, [], {}, "")}
    known["Name"] = normal(row["Name"])
    known["TTL"] = int(row.get("TTL") or 0)
    known["ResourceRecords"] = sorted(row.get("ResourceRecords") or ())
    return known


def _called(row: Row) -> str:
    set_id = f", set identifier='{row['SetIdentifier']}'" if row.get("SetIdentifier") else ""
    return f"[name='{row['Name']}', type='{row['Type']}'{set_id}]"


def _invalid(problems: Sequence[str]) -> AwsError:
    return AwsError("InvalidChangeBatch", f"[{', '.join(problems)}]", 400)

"""The public DNS as CloudFront's resolvers see it: records of the admin API, then Route 53's zones (moto).

    shop.example.org  CNAME ──▶ … ──▶ routing endpoint                          valid
    example.org       ALIAS ──▶ routing endpoint, TXT _cf-challenge.example.org  valid
    example.org       ALIAS ──▶ routing endpoint                                no proof: nobody sees an alias

Rules: CloudFront's developer guide, "Request certificates for your CloudFront distribution tenant".
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from moto.route53.models import route53_backends

__all__ = ["Dns", "DnsStatus", "Verdict", "caa_allows", "has_text", "verdict"]

_MOST_HOPS = 8
_AMAZON_CAS = frozenset({"amazon.com", "amazontrust.com", "awstrust.com", "amazonaws.com"})


class RecordType(StrEnum):
    """The types that matter here."""

    CNAME = "CNAME"
    """Another name."""
    ALIAS = "ALIAS"
    """Route 53's A or AAAA alias, by its target: resolvers see only addresses."""
    TXT = "TXT"
    """Text, for proofs of control."""
    CAA = "CAA"
    """Which authorities may issue certificates."""
    FAIL = "FAIL"
    """No record: the look-up of the name fails."""


class DnsStatus(StrEnum):
    """DnsConfigurationStatus of the model."""

    VALID = "valid-configuration"
    """The domain points to the routing endpoint."""
    INVALID = "invalid-configuration"
    """It points nowhere, or to something else."""
    UNKNOWN = "unknown-configuration"
    """The look-up failed."""


@dataclass(frozen=True)
class Verdict:
    """What the DNS says of one domain."""

    status: DnsStatus
    reason: str = ""


@dataclass
class _Zones:
    """The records of Route 53's public zones at one moment."""

    generation: tuple[int, ...] = ()
    names: set[str] = field(default_factory=set)
    records: dict[tuple[str, str, RecordType], tuple[str, ...]] = field(default_factory=dict)


class Dns:
    """All public records. Route 53's are the process's, over all accounts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own: dict[tuple[str, RecordType], tuple[str, ...]] = {}
        self._changes = 0
        self._zones = _Zones()

    def put(self, name: str, kind: str, values: Sequence[str]) -> None:
        """Set a record, no values removes it. Raises ValueError for a type that matters nowhere."""
        key = _plain(name), RecordType(kind.upper())
        with self._lock:
            self._changes += 1
            self._own.pop(key, None)
            if values or key[1] is RecordType.FAIL:
                self._own[key] = tuple(_plain(value) for value in values)

    def clear(self) -> None:
        """Forget the records that were set; zones stay."""
        with self._lock:
            self._changes += 1
            self._own.clear()

    def listed(self) -> list[dict[str, Any]]:
        """The records that were set."""
        with self._lock:
            return [{"name": n, "type": str(t), "values": list(v)} for (n, t), v in self._own.items()]

    def generation(self) -> tuple[int, ...]:
        """Differs when any record may."""
        zones = list(_public_zones())
        return self._changes, len(zones), sum(len(zone.rr_changes) for zone in zones)

    def values(self, name: str, kind: RecordType) -> tuple[str, ...]:
        """The values of a record, a wildcard's where the name has none; lower case, without end dot."""
        name = _plain(name)
        with self._lock:
            own = self._own.get((name, kind))
            return own if own is not None else self._in_zones(name, kind)

    def fails(self, name: str) -> bool:
        """Whether its look-up fails."""
        with self._lock:
            return (_plain(name), RecordType.FAIL) in self._own

    def _in_zones(self, name: str, kind: RecordType) -> tuple[str, ...]:
        generation = self.generation()
        if self._zones.generation != generation:
            self._zones = _read_zones(generation)
        zone = next((each for each in _upwards(name) if each in self._zones.names), None)
        if zone is None:
            return ()
        wildcards = (f"*.{parent}" for parent in list(_upwards(name))[1:] if parent.endswith(zone))
        owners = (name, *wildcards)
        return next((found for o in owners if (found := self._zones.records.get((zone, o, kind)))), ())


def verdict(dns: Dns, domain: str, endpoint: str) -> Verdict:
    """Whether a domain points to a routing endpoint, by CNAMEs or by a Route 53 alias with its challenge."""
    name = domain
    for _ in range(_MOST_HOPS):
        if dns.fails(name):
            return Verdict(DnsStatus.UNKNOWN, f"The DNS lookup of {name} failed.")
        alias = dns.values(name, RecordType.ALIAS)
        if endpoint in alias:
            return _challenged(dns, (domain, name), endpoint)
        target = next(iter(alias or dns.values(name, RecordType.CNAME)), None)
        if target is None:
            return Verdict(DnsStatus.INVALID, f"{name} has no CNAME record that points to {endpoint}.")
        if target == endpoint:
            return Verdict(DnsStatus.VALID)
        name = target
    return Verdict(DnsStatus.UNKNOWN, f"{domain} is the start of too long a chain of CNAME records.")


def has_text(dns: Dns, name: str, text: str) -> bool:
    """Whether a name has that TXT record."""
    return text in dns.values(name, RecordType.TXT)


def caa_allows(dns: Dns, domain: str) -> bool:
    """Whether the nearest CAA records, the domain's or an ancestor's, let Amazon's authorities issue."""
    for name in _upwards(domain.removeprefix("*.")):
        issuers = [_issuer(value) for value in dns.values(name, RecordType.CAA)]
        if issuers:
            named = [issuer for issuer in issuers if issuer is not None]
            return not named or bool(_AMAZON_CAS & set(named))
    return True


def _challenged(dns: Dns, names: tuple[str, str], endpoint: str) -> Verdict:
    if any(has_text(dns, f"_cf-challenge.{name}", endpoint) for name in names):
        return Verdict(DnsStatus.VALID)
    reason = f"The alias needs a TXT record _cf-challenge.{names[0]} with the value {endpoint}."
    return Verdict(DnsStatus.INVALID, reason)


def _issuer(caa: str) -> str | None:
    """Whom a record like `0 issue "amazon.com"` names; None for one that is not about issuing."""
    parts = caa.replace('"', "").split(maxsplit=2)
    if len(parts) < 2 or parts[1] != "issue":
        return None
    return parts[2].partition(";")[0].strip() if len(parts) > 2 else ""


def _upwards(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.partition(".")[2]


def _plain(name: str) -> str:
    return name.strip().strip('"').rstrip(".").lower().replace("\\052", "*")


def _public_zones() -> Iterator[Any]:
    for backends in list(route53_backends.values()):
        for backend in list(backends.values()):
            yield from (zone for zone in list(backend.zones.values()) if not zone.private_zone)


def _read_zones(generation: tuple[int, ...]) -> _Zones:
    zones = _Zones(generation)
    for zone in _public_zones():
        zone_name = _plain(zone.name)
        zones.names.add(zone_name)
        for record in list(zone.rrsets):
            kind, values = _record(record)
            if kind is not None:
                zones.records[zone_name, _plain(record.name), kind] = values
    return zones


def _record(record: Any) -> tuple[RecordType | None, tuple[str, ...]]:
    if record.alias_target:
        return RecordType.ALIAS, (_plain(record.alias_target["DNSName"]),)
    if record.type in (RecordType.CNAME, RecordType.TXT, RecordType.CAA):
        return RecordType(record.type), tuple(_plain(value) for value in record.records)
    return None, ()

"""The DNS known here: Route 53's public hosted zones, CloudFront's own names, records set by hand.

    of the innermost zone of a name     Route 53  >  records set by hand
    d111.cloudfront.net                 routing endpoints of connection groups, domain names of distributions

Zones of all accounts count. Of two public zones with one name, AWS asks the one that the registrar points to;
here the newest of an account is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from moto.route53.models import route53_backends

from edgetenants_emulator import zones
from edgetenants_emulator.world import World
from edgetenants_emulator.zones import Answer, RecordSet, Zone

__all__ = ["ALIAS", "EDGE_ADDRESSES", "EDGE_ZONE", "Resolver"]

EDGE_ZONE = "cloudfront.net"
EDGE_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    "A": ("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"),
    "AAAA": ("2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"),
}
"""What every edge name resolves to: addresses for documentation (RFC 5737, RFC 3849), which reach nobody."""
ALIAS = "ALIAS"
"""A type of records set by hand: A and AAAA as Route 53's aliases of one target."""
_SOA = "ns.{zone}. hostmaster.{zone}. 1 7200 900 1209600 86400"


class Resolver:
    """Answers from the state at the moment of the question."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept: dict[str, tuple[tuple[int, ...], Zone]] = {}

    def lookup(self, name: str, record_type: str) -> Answer:
        """What the DNS says now about a name (in whatever case) and a type."""
        return zones.lookup(self.zones(), name, record_type)

    def generation(self) -> tuple[int, ...]:
        """Differs when a record may; reads none."""
        hosted = list(_public_zones())
        return self._world.book.changes, len(hosted), sum(len(zone.rr_changes) for zone in hosted)

    def zones(self) -> zones.Zones:
        """All zones by name."""
        by_hand = {zone.name: zone for zone in self._by_hand()}
        hosted = {zone.name: zone for zone in self._hosted()}
        return {EDGE_ZONE: self._edge(), **by_hand, **hosted}

    def hosted_zone_of(self, name: str) -> str | None:
        """The innermost public hosted zone around a name; None when Route 53 has none."""
        around = [zone.name for zone in self._hosted() if f".{name}".endswith(f".{zone.name}")]
        return max(around, key=len, default=None)

    def _hosted(self) -> Iterator[Zone]:
        return map(self._read, _public_zones())

    def _read(self, hosted: Any) -> Zone:
        """A hosted zone, read again only when it has changed: it may have thousands of records."""
        state = (id(hosted), len(hosted.rr_changes), len(hosted.rrsets))
        kept = self._kept.get(hosted.resource_id)
        if kept is None or kept[0] != state:
            kept = self._kept[hosted.resource_id] = (state, Zone.of(hosted.name, _record_sets(hosted.rrsets)))
        return kept[1]

    def _by_hand(self) -> Iterator[Zone]:
        grouped: dict[str, list[RecordSet]] = {}
        for zone, record in self._world.book.listed():
            grouped.setdefault(zone, []).extend(_expanded(record))
        for name, records in grouped.items():
            yield Zone.of(name, [*records, *_apex(name)])

    def _edge(self) -> Zone:
        with self._world.lock:
            names = {group.routing_endpoint: group.ipv6_enabled for group in self._world.groups}
            for distribution in self._world.distributions:
                names[distribution.domain_name] = bool(distribution.config.get("IsIPV6Enabled", True))
        records = [
            RecordSet(zones.normal(name), kind, addresses, 60)
            for name, ipv6 in names.items()
            for kind, addresses in EDGE_ADDRESSES.items()
            if ipv6 or kind == "A"
        ]
        return Zone.of(EDGE_ZONE, [*records, *_apex(EDGE_ZONE)])


def _public_zones() -> Iterator[Any]:
    for _, account in list(route53_backends.items()):
        yield from (zone for zone in list(account["aws"].zones.values()) if not zone.private_zone)


def _expanded(record: RecordSet) -> tuple[RecordSet, ...]:
    if record.type != ALIAS:
        return (record,)
    target = record.values[0]
    return tuple(RecordSet(record.name, kind, ttl=record.ttl, alias=target) for kind in EDGE_ADDRESSES)


def _apex(zone: str) -> tuple[RecordSet, RecordSet]:
    soa = RecordSet(zone, "SOA", (_SOA.format(zone=zone),), 900)
    return soa, RecordSet(zone, "NS", (f"ns.{zone}.",), 172_800)


def _record_sets(rrsets: Iterable[Any]) -> Iterator[RecordSet]:
    """moto's record sets. Of weighted, latency and failover ones the first stands, multi-value are joined."""
    several: dict[tuple[str, str], list[str]] = {}
    for each in list(rrsets):
        name, kind = zones.normal(each.name), str(each.type)
        values = [_value(value) for value in each.records or ()]
        if str(each.multi_value_answer).lower() == "true":
            several.setdefault((name, kind), []).extend(values)
            continue
        alias = (each.alias_target or {}).get("DNSName")
        yield RecordSet(name, kind, tuple(values), int(each.ttl or 300), alias)
    for (name, kind), values in several.items():
        yield RecordSet(name, kind, tuple(values))


def _value(value: Any) -> str:
    # moto wraps the SOA that it makes itself, and no other.
    return str(value["Value"] if isinstance(value, dict) else value)

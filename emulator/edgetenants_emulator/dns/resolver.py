"""The DNS data of the emulator: Route 53's public hosted zones, CloudFront's names, records set by hand.

    innermost zone of a name            Route 53  >  records set by hand
    d111.cloudfront.net                 routing endpoints of connection groups, domain names of distributions

Zones of all accounts are used. If two public zones have the same name, AWS uses the one to which the
registrar points; the emulator uses the newest one of an account.

    name servers     changes at Route 53's INSYNC, records set by hand immediately   the DNS server
    resolvers        changes after `dns_propagation_seconds`                         CloudFront, ACM
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from moto.route53.models import route53_backends

from edgetenants_emulator.dns import route53
from edgetenants_emulator.state.world import World
from edgetenants_emulator.zones import authority
from edgetenants_emulator.zones.authority import Answer, RecordSet, Zone, Zones

__all__ = ["ALIAS", "EDGE_ADDRESSES", "EDGE_ZONE", "Resolver"]

EDGE_ZONE = "cloudfront.net"
EDGE_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    "A": ("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"),
    "AAAA": ("2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"),
}
"""The addresses of every edge name. They are reserved for documentation (RFC 5737, RFC 3849)."""
ALIAS = "ALIAS"
"""A record type for records set by hand: A and AAAA as Route 53 aliases of one target."""
_SOA = "ns.{zone}. hostmaster.{zone}. 1 7200 900 1209600 86400"


@dataclass(frozen=True)
class _Lags:
    """After how many virtual seconds a view contains a change."""

    hosted: float
    by_hand: float | None
    """The lag of records set by hand. None: immediately, even if a record sets another delay."""


class Resolver:
    """Answers queries from the current state, as far as it has propagated."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept: dict[tuple[str, float], tuple[tuple[int, ...], Zone]] = {}

    def lookup(self, name: str, record_type: str) -> Answer:
        """The name servers' current answer for a name (in any case) and a type."""
        return authority.lookup(self.zones(), name, record_type)

    def lookup_late(self, name: str, record_type: str) -> Answer:
        """The answer that CloudFront and ACM see."""
        return authority.lookup(self._zones(self._late), name, record_type)

    def generation(self) -> tuple[int, ...]:
        """Changes whenever the answers for CloudFront and ACM may have changed. Reads no records."""
        now, late, book = self._world.clock.now(), self._late, self._world.book
        hosted = list(_public_zones())
        unseen = sum(self._unseen(zone, now, late.hosted) for zone in hosted)
        changes = sum(len(zone.rr_changes) for zone in hosted)
        return book.changes, book.history.unseen(now, late.hosted), len(hosted), changes, unseen

    def zones(self) -> Zones:
        """All zones by name, as the name servers serve them."""
        return self._zones(_Lags(self._world.settings.route53_insync_seconds, None))

    @property
    def _late(self) -> _Lags:
        lag = self._world.settings.dns_propagation_seconds
        return _Lags(lag, lag)

    def _zones(self, lags: _Lags) -> Zones:
        by_hand = {zone.name: zone for zone in self._by_hand(lags.by_hand)}
        hosted = {zone.name: zone for zone in self._hosted(lags.hosted)}
        return {EDGE_ZONE: self._edge(), **by_hand, **hosted}

    def hosted_zone_of(self, name: str) -> str | None:
        """The innermost public hosted zone of a name; None if Route 53 has none."""
        around = [zone.name for zone in self._hosted(0.0) if f".{name}".endswith(f".{zone.name}")]
        return max(around, key=len, default=None)

    def _hosted(self, lag: float) -> Iterator[Zone]:
        return (self._read(hosted, lag) for hosted in _public_zones())

    def _read(self, hosted: Any, lag: float) -> Zone:
        """A hosted zone. It is read again only if it changed, because it may have thousands of records."""
        now = self._world.clock.now()
        unseen = self._unseen(hosted, now, lag)
        state = (id(hosted), len(hosted.rr_changes), len(hosted.rrsets), unseen)
        kept = self._kept.get((hosted.resource_id, lag))
        if kept is None or kept[0] != state:
            records = self._records(hosted, now, lag) if unseen else hosted.rrsets
            kept = (state, Zone.of(hosted.name, _record_sets(records)))
            self._kept[hosted.resource_id, lag] = kept
        return kept[1]

    def _records(self, hosted: Any, now: float, lag: float) -> list[Any]:
        present = {route53.key_of(record): record for record in list(hosted.rrsets)}
        return list(self._world.zone_changes.history(hosted.resource_id).seen(present, now, lag).values())

    def _unseen(self, hosted: Any, now: float, lag: float) -> int:
        history = self._world.zone_changes.histories.get(hosted.resource_id)
        return history.unseen(now, lag) if history else 0

    def _by_hand(self, lag: float | None) -> Iterator[Zone]:
        grouped: dict[str, list[RecordSet]] = {}
        book, now = self._world.book, self._world.clock.now()
        for zone, record in book.listed() if lag is None else book.seen(now, lag):
            grouped.setdefault(zone, []).extend(_expanded(record))
        for name, records in grouped.items():
            yield Zone.of(name, [*records, *_apex(name)])

    def _edge(self) -> Zone:
        with self._world.lock:
            names = {group.routing_endpoint: group.ipv6_enabled for group in self._world.groups}
            for distribution in self._world.distributions:
                names[distribution.domain_name] = bool(distribution.config.get("IsIPV6Enabled", True))
        records = [
            RecordSet(authority.normal(name), kind, addresses, 60)
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
    """moto's record sets. The first of weighted, latency and failover sets is used; multi-value sets are
    joined."""
    several: dict[tuple[str, str], list[str]] = {}
    for each in list(rrsets):
        name, kind = authority.normal(each.name), str(each.type)
        values = [_value(value) for value in each.records or ()]
        if str(each.multi_value_answer).lower() == "true":
            several.setdefault((name, kind), []).extend(values)
            continue
        alias = (each.alias_target or {}).get("DNSName")
        yield RecordSet(name, kind, tuple(values), int(each.ttl or 300), alias)
    for (name, kind), values in several.items():
        yield RecordSet(name, kind, tuple(values))


def _value(value: Any) -> str:
    # moto wraps only the SOA that it creates itself.
    return str(value["Value"] if isinstance(value, dict) else value)

"""The DNS service of a provider config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from apis.providerconfig import ExistingRecords, ProviderConfigSpec, Writes
from edgetenants_runtime.clock import Clock
from provider.cloudfront.memory.record_tickets import RecordTickets
from provider.dns.route53.calls import ZoneCalls
from provider.dns.route53.store import Route53Store
from provider.dns.store import RecordStore

__all__ = ["Records", "made", "of_route53"]


@dataclass(frozen=True)
class Records:
    """What all resources that use the config have in common."""

    store: RecordStore
    may_replace: bool
    """Records of others may be replaced, after a confirmation."""
    frozen: bool
    """The config permits no writes."""
    tickets: RecordTickets = field(default_factory=RecordTickets)


def made(spec: ProviderConfigSpec, store: RecordStore, tickets: RecordTickets | None = None) -> Records:
    """Return the service of a config that has `dns`, with this store, and what is under way there."""
    may_replace = bool(spec.dns and spec.dns.existing_records is ExistingRecords.REPLACE_IF_CONFIRMED)
    return Records(store, may_replace, spec.writes is Writes.FROZEN, tickets or RecordTickets())


def of_route53(spec: ProviderConfigSpec, route53: Sequence[ZoneCalls], clock: Clock) -> Records | None:
    """Return Route 53, if the config names it. `route53`: the calls to it, if there may be any."""
    if spec.dns is None or spec.dns.route53 is None:
        return None
    zones = spec.dns.route53.zones
    ids = [each.id for each in zones] if zones else None
    return made(spec, Route53Store(route53[0], clock, ids))

"""The DNS service of a provider config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from apis.providerconfig import ExistingRecords, ProviderConfigSpec
from edgetenants_runtime.clock import Clock
from provider.cloudfront.memory.record_tickets import RecordTickets
from provider.dns.route53.calls import ZoneCalls
from provider.dns.route53.store import Route53Store
from provider.dns.store import RecordStore

__all__ = ["Records", "of"]


@dataclass(frozen=True)
class Records:
    """What all resources that use the config have in common."""

    store: RecordStore | None
    """None if this version does not write to the service."""
    may_replace: bool
    """Records of others may be replaced, after a confirmation."""
    tickets: RecordTickets = field(default_factory=RecordTickets)


def of(spec: ProviderConfigSpec, route53: Sequence[ZoneCalls], clock: Clock) -> Records | None:
    """Return the service that the config names; None if it names none. `route53`: the calls to Route 53, if
    there may be any."""
    if spec.dns is None:
        return None
    may_replace = spec.dns.existing_records is ExistingRecords.REPLACE_IF_CONFIRMED
    if spec.dns.route53 is None:
        return Records(None, may_replace)
    zones = spec.dns.route53.zones
    ids = [each.id for each in zones] if zones else None
    return Records(Route53Store(route53[0], clock, ids), may_replace)

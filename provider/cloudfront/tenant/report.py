"""What is shown of a tenant on its managed resource: conditions, status, connection details (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from edgetenants_runtime.managed import Managed
from provider.cloudfront.account import group_look
from provider.cloudfront.account.group_look import GroupLook
from provider.cloudfront.domain import dns_instructions
from provider.cloudfront.domain.dns_instructions import State
from provider.cloudfront.lifecycle import report
from provider.cloudfront.lifecycle.report import Shown
from provider.cloudfront.state import certificates, observed
from provider.cloudfront.tenant import conditions
from provider.cloudfront.tenant.assessment import Assessment
from provider.cloudfront.tenant.conditions import World
from provider.cloudfront.tenant.plan import look_after

__all__ = ["Dns", "instructions", "show", "without_tenant"]


@dataclass(frozen=True)
class Dns:
    """Where a tenant's domains must lead."""

    endpoint: str | None = None
    """The routing endpoint; None while it is not known."""
    state: State = dns_instructions.UNKNOWN
    """Whether a record that leads there is in place."""
    group: GroupLook = group_look.UNKNOWN
    """The connection group that they lead to."""
    unseen: str = ""
    """What of all this may not be looked at, as dns_instructions.unseen tells it."""


def show(
    state: Assessment,
    dns: Dns,
    *,
    served: bool,
    written: bool = False,
    ineffective: bool = False,
    frozen: str = "",
) -> Shown:
    """Show a tenant.

    Args:
        state: the tenant.
        dns: where its domains must lead.
        served: as in World.
        written: the tenant was created or changed just now, so that the record of the last write moves.
        ineffective: as in World.
        frozen: as in World.
    """
    world = World(
        asked=state.asked,
        seen=state.seen,
        drift=state.drift,
        pending=state.pending,
        ineffective=ineffective,
        frozen=frozen,
        left=state.left,
        served=served,
        certificate=state.certificate,
        not_before=state.not_before,
        held_back=state.held_back,
        group=dns.group,
        dns_unseen=dns.unseen,
    )
    certificate = certificates.shown(state.certificate)
    at_provider = observed.at_provider(state.seen, dns.endpoint)
    return Shown(
        conditions=conditions.derive(world),
        at_provider=at_provider | ({"certificate": certificate} if certificate else {}),
        status=report.status(state, written=written) | _status(state, dns),
        connection_details=_details(state, dns.endpoint),
        late=_late(state),
        look_after=look_after(state.seen, state.certificate),
    )


def instructions(domains: Iterable[str], dns: Dns) -> dict[str, Any]:
    """status.dnsInstructions; none while it is not known where the domains must lead."""
    records = dns_instructions.records(domains, dns.endpoint, dns.state) if dns.endpoint else ()
    return {"dnsInstructions": [record.to_json() for record in records] or None}


def without_tenant(mr: Managed, domains: Iterable[str], dns: Dns) -> dict[str, Any]:
    """The status of a tenant that is not there: the records that its domains will need, and where it was
    there before, that none is served."""
    known = "domainsReady" in mr.status
    asked = tuple(domains)
    return {**instructions(asked, dns), **({"domainsReady": f"0/{len(asked)}"} if known else {})}


def _late(state: Assessment) -> dict[str, Any]:
    enabled = state.seen.enabled if state.asked.enabled is None else state.asked.enabled
    return {"domains": sorted(state.seen.domains), "enabled": enabled}


def _status(state: Assessment, dns: Dns) -> dict[str, Any]:
    domains = state.asked.domains or frozenset(state.seen.domains)
    enabled = state.seen.enabled and not dns.group.disabled
    served = domains & set(state.seen.active_domains) if enabled else frozenset()
    return {
        "domainsReady": f"{len(served)}/{len(domains)}",
        **instructions(domains, dns),
        # Of a dry run that is over; one under way says its own (rehearsal/dry_run.py).
        "plannedActions": None,
    }


def _details(state: Assessment, endpoint: str | None) -> dict[str, bytes]:
    domains = sorted(state.asked.domains or state.seen.domains)
    exact = next((domain for domain in domains if not domain.startswith("*.")), None)
    details = {
        "connectionGroupId": state.seen.connection_group_id,
        "distributionTenantArn": state.seen.arn,
        "distributionTenantId": state.seen.id,
        "domains": ",".join(domains),
        "endpoint": endpoint,
        "url": f"https://{exact}" if exact else None,
    }
    return report.details(details)

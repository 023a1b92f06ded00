"""The conditions, status and connection details of a tenant's managed resource (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from apis.dns import DnsInstruction
from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.managed import Managed
from provider.cloudfront.dns import look as looks
from provider.cloudfront.dns.look import Look
from provider.cloudfront.domain import dns_instructions
from provider.cloudfront.domain.dns_instructions import Found, State
from provider.cloudfront.lifecycle import report
from provider.cloudfront.lifecycle.report import Shown
from provider.cloudfront.memory import group_look
from provider.cloudfront.memory.group_look import GroupLook
from provider.cloudfront.state import certificates, observed
from provider.cloudfront.tenant import conditions
from provider.cloudfront.tenant.assessment import Assessment
from provider.cloudfront.tenant.conditions import World
from provider.cloudfront.tenant.plan import next_look

__all__ = ["Dns", "instructions", "show", "without_tenant"]


_MOST: Final = 1500
"""Records in status.dnsInstructions, as in the API."""


@dataclass(frozen=True)
class Dns:
    """Where DNS must lead a tenant's domains."""

    endpoint: str | None = None
    """The routing endpoint; None while unknown."""
    state: State = dns_instructions.UNKNOWN
    """The state of each DNS record."""
    found: Found = dns_instructions.NOTHING
    """What is wrong with each of them, as far as public DNS says."""
    group: GroupLook = group_look.UNKNOWN
    """The connection group that has the endpoint."""
    unseen: str = ""
    """The message about what the provider may not read; see dns_instructions.unseen."""
    look: Look = looks.NOTHING
    """What the zones have, if the provider manages the records."""
    stored: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    """The stored status, if the provider manages the records: it counts for what the zones do not show."""
    ready: Condition | None = None
    """DNSReady, if the provider manages the records."""
    proofs: tuple[DnsInstruction, ...] = ()
    """The records that prove the domains, where that is required."""
    leaving: tuple[DnsInstruction, ...] = ()
    """Records that the provider made of domains that the tenant is to lose, or has lost to another one."""


def show(  # noqa: PLR0913 - what it depends on, by name
    state: Assessment,
    dns: Dns,
    *,
    served: bool,
    written: bool = False,
    ineffective: bool = False,
    frozen: str = "",
    may_update: bool = True,
    unset: tuple[str, ...] = (),
) -> Shown:
    """Report a tenant.

    Args:
        state: the tenant.
        dns: where DNS must lead its domains.
        served: as in World.
        written: the tenant was just created or updated, so the record of the last write changes.
        ineffective: as in World.
        frozen: as in World.
        may_update: as in World.
        unset: as in World.
    """
    world = World(
        asked=state.asked,
        seen=state.seen,
        drift=state.drift,
        pending=state.pending,
        ineffective=ineffective,
        frozen=frozen,
        may_update=may_update,
        left=state.left,
        served=served,
        certificate=state.certificate,
        inherited=state.inherited,
        outlook=state.outlook,
        not_before=state.not_before,
        held_back=state.held_back,
        group=dns.group,
        dns_unseen=dns.unseen,
        dns_ready=dns.ready,
        unset=unset,
        unproven=state.unproven,
    )
    certificate = certificates.shown(state.certificate)
    at_provider = observed.at_provider(state.seen, dns.endpoint)
    return Shown(
        conditions=conditions.derive(world),
        at_provider=at_provider | ({"certificate": certificate} if certificate else {}),
        status=report.status(state, written=written) | _status(state, dns),
        connection_details=_details(state, dns.endpoint),
        late=_late(state),
        next_look=next_look(state.seen, state.certificate),
    )


def instructions(domains: Iterable[str], dns: Dns) -> dict[str, Any]:
    """status.dnsInstructions; without the records of the domains while the routing endpoint is unknown. The
    proofs come first, as the domain's owner has to create them first."""
    shown = [*dns.proofs]
    if dns.endpoint:
        state = looks.states(dns.look, dns.state)
        apexes = looks.apexes(dns.look, dns.stored)
        records = dns_instructions.records(domains, dns.endpoint, state, apexes, dns.found)
        shown += (looks.marked(dns.look, record, dns.stored) for record in records)
    shown += dns.leaving[: max(0, _MOST - len(shown))]
    return {"dnsInstructions": [record.to_json() for record in shown] or None}


def without_tenant(mr: Managed, domains: Iterable[str], dns: Dns) -> dict[str, Any]:
    """The status of a tenant that does not exist: the DNS records that its domains will need and, if it
    existed before, that no domain is served."""
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
        # Clears the plan of an earlier dry run; a running one sets its own (rehearsal/dry_run.py).
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

"""The claim's status: what people read, derived from what was observed.

Only what moves with a phase stands here; a field that changed with each poll would wake the composite again
and again.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apis.dns import RecordPurpose
from function import domains
from function.live import Finding, phase
from function.observed import ObservedTenant


def derive(served: Sequence[str], tenants: Iterable[ObservedTenant], finding: Finding) -> dict[str, Any]:
    """The status fields that are the function's, without those that are unknown.

    Args:
        served: the claim's domains, in the order in which they were asked for.
        tenants: those of its tenants that exist.
        finding: what was found of the claim.
    """
    tenants = tuple(tenants)
    fields = {
        "phase": phase(finding.reason),
        "url": _url(served, tenants),
        "routingEndpoint": next((each.routing_endpoint for each in tenants if each.routing_endpoint), None),
        "domains": [_domain(domain, tenants) for domain in sorted(served)],
        "dnsInstructions": [dict(record) for each in tenants for record in each.instructions] or None,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _url(served: Sequence[str], tenants: Sequence[ObservedTenant]) -> str | None:
    """Where the first domain is served; nowhere before CloudFront answers for it."""
    active = {domain for each in tenants if each.enabled is not False for domain in each.active}
    first = next((domain for domain in served if not domain.startswith(domains.WILDCARD)), None)
    return f"https://{first}" if first in active else None


def _domain(domain: str, tenants: Sequence[ObservedTenant]) -> Mapping[str, str]:
    serving = next((each for each in tenants if domain in each.domain_states), None)
    fields = {
        "domain": domain,
        "state": serving.domain_states[domain] if serving else None,
        "certificate": serving.certificate if serving else None,
        "dns": _record_state(domain, serving) if serving else None,
    }
    return {key: value for key, value in fields.items() if value}


def _record_state(domain: str, tenant: ObservedTenant) -> str | None:
    routing = (each for each in tenant.instructions if each.get("purpose") == RecordPurpose.ROUTING)
    return next((each.get("state") for each in routing if each.get("name") == domain), None)

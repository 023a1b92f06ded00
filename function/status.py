"""The claim's status: what people read, derived from what was observed.

Only what moves with a phase stands here; a field that changed with each poll would wake the composite again
and again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from google.protobuf.struct_pb2 import Struct

from apis.dns import RecordPurpose
from function import domains, structs
from function.live import Finding, answers, phase
from function.observed import ObservedTenant


def derive(
    served: Sequence[str],
    tenants: Iterable[ObservedTenant],
    finding: Finding,
    parked: frozenset[str] = frozenset(),
) -> Struct:
    """The status fields that are the function's, without those that are unknown.

    Args:
        served: the claim's domains, in the order in which they were asked for.
        tenants: those of its tenants that exist.
        finding: what was found of the claim.
        parked: names that its tenants have beside its domains, to which nobody goes.
    """
    tenants = tuple(tenants)
    # Of two tenants that know a domain the first is asked.
    serving = {domain: each for each in reversed(tenants) for domain in each.domain_states}
    answering = [each for each in tenants if answers(each)]
    active = {domain for each in answering for domain in each.active}
    fields = {
        "domainsReady": f"{len(active.intersection(served))}/{len(served)}",
        "phase": phase(finding.reason),
        "url": _url(served, answering),
        "routingEndpoint": next((each.routing_endpoint for each in tenants if each.routing_endpoint), None),
        "domains": [_domain(domain, serving.get(domain)) for domain in sorted(served)],
        "dnsInstructions": list(_distinct(tenants, parked)) or None,
    }
    return structs.of({key: value for key, value in fields.items() if value is not None})


def _url(served: Sequence[str], answering: Sequence[ObservedTenant]) -> str | None:
    """Where visitors find the first domain: nowhere before CloudFront answers for it, nor while DNS leads
    elsewhere."""
    active = {domain for each in answering for domain in each.active - each.unreached}
    first = next((domain for domain in served if not domain.startswith(domains.WILDCARD)), None)
    return f"https://{first}" if first in active else None


def _domain(domain: str, serving: ObservedTenant | None) -> Mapping[str, str]:
    if serving is None:
        return {"domain": domain}
    known = {
        "domain": domain,
        "state": serving.domain_states[domain],
        "certificate": serving.certificate,
        "dns": _record_state(domain, serving),
    }
    return {key: value for key, value in known.items() if value}


def _distinct(tenants: Sequence[ObservedTenant], parked: frozenset[str]) -> Iterator[Mapping[str, str]]:
    """The records of each tenant, but for names that one before has as well: a domain that moves stands in
    the status of two tenants for a while, and the list takes each record once."""
    told: set[str] = set()
    for each in tenants:
        names = {record.get("name", "") for record in each.instructions}
        hidden = parked | (names & told)
        yield from (record for record in each.instructions if record.get("name") not in hidden)
        told |= names


def _record_state(domain: str, tenant: ObservedTenant) -> str | None:
    routing = (each for each in tenant.instructions if each.get("purpose") == RecordPurpose.ROUTING)
    return next((each.get("state") for each in routing if each.get("name") == domain), None)

"""The claim's status: what people read, derived from what was observed.

Only what moves with a phase stands here; a field that changed with each poll would wake the composite again
and again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from google.protobuf.struct_pb2 import ListValue, Struct

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
    fields = {
        "phase": phase(finding.reason),
        "url": _url(served, tenants),
        "routingEndpoint": next((each.routing_endpoint for each in tenants if each.routing_endpoint), None),
    }
    status = structs.of({key: value for key, value in fields.items() if value is not None})
    # Of two tenants that know a domain the first is asked.
    serving = {domain: each for each in reversed(tenants) for domain in each.domain_states}
    rows = (_row(domain, serving.get(domain)) for domain in sorted(served))
    status.fields["domains"].list_value.MergeFromString(b"".join(rows))
    if records := b"".join(_distinct(tenants, parked)):
        status.fields["dnsInstructions"].list_value.MergeFromString(records)
    return status


def _url(served: Sequence[str], tenants: Sequence[ObservedTenant]) -> str | None:
    """Where visitors find the first domain: nowhere before CloudFront answers for it, nor while DNS leads
    elsewhere."""
    serving = (each for each in tenants if answers(each))
    active = {domain for each in serving for domain in each.active - each.unreached}
    first = next((domain for domain in served if not domain.startswith(domains.WILDCARD)), None)
    return f"https://{first}" if first in active else None


def _row(domain: str, serving: ObservedTenant | None) -> bytes:
    if serving is None:
        return _domain(domain, None, None, None)
    state, record = serving.domain_states[domain], _record_state(domain, serving)
    return _domain(domain, state, serving.certificate, record)


def _domain(domain: str, state: str | None, certificate: str | None, record: str | None) -> bytes:
    fields = {"domain": domain, "state": state, "certificate": certificate, "dns": record}
    return _list([{key: value for key, value in fields.items() if value}])


def _distinct(tenants: Sequence[ObservedTenant], parked: frozenset[str]) -> Iterator[bytes]:
    """The records of each tenant, but for names that one before has as well: a domain that moves stands in
    the status of two tenants for a while, and the list takes each record once."""
    told: set[str] = set()
    for each in tenants:
        names = {record.get("name", "") for record in each.instructions}
        if names:
            yield _records(each, parked | (names & told))
        told |= names


def _records(tenant: ObservedTenant, hidden: frozenset[str]) -> bytes:
    return _list(each for each in tenant.instructions if each.get("name") not in hidden)


def _list(objects: Iterable[Mapping[str, Any]]) -> bytes:
    found = ListValue()
    for each in objects:
        found.add_struct().update(dict(each))
    return found.SerializeToString(deterministic=True)


def _record_state(domain: str, tenant: ObservedTenant) -> str | None:
    routing = (each for each in tenant.instructions if each.get("purpose") == RecordPurpose.ROUTING)
    return next((each.get("state") for each in routing if each.get("name") == domain), None)

"""The claim's status, derived from the observed managed resources.

It contains only fields that change with the claim's phase. A field that changed at each poll would trigger a
reconcile of the composite each time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from apis.dns import RecordPurpose
from function.claims import domains
from function.composed.observed import ObservedTenant
from function.findings.live import Finding, answers, phase
from function.protocol import wire


def derive(
    served: Sequence[str],
    tenants: Iterable[ObservedTenant],
    finding: Finding,
    parked: frozenset[str] = frozenset(),
    *,
    elsewhere: frozenset[str] = frozenset(),
    checked: bool = False,
) -> bytes:
    """The status fields that the function sets, without unknown ones, as a serialized Struct.

    Args:
        served: the claim's domains, in the order of the claim.
        tenants: those of its tenants that exist.
        finding: the finding of the claim.
        parked: parking names of its tenants, which no visitor uses.
        elsewhere: the domains that former tenants of the claim serve.
        checked: DNS counts as leading elsewhere until the provider has seen the records in place.
    """
    tenants = tuple(tenants)
    # If two tenants list a domain, the first one counts.
    own = [each for each in tenants if not each.adoption_refused]
    serving = {domain: each for each in reversed(own) for domain in each.domain_states}
    answering = [each for each in tenants if answers(each)]
    active = elsewhere.union(*(each.active for each in answering))
    # A tenant that is rolled out for the first time may serve a domain that has just moved to it.
    ready = len(served) if finding.live else len(active.intersection(served))
    fields = {
        "domainsReady": f"{ready}/{len(served)}",
        "phase": phase(finding.reason),
        "url": _url(served, answering, checked=checked),
        "routingEndpoint": next((each.routing_endpoint for each in tenants if each.routing_endpoint), None),
        "domains": [_domain(domain, serving.get(domain)) for domain in sorted(served)],
        "dnsInstructions": list(_distinct(tenants, parked)) or None,
    }
    return wire.struct({key: value for key, value in fields.items() if value is not None})


def _url(served: Sequence[str], answering: Sequence[ObservedTenant], *, checked: bool) -> str | None:
    """The URL of the first domain; None until CloudFront serves it, and while DNS leads elsewhere. See
    `derive` for `checked`."""
    active = {
        domain
        for each in answering
        for domain in each.active - each.unreached
        if not checked or each.leads(domain)
    }
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
    """The records of all tenants, without names that an earlier tenant has too. A domain that moves is in the
    status of two tenants for a while, and the list must contain each record once."""
    told: set[str] = set()
    for each in tenants:
        names = {_place(record) for record in each.instructions}
        hidden = parked | (names & told)
        yield from (record for record in each.instructions if _place(record) not in hidden)
        told |= names


def _place(record: Mapping[str, str]) -> str:
    """What no two records have in common. The proofs of a domain and of the wildcard below it have one
    name."""
    name = record.get("name", "")
    return f"{name} {record.get('value')}" if record.get("purpose") == RecordPurpose.PROOF else name


def _record_state(domain: str, tenant: ObservedTenant) -> str | None:
    routing = (each for each in tenant.instructions if each.get("purpose") == RecordPurpose.ROUTING)
    return next((each.get("state") for each in routing if each.get("name") == domain), None)

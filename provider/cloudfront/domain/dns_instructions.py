"""The DNS records that lead a tenant's domains to CloudFront, ready to paste (pure).

Below the top of a zone a CNAME to the routing endpoint; at the top, where DNS allows none, the zone
provider's own alias, with a TXT record by which CloudFront sees where it leads (CloudFront Developer Guide,
"Request certificates for your CloudFront distribution tenant" and "Multi-tenant distribution: how it
works"). Where a zone begins is known to DNS alone; a name of two labels is taken for the top of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from apis.conditions import DNS_UNSEEN
from apis.dns import DnsInstruction, RecordPurpose, RecordState, RecordType
from edgetenants_runtime.api.annotations import RECONCILE_REQUESTED_AT
from provider.cloudfront.aws.domain_calls import DnsVerdict
from provider.cloudfront.aws.errors import PERMIT, AwsError

__all__ = [
    "CHALLENGE",
    "UNKNOWN",
    "State",
    "all_present",
    "lost",
    "nowhere",
    "records",
    "stored",
    "stored_unseen",
    "told",
    "unseen",
]

CHALLENGE: Final = "_cf-challenge"
"""First label of the TXT record that proves an alias."""
_ELSEWHERE: Final = re.compile(r"points? to (?P<target>[\w.-]+\w)", re.IGNORECASE)

State = Callable[[DnsInstruction], RecordState]
UNKNOWN: Final[State] = lambda _: RecordState.UNKNOWN  # noqa: E731 - a value of that type


def records(domains: Iterable[str], endpoint: str, state: State = UNKNOWN) -> tuple[DnsInstruction, ...]:
    """The records of each domain, sorted by name; `state` says of each whether it is in place."""
    wanted = (record for domain in sorted(domains) for record in _of(domain, endpoint))
    return tuple(record.model_copy(update={"state": state(record)}) for record in wanted)


def stored(status: Mapping[str, Any]) -> State:
    """The states that were last written down; Unknown for a record that was not there or was another."""
    known = {
        (item["type"], item["name"], item["value"]): RecordState(item.get("state") or RecordState.UNKNOWN)
        for item in status.get("dnsInstructions") or ()
    }
    return lambda record: known.get((record.type.value, record.name, record.value), RecordState.UNKNOWN)


def told(verdicts: Mapping[str, DnsVerdict]) -> State:
    """The states by VerifyDnsConfiguration, which speaks of domains and not of records."""

    def state(record: DnsInstruction) -> RecordState:
        verdict = verdicts.get(record.name.removeprefix(f"{CHALLENGE}."))
        return _state(record, verdict) if verdict else RecordState.UNKNOWN

    return state


def unseen(refusal: AwsError) -> str:
    """What is said of records that may not be looked at."""
    return (
        f"{DNS_UNSEEN}{str(refusal).rstrip('.')}. {PERMIT}. Looked at again within an hour; at once where "
        f"the annotation {RECONCILE_REQUESTED_AT} is set to anything new."
    )


def stored_unseen(said: str) -> str:
    """The same as it was last written down in a message; empty where it was not."""
    _, found, rest = said.partition(DNS_UNSEEN)
    return found + rest


def nowhere(refused: str) -> str:
    """What is said where it may not be looked at where the domains must lead."""
    return (
        f"Where the domains must lead is not known, so status.dnsInstructions has no records: "
        f"{refused.rstrip('.')}. {PERMIT}. Looked at again by itself."
    )


def all_present(status: Mapping[str, Any]) -> bool:
    """Every record that was written down is in place."""
    states = [item.get("state") for item in status.get("dnsInstructions") or ()]
    return bool(states) and set(states) == {RecordState.PRESENT.value}


def lost(status: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """The domains that led to CloudFront by the one status and do not by the other."""
    led, leads_not = _in_state(status, RecordState.PRESENT), (RecordState.MISSING, RecordState.WRONG)
    return tuple(sorted(led & _in_state(now, *leads_not)))


def _in_state(status: Mapping[str, Any], *states: RecordState) -> set[str]:
    return {
        item["name"]
        for item in status.get("dnsInstructions") or ()
        if item.get("purpose") == RecordPurpose.ROUTING and item.get("state") in states
    }


def _of(domain: str, endpoint: str) -> Iterator[DnsInstruction]:
    top = domain.count(".") == 1
    type_ = RecordType.ALIAS if top else RecordType.CNAME
    yield DnsInstruction(type=type_, name=domain, value=endpoint, purpose=RecordPurpose.ROUTING)
    if top:
        yield DnsInstruction(
            type=RecordType.TXT, name=f"{CHALLENGE}.{domain}", value=endpoint, purpose=RecordPurpose.OWNERSHIP
        )


def _state(record: DnsInstruction, verdict: DnsVerdict) -> RecordState:
    if verdict.status == "valid-configuration":
        return RecordState.PRESENT
    if verdict.status != "invalid-configuration":
        return RecordState.UNKNOWN
    if CHALLENGE in verdict.reason and record.purpose is RecordPurpose.ROUTING:
        # The alias leads here; what is missing is its proof.
        return RecordState.PRESENT
    elsewhere = _ELSEWHERE.search(verdict.reason)
    there = elsewhere is not None and elsewhere["target"].lower() != record.value
    wrong = there and record.purpose is RecordPurpose.ROUTING
    return RecordState.WRONG if wrong else RecordState.MISSING

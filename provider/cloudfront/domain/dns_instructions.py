"""The DNS records that lead a tenant's domains to CloudFront, ready to paste (pure).

Below the apex of a zone, this is a CNAME to the routing endpoint. At the apex, DNS allows no CNAME: there it
is the DNS provider's alias record, with a TXT record that proves to CloudFront where the alias leads
(CloudFront Developer Guide, "Request certificates for your CloudFront distribution tenant" and "Multi-tenant
distribution: how it works"). Only DNS knows where a zone begins, so a name of two labels counts as an apex.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from pydantic import ValidationError

from apis.conditions import DNS_UNSEEN
from apis.dns import DnsInstruction, RecordManager, RecordPurpose, RecordState, RecordType
from edgetenants_runtime.api.annotations import RECONCILE_REQUESTED_AT
from provider.cloudfront.aws.domain_calls import DnsVerdict
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.retries import PERMIT

__all__ = [
    "CAA",
    "CHALLENGE",
    "DNSSEC",
    "NOTHING",
    "PROOF",
    "UNKNOWN",
    "Found",
    "Key",
    "State",
    "all_present",
    "belongs",
    "besides",
    "has_two_labels",
    "key_of",
    "lost",
    "lost_proofs",
    "made",
    "nowhere",
    "of_cloudfront",
    "proofs",
    "records",
    "states",
    "stored",
    "stored_apexes",
    "stored_found",
    "stored_of",
    "stored_unseen",
    "stored_zone",
    "told",
    "unseen",
]

DNSSEC: Final = "DNSSEC: "
CAA: Final = "CAA: "
"""With these begins what is wrong besides what is in the place of a record, in this order."""
CHALLENGE: Final = "_cf-challenge"
"""First label of the TXT record that proves an alias."""
PROOF: Final = "_edgetenants-proof"
"""First label of the TXT record by which a domain's owner agrees to be served for a namespace."""
_ELSEWHERE: Final = re.compile(r"points? to (?P<target>[\w.-]+\w)", re.IGNORECASE)

Key = tuple[str, str, str]
State = Callable[[DnsInstruction], RecordState]
UNKNOWN: Final[State] = lambda _: RecordState.UNKNOWN  # noqa: E731 - a value of that type
Found = Callable[[DnsInstruction], str | None]
"""Returns what is wrong with a record; None if nothing is known to be."""
NOTHING: Final[Found] = lambda _: None  # noqa: E731 - as above


def key_of(record: DnsInstruction) -> Key:
    """Return what identifies a record: its type, name and value."""
    return record.type.value, record.name, record.value


def has_two_labels(domain: str) -> bool:
    """Whether a domain counts as the apex of a zone as long as the zone is not known."""
    return domain.count(".") == 1


def records(
    domains: Iterable[str],
    endpoint: str,
    state: State = UNKNOWN,
    is_apex: Callable[[str], bool] = has_two_labels,
    found: Found = NOTHING,
) -> tuple[DnsInstruction, ...]:
    """The records of each domain, sorted by name, each with its state from `state`, and with what is wrong
    with it from `found`."""
    wanted = (record for domain in sorted(domains) for record in _of(domain, endpoint, is_apex(domain)))
    return tuple(
        record.model_copy(update={"state": state(record), "found": found(record)}) for record in wanted
    )


def stored(status: Mapping[str, Any]) -> State:
    """The states in the stored status; Unknown for a record that it does not contain or that differs."""
    known = _by_key(status, "state")
    return lambda record: RecordState(known.get(key_of(record)) or RecordState.UNKNOWN)


def stored_found(status: Mapping[str, Any]) -> Found:
    """What the stored status says is wrong with a record."""
    known = _by_key(status, "found")
    return lambda record: known.get(key_of(record))


def _by_key(status: Mapping[str, Any], field: str) -> dict[Key, Any]:
    every = status.get("dnsInstructions") or ()
    return {(item["type"], item["name"], item["value"]): item.get(field) for item in every}


def belongs(
    instruction: Mapping[str, Any], domains: Container[str], proven: Container[tuple[str, str]]
) -> bool:
    """Whether a record in status.dnsInstructions is one of these domains. `proven` are the names and values
    of their proofs: the proof of a wildcard has the same name as that of the domain above it."""
    name = str(instruction.get("name"))
    if instruction.get("purpose") == RecordPurpose.PROOF:
        return (name, str(instruction.get("value"))) in proven
    return name.removeprefix(f"{CHALLENGE}.") in domains


def of_cloudfront(status: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The records in the stored status but proofs, of which CloudFront knows nothing."""
    stored = status.get("dnsInstructions") or ()
    return tuple(each for each in stored if each.get("purpose") != RecordPurpose.PROOF)


def proofs(status: Mapping[str, Any]) -> dict[tuple[str, str], RecordState]:
    """The states of the proofs in the stored status, by name and value."""
    return {
        (str(each.get("name")), str(each.get("value"))): RecordState(each.get("state") or RecordState.UNKNOWN)
        for each in status.get("dnsInstructions") or ()
        if each.get("purpose") == RecordPurpose.PROOF
    }


def made(status: Mapping[str, Any]) -> frozenset[str]:
    """The domains whose records the provider makes, as far as the stored status says."""
    return frozenset(
        str(each.get("name"))
        for each in status.get("dnsInstructions") or ()
        if each.get("purpose") == RecordPurpose.ROUTING and each.get("managedBy") == RecordManager.PROVIDER
    )


def stored_of(status: Mapping[str, Any], domains: Collection[str]) -> tuple[DnsInstruction, ...]:
    """The records of some domains that the provider makes, as the stored status has them."""
    found = []
    for each in status.get("dnsInstructions") or ():
        name = str(each.get("name")).removeprefix(f"{CHALLENGE}.")
        if name in domains and each.get("managedBy") == RecordManager.PROVIDER:
            with suppress(ValidationError):
                found.append(DnsInstruction.model_validate(each))
    return tuple(found)


def besides(found: str | None) -> str:
    """What is wrong with a record besides what is in its place; see PublicDns."""
    parts = [(found or "").find(word) for word in (DNSSEC, CAA)]
    begins = [each for each in parts if each >= 0]
    return (found or "")[min(begins) :] if begins else ""


def stored_apexes(status: Mapping[str, Any]) -> dict[str, bool]:
    """Which domains of the stored status are the apex of a zone."""
    return {
        str(each.get("name")): each.get("type") == RecordType.ALIAS
        for each in status.get("dnsInstructions") or ()
        if each.get("purpose") == RecordPurpose.ROUTING
    }


def stored_zone(status: Mapping[str, Any], record: DnsInstruction) -> dict[str, Any]:
    """Who makes a record, and what the zone has instead, as the stored status says; empty if the provider
    does not make it."""
    for each in status.get("dnsInstructions") or ():
        same = (each.get("type"), each.get("name")) == (record.type, record.name)
        if same and each.get("managedBy") == RecordManager.PROVIDER:
            return {"managed_by": RecordManager.PROVIDER, "found": each.get("found")}
    return {}


def lost_proofs(status: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the proofs that DNS had in the one status and does not have in the other."""
    before, gone = proofs(status), (RecordState.MISSING, RecordState.WRONG)
    lost = {
        key for key, state in proofs(now).items() if state in gone and before.get(key) == RecordState.PRESENT
    }
    return tuple(sorted({name for name, _ in lost}))


def told(verdicts: Mapping[str, DnsVerdict]) -> State:
    """The states from VerifyDnsConfiguration, which reports domains, not records."""

    def state(record: DnsInstruction) -> RecordState:
        verdict = verdicts.get(record.name.removeprefix(f"{CHALLENGE}."))
        return _state(record, verdict) if verdict else RecordState.UNKNOWN

    return state


def unseen(refusal: AwsError) -> str:
    """The message when the provider may not check the records."""
    return (
        f"{DNS_UNSEEN}{str(refusal).rstrip('.')}. {PERMIT}. The provider checks again within an hour, "
        f"or at once when you set the annotation {RECONCILE_REQUESTED_AT} to a new value."
    )


def stored_unseen(said: str) -> str:
    """That part of a stored message; empty if the message has none."""
    _, found, rest = said.partition(DNS_UNSEEN)
    return found + rest


def nowhere(refused: str) -> str:
    """The message when the provider may not read the connection group, which has the routing endpoint."""
    return (
        f"The routing endpoint is not known, so status.dnsInstructions has no records: "
        f"{refused.rstrip('.')}. {PERMIT}. The provider retries."
    )


def all_present(status: Mapping[str, Any]) -> bool:
    """Every record in the stored status is present, whatever the proofs are."""
    states = [item.get("state") for item in of_cloudfront(status)]
    return bool(states) and set(states) == {RecordState.PRESENT.value}


def lost(status: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """The domains that DNS led to CloudFront in the one status and does not in the other."""
    led, leads_not = _in_state(status, RecordState.PRESENT), (RecordState.MISSING, RecordState.WRONG)
    return tuple(sorted(led & _in_state(now, *leads_not)))


def states(status: Mapping[str, Any]) -> dict[str, RecordState]:
    """By domain: whether DNS leads its visitors to CloudFront, from the stored status."""
    return {
        item["name"]: RecordState(item.get("state") or RecordState.UNKNOWN)
        for item in status.get("dnsInstructions") or ()
        if item.get("purpose") == RecordPurpose.ROUTING
    }


def _in_state(status: Mapping[str, Any], *states: RecordState) -> set[str]:
    return {
        item["name"]
        for item in status.get("dnsInstructions") or ()
        if item.get("purpose") == RecordPurpose.ROUTING and item.get("state") in states
    }


def _of(domain: str, endpoint: str, top: bool) -> Iterator[DnsInstruction]:
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
        # The alias leads here; only its TXT record is missing.
        return RecordState.PRESENT
    elsewhere = _ELSEWHERE.search(verdict.reason)
    there = elsewhere is not None and elsewhere["target"].lower() != record.value
    wrong = there and record.purpose is RecordPurpose.ROUTING
    return RecordState.WRONG if wrong else RecordState.MISSING

"""The claim's status has the proofs of all its tenants."""

from __future__ import annotations

from google.protobuf.struct_pb2 import Struct

from apis.conditions import LiveReason
from function.answer import status
from function.composed.observed import Asked, ObservedTenant
from function.findings.live import Finding


def tenant(uid: str, *records: dict[str, str]) -> ObservedTenant:
    return ObservedTenant(
        name=uid,
        uid=uid,
        external_name=uid,
        exists=False,
        deleted=False,
        generation=1,
        asked=Asked(),
        conditions={},
        instructions=records,
    )


def proof(value: str, state: str = "Missing") -> dict[str, str]:
    name = "_edgetenants-proof.acme.com"
    return {"type": "TXT", "name": name, "value": value, "purpose": "Proof", "state": state}


def shown(*tenants: ObservedTenant) -> list[str]:
    served = ("acme.com", "*.acme.com")
    told = Struct.FromString(status.derive(served, tenants, Finding(LiveReason.CREATING, "")))
    return [each["value"] for each in told["dnsInstructions"]]


def test_a_domain_and_the_wildcard_below_it_have_a_record_each():
    assert shown(tenant("a", proof("p1")), tenant("b", proof("p2"))) == ["p1", "p2"]


def test_a_domain_that_moves_has_its_record_once():
    assert shown(tenant("a", proof("p1")), tenant("b", proof("p1", "Present"))) == ["p1"]

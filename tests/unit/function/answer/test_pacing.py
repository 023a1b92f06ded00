"""New tenants follow when those before them serve or have failed."""

from __future__ import annotations

from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function.composed.naming import digest
from tests.unit.function import building

DOMAINS = [f"d{number}.example.com" for number in range(8)]
SPEC = {"domains": DOMAINS, "isolation": "PerDomain"}


def tenant(domain: str, ready: tuple[str, str]) -> tuple[str, dict[str, Any]]:
    """One that exists, with status and reason of Ready."""
    status = {"conditions": [building.condition("Ready", *ready)], "atProvider": {"id": "dt_1"}}
    name = f"tenant-{digest(domain)}"
    return name, {"spec": {"forProvider": {"domains": [domain]}}, "status": status}


def answer(*observed: tuple[str, dict[str, Any]]) -> fnv1.RunFunctionResponse:
    return building.run(building.request(spec=SPEC, observed=dict(observed)))


def composed(rsp: fnv1.RunFunctionResponse) -> list[str]:
    """The domains whose tenants are wanted."""
    return sorted(each["spec"]["forProvider"]["domains"][0] for each in building.desired(rsp).values())


SERVES, MAKING, FAILED = ("True", "Available"), ("False", "Deploying"), ("False", "DomainConflict")


def test_three_at_first() -> None:
    rsp = answer()

    assert composed(rsp) == DOMAINS[:3]
    assert building.conditions(rsp)["Reconciling"][:2] == ("True", "Creating")


def test_no_more_while_they_are_made() -> None:
    assert composed(answer(*(tenant(domain, MAKING) for domain in DOMAINS[:3]))) == DOMAINS[:3]


def test_one_more_for_each_that_serves_or_has_failed() -> None:
    rsp = answer(tenant(DOMAINS[0], SERVES), tenant(DOMAINS[1], FAILED), tenant(DOMAINS[2], MAKING))

    assert composed(rsp) == DOMAINS[:5]
    assert set(building.ready(rsp).values()) == {True, False}


def test_domains_without_records_hold_up_no_others() -> None:
    waiting = [tenant(domain, ("False", "DomainValidationPending")) for domain in DOMAINS[:3]]
    assert composed(answer(*waiting)) == DOMAINS[:6]


def issuing(domain: str, certificate: str, *states: str) -> tuple[str, dict[str, Any]]:
    """One that waits for its certificate, with the reason of CertificateReady and the states of its DNS
    records."""
    name, obj = tenant(domain, ("False", "CertificatePending"))
    obj["status"]["conditions"].append(building.condition("CertificateReady", "False", certificate))
    record = {"name": domain, "type": "CNAME", "value": "d1.cloudfront.net", "purpose": "Routing"}
    obj["status"]["dnsInstructions"] = [record | {"state": state} for state in states]
    return name, obj


@pytest.mark.parametrize("states", [["Missing"], ["Wrong"], ["Unknown"], ["Present"], []])
def test_certificates_that_are_not_issued_hold_up_no_others(states: list[str]) -> None:
    """Without a permission the states are unknown, or there are no records; and records are not all that a
    certificate may wait for."""
    waiting = [issuing(domain, "PendingValidation", *states) for domain in DOMAINS[:3]]
    assert composed(answer(*waiting)) == DOMAINS[:6]


def test_certificates_that_are_being_attached_are_waited_for() -> None:
    attaching = [issuing(domain, "Attaching", "Present") for domain in DOMAINS[:3]]
    assert composed(answer(*attaching)) == DOMAINS[:3]


def test_what_exists_is_wanted_however_many() -> None:
    assert composed(answer(*(tenant(domain, MAKING) for domain in DOMAINS))) == DOMAINS


def test_never_ready_as_a_whole_before_the_last() -> None:
    observed: list[tuple[str, dict[str, Any]]] = []
    for _ in range(len(DOMAINS)):
        wanted = composed(answer(*observed))
        if len(wanted) == len(DOMAINS):
            break
        observed = [tenant(domain, SERVES) for domain in wanted]
        assert False in building.ready(answer(*observed)).values()
    assert wanted == DOMAINS

"""Each call that the provider makes, disturbed each way, in each phase of the life of a tenant and group."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from edgetenants_emulator import EmulatorServer
from provider.cloudfront.aws.operations import OPERATIONS
from tests.contract import in_process, readings
from tests.contract.faulty import (
    BESIDES,
    FRONT,
    PHASES,
    Disturbance,
    Faulty,
    Stage,
    again,
    as_changed,
    begin,
    check,
    go,
)
from tests.contract.lives import ACCOUNT, DISTRIBUTION

_AFTER_A_REFUSAL = (
    "only after a refused domain; tests/unit/provider/cloudfront/checks/test_holders.py disturbs it"
)
_OF_RECORDS = "of DNS records; tests/contract/test_records.py disturbs it"
EXCUSED = {
    "GetCallerIdentity": "once for a provider config, by test_credentials",
    "AssumeRole": "of the credentials, by test_credentials",
    "AssumeRoleWithWebIdentity": "of the credentials, by test_credentials",
    "GetDistributionTenantByDomain": _AFTER_A_REFUSAL,
    "ListDomainConflicts": _AFTER_A_REFUSAL,
    "ListHostedZones": _OF_RECORDS,
    "GetHostedZone": _OF_RECORDS,
    "ListResourceRecordSets": _OF_RECORDS,
    "ChangeResourceRecordSets": _OF_RECORDS,
    "GetChange": _OF_RECORDS,
    "ListCertificates": "by lists, and dispensable; tests/contract/test_sweep.py disturbs it",
    "UpdateDomainAssociation": (
        "only by an annotation; tests/unit/provider/cloudfront/domain/test_moves.py disturbs it"
    ),
}
IF_MATCH = {
    f"{verb}{kind}" for verb in ("Update", "Delete") for kind in ("DistributionTenant", "ConnectionGroup")
}
DISPENSABLE = {
    "ListConnectionGroups": "only says where DNS must lead",
    "GetDistribution": "a check beforehand, told in the event",
    "VerifyDnsConfiguration": "only says where DNS leads",
    "DescribeCertificate": "only says why and until when",
}
"""What the life goes on without, and why. Every other refusal is told."""
HOLDING = {"ListDistributionTenants": "whether a group has tenants, which it would take off the net"}
"""What holds a deletion until it is permitted or confirmed."""
ALL = {**PHASES, **BESIDES}

Begin = tuple[Any, list[dict[str, Any]]]
"""The emulator's snapshot and the objects when a phase begins."""


@pytest.fixture(scope="module")
def aws() -> Iterator[Faulty]:
    with EmulatorServer(rate=0) as running, in_process.reaching(running):
        yield Faulty(running.url)


def seed(aws: Faulty) -> None:
    row = {
        "id": DISTRIBUTION,
        "certificateDomains": ["*.example.com"],
        "parameters": [{"name": "tenantName"}],
    }
    aws.admin("POST", "seed", {"account": ACCOUNT, "distributions": [row]})


@pytest.fixture(scope="module")
def empty(aws: Faulty) -> Any:
    return aws.admin("GET", "snapshot")


@pytest.fixture(scope="module")
def begins(aws: Faulty, empty: Any) -> dict[str, Begin]:
    """Of an undisturbed life."""
    aws.admin("PUT", "snapshot", empty)
    seed(aws)
    stage, found = begin(aws), {}
    for name, phase in PHASES.items():
        found[name] = (aws.admin("GET", "snapshot"), stage.objects())
        phase.act(stage)
        go(stage, phase)
        check(stage, phase)
    return found | dict.fromkeys(BESIDES, found["create"])


def at(aws: Faulty, start: Begin) -> Stage:
    aws.permit()
    aws.admin("PUT", "snapshot", start[0])
    aws.sent, aws.deaths = [], 0
    return again(aws, start[1])


def ways(operation: str) -> list[Disturbance]:
    return [way for way in Disturbance if way is not Disturbance.OUTDATED or operation in IF_MATCH]


CASES = [
    (name, operation, way)
    for name, phase in ALL.items()
    for operation in sorted(phase.calls.split())
    for way in ways(operation)
]


def test_no_operation_is_forgotten() -> None:
    assert {operation for _, operation, _ in CASES} == set(OPERATIONS) - set(EXCUSED)


@pytest.mark.parametrize("name", ALL)
def test_undisturbed(aws: Faulty, begins: dict[str, Begin], name: str) -> None:
    stage = at(aws, begins[name])
    ALL[name].act(stage)
    go(stage, ALL[name])
    check(stage, ALL[name])
    assert {operation for operation, _ in aws.sent} == set(ALL[name].calls.split())


@pytest.mark.parametrize(
    ("name", "operation", "way"), [pytest.param(*case, id=", ".join(case)) for case in CASES]
)
def test_disturbed(
    aws: Faulty, begins: dict[str, Begin], name: str, operation: str, way: Disturbance
) -> None:
    stage = at(aws, begins[name])
    suffer(stage, name, operation, way)
    assert made_once(aws)


def suffer(stage: Stage, name: str, operation: str, way: Disturbance) -> None:
    """A phase with a disturbed call."""
    stage.aws.disturb(operation, way)
    ALL[name].act(stage)
    if way is Disturbance.DENIED:
        refused(stage, name, operation)
    go(stage, ALL[name])
    assert stage.aws.struck
    stage.aws.permit()
    check(stage, ALL[name])
    assert name != "update" or as_changed(stage)


def refused(stage: Stage, name: str, operation: str) -> None:
    """It is told, and permitted then; or the phase ends without it."""
    if operation in DISPENSABLE:
        go(stage, ALL[name])
    elif name == "delete" and operation in HOLDING:
        assert [error for _ in range(6) for error in stage.step()] == []
        assert stage.group.ready() == ("False", "DeletionHeld")
        assert "AccessDenied" in stage.group.condition("Ready")[2]
        assert stage.aws.calls.get_group(FRONT).enabled
    else:
        met = [error for _ in range(6) for error in stage.step()]
        assert any("AccessDenied" in error for error in met), met
    assert stage.aws.struck
    stage.aws.forgive()


def made_once(aws: Faulty) -> bool:
    good = [operation for operation, status in aws.sent if status < 300]
    return all(good.count(f"Create{kind}") <= 1 for kind in ("DistributionTenant", "ConnectionGroup"))


OF_A_NEW_PROCESS = {("attach", "ListTagsForResource")}
"""Calls that a process makes only in its first phase: it has proven since whose the tenant is."""


def sample() -> Iterator[tuple[dict[str, Any], str, str, Disturbance]]:
    """One disturbance, drawn by chance, under each reading."""
    drawn = random.Random(readings.SEED)
    life = [case for case in CASES if case[0] in PHASES and case[:2] not in OF_A_NEW_PROCESS]
    for reading in (*readings.single(), *readings.combined()):
        yield (reading, *drawn.choice([case for case in life if _is_made(reading, *case[:2])]))


def _is_made(reading: dict[str, Any], name: str, operation: str) -> bool:
    """Nothing is attached by us that attaches itself."""
    by_itself = reading.get("certificate_attached_by_itself") or reading.get("verify_attaches_certificate")
    return not by_itself or (name, operation) != ("attach", "UpdateDistributionTenant")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{readings.SEED}-{number}, {', '.join(case[1:])}")
        for number, case in enumerate(sample())
    ],
)
def test_disturbed_under_another_reading(
    aws: Faulty, empty: Any, case: tuple[dict[str, Any], str, str, Disturbance]
) -> None:
    switched, name, operation, way = case
    at(aws, (empty, [begin(aws).group.obj]))
    seed(aws)
    aws.admin("PATCH", "settings", switched)
    stage = begin(aws)
    for each, phase in PHASES.items():
        if each == name:
            suffer(stage, name, operation, way)
            aws.permit()
            continue
        phase.act(stage)
        go(stage, phase)
        check(stage, phase)
    assert made_once(aws)

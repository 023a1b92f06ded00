"""Each domain has a tenant of its own, whatever its hash is, and keeps it."""

from __future__ import annotations

from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from hypothesis import given
from hypothesis import strategies as st

from function.composed import naming
from tests.unit.function import building
from tests.unit.function.changes.test_switches import OTHER, A, B, C, home, homes, running
from tests.unit.function.test_properties import GENEROUS, PARKED, settled, specs

GROUP = "connection-group"
ALIKE = ("h46cb7.example.com", "h21684b.example.com")
"""The SHA-256 of both begins with the same 40 bits."""


def per_domain(*domains: str, **observed: Any) -> fnv1.RunFunctionResponse:
    spec = {"domains": list(domains), "isolation": "PerDomain"}
    return building.run(building.request(spec=spec, observed=observed))


def lists(rsp: fnv1.RunFunctionResponse) -> dict[str, list[str]]:
    """The domains of each composed tenant."""
    composed = building.desired(rsp).items()
    return {name: each["spec"]["forProvider"]["domains"] for name, each in composed if name != GROUP}


def test_two_domains_whose_hashes_begin_alike_have_two_tenants() -> None:
    assert sorted(lists(per_domain(*ALIKE)).values()) == [["h21684b.example.com"], ["h46cb7.example.com"]]


@pytest.mark.parametrize("domains", [ALIKE, ALIKE[::-1]])
def test_a_tenant_with_a_short_name_keeps_it_and_its_domain(domains: tuple[str, ...]) -> None:
    live, new = ALIKE
    short = f"tenant-{naming.digest(live)[:10]}"
    observed = {
        "metadata": {"annotations": {"crossplane.io/external-name": "shop.acme-731c685f43"}},
        "spec": {"forProvider": {"domains": [live]}},
        "status": building.live_status(live),
    }
    rsp = per_domain(*domains, **{short: observed})
    assert lists(rsp) == {short: [live], f"tenant-{naming.digest(new)}": [new]}
    annotations = building.desired(rsp)[short]["metadata"]["annotations"]
    assert annotations["crossplane.io/external-name"] == "shop.acme-731c685f43"


@pytest.mark.parametrize("isolation", ["Shared", "PerDomain"])
def test_domains_move_to_and_from_tenants_with_short_names(
    isolation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(naming, "HASH_LENGTH", naming.FORMER_HASH_LENGTH)
        cloud = running(isolation)
        assert all(len(name) <= len("tenant-") + 10 for name in cloud.managed)
        cloud.isolation = OTHER[isolation]
        for _ in range(3):
            cloud.round()
    for _ in range(40):
        cloud.round()
        assert cloud.served >= {A, B, C}
    cloud.settle()
    if isolation == "PerDomain":
        assert homes(cloud) == home("Shared", [A, B, C])
    else:
        short = {f"tenant-{naming.digest(each)[:10]}": [each] for each in (A, B, C)}
        assert homes(cloud) == dict(sorted(short.items()))


def test_two_domains_of_one_name_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(naming, "HASH_LENGTH", naming.FORMER_HASH_LENGTH)
    live, new = ALIKE
    name = f"tenant-{naming.digest(live)}"
    observed = {"spec": {"forProvider": {"domains": [live]}}, "status": building.live_status(live)}
    rsp = per_domain(live, new, **{name: observed})
    assert [severity for severity, _ in building.results(rsp)] == ["FATAL"]
    message = rsp.results[0].message
    assert message.startswith("spec.domains: expected domains whose tenants have different names, got ")
    assert live in message
    assert new in message
    assert message.endswith("Remove one of them, or use another claim")


@given(specs, specs, st.sampled_from([GENEROUS, PARKED]))
def test_a_claim_is_never_ready_while_a_domain_has_no_tenant(
    before: dict[str, Any], after: dict[str, Any], plans: dict[str, Any]
) -> None:
    after = {**after, "domains": [*before["domains"][:2], *after["domains"]]}
    rsp = building.reconcile(building.request(spec=after, input_=plans, observed=settled(before)))
    if any(severity == "FATAL" for severity, _ in building.results(rsp)):
        return
    ready = rsp.desired.composite.ready != fnv1.READY_FALSE and all(building.ready(rsp).values())
    had = {domain for domains in lists(rsp).values() for domain in domains}
    assert not ready or had >= {each.lower() for each in after["domains"]}


def test_a_claim_is_not_ready_while_nothing_is_composed_for_a_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "function.answer.pacing.admitted", lambda looked: [each for each in looked if each.seen]
    )
    name = f"tenant-{naming.digest(A)}"
    observed = {"spec": {"forProvider": {"domains": [A]}}, "status": building.live_status(A)}
    rsp = per_domain(A, B, **{name: observed})
    assert building.ready(rsp) == {name: True}
    assert rsp.desired.composite.ready == fnv1.READY_FALSE

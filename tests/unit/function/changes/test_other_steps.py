"""A confirmation executes its own step, and no other step of the claim or its plan."""

from __future__ import annotations

from typing import Any

import pytest

from function.composed import naming
from tests.unit.function import building
from tests.unit.function.cloud_of_plans import CloudOfPlans

A, B, C, D, E = (f"{letter}.example.com" for letter in "abcde")
PARKING = {"parkingDomain": "*.parking.example.com"}
SHARED_GROUP = {"connection": {"connectionGroupId": "cg_shared"}}
TO_PER_DOMAIN = naming.token("isolation Shared PerDomain: tenants are replaced")
TO_SHARED = naming.token("isolation PerDomain Shared: tenants are replaced")
TO_E2 = naming.token("distribution E1 E2")
GIVES_UP_GROUP = naming.token("connection group")


def running(isolation: str = "Shared", domains: tuple[str, ...] = (A, B), **fields: Any) -> CloudOfPlans:
    """A claim that serves."""
    cloud = CloudOfPlans(domains=list(domains), isolation=isolation, **fields)
    cloud.settle()
    assert set(cloud.places()) == set(domains)
    return cloud


def blocked(cloud: CloudOfPlans) -> str:
    return building.conditions(cloud.ask())["Blocked"][2]


def distributions(cloud: CloudOfPlans) -> set[str]:
    return {place for place, _ in cloud.places().values()}


def in_the_gap(**fields: Any) -> CloudOfPlans:
    """The change to PerDomain is confirmed, and the deletion of the old tenant is on hold."""
    cloud = running(holds=True, **fields)
    cloud.isolation, cloud.confirmed = "PerDomain", TO_PER_DOMAIN
    for _ in range(5):
        cloud.round()
    assert len(cloud.leaving) == 1
    return cloud


def after_the_gap(cloud: CloudOfPlans) -> dict[str, tuple[str, bool]]:
    for _ in range(3):
        cloud.round()
    cloud.holds = False
    cloud.settle()
    return cloud.places()


@pytest.mark.parametrize("plan", [{}, PARKING])
def test_what_replaces_tenants_stays_with_their_distribution(plan: dict[str, Any]) -> None:
    cloud = running(plan=dict(plan), covers=False)
    cloud.plan["distributionId"], cloud.isolation = "E2", "PerDomain"
    cloud.settle()
    cloud.confirmed = TO_PER_DOMAIN
    cloud.settle()
    assert len(cloud.managed) == 2
    assert distributions(cloud) == {"E1"}
    assert TO_E2 in blocked(cloud)
    cloud.confirmed = TO_E2
    cloud.settle()
    assert distributions(cloud) == {"E2"}


@pytest.mark.parametrize("plan", [{}, PARKING])
def test_what_replaces_tenants_stays_in_their_group(plan: dict[str, Any]) -> None:
    cloud = running(plan={**plan, **SHARED_GROUP}, covers=False, dedicated=True)
    cloud.dedicated, cloud.isolation = False, "PerDomain"
    cloud.settle()
    cloud.confirmed = TO_PER_DOMAIN
    cloud.settle()
    assert len(cloud.managed) == 2
    assert {own for _, own in cloud.places().values()} == {True}
    assert GIVES_UP_GROUP in blocked(cloud)
    cloud.confirmed = GIVES_UP_GROUP
    cloud.settle()
    assert not cloud.group


def test_both_steps_may_be_confirmed_at_once() -> None:
    cloud = running()
    cloud.plan["distributionId"], cloud.isolation = "E2", "PerDomain"
    cloud.confirmed = f"{TO_PER_DOMAIN},{TO_E2}"
    cloud.settle()
    assert cloud.places() == {A: ("E2", False), B: ("E2", False)}
    assert len(cloud.managed) == 2


def test_a_change_back_in_the_gap_does_not_wait_for_another_step() -> None:
    """Else the domains whose new tenants do not exist yet would stay down."""
    cloud = running(domains=(A, B, C, D, E))
    cloud.isolation, cloud.confirmed = "PerDomain", TO_PER_DOMAIN
    cloud.apply(cloud.ask())
    cloud.leave()
    for name in sorted(cloud.managed)[:1]:
        cloud.reconcile(name)
    cloud.plan["distributionId"] = "E2"
    cloud.isolation, cloud.confirmed = "Shared", TO_SHARED
    cloud.settle()
    assert cloud.places() == dict.fromkeys((A, B, C, D, E), ("E1", False))


@pytest.mark.parametrize("domains", [[A, B], [B, A]])
def test_a_new_domain_joins_those_that_wait_for_another_distribution(domains: list[str]) -> None:
    cloud = running("PerDomain", (A,), plan=dict(PARKING))
    cloud.plan["distributionId"] = "E2"
    cloud.settle()
    cloud.domains = domains
    cloud.settle()
    assert cloud.places() == {A: ("E1", False), B: ("E1", False)}
    cloud.isolation = "Shared"
    cloud.settle()
    assert distributions(cloud) == {"E1"}


@pytest.mark.parametrize("first", [A, B])
def test_tenants_of_several_distributions_do_not_become_one_without_a_word(first: str) -> None:
    """Those of a claim whose confirmed move CloudFront refused in part, or of an earlier version."""
    cloud = running("PerDomain", (A, B), plan=dict(PARKING))
    cloud.plan["distributionId"] = "E2"
    name = next(name for name, each in cloud.managed.items() if A in each.domains)
    cloud.managed[name].distribution = "E2"  # type: ignore[attr-defined]
    cloud.reconcile(name)
    before = cloud.places()
    assert distributions(cloud) == {"E1", "E2"}
    cloud.domains = [first, *{A, B} - {first}]
    cloud.isolation = "Shared"
    cloud.settle()
    assert cloud.places() == before
    assert "waits, because the tenants have different distributions" in blocked(cloud)
    cloud.confirmed = TO_E2
    cloud.settle()
    assert {domain: cloud.places()[domain] for domain in (A, B)} == {A: ("E2", False), B: ("E2", False)}
    assert len(cloud.managed) == 1


def test_in_a_confirmed_gap_the_plan_keeps_its_distribution() -> None:
    cloud = in_the_gap()
    cloud.plan["distributionId"] = "E2"
    assert TO_E2 in blocked(cloud)
    assert after_the_gap(cloud) == {A: ("E1", False), B: ("E1", False)}
    cloud.confirmed = TO_E2
    cloud.settle()
    assert distributions(cloud) == {"E2"}


def test_in_a_confirmed_gap_the_claim_keeps_its_plan() -> None:
    cloud = in_the_gap(others={"other": {"distributionId": "E2"}})
    cloud.chosen = "other"
    assert TO_E2 in blocked(cloud)
    assert after_the_gap(cloud) == {A: ("E1", False), B: ("E1", False)}


def test_in_a_confirmed_gap_the_claim_keeps_its_account() -> None:
    elsewhere = {"kind": "ClusterProviderConfig", "name": "elsewhere"}
    cloud = in_the_gap(others={"other": {"distributionId": "E2", "providerConfigRef": elsewhere}})
    cloud.chosen = "other"
    assert "A tenant stays in its AWS account" in blocked(cloud)
    after_the_gap(cloud)
    assert {each.config["name"] for each in cloud.managed.values()} == {"default"}  # type: ignore[attr-defined]


def test_in_a_confirmed_gap_the_claim_keeps_its_group() -> None:
    cloud = in_the_gap(dedicated=True, plan=dict(SHARED_GROUP))
    cloud.dedicated = False
    assert GIVES_UP_GROUP in blocked(cloud)
    assert after_the_gap(cloud) == {A: ("E1", True), B: ("E1", True)}
    assert cloud.group
    cloud.confirmed = GIVES_UP_GROUP
    cloud.settle()
    assert not cloud.group


def test_tenants_that_are_created_later_join_the_first_ones() -> None:
    cloud = running(domains=(A, B, C, D, E))
    cloud.isolation, cloud.confirmed = "PerDomain", TO_PER_DOMAIN
    cloud.apply(cloud.ask())
    cloud.leave()
    for name in sorted(cloud.managed):
        cloud.reconcile(name)
    assert 0 < len(cloud.managed) < 5, "three at a time"
    cloud.plan["distributionId"] = "E2"
    cloud.settle()
    assert distributions(cloud) == {"E1"}
    assert set(cloud.places()) == {A, B, C, D, E}


@pytest.mark.parametrize("dedicated", [False, True])
def test_so_do_those_of_other_domains(dedicated: bool) -> None:
    """The claim removes the domains of the first ones."""
    cloud = running(domains=(A, B, C, D, E), dedicated=dedicated, plan=dict(SHARED_GROUP))
    cloud.isolation, cloud.confirmed = "PerDomain", TO_PER_DOMAIN
    cloud.apply(cloud.ask())
    cloud.plan["distributionId"], cloud.dedicated = "E2", False
    first = {domain for each in cloud.managed.values() for domain in each.domains}
    cloud.domains = [domain for domain in (A, B, C, D, E) if domain not in first]
    cloud.settle()
    assert set(cloud.places().values()) == {("E1", dedicated)}


def test_a_tenant_whose_resource_someone_deleted_serves_and_keeps_its_place() -> None:
    cloud = running(dedicated=True, plan=dict(SHARED_GROUP))
    cloud.managed["tenant"].deleted = True
    cloud.plan["distributionId"] = "E2"
    cloud.dedicated, cloud.isolation = False, "PerDomain"
    assert TO_E2 in blocked(cloud)
    assert GIVES_UP_GROUP in blocked(cloud)

"""A change of isolation moves the domains without a gap; where CloudFront refuses, it says so and waits."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from function.naming import digest
from tests.unit.function import building
from tests.unit.function.cloud import Cloud

A, B, C = "a.example.com", "b.example.com", "c.example.com"
OTHER = {"Shared": "PerDomain", "PerDomain": "Shared"}
TOKENS = "44e158d5cc,221f886ee6"
"""Of both changes of isolation."""


def running(isolation: str = "Shared", domains: tuple[str, ...] = (A, B, C), **fields: Any) -> Cloud:
    """A claim that serves."""
    cloud = Cloud(domains=list(domains), isolation=isolation, **fields)
    cloud.settle()
    assert cloud.served == set(domains)
    return cloud


def homes(cloud: Cloud) -> dict[str, list[str]]:
    """The domains of each tenant, by the names of managed resources."""
    return {
        name: sorted(cloud.tenants[each.external_name].domains)
        for name, each in sorted(cloud.managed.items())
    }


def home(isolation: str, domains: list[str]) -> dict[str, list[str]]:
    """The same as the claim asks for it."""
    if isolation == "Shared":
        return {"tenant": sorted(domains)}
    return dict(sorted((f"tenant-{digest(each)}", [each]) for each in domains))


@pytest.mark.parametrize("isolation", ["Shared", "PerDomain"])
def test_every_domain_is_served_all_the_time(isolation: str) -> None:
    cloud = running(isolation)
    cloud.isolation = OTHER[isolation]
    for _ in range(30):
        rsp = cloud.round()
        assert cloud.served >= {A, B, C}
        assert building.live(rsp)[:2] == ("True", "Live")
        assert building.conditions(rsp)["Blocked"][:2] == ("False", "Unblocked")
        assert set(building.ready(rsp).values()) == {True}
    cloud.settle()
    assert homes(cloud) == home(OTHER[isolation], [A, B, C])


def test_at_most_three_new_tenants_at_a_time() -> None:
    domains = [f"d{n}.example.com" for n in range(10)]
    cloud = running(domains=tuple(domains))
    cloud.isolation = "PerDomain"
    for _ in range(60):
        before = len(cloud.managed)
        cloud.round()
        assert len(cloud.managed) - before <= 3
    assert homes(cloud) == home("PerDomain", domains)


# What happens, in whatever order; status may be old, and the function may have observed what is over.
steps = st.one_of(
    st.tuples(st.just("function"), st.integers(0, 9), st.integers(0, 2)),
    st.tuples(st.just("provider"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("deploy"), st.just(0), st.just(0)),
    st.tuples(st.just("turn"), st.just(0), st.just(0)),
    st.tuples(st.sampled_from(["domains", "plan"]), st.integers(0, 7), st.just(0)),
)
ALL = [B, C, "d.example.com"]


def _one(cloud: Cloud, step: tuple[str, int, int]) -> None:
    what, which, late = step
    names = sorted(cloud.managed)
    if what == "function":
        rsp = cloud.ask()
        # Meanwhile the provider was at work.
        for name in (*names, *names)[which % max(len(names), 1) :][:late]:
            if name in cloud.managed:
                cloud.reconcile(name)
        cloud.apply(rsp)
    elif what == "provider" and names:
        cloud.reconcile(names[which % len(names)])
    elif what == "deploy":
        cloud.deploy()
    elif what == "turn":
        cloud.isolation = OTHER[cloud.isolation]
    elif what == "domains":
        cloud.domains = [A, *(each for n, each in enumerate(ALL) if which & (1 << n))]
    elif what == "plan":
        cloud.plan = {"parkingDomain": "*.parking.example.com"} if which % 2 else {}


@settings(deadline=None, max_examples=int(os.environ.get("EDGETENANTS_EXAMPLES", "100")))
@given(st.sampled_from(["Shared", "PerDomain"]), st.lists(steps, max_size=25), st.booleans(), st.booleans())
def test_nothing_that_stays_in_the_claim_goes_dark_whatever_happens_when(
    isolation: str, happens: list[tuple[str, int, int]], gives: bool, covers: bool
) -> None:
    cloud = running(isolation, (A, B), gives=gives, covers=covers)
    staying = {A, B}
    for step in happens:
        _one(cloud, step)
        staying &= set(cloud.domains)
        assert cloud.served >= staying, step
    for _ in range(12):
        rsp = cloud.round()
        assert cloud.served >= staying
    if building.conditions(rsp)["Blocked"][0] == "True":
        cloud.confirmed = TOKENS
    cloud.settle()
    assert homes(cloud) == home(cloud.isolation, cloud.domains)

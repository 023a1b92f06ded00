"""A change of isolation moves the domains without a gap; where CloudFront refuses, it says so and waits."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apis.conditions import TenantReadyReason
from function.composed import observed
from function.composed.compose import WantedTenant
from function.composed.naming import digest
from function.composed.observed import ObservedTenant
from function.findings import live, other_tenants
from function.protocol import structs
from tests.unit.function import building
from tests.unit.function.cloud import Cloud

A, B, C = "a.example.com", "b.example.com", "c.example.com"
OTHER = {"Shared": "PerDomain", "PerDomain": "Shared"}
RELEASED, REPLACED, ISSUED = "5f2a9a82b0", "011a5e0895", "54db3559f2"
"""The tokens of a change to PerDomain: old tenants release domains; tenants are replaced; and get managed
certificates."""
TOKENS = f"{RELEASED},{REPLACED},52fce0ff9a,ecc071db67"
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


def moving(isolation: str, records: str) -> list[tuple[tuple[str, str], str, str | None, str]]:
    """What a claim says in a change of its isolation: Live, domainsReady, url and the reason of Degraded. The
    first is from before, the last from after the records are checked again."""
    cloud = running(isolation, (A, B), records=records)
    cloud.check()
    cloud.settle()
    for _ in range(2):
        cloud.round()
    said = []

    def listen() -> None:
        rsp = cloud.ask()
        status = building.status(rsp)
        told = building.live(rsp)[:2], status["domainsReady"], status.get("url")
        said.append((*told, building.conditions(rsp)["Degraded"][1]))
        cloud.apply(rsp)

    listen()
    cloud.isolation = OTHER[isolation]
    for _ in range(20):
        listen()
        if len({name == "tenant" for name in cloud.managed}) == 1:
            break
        for name in sorted(cloud.managed):
            cloud.reconcile(name)
            listen()
        cloud.deploy()
    cloud.check()
    for _ in range(2):
        for name in sorted(cloud.managed):
            cloud.reconcile(name)
        listen()
    return said


@pytest.mark.parametrize("isolation", ["Shared", "PerDomain"])
@pytest.mark.parametrize("state", ["Missing", "Wrong"])
def test_where_dns_never_led_a_move_says_nothing_else(isolation: str, state: str) -> None:
    before, *during, after = moving(isolation, state)
    assert before == (("True", "Served"), "2/2", None, "Recovered")
    assert set(during) <= {before, (("True", "Served"), "2/2", None, "TenantFailed")}
    assert after == before


@pytest.mark.parametrize("isolation", ["Shared", "PerDomain"])
def test_where_dns_led_a_move_says_so_all_the_time(isolation: str) -> None:
    before, *during, after = moving(isolation, "Present")
    assert before == (("True", "Live"), "2/2", f"https://{A}", "Recovered")
    assert {each[:3] for each in during} == {before[:3]}
    assert after == before


def test_at_most_three_new_tenants_at_a_time() -> None:
    domains = [f"d{n}.example.com" for n in range(10)]
    cloud = running(domains=tuple(domains))
    cloud.isolation = "PerDomain"
    for _ in range(60):
        before = len(cloud.managed)
        cloud.round()
        assert len(cloud.managed) - before <= 3
        assert cloud.served >= set(domains)
    assert homes(cloud) == home("PerDomain", domains)


def test_at_most_three_old_tenants_change_at_a_time() -> None:
    domains = [f"d{n}.example.com" for n in range(10)]
    cloud = running("PerDomain", tuple(domains))
    cloud.isolation = "Shared"
    for _ in range(60):
        for name in list(cloud.managed):
            cloud.reconcile(name)
        cloud.apply(cloud.ask())
        unparked = {name: each for name, each in cloud.managed.items() if len(each.domains) == 2}
        told = [each for each in unparked.values() if "Deploying" in str(each.status)]
        fresh = [each for each in unparked.values() if len(each.status["atProvider"]["domains"]) == 1]
        assert len({each.name for each in (*told, *fresh)}) <= 3
        assert cloud.served >= set(domains)
        cloud.deploy()
    cloud.settle()
    assert homes(cloud) == home("Shared", domains)


def parking_names(cloud: Cloud) -> set[str]:
    """Those that tenants have now."""
    return {each for tenant in cloud.tenants.values() for each in tenant.domains if "parking" in each}


def names_of_change(cloud: Cloud, isolation: str, rounds: int = 40) -> set[str]:
    """The parking names that anybody could see in CloudFront while the isolation changes."""
    cloud.isolation = isolation
    shown: set[str] = set()
    for _ in range(rounds):
        cloud.round()
        shown |= parking_names(cloud)
    assert shown
    return shown


def test_each_change_has_parking_names_of_its_own() -> None:
    """Who saw those of the last one, and has them by now, would stop the next."""
    cloud = running()
    changes = [names_of_change(cloud, isolation) for isolation in ("PerDomain", "Shared", "PerDomain")]
    assert len(set().union(*changes)) == sum(map(len, changes))
    assert homes(cloud) == home("PerDomain", [A, B, C])


def test_a_change_that_is_taken_back_and_begun_again_has_other_parking_names() -> None:
    cloud = running()
    first = names_of_change(cloud, "PerDomain", 2)
    cloud.isolation = "Shared"
    cloud.settle()
    assert homes(cloud) == home("Shared", [A, B, C])
    assert first.isdisjoint(names_of_change(cloud, "PerDomain"))
    assert homes(cloud) == home("PerDomain", [A, B, C])


def asked(cloud: Cloud, domain: str, isolation: str = "PerDomain") -> list[str]:
    """What the function wants a domain's tenant to have."""
    name = "tenant" if isolation == "Shared" else f"tenant-{digest(domain)}"
    return list(building.desired(cloud.ask())[name]["spec"]["forProvider"]["domains"])


def test_no_tenant_gives_its_last_domain_before_it_has_another_name() -> None:
    cloud = running("PerDomain", (A,))
    cloud.isolation = "Shared"
    cloud.apply(cloud.ask())
    for _ in range(2):
        cloud.reconcile("tenant")
        cloud.deploy()
    assert A not in asked(cloud, A, "Shared")
    cloud.reconcile(f"tenant-{digest(A)}")
    assert asked(cloud, A, "Shared") == [A]


def test_no_domain_moves_to_a_tenant_that_is_not_rolled_out() -> None:
    cloud = running()
    cloud.isolation = "PerDomain"
    cloud.apply(cloud.ask())
    for _ in range(2):
        for name in list(cloud.managed):
            cloud.reconcile(name)
        assert A not in asked(cloud, A)
    cloud.deploy()
    cloud.reconcile(f"tenant-{digest(A)}")
    assert asked(cloud, A) == [A]


def half_way(*, moved: bool) -> Cloud:
    """New tenants were told to take their domains, and one has done so or not; then the claim is turned back,
    when the old tenant's status says that it has them all."""
    cloud = running(domains=(A, B))
    cloud.isolation = "PerDomain"
    for _ in range(2):
        cloud.apply(cloud.ask())
        for name in list(cloud.managed):
            cloud.reconcile(name)
        cloud.deploy()
    for name in list(cloud.managed):
        cloud.reconcile(name)
    cloud.apply(cloud.ask())
    assert cloud.managed[f"tenant-{digest(A)}"].domains == {A}
    if moved:
        cloud.reconcile(f"tenant-{digest(A)}")
    cloud.isolation = "Shared"
    return cloud


def test_turned_back_a_tenant_keeps_what_it_got_though_the_other_still_claims_to_have_it() -> None:
    cloud = half_way(moved=True)
    cloud.apply(cloud.ask())
    cloud.reconcile(f"tenant-{digest(A)}")
    assert cloud.served == {A, B} | {each for each in cloud.served if "parking" in each}
    cloud.apply(cloud.ask())
    cloud.reconcile(f"tenant-{digest(A)}")
    assert cloud.served >= {A, B}
    cloud.settle()
    assert homes(cloud) == home("Shared", [A, B])


def test_turned_back_a_tenant_whose_move_may_be_on_its_way_keeps_the_domain_until_it_tells() -> None:
    cloud = half_way(moved=False)
    cloud.apply(cloud.ask())
    cloud.reconcile("tenant")
    cloud.deploy()
    assert A in asked(cloud, A)
    cloud.settle()
    assert homes(cloud) == home("Shared", [A, B])


def test_turned_back_with_orphan_a_claim_names_its_own_tenant() -> None:
    """Until the author acts, both tenants list the domain: a status may be older than its move."""
    cloud = half_way(moved=True)
    cloud.on_delete, cloud.plan["allow"] = "Orphan", {"onDelete": ["Delete", "Orphan"]}
    for _ in range(8):
        rsp = cloud.round()
        assert cloud.served >= {A, B}
    specs = [name for name, each in cloud.managed.items() if A in each.domains]
    assert specs == ["tenant", f"tenant-{digest(A)}"]
    told = building.conditions(rsp)
    assert told["Degraded"] == (
        "True",
        "TenantFailed",
        (
            f"{A}, {B}: DistributionTenant acme-tenant-{digest(A)}, another tenant of this claim, still "
            f"serves {A}. The domains stay there until the change of spec.isolation continues; Blocked says "
            "what to do."
        ),
    )
    assert told["Blocked"][:2] == ("True", "AwaitingApproval")
    assert "set spec.onDelete to Delete, because orphaned tenants keep the domains" in told["Blocked"][2]
    assert building.live(rsp)[:2] == ("True", "Live")
    cloud.on_delete = "Delete"
    cloud.settle()
    assert homes(cloud) == home("Shared", [A, B])


def test_a_domain_of_another_party_is_told_beside_that_of_the_claims_own_tenant() -> None:
    def seen(*domains: str) -> ObservedTenant:
        asks = {"forProvider": {"domains": [A, B, C]}}
        changes = {"spec": asks, "status": building.live_status(*domains)}
        return observed.read(structs.of(building.merged(building.TENANT, changes)))

    wanted = WantedTenant("tenant", (A, B, C), True, "E1", False)
    found = live.Finding(TenantReadyReason.DOMAIN_CONFLICT, "the provider's words")
    told = other_tenants.with_own_tenants(found, (wanted, seen(C)), [seen(A, B)], waits=True)
    assert "the provider's words" not in told.message
    mixed = other_tenants.with_own_tenants(found, (wanted, seen(C)), [seen(A)], waits=True)
    assert f"another tenant of this claim, still serves {A}." in mixed.message
    assert mixed.message.endswith("the provider's words")
    assert other_tenants.with_own_tenants(found, (wanted, seen(C)), [seen(C)], waits=True) == found


def test_while_domains_move_a_conflict_names_the_claims_own_tenant() -> None:
    cloud = half_way(moved=True)
    said = [building.conditions(cloud.round())["Degraded"] for _ in range(12)]
    told = [message for status, _, message in said if status == "True"]
    assert all("another tenant of this claim, still serves" in each for each in told)
    assert "No action is needed unless this lasts" in told[-1]
    assert said[-1][0] == "False"
    assert homes(cloud) == home("Shared", [A, B])


def test_a_plan_that_loses_its_parking_domain_meanwhile_takes_nothing_down() -> None:
    cloud = half_way(moved=True)
    cloud.isolation, cloud.plan = "PerDomain", {}
    for _ in range(6):
        rsp = cloud.round()
        assert cloud.served >= {A, B}
    assert building.conditions(rsp)["Blocked"][:2] == ("True", "AwaitingApproval")


def test_what_is_refused_waits_for_the_claim_which_is_told_what_goes_dark() -> None:
    cloud = running(gives=False)
    cloud.isolation = "PerDomain"
    for _ in range(8):
        rsp = cloud.round()
    assert building.live(rsp)[:2] == ("True", "Live")
    status, reason, message = building.conditions(rsp)["Blocked"]
    assert (status, reason) == ("True", "AwaitingApproval")
    assert building.live(rsp)[2].startswith("Every domain is served.")
    assert "The change of spec.isolation waits." in building.live(rsp)[2]
    assert building.live(rsp)[2].endswith("Blocked says what waits.")
    assert "not served for seconds to minutes, from their removal" in message
    assert "a.example.com, b.example.com, c.example.com" in message
    assert "AWS refuses (DomainConflict). It resumes once that is fixed" in message
    assert building.conditions(cloud.round())["Blocked"][2] == message, "each try has the same words"
    assert cloud.served >= {A, B, C}
    cloud.confirmed = RELEASED
    cloud.settle()
    assert homes(cloud) == home("PerDomain", [A, B, C])


LONG = tuple(f"d{n}-{'x' * 50}.{'y' * 60}.example.com" for n in range(100))


@pytest.mark.parametrize("parking", [{}, {"parkingDomain": "*.parking.example.com"}])
@pytest.mark.parametrize("allow", [{}, {"domains": ["**.example.org"]}])
def test_what_to_do_is_told_however_many_and_long_the_domains_are(
    parking: dict[str, Any], allow: dict[str, Any]
) -> None:
    cloud = running(domains=LONG, gives=False, refusal="refused " * 2000)
    cloud.isolation, cloud.plan = "PerDomain", {**parking, "allow": {"maxDomains": 100, **allow}}
    for _ in range(8):
        rsp = cloud.round()
    message = building.conditions(rsp)["Blocked"][2]
    assert f"{LONG[0]}, {LONG[1]}, " in message
    ends = "or remove that from spec.domains." if allow else "Otherwise, revert the change."
    assert message.endswith(ends)
    token = RELEASED if parking else REPLACED
    assert (f"edgetenants.io/confirm: {token}" in message) != bool(allow)


def test_a_tenant_of_many_domains_hides_no_cause_while_they_move() -> None:
    cloud = running(domains=LONG)
    cloud.isolation = "PerDomain"
    cloud.round()
    old = cloud.managed["tenant"]
    old.status = {
        "conditions": [building.condition("Ready", "False", "AccessDenied", "the cause", old.generation)]
    }
    old.status["atProvider"] = {"id": "dt_1", "enabled": True}
    _, reason, message = building.live(cloud.ask())
    assert reason == "AccessDenied"
    assert message.startswith(f"{LONG[0]}, {LONG[1]}, ")
    assert "the cause" in message


def test_a_gap_is_short_as_the_new_tenant_is_rolled_out_before_the_old_one_lets_go() -> None:
    cloud = running(gives=False, confirmed=RELEASED)
    cloud.isolation = "PerDomain"
    cloud.apply(cloud.ask())
    for _ in range(2):
        for name in list(cloud.managed):
            cloud.reconcile(name)
        assert set(asked(cloud, A, "Shared")) > {A, B, C}
    cloud.deploy()
    for _ in range(30):
        cloud.round()
        dark = {A, B, C} - cloud.served
        if dark:
            assert all(f"tenant-{digest(each)}" in cloud.managed for each in dark)
            cloud.round()
            assert not dark - cloud.served
    assert homes(cloud) == home("PerDomain", [A, B, C])


def test_at_most_three_new_tenants_wait_where_moves_are_refused() -> None:
    domains = tuple(f"d{n}.example.com" for n in range(10))
    cloud = running(domains=domains, gives=False)
    cloud.isolation = "PerDomain"
    for _ in range(20):
        cloud.round()
    assert len(cloud.managed) <= 4
    assert cloud.served >= set(domains)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"plan": {}}, "plans.standard.parkingDomain is not set"),
        (
            {"plan": {"parkingDomain": "*.p.example.com", "certificate": {"mode": "Managed"}}},
            "managed certificate",
        ),
    ],
)
def test_where_no_domain_can_move_the_claim_is_told_what_goes_dark_and_why(
    changes: dict[str, Any], why: str
) -> None:
    cloud = running()
    cloud.isolation, cloud.plan = "PerDomain", changes["plan"]
    message = building.conditions(cloud.round())["Blocked"][2]
    assert why in message
    assert "not served for some minutes: a.example.com, b.example.com, c.example.com" in message
    assert "The gap lasts until CloudFront has disabled the old tenants and rolled out the new" in message
    assert cloud.served == {A, B, C}


@pytest.mark.parametrize(
    ("plan", "covers", "token"),
    [
        ({}, True, REPLACED),
        ({"parkingDomain": "*.parking.example.com", "certificate": {"mode": "Managed"}}, True, ISSUED),
        ({"parkingDomain": "*.parking.example.com"}, False, REPLACED),
    ],
)
def test_who_confirmed_a_gap_of_seconds_is_asked_again_before_one_of_minutes(
    plan: dict[str, Any], covers: bool, token: str
) -> None:
    cloud = running(gives=False, covers=covers, confirmed=RELEASED)
    cloud.isolation, cloud.plan = "PerDomain", plan
    for _ in range(8):
        rsp = cloud.round()
        assert cloud.served >= {A, B, C}
    status, _, message = building.conditions(rsp)["Blocked"]
    assert status == "True"
    assert "not served for some minutes" in message
    assert ("their managed certificates are issued" in message) == (token == ISSUED)
    assert f"edgetenants.io/confirm: {token} " in message
    cloud.confirmed = f"{RELEASED},{token}"
    cloud.settle()
    assert homes(cloud) == home("PerDomain", [A, B, C])


def test_a_gap_of_seconds_that_has_begun_does_not_become_one_of_minutes() -> None:
    cloud = running(gives=False, confirmed=RELEASED)
    cloud.isolation = "PerDomain"
    while cloud.served >= {A, B, C}:
        cloud.round()
    cloud.plan = {}
    cloud.round()
    for _ in range(8):
        rsp = cloud.round()
        assert cloud.served >= {A, B, C}
    assert building.conditions(rsp)["Blocked"][0] == "True"
    cloud.plan = {"parkingDomain": "*.parking.example.com"}
    cloud.settle()
    assert homes(cloud) == home("PerDomain", [A, B, C])


def test_a_confirmed_replacement_confirms_no_other_gap() -> None:
    cloud = running(gives=False, confirmed=f"{REPLACED},{ISSUED}")
    cloud.isolation = "PerDomain"
    for _ in range(8):
        rsp = cloud.round()
        assert cloud.served >= {A, B, C}
    assert f"edgetenants.io/confirm: {RELEASED} " in building.conditions(rsp)["Blocked"][2]
    cloud.plan = {"certificate": {"mode": "Managed"}}
    cloud.confirmed = REPLACED
    message = building.conditions(cloud.round())["Blocked"][2]
    assert cloud.served >= {A, B, C}
    assert f"edgetenants.io/confirm: {ISSUED} " in message


def test_a_replacement_says_that_the_deletions_of_protected_tenants_wait() -> None:
    told = []
    for plan in ({"deletionProtection": True}, {}):
        cloud = running()
        cloud.isolation, cloud.plan = "PerDomain", plan
        told.append(
            "plans.standard.deletionProtection is on" in building.conditions(cloud.round())["Blocked"][2]
        )
    assert told == [True, False]


@pytest.mark.parametrize("parking", [{}, {"parkingDomain": "*.parking.example.com"}])
def test_no_gap_for_a_domain_that_the_plan_would_not_allow_anew(parking: dict[str, Any]) -> None:
    cloud = running(gives=False)
    cloud.isolation, cloud.confirmed = "PerDomain", TOKENS
    cloud.plan = {**parking, "allow": {"domains": [A, B]}}
    for _ in range(8):
        rsp = cloud.round()
        assert cloud.served >= {A, B, C}
    status, _, message = building.conditions(rsp)["Blocked"]
    assert status == "True"
    assert "have plan standard allow c.example.com" in message
    cloud.plan = parking
    cloud.settle()
    assert homes(cloud) == home("PerDomain", [A, B, C])


@pytest.mark.parametrize("isolation", ["Shared", "PerDomain"])
def test_a_claim_shows_each_record_once_and_none_of_parking_names(isolation: str) -> None:
    cloud = running(isolation)
    cloud.isolation = OTHER[isolation]
    for _ in range(12):
        rsp = cloud.round()
        rows = building.status(rsp).get("domains", [])
        assert sorted(each["domain"] for each in rows) == [A, B, C]
        records = building.status(rsp).get("dnsInstructions", [])
        assert sorted(each["name"] for each in records) == [A, B, C]


# What happens, in whatever order; status may be old, and the function may have observed what is over.
steps = st.one_of(
    st.tuples(st.just("function"), st.integers(0, 9), st.integers(0, 2)),
    st.tuples(st.just("provider"), st.integers(0, 9), st.just(0)),
    st.tuples(st.just("deploy"), st.just(0), st.just(0)),
    st.tuples(st.just("turn"), st.just(0), st.just(0)),
    st.tuples(st.sampled_from(["domains", "plan"]), st.integers(0, 7), st.just(0)),
)
kept = st.tuples(st.just("onDelete"), st.just(0), st.just(0))
ALL = [B, C, "d.example.com"]
PLANS: list[dict[str, Any]] = [
    {},
    {"parkingDomain": "*.parking.example.com"},
    {"parkingDomain": "*.b.parking.example.com"},
]


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
    elif what == "onDelete":
        cloud.on_delete = "Orphan" if cloud.on_delete == "Delete" else "Delete"
    elif what == "plan":
        cloud.plan = dict(PLANS[which % len(PLANS)])


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


@settings(deadline=None, max_examples=int(os.environ.get("EDGETENANTS_EXAMPLES", "100")))
@given(st.sampled_from(["Shared", "PerDomain"]), st.lists(st.one_of(steps, kept), max_size=25), st.booleans())
def test_no_tenant_with_a_parking_name_alone_is_left_whatever_happens_when(
    isolation: str, happens: list[tuple[str, int, int]], gives: bool
) -> None:
    """Whatever onDelete says: such a tenant never served the claim, and no resource would show it."""
    cloud = running(isolation, (A, B), gives=gives)
    cloud.plan["allow"] = {"onDelete": ["Delete", "Orphan"]}
    for step in happens:
        _one(cloud, step)
        cloud.plan = {**cloud.plan, "allow": {"onDelete": ["Delete", "Orphan"]}}
        assert not cloud.leaked, step
        assert cloud.served >= {A}, step
    for _ in range(12):
        cloud.round()
        assert not cloud.leaked
        assert cloud.served >= {A}


def test_a_parked_tenant_goes_although_the_plan_has_no_parking_domain_any_more() -> None:
    cloud = running("Shared", (A, B))
    cloud.isolation = "PerDomain"
    for _ in range(2):
        cloud.apply(cloud.ask())
        for name in list(cloud.managed):
            cloud.reconcile(name)
    assert len(cloud.tenants) == 3, "the new ones are parked"
    cloud.isolation, cloud.on_delete = "Shared", "Orphan"
    cloud.plan = {"allow": {"onDelete": ["Delete", "Orphan"]}}
    for _ in range(3):
        cloud.round()
    assert homes(cloud) == home("Shared", [A, B])
    assert len(cloud.tenants) == 1

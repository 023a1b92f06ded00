"""Fifty claims at once, the quiet after, and a change of their plan."""

import json
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.conftest import Departing, core_with, events_per_second
from tests.integration.test_bad_claims import added_plans, set_plans
from tests.integration.watching import Object, Watch, condition, is_true

COUNT = 50
MOST_WRITES = 8
QUIET_SECONDS = 60
PROVIDER = "system:serviceaccount:crossplane-system:provider-edgetenants"
WRITES = {"create", "update", "patch", "delete", "deletecollection"}


@pytest.fixture(scope="module", autouse=True)
def core(world: World) -> Iterator[None]:
    """With the default limit, as users have it."""
    with core_with(world, events_per_second(1)):
        yield


@pytest.mark.timeout(600)  # a quiet machine with two slow cores takes 140 s
def test_fifty_claims_become_ready_with_few_writes_are_quiet_and_follow_their_plan(
    claims: Claims, world: World, departing: Departing
) -> None:
    departing.wait()  # what the provider writes for others would be counted
    plans: Object = {"crowd": {"distributionId": "E1EDGETENANTS", "parameters": {"tier": "one"}}}
    with added_plans(world, plans):
        live_and_quiet(claims, world)
        restart_with_a_list(world)

        world.emulator.set_rate(30)
        plans["crowd"]["parameters"]["tier"] = "two"
        with Watch(world, "tenantclaims") as watched_claims:
            set_plans(world, plans)
            claims.wait(
                "the plan's change to reach every tenant", lambda: all_have(world, claims, "two"), 120
            )
            claims.wait("fifty claims to be Ready", lambda: all_ready(claims), 60)
        assert silenced(watched_claims) == [], "Crossplane's circuit breaker opened"
        assert not_live(watched_claims) == [], "a change of the plan took a claim down"
        with Watch(world, "tenantclaims") as watched_deletions:
            claims.delete_all()
        assert silenced(watched_deletions) == [], "Crossplane's circuit breaker opened"


def live_and_quiet(claims: Claims, world: World) -> None:
    names = [f"crowd-{n:02d}" for n in range(COUNT)]
    with (
        Watch(world, "tenantclaims") as watched_claims,
        Watch(world, "distributiontenants") as watched_managed,
    ):
        claims.apply(*(claims.claim(name, plan="crowd") for name in names))
        claims.wait("fifty claims to be Ready", lambda: all_ready(claims), seconds=150)
        time.sleep(1)  # what is still under way would be counted, and should be

    assert most_writes_until_ready(watched_managed, claims.namespace) <= MOST_WRITES
    assert silenced(watched_claims) == [], "Crossplane's circuit breaker opened"
    assert (
        len([t for t in world.emulator.state()["tenants"] if t["Name"].startswith(claims.namespace)]) == COUNT
    )

    world.emulator.set_rate(1)
    time.sleep(3)  # polls that were due at the fast rate are over
    calls_before, audit_before = world.emulator.calls()["total"], audit_length(world)
    time.sleep(QUIET_SECONDS)
    calls = Counter(c["operation"] for c in world.emulator.calls(since=calls_before)["calls"])
    # Their connection group is looked at once a minute for all of them.
    assert calls.pop("GetConnectionGroup", 0) <= QUIET_SECONDS / 60 + 1
    # Their distribution and its certificate are looked at once an hour for all of them. An hour that began at
    # the fast rate may end here.
    assert calls.pop("GetDistribution", 0) <= 1
    assert calls.pop("DescribeCertificate", 0) <= 1
    # The DNS of each is looked at every ten minutes.
    assert calls.pop("VerifyDnsConfiguration", 0) <= COUNT
    # The owner tag of each is read once a day of the fast clock, and a slow machine lets days go by.
    assert calls.pop("ListTagsForResource", 0) <= COUNT / 10
    # One list a minute is enough for all of them.
    lists = {name: calls.pop(name, 0) for name in ("ListDistributionTenants", "ListConnectionGroups")}
    assert all(1 <= number <= QUIET_SECONDS / 60 + 1 for number in lists.values()), lists
    assert set(calls) <= {"GetDistributionTenant"}, f"more than the sweep: {calls}"
    # Each is read once a day of the fast clock, too.
    assert calls["GetDistributionTenant"] <= COUNT / 10
    assert provider_writes(world, audit_before) == []


def restart_with_a_list(world: World) -> None:
    """A new provider reads none of the tenants that a list shows as they were, and writes nothing."""
    calls_before, audit_before = world.emulator.calls()["total"], audit_length(world)
    world.processes.kill("provider")
    world.processes.start("provider")
    time.sleep(15)
    calls = Counter(c["operation"] for c in world.emulator.calls(since=calls_before)["calls"])
    assert calls["ListDistributionTenants"] == 1, calls
    assert calls["GetDistributionTenant"] <= COUNT / 10, calls
    assert provider_writes(world, audit_before) == []


def silenced(watched: Watch) -> list[str]:
    """The claims whose events Crossplane drops, with what it says about them."""
    found = [(o["metadata"]["name"], condition(o, "Responsive")) for _, o in watched.events]
    return sorted({f"{name}: {said.get('message')}" for name, said in found if said.get("status") == "False"})


def not_live(watched: Watch) -> list[str]:
    return [o["metadata"]["name"] for _, o in watched.events if not is_true(o, "Live")]


def all_have(world: World, claims: Claims, tier: str) -> bool:
    tenants = [t for t in world.emulator.state()["tenants"] if t["Name"].startswith(claims.namespace)]
    wanted = {"Name": "tier", "Value": tier}
    return len(tenants) == COUNT and all(wanted in t["Parameters"] for t in tenants)


def all_ready(claims: Claims) -> bool:
    items = claims.reader.items("tenantclaims", claims.namespace)
    return len(items) == COUNT and all(is_true(o, "Ready") for o in items)


def most_writes_until_ready(watch: Watch, namespace: str) -> int:
    """The most states that any one managed resource went through until it was Ready; each is one write that
    changed it."""
    states: dict[str, list[Object]] = {}
    for _, obj in watch.events:
        if obj["metadata"]["namespace"] == namespace:
            states.setdefault(obj["metadata"]["uid"], []).append(obj)
    assert len(states) == COUNT
    return max(
        1 + next(i for i, o in enumerate(history) if is_true(o, "Ready")) for history in states.values()
    )


def audit_length(world: World) -> int:
    return world.audit_log.stat().st_size


def provider_writes(world: World, since: int) -> list[str]:
    """Writes by the provider's ServiceAccount in the audit log from byte `since` on, the renewal of Leases
    left out."""
    with world.audit_log.open() as log:
        log.seek(since)
        entries = [json.loads(line) for line in log if line.strip()]
    written = [
        f"{e['verb']} {e['objectRef']['resource']} {e['objectRef'].get('name')}"
        for e in entries
        if e["user"]["username"] == PROVIDER
        and e["verb"] in WRITES
        and e["objectRef"]["resource"] != "leases"
    ]
    return written and [*written, *messages_of_events(world)]


def messages_of_events(world: World) -> list[str]:
    """What the last events of managed resources say, for whom reads why this test failed."""
    found = json.loads(world.kubectl("get", "events", "-A", "-o", "json"))["items"]
    told = [f"{e.get('lastTimestamp')} {e['reason']}: {e['message']}" for e in found]
    return sorted(told)[-COUNT:]

"""A claim changes its isolation on the real control plane, and what CloudFront serves is looked at all the
while."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.conftest import FAST, leaving
from tests.integration.test_bad_claims import added_plans
from tests.integration.watching import Object, condition

SLOW = 10
"""Faster than this, a second of real time that core needs would be a long gap."""
MINUTE = 60
"""Virtual seconds; CloudFront rolls a tenant out in 45, and two roll-outs are no part of a gap."""
PLANS: Object = {"parked": {"distributionId": "E1EDGETENANTS", "parkingDomain": "*.acme.com"}}


@dataclass
class Gaps:
    """For how long each domain is served by no one, in virtual seconds."""

    world: World
    domains: list[str]
    looks: int = 0
    dark: dict[str, float] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)
    _rolled_out: set[str] = field(default_factory=set)

    @contextmanager
    def measured(self) -> Iterator["Gaps"]:
        over = threading.Event()
        # The thread may get its first turn late on a busy machine, when something has changed already.
        self._look()
        looking = threading.Thread(target=self._look_until, args=(over,), daemon=True)
        looking.start()
        try:
            yield self
        finally:
            over.set()
            looking.join(timeout=10)

    def _look_until(self, over: threading.Event) -> None:
        while not over.wait(0.02):
            self._look()

    def _look(self) -> None:
        now = self.world.emulator.clock()["virtual"]
        tenants = self.world.emulator.state()["tenants"]
        self._rolled_out |= {each["Id"] for each in tenants if each["Status"] == "Deployed"}
        serving = [each for each in tenants if each["Enabled"] and each["Id"] in self._rolled_out]
        rows = [row for each in serving for row in each["Domains"]]
        active = {row["Domain"] for row in rows if row["Status"] == "active"}
        self.looks += 1
        for domain in self.domains:
            if domain not in active:
                since = self._since.setdefault(domain, now)
                self.dark[domain] = max(self.dark.get(domain, 0.0), now - since)
            else:
                self._since.pop(domain, None)


@contextmanager
def serving(claims: Claims, world: World, isolation: str, *, needs_disabled: bool) -> Iterator[Gaps]:
    """A claim that serves, looked at while it changes."""
    domains = [f"{letter}-{claims.namespace}.example.com" for letter in "ab"]
    world.emulator.change_settings({"domain_move_needs_disabled_source": needs_disabled})
    world.emulator.set_rate(SLOW)
    try:
        with added_plans(world, PLANS):
            claims.apply(claims.claim("moving", plan="parked", isolation=isolation, domains=domains))
            claims.wait_ready("moving", seconds=120)
            with Gaps(world, domains).measured() as gaps:
                yield gaps
            with leaving(world):
                claims.delete_all()
    finally:
        world.emulator.change_settings({"domain_move_needs_disabled_source": True})


def homes(claims: Claims, domains: list[str]) -> dict[str, str]:
    """The tenant of each domain in CloudFront."""
    tenants = claims.world.emulator.state()["tenants"]
    found = {row["Domain"]: each["Name"] for each in tenants for row in each["Domains"]}
    return {domain: found.get(domain, "") for domain in domains}


def settled(claims: Claims, domains: list[str], many: bool) -> bool:
    """Each domain is where the claim wants it, and nothing is left of the old tenants."""
    names = set(homes(claims, domains).values())
    tenants = claims.world.emulator.state()["tenants"]
    ours = [each["Name"] for each in tenants if each["Name"].startswith(f"{claims.namespace}.")]
    return (
        len(names) == (len(domains) if many else 1)
        and sorted(ours) == sorted(names)
        and len(claims.all_managed()) == len(ours)
        and claims.ready("moving") is not None
    )


@pytest.mark.parametrize("isolation", ["Shared", "PerDomain"])
def test_no_domain_is_dark_where_cloudfront_lets_an_enabled_tenant_give(
    claims: Claims, world: World, isolation: str
) -> None:
    other = "PerDomain" if isolation == "Shared" else "Shared"
    with serving(claims, world, isolation, needs_disabled=False) as gaps:
        claims.patch("moving", {"isolation": other})
        moved = lambda: settled(claims, gaps.domains, other == "PerDomain")  # noqa: E731
        claims.wait("the domains to move", moved, seconds=240)
    assert gaps.looks > 20
    assert gaps.dark == {}
    assert condition(claims.get("moving"), "Blocked").get("status") != "True"


def test_elsewhere_the_confirmation_names_what_goes_dark(claims: Claims, world: World) -> None:
    with serving(claims, world, "Shared", needs_disabled=True) as gaps:
        claims.patch("moving", {"isolation": "PerDomain"})
        blocked = lambda: (c := condition(claims.get("moving"), "Blocked"))["status"] == "True" and c  # noqa: E731
        message = claims.wait("the confirmation", blocked, seconds=120)["message"]
        assert all(domain in message for domain in gaps.domains)
        assert "not served" in message
        # As long as it takes a user to read it.
        since = world.emulator.clock()["virtual"]
        waited = lambda: world.emulator.clock()["virtual"] > since + 2 * MINUTE  # noqa: E731
        claims.wait("a while in which nothing happens", waited, seconds=120)
        assert gaps.dark == {}
        assert claims.ready("moving")

        token = message.partition("edgetenants.io/confirm: ")[2].partition(" ")[0]
        where = ("tenantclaim", "moving", "-n", claims.namespace)
        world.kubectl("annotate", *where, f"edgetenants.io/confirm={token}")
        claims.wait("the domains to move", lambda: settled(claims, gaps.domains, True), seconds=240)
    print(f"dark for virtual seconds: {gaps.dark}")
    assert max(gaps.dark.values(), default=0) < MINUTE


def test_a_domain_of_others_in_the_same_edit_makes_the_gap_no_longer(claims: Claims, world: World) -> None:
    """It is kept for another namespace, and refused; the others come back as soon as the old tenants are
    gone."""
    others, taken = Claims(world, f"{claims.namespace}-x"), f"taken-{claims.namespace}.example.com"
    domains = [f"{letter}-{claims.namespace}.example.com" for letter in "cd"]
    others.apply(others.claim("holder", domains=[taken]))
    others.wait_ready("holder")
    claims.apply(claims.claim("merging", isolation="PerDomain", domains=domains))
    claims.wait_ready("merging", seconds=120)
    world.emulator.set_rate(SLOW)
    with Gaps(world, domains).measured() as gaps:
        claims.patch("merging", {"isolation": "Shared", "domains": [*domains, taken]})
        blocked = lambda: (c := condition(claims.get("merging"), "Blocked"))["status"] == "True" and c  # noqa: E731
        message = claims.wait("the confirmation", blocked, seconds=120)["message"]
        token = message.partition("edgetenants.io/confirm: ")[2].partition(" ")[0]
        where = ("tenantclaim", "merging", "-n", claims.namespace)
        world.kubectl("annotate", *where, f"edgetenants.io/confirm={token}")
        one = lambda: len(set(homes(claims, domains).values()) - {""}) == 1  # noqa: E731
        whole = lambda: one() and "" not in homes(claims, domains).values()  # noqa: E731
        claims.wait("the domains to come back", whole, seconds=240)
    world.emulator.set_rate(FAST)
    assert max(gaps.dark.values(), default=0) < 4 * MINUTE
    assert homes(claims, [taken])[taken].startswith(others.namespace)
    claims.wait(
        "the conflict", lambda: condition(claims.get("merging"), "Live").get("reason") == "DomainConflict"
    )
    with leaving(world):
        claims.delete_all()
        others.delete_all()


def test_a_domain_that_goes_to_another_claim_of_the_team_is_there_at_once(
    claims: Claims, world: World
) -> None:
    """Though the claim that gets it is refused another domain, and retried ever less often."""
    others, taken = Claims(world, f"{claims.namespace}-x"), f"taken-{claims.namespace}.example.com"
    stays, goes, own = (f"{name}-{claims.namespace}.example.com" for name in ("stays", "goes", "own"))
    others.apply(others.claim("holder", domains=[taken]))
    others.wait_ready("holder")
    claims.apply(claims.claim("from", domains=[stays, goes]))
    claims.apply(claims.claim("to", domains=[own]))
    claims.wait_ready("from")
    claims.wait_ready("to")
    claims.patch("to", {"domains": [own, goes, taken]})
    refused = lambda: condition(claims.get("to"), "Live").get("reason") == "DomainConflict"  # noqa: E731
    claims.wait("the conflict", refused)
    for _ in range(3):
        # The pauses between retries double, up to ten minutes.
        world.emulator.step(600)
        time.sleep(1)
    world.emulator.set_rate(SLOW)
    receiver = homes(claims, [own])[own]
    with Gaps(world, [goes]).measured() as gaps:
        claims.patch("from", {"domains": [stays]})
        claims.wait("the domain to move", lambda: homes(claims, [goes])[goes] == receiver, seconds=240)
    world.emulator.set_rate(FAST)
    print(f"dark for virtual seconds: {gaps.dark}")
    assert max(gaps.dark.values(), default=0) < MINUTE
    with leaving(world):
        claims.delete_all()
        others.delete_all()

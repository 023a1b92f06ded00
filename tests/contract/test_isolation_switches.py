"""A claim changes its isolation: the function's answers, the provider's calls, and what CloudFront serves
at each moment in between."""

from __future__ import annotations

from typing import Any

import pytest

from function.composed.naming import digest
from tests.contract.emulated import DISTRIBUTION
from tests.unit.function import building
from tests.unit.provider.world import World, managed

pytestmark = pytest.mark.usefixtures("without_sockets")
DOMAINS = ["a.example.com", "b.example.com", "c.example.com", "d.example.com"]
PARKING = {"parkingDomain": "*.acme.com"}
TICK = 15
"""Virtual seconds between two looks; CloudFront rolls a tenant out in 45."""
OTHER = {"Shared": "PerDomain", "PerDomain": "Shared"}


class Shop:
    """One claim, its composed tenants, and a look at every domain after each call of theirs."""

    def __init__(self, aws: Any, isolation: str, plan: dict[str, Any]) -> None:
        self.aws, self.isolation = aws, isolation
        self.plan = {"distributionId": DISTRIBUTION, "allow": {"maxPerDomain": 10}, **plan}
        self.worlds: dict[str, World] = {}
        self.confirmed = ""
        self.rolled_out: set[str] = set()
        self.dark = dict.fromkeys(DOMAINS, 0)
        """Seconds for which nothing answered for a domain."""
        self.said: list[dict[str, tuple[str, str, str]]] = []
        """The claim's conditions, one answer of the function after the other."""

    def compose(self) -> None:
        """One call of the function, and what core makes of it."""
        told = self.said[-1] if self.said else {}
        rsp = building.run(
            building.request(
                xr={
                    "metadata": {"annotations": {"edgetenants.io/confirm": self.confirmed}},
                    "status": {
                        "conditions": [building.condition(type_, *says) for type_, says in told.items()]
                    },
                },
                spec={"domains": DOMAINS, "isolation": self.isolation},
                input_={"plans": {"standard": self.plan}},
                observed={name: world.obj for name, world in self.worlds.items()},
            )
        )
        self.said.append(building.conditions(rsp))
        wanted = building.desired(rsp)
        for name, resource in wanted.items():
            self._apply(name, resource)
        for name in self.worlds.keys() - wanted.keys():
            self.worlds[name].delete()

    def _apply(self, name: str, resource: dict[str, Any]) -> None:
        if name not in self.worlds:
            world = World(
                managed({}, uid=name), self.aws, everyone=lambda: [w.mr for w in self.worlds.values()]
            )
            world.obj["metadata"]["name"] = name
            self.worlds[name] = world
        obj = self.worlds[name].obj
        if obj["spec"] != resource["spec"]:
            obj["metadata"]["generation"] += 1
        obj["spec"] = resource["spec"]
        obj["metadata"]["annotations"] = resource["metadata"]["annotations"]

    def reconcile(self, name: str) -> None:
        """One reconcile of the provider, and a look at what is served after it."""
        world = self.worlds[name]
        world.reconcile()
        self._tell(world)
        if world.gone:
            del self.worlds[name]

    def _tell(self, world: World) -> None:
        """What the runtime writes beside the client's conditions."""
        synced = ("False", "ReconcileError") if world.error else ("True", "ReconcileSuccess")
        told = [c for c in world.status.get("conditions", ()) if c["type"] != "Synced"]
        told.append(building.condition("Synced", *synced, str(world.error or "")))
        for condition in told:
            condition["observedGeneration"] = world.obj["metadata"]["generation"]
        world.obj.setdefault("status", {})["conditions"] = told

    def served(self) -> set[str]:
        """The domains for which CloudFront answers: an enabled tenant that was rolled out has them active."""
        tenants = self.aws.tenants
        self.rolled_out |= {each["Id"] for each in tenants if each["Status"] == "Deployed"}
        serving = [each for each in tenants if each["Enabled"] and each["Id"] in self.rolled_out]
        rows = [row for each in serving for row in each["Domains"]]
        return {row["Domain"] for row in rows if row["Status"] == "active"} & set(DOMAINS)

    def turn(self, ticks: int = 60) -> None:
        """Go on; whatever is dark at a look counts as dark since the look before."""
        served = self.served()
        for _ in range(ticks):
            self.compose()
            for name in sorted(self.worlds):
                self.reconcile(name)
                before, served = served, self.served()
                if self.isolation == self.goal:
                    assert before - served <= self.may_go_dark(), name
            self.aws.clock.advance(TICK)
            self.aws.admin("POST", "clock", {"step": TICK})
            served = self.served()
            for domain in set(DOMAINS) - served:
                self.dark[domain] += TICK

    goal = ""

    def may_go_dark(self) -> set[str]:
        """Those that the last confirmation named."""
        if not self.confirmed:
            return set()
        told = next(each["Blocked"][2] for each in reversed(self.said) if each["Blocked"][0] == "True")
        return {domain for domain in DOMAINS if domain in told}

    def start(self) -> None:
        self.turn(20)
        assert self.served() == set(DOMAINS)
        self.dark = dict.fromkeys(DOMAINS, 0)
        self.said.clear()
        self.isolation = self.goal = OTHER[self.isolation]

    def confirm(self) -> str:
        """Do what Blocked says; its message."""
        status, reason, message = self.said[-1]["Blocked"]
        assert (status, reason) == ("True", "AwaitingApproval")
        self.confirmed = message.partition("edgetenants.io/confirm: ")[2].partition(" ")[0]
        return message

    def homes(self) -> dict[str, str]:
        return {domain: self.aws.tenant_of_domain(domain).name for domain in DOMAINS}


def home(isolation: str) -> dict[str, str]:
    if isolation == "Shared":
        return dict.fromkeys(DOMAINS, "shop.acme")
    return {domain: f"shop.acme-{digest(domain)}" for domain in DOMAINS}


@pytest.mark.parametrize("isolation", ["Shared", "PerDomain"])
def test_no_domain_is_dark_for_a_moment(aws, isolation):
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
    shop = Shop(aws, isolation, PARKING)
    shop.start()
    shop.turn()
    assert shop.dark == dict.fromkeys(DOMAINS, 0)
    assert shop.homes() == home(shop.isolation)
    assert [each["Live"] for each in shop.said if each["Live"][0] != "True"] == []
    assert {each["Blocked"][0] for each in shop.said} == {"False"}
    assert len(aws.tenants) == len(shop.worlds) == len(set(shop.homes().values()))
    assert not any("parking" in name or "tenant" in name for each in aws.tenants for name in each["Domains"])


@pytest.mark.parametrize("isolation", ["Shared", "PerDomain"])
def test_where_cloudfront_refuses_the_domains_are_served_until_the_claim_confirms_the_gap(aws, isolation):
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": True})
    shop = Shop(aws, isolation, PARKING)
    shop.start()
    shop.turn(30)
    assert shop.dark == dict.fromkeys(DOMAINS, 0)
    assert shop.said[-1]["Live"][0] == "True"
    message = shop.confirm()
    assert "Blocked says what waits." in shop.said[-1]["Live"][2]
    assert "IllegalUpdate" in message
    assert all(domain in message for domain in DOMAINS)
    shop.turn()
    print(f"gap with a parking domain, {isolation}: {shop.dark}")
    assert shop.homes() == home(shop.isolation)
    assert shop.said[-1]["Live"][0] == "True"
    assert all(0 <= seconds <= 3 * TICK for seconds in shop.dark.values())


@pytest.mark.parametrize("isolation", ["Shared", "PerDomain"])
def test_a_confirmed_gap_does_not_grow_when_the_plan_loses_its_parking_domain(aws, isolation):
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": True})
    shop = Shop(aws, isolation, PARKING)
    shop.start()
    shop.turn(20)
    confirmed = shop.confirm()
    shop.plan.pop("parkingDomain")
    shop.turn(20)
    assert shop.dark == dict.fromkeys(DOMAINS, 0)
    asked = shop.confirm()
    assert "not served for some minutes" in asked
    assert shop.confirmed not in confirmed
    shop.turn()
    assert shop.homes() == home(shop.isolation)


@pytest.mark.parametrize("isolation", ["Shared", "PerDomain"])
def test_without_a_parking_domain_the_confirmation_says_what_goes_dark(aws, isolation):
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
    shop = Shop(aws, isolation, {})
    shop.start()
    shop.turn(3)
    assert shop.dark == dict.fromkeys(DOMAINS, 0)
    message = shop.confirm()
    assert "plans.standard.parkingDomain is not set" in message
    assert all(domain in message for domain in DOMAINS)
    shop.turn()
    print(f"gap without, {isolation}: {shop.dark}")
    assert shop.homes() == home(shop.isolation)
    assert all(0 < seconds <= 20 * TICK for seconds in shop.dark.values())


def test_a_parking_domain_that_no_certificate_covers_takes_nothing_down(aws):
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
    shop = Shop(aws, "Shared", {"parkingDomain": "*.parking.test"})
    shop.start()
    shop.turn(10)
    assert shop.dark == dict.fromkeys(DOMAINS, 0)
    assert "no certificate covers" in shop.confirm()
    shop.turn()
    assert shop.homes() == home("PerDomain")


@pytest.mark.parametrize("ticks", range(2, 12))
def test_a_change_that_is_taken_back_ends_as_it_began(aws, ticks):
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
    shop = Shop(aws, "Shared", PARKING)
    shop.start()
    shop.turn(ticks)
    shop.isolation = shop.goal = "Shared"
    shop.turn(25)
    assert shop.dark == dict.fromkeys(DOMAINS, 0)
    assert shop.homes() == home("Shared")
    assert list(shop.worlds) == ["tenant"]

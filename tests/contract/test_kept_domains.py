"""Kept domains over the wire: the gap between two tenants, in which a domain is no one's in AWS."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.testing import FakeObjects, Journal
from provider.records.config_maps import DomainRecords
from provider.records.rounds import Claims, Rounds
from provider.records.use import Looks
from tests.contract.emulated import DISTRIBUTION
from tests.unit.provider.world import World, managed

DOMAIN, OTHER = "gap.example.com", "rogue.example.com"


def records(api: FakeObjects) -> DomainRecords:
    made = DomainRecords(api, "crossplane-system", Looks(FakeClock(), 60))
    made.load()
    return made


@pytest.fixture
def api() -> FakeObjects:
    return FakeObjects(Journal())


def tenant(api, aws, namespace: str, *domains: str) -> World:
    """A resource, and the process that looks after it."""
    name = {"crossplane.io/external-name": f"{namespace}.gap"}
    obj = managed({"distributionId": DISTRIBUTION, "domains": [*domains]}, annotations=name, uid=namespace)
    obj["metadata"]["namespace"] = namespace
    return World(obj, aws, kept=records(api))


def holder(aws) -> str:
    found = [t["Name"] for t in aws.tenants if DOMAIN in {d["Domain"] for d in t["Domains"]}]
    return found[0] if found else ""


def test_the_gap_of_a_deletion_is_the_holders(api, aws):
    owner = tenant(api, aws, "shop", DOMAIN)
    owner.settle()
    wants = tenant(api, aws, "rogue", DOMAIN)
    wants.reconcile()
    assert "is served by another tenant" in wants.error.message
    owner.delete()
    while holder(aws):
        owner.reconcile()
        wants.reconcile()
        aws.deploy()
    wants.clock.advance(301)
    for _ in range(3):
        wants.reconcile()
        assert f"{DOMAIN} is kept for another namespace" in wants.error.message
    again = tenant(api, aws, "shop", DOMAIN)
    again.obj["metadata"]["uid"] = "another"
    again.settle()
    assert holder(aws) == "shop.gap"
    assert aws.journal.count("CreateDistributionTenant") == 2, "the squatter never got so far"


def test_so_is_the_one_after_a_deletion_in_the_console(api, aws):
    owner = tenant(api, aws, "shop", DOMAIN)
    owner.settle()
    wants = tenant(api, aws, "rogue", OTHER)
    wants.settle()
    wants.edit(domains=[OTHER, DOMAIN])
    aws.admin("DELETE", "distribution-tenants/shop.gap")
    wants.reconcile()
    assert f"{DOMAIN} is kept for another namespace" in wants.error.message
    owner.context["kept"] = records(api)
    owner.restart()
    owner.settle()
    assert holder(aws) == "shop.gap"


def test_in_a_steady_state_no_call_is_made_more(api, aws):
    owner = tenant(api, aws, "shop", DOMAIN)
    owner.settle()
    owner.context["kept"] = records(api)
    owner.restart()
    assert "ListTagsForResource" not in aws.journal
    writes = len(api._journal.entries)
    for _ in range(3):
        before = len(aws.journal)
        owner.reconcile()
        assert set(aws.journal[before:]) <= {"GetDistributionTenant", "GetConnectionGroup"}
    assert len(api._journal.entries) == writes


class Leading:
    """The rounds of the process that leads, with a wall clock that may be wrong."""

    def __init__(self, api) -> None:
        self.clock, self.now, self.worlds = FakeClock(), datetime(2026, 3, 4, 12, tzinfo=UTC), []
        self.looks = Looks(self.clock, 60)
        self.kept = DomainRecords(api, "crossplane-system", self.looks)
        self.rounds = Rounds(
            self.kept,
            self.looks,
            Claims(NoClaims()),
            keep=timedelta(hours=72),
            everyone=lambda: [world.mr for world in self.worlds],
            everything_read=lambda: True,
            now=lambda: self.now,
        )
        self.passes(0)

    def passes(self, seconds: float, wrong: timedelta = timedelta(0)) -> None:
        """Do a round some seconds later, whose wall clock is wrong by so much."""
        self.clock.advance(seconds)
        self.now += timedelta(seconds=seconds) + wrong
        self.rounds.round()
        self.now -= wrong


class NoClaims:
    """Claims may not be read."""

    def allowed(self, verb, kind):
        return False


@pytest.mark.parametrize("wrong", [timedelta(hours=-73), timedelta(hours=73)], ids=["behind", "ahead"])
def test_a_clock_that_is_wrong_for_one_round_gives_nobody_the_domain(api, aws, wrong):
    lead = Leading(api)
    owner = tenant(api, aws, "shop", DOMAIN)
    owner.context["kept"] = lead.kept
    lead.worlds = [owner]
    owner.settle()
    lead.passes(10)
    aws.admin("DELETE", "distribution-tenants/shop.gap")
    lead.looks.note(owner.mr, frozenset())
    lead.passes(10)
    lead.passes(10, wrong)
    lead.passes(10)
    wants = tenant(api, aws, "rogue", DOMAIN)
    wants.reconcile()
    assert f"{DOMAIN} is kept for another namespace" in wants.error.message
    assert holder(aws) == ""


def moved_by_hand(aws, to: str) -> None:
    """Someone moves the domain in the console."""
    aws.admin("PATCH", "settings", {"domain_move_needs_disabled_source": False})
    client = aws._cloudfront
    found = client.get_distribution_tenant(Identifier=to)
    target = {"DistributionTenantId": found["DistributionTenant"]["Id"]}
    client.update_domain_association(Domain=DOMAIN, TargetResource=target, IfMatch=found["ETag"])
    aws.deploy()


def test_a_domain_that_was_moved_to_the_wrong_tenant_by_hand_goes_back(api, aws):
    owner = tenant(api, aws, "shop", DOMAIN, "kept.example.com")
    owner.settle()
    wrong, wants = tenant(api, aws, "rogue", OTHER), tenant(api, aws, "evil", "evil.example.com")
    wrong.settle()
    wants.settle()
    wants.edit(domains=["evil.example.com", DOMAIN])
    moved_by_hand(aws, "rogue.gap")
    wrong.settle()
    assert holder(aws) == "", "it is drift of the wrong tenant"
    assert records(api).holder(DOMAIN) == "shop"
    wants.clock.advance(3600)
    wants.context["kept"] = records(api)
    wants.restart()
    wants.reconcile()
    assert f"{DOMAIN} is kept for another namespace" in wants.error.message
    owner.settle()
    assert holder(aws) == "shop.gap"

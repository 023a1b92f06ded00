"""How often the DNS of a tenant that is served is looked at: soon, and out of a small share of the pace."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS, DnsTurns
from tests.unit.provider.world import World

POLL = 60


class Served:
    """So many tenants with all their records, each polled once a minute, at its own second."""

    def __init__(self, tenants: int, rate: float = 5.0) -> None:
        self.clock = FakeClock()
        self.turns = DnsTurns(self.clock, lambda: rate)
        self.uids = [f"uid-{number}" for number in range(tenants)]
        self.looks: defaultdict[str, list[float]] = defaultdict(list)

    def go_on(self, seconds: int) -> Served:
        for _ in range(seconds):
            second = int(self.clock.now()) % POLL
            for uid in self.uids[second::POLL]:
                if self.is_due(uid):
                    self.looks[uid].append(self.clock.now())
            self.clock.advance(1)
        return self

    def is_due(self, uid: str) -> bool:
        return self.turns.is_due(uid, DEEP_CHECK_SECONDS, never=False)

    @property
    def per_second(self) -> float:
        return sum(map(len, self.looks.values())) / self.clock.now()

    def longest(self) -> float:
        """The longest that a lost record goes unnoticed, once the turns of the start are over."""
        pauses = [b - a for each in self.looks.values() for a, b in pairwise(each[2:])]
        return max(pauses)


@pytest.mark.parametrize("tenants", [1, 20, 200])
def test_few_tenants_are_looked_at_every_ten_minutes(tenants):
    served = Served(tenants).go_on(3 * 3600)
    assert len(served.looks) == tenants
    assert 600 <= served.longest() <= 600 + POLL


@pytest.mark.parametrize(("tenants", "rate"), [(1000, 5.0), (100, 0.5), (2000, 20.0)])
def test_many_tenants_share_a_tenth_of_the_pace(tenants, rate):
    served = Served(tenants, rate).go_on(3 * 3600)
    assert served.per_second <= rate / 10 * 1.01
    assert len(served.looks) == tenants, "each has its turn"
    assert served.longest() <= tenants / (rate / 10) + POLL


def test_a_restart_is_no_burst():
    served = Served(1000).go_on(600)
    assert served.per_second <= 0.51


def test_restarts_keep_no_tenant_from_its_turn():
    """Each process meets the tenants in the same order, and ends before all of them had a turn."""
    looked: set[str] = set()
    for _ in range(12):
        served = Served(1200).go_on(1200)
        assert served.per_second <= 0.51
        looked |= served.looks.keys()
    assert len(looked) > 1100


def test_what_nobody_ever_looked_at_is_looked_at_at_once():
    turns = DnsTurns(FakeClock(), lambda: 0.001)
    assert [turns.is_due(uid, DEEP_CHECK_SECONDS, never=True) for uid in "ab"] == [True, True]


class Waiting(Served):
    """Tenants whose domains are not served, and which are polled as often."""

    def is_due(self, uid: str) -> bool:
        return self.turns.is_due_every(uid, 300.0, never=False)


def test_a_few_that_wait_for_dns_are_looked_at_every_five_minutes():
    waiting = Waiting(20).go_on(3 * 3600)
    assert 300 <= waiting.longest() <= 300 + POLL


@pytest.mark.parametrize(("tenants", "rate"), [(1000, 5.0), (300, 1.0)])
def test_many_that_wait_for_dns_share_a_fifth_of_the_pace(tenants, rate):
    waiting = Waiting(tenants, rate).go_on(4 * 3600)
    assert waiting.per_second <= rate / 5 * 1.01
    assert len(waiting.looks) == tenants, "each has its turn"
    assert waiting.longest() <= max(300, tenants / (rate / 5)) + POLL


def test_one_that_waits_for_dns_anew_is_looked_at_five_minutes_later_again():
    clock = FakeClock()
    turns = DnsTurns(clock, lambda: 5.0)
    assert turns.is_due_every("a", 300.0, never=True)
    assert turns.is_due("a", DEEP_CHECK_SECONDS, never=True)
    clock.advance(10.0)
    assert turns.is_due_every("a", 300.0, never=True)


def test_other_checks_take_their_share_first():
    served = Served(1000)
    for _ in range(3 * 60):
        served.turns.spent(15)
        served.go_on(60)
    assert served.per_second <= 0.4


def test_a_user_who_asks_has_an_answer_at_once():
    world = World()
    world.settle()
    before = world.cloudfront.journal.count("VerifyDnsConfiguration")
    for request in ("1", "2"):
        world.obj["metadata"]["annotations"]["crossplane.io/reconcile-requested-at"] = request
        world.reconcile()
    assert world.cloudfront.journal.count("VerifyDnsConfiguration") == before + 2


def test_a_record_that_is_not_in_place_has_its_turn_within_its_time():
    clock = FakeClock()
    turns = DnsTurns(clock, lambda: 1e-3)
    for uid in "ab":
        assert turns.is_due(uid, 3600.0, never=True)
    clock.advance(3599)
    assert not turns.is_due("b", 3600.0, never=False)
    clock.advance(1)
    assert turns.is_due("b", 3600.0, never=False)


def test_those_that_are_gone_leave_their_turns_to_the_others():
    served = Served(1000).go_on(7200)
    for uid in served.uids[10:]:
        served.turns.forget(uid)
    served.uids = served.uids[:10]
    served.go_on(7200)
    assert all(b - a <= 600 + POLL for uid in served.uids for a, b in list(pairwise(served.looks[uid]))[-2:])


def test_what_is_gone_is_forgotten():
    served = Served(3).go_on(POLL)
    served.turns.forget("uid-1")
    assert "uid-1" not in served.turns._turns
    assert "uid-1" not in served.turns._not_yet


REFUSED = AwsError("VerifyDnsConfiguration", "AccessDenied", "not authorized to verify", status=403)


def unseen(world: World) -> str:
    """What DNSReady says beside its reason, which stays what it was."""
    status, reason, message = world.condition("DNSReady")
    assert (status, reason) == ("True", "DNSNotConfigured")
    return message


def refused_world() -> World:
    world = World()
    world.cloudfront.refuse["VerifyDnsConfiguration"] = REFUSED
    world.settle()
    return world


def test_a_look_that_is_not_permitted_is_told_on_the_resource_that_serves_all_the_same():
    world = refused_world()
    assert world.ready() == ("True", "Available")
    assert unseen(world) == (
        "The state of the records of status.dnsInstructions is unknown: VerifyDnsConfiguration: "
        "AccessDenied: not authorized to verify. Permit it in the IAM policy of these credentials "
        "(docs/iam.md). The provider checks again within an hour, or at once when you set the annotation "
        "crossplane.io/reconcile-requested-at to a new value."
    )


@pytest.mark.parametrize("restarts", [False, True])
def test_what_is_not_permitted_is_not_asked_at_each_poll(restarts):
    world, asked = refused_world(), 0
    for _ in range(60):
        if restarts:
            world.restart()
        world.clock.advance(POLL)
        asked += world.reconcile().count("VerifyDnsConfiguration")
        assert "not authorized to verify" in unseen(world)
    # A process that is restarted again and again comes to no turn.
    assert asked == 0 if restarts else 5 <= asked <= 7


def test_a_permission_that_is_given_takes_the_words_away():
    world = refused_world()
    del world.cloudfront.refuse["VerifyDnsConfiguration"]
    for _ in range(11):
        world.clock.advance(POLL)
        world.reconcile()
    assert unseen(world) == ""
    assert {each["state"] for each in world.status["dnsInstructions"]} == {"Missing"}


def test_a_failure_that_passes_is_left_to_the_log():
    world = World()
    world.cloudfront.refuse["VerifyDnsConfiguration"] = AwsError(
        "VerifyDnsConfiguration", "Throttling", "Rate exceeded", status=400
    )
    world.settle()
    assert unseen(world) == ""


def test_who_may_not_see_the_connection_group_reads_why_there_are_no_records():
    world = World()
    for call in ("ListConnectionGroups", "GetConnectionGroup"):
        world.cloudfront.refuse[call] = AwsError(call, "AccessDenied", "no", status=403)
    world.reconcile()
    assert unseen(world).startswith(
        "The routing endpoint is not known, so status.dnsInstructions has no records: "
    )
    world.settle()
    assert "GetConnectionGroup: AccessDenied: no. Permit it in the IAM policy" in unseen(world)
    world.cloudfront.refuse.clear()
    world.clock.advance(3600)
    world.reconcile()
    assert unseen(world) == ""
    assert world.status["dnsInstructions"]

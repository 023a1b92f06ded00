"""Many domains whose records a resource left behind, and services that fail meanwhile."""

from __future__ import annotations

import pytest

from provider.cloudfront.clients.tenant import TenantClient
from provider.cloudfront.dns import left
from provider.cloudfront.dns.access import NOT_ASKED
from provider.cloudfront.dns.left import Holder
from provider.cloudfront.dns.successors import Successors
from provider.dns import server_pace
from provider.dns.errors import DnsError, Failure
from provider.dns.ownership import mark
from provider.dns.records import RecordSet
from provider.dns.store import Written
from tests.unit.provider.cloudfront.dns.test_left_records import OWNER, Moved
from tests.unit.provider.cloudfront.dns.test_records_that_stay import A, B, Failing
from tests.unit.provider.dns.memory import MemoryStore

CONFIRM = "edgetenants.io/confirm"
MANY = [f"n{number:03}.example.com" for number in range(99)]


class Crowd(Moved):
    """A hundred domains of this resource have other tenants."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        """The domains for whose tenant AWS was asked."""
        for each in MANY:
            self.zone.records += [RecordSet(each, "CNAME", ("d1.cloudfront.net",), 300), mark(each, OWNER)]
        self.zone.marked = lambda owner: frozenset({*MANY, A, B})
        self.hold(*MANY, B)
        asks = self.cloudfront.tenant_of_domain

        def ask(domain: str) -> object:
            self.asked.append(domain)
            return asks(domain)

        self.cloudfront.tenant_of_domain = ask

    def hold(self, *domains: str) -> None:
        self.cloudfront.edit(self.other.id, domains=dict.fromkeys(domains, "active"))

    def follow(self, most: int) -> int:
        """Reconcile when the provider wants to, until the deletion is held; return how often."""
        for count in range(most):
            before = len(self.asked)
            self.reconcile()
            assert len(self.asked) - before <= 20
            self.cloudfront.deploy()
            if self.gone or self.ready() == ("False", "DeletionHeld"):
                return count
            self.clock.advance(getattr(self.error, "after", 1.0))
        raise AssertionError(self.error)


def test_each_of_many_has_its_turn():
    world = Crowd()
    for _ in range(6):
        # As if the provider were always late.
        world.clock.advance(601)
        world.reconcile()
    assert set(world.asked) == {*MANY, B}
    world.hold(*MANY[:-1], B)
    world.go_on(20)
    assert MANY[-1] not in world.led
    assert {*MANY[:-1], A, B} <= set(world.led)


def test_more_looks_come_soon_and_then_there_is_a_rest():
    world = Crowd()
    waits = []
    for _ in range(7):
        world.clock.advance(5)
        world.reconcile()
        waits.append(world.client.observe(world.mr).poll_after)
    assert waits[0] == 5
    assert len(world.asked) == 100
    assert waits[-1] is None or waits[-1] > 60


def test_a_deletion_with_many_is_held_and_can_be_confirmed():
    world = Crowd()
    world.delete()
    world.follow(40)
    assert world.ready() == ("False", "DeletionHeld")
    assert "The same holds for 95 more domains" in str(world.error)
    assert len(world.asked) <= 120
    for _ in range(10):
        before = len(world.asked)
        world.clock.advance(world.error.after)
        world.reconcile()
        assert len(world.asked) - before <= 20
        assert world.ready() == ("False", "DeletionHeld")
    world.obj["metadata"].setdefault("annotations", {})[CONFIRM] = str(world.error).rpartition(" to ")[2]
    world.reconcile()
    assert world.gone
    assert set(MANY) <= set(world.led)


def test_those_of_a_deletion_that_get_free_go():
    world = Crowd()
    world.delete()
    world.follow(40)
    world.hold(B)
    for _ in range(80):
        world.reconcile()
        world.clock.advance(getattr(world.error, "after", 1.0))
    assert world.led == [B]
    assert world.ready() == ("False", "DeletionHeld")


class Counting(Failing):
    """It fails, and counts how often it was asked."""

    def __init__(self) -> None:
        super().__init__("example.com")
        self.asked: list[str] = []

    def zone_of(self, domain):
        self.asked.append(domain)
        return super().zone_of(domain)


@pytest.mark.parametrize("failure", [Failure.LATER, Failure.UNCERTAIN])
@pytest.mark.parametrize("deleted", [False, True])
def test_a_service_that_does_not_answer_is_asked_once_in_a_reconcile(failure, deleted):
    world = Crowd()
    failing = Counting()
    failing.error = DnsError(failure, "no answer")
    failing.marked = world.zone.marked
    world.access = world.opened(failing)
    if deleted:
        world.cloudfront.tenants.pop(world.own)
        world.delete()
    for _ in range(4):
        failing.asked.clear()
        world.clock.advance(60)
        world.reconcile()
        own = 0 if deleted else failing.asked.count(A)
        assert len(failing.asked) - own <= 1
    assert len(failing.asked) - own == 1


def test_looks_take_some_seconds_of_a_reconcile(monkeypatch):
    class Slow:
        def elapsed(self) -> float:
            return 2.0

    monkeypatch.setattr(left, "Stopwatch", Slow)
    world = Crowd()
    world.clock.advance(60)
    world.reconcile()
    assert len(world.asked) == 3


def test_they_wait_for_turns_as_long_as_the_reconcile_does(monkeypatch):
    world = Crowd()
    found = []
    read = world.zone.read

    def reads(zone, names, *, fresh=False):
        found.append(server_pace._patience.get())
        return read(zone, names, fresh=fresh)

    monkeypatch.setattr(world.zone, "read", reads)
    world.clock.advance(60)
    world.reconcile()
    assert len(found) > 20
    assert len(set(map(id, found))) == 1
    assert found[0] is not None


def test_the_resources_are_looked_through_once_and_only_if_asked_for():
    walks = []

    def everyone():
        walks.append(1)
        return []

    others = Successors(Moved().mr, everyone)
    assert walks == []
    assert not any(others.takes_over(each) for each in MANY)
    assert all(others.with_tenant(each) is None for each in MANY)
    assert len(walks) == 1


@pytest.fixture
def world() -> Moved:
    world = Moved()
    world.go_on()
    return world


class EverySecond(MemoryStore):
    """It throttles every second look."""

    def __init__(self, there: MemoryStore) -> None:
        super().__init__("example.com")
        self.there, self.reads = there, 0

    def read(self, zone, names, *, fresh=False):
        if fresh and any(B in each for each in names):
            self.reads += 1
            if self.reads % 2:
                raise DnsError(Failure.LATER, "throttled")
        return self.there.read(zone, names, fresh=fresh)

    def write(self, zone, change):
        return self.there.write(zone, change)


def test_a_service_that_throttles_every_second_look_loses_the_records_of_a_free_domain(world):
    world.access = world.opened(EverySecond(world.zone))
    world.free()
    world.go_on(20)
    assert world.led == [A]


def test_a_failure_of_a_moment_changes_no_message(world, monkeypatch):
    monkeypatch.setattr(TenantClient, "_holder", lambda *_: Holder("DistributionTenant x", "t1"))
    world.go_on(11)
    before, told = world.condition("DNSReady")[2], world.memory.left_behind.of("shop", "t1")
    assert B in before
    assert len(told) == 1
    world.access = world.opened(Failing("example.com"))
    world.clock.advance(601)
    world.current = None
    left_records = world.client._left_of(world.mr)
    left_records.look([A])
    assert left_records.words()
    assert left_records.words() in before
    assert world.memory.left_behind.of("shop", "t1") == told


def test_a_domain_that_was_free_long_ago_gets_two_looks_again(world):
    world.free()
    world.clock.advance(601)
    world.reconcile()
    world.clock.advance(3600)
    world.reconcile()
    assert world.led == [A, B]
    world.go_on(3)
    assert world.led == [A]


def test_the_receiver_is_told_until_it_is_over(world, monkeypatch):
    behind = world.memory.left_behind
    for domain in ("back.example.com", B):
        behind.note(world.mr.uid, domain, "shop", "t1", domain)
    world.go_on(1)
    assert behind.of("shop", "t1") == (B,), "it is not looked at yet"
    world.go_on(11)
    assert behind.of("shop", "t1") == (), "the tenant is another namespace's now"


def test_the_receiver_is_told_nothing_once_the_giver_has_no_dns(world):
    world.memory.left_behind.note(world.mr.uid, B, "shop", "t1", B)
    world.access = NOT_ASKED
    del world.obj["spec"]["forProvider"]["dns"]
    world.go_on(1)
    assert world.memory.left_behind.of("shop", "t1") == ()


def test_a_refusal_that_lasts_keeps_no_record_of_a_free_domain(world):
    world.cloudfront.add(name="third", domains={"taken.example.com": "active"})
    world.edit(domains=[A, "taken.example.com"])
    world.go_on()
    assert world.ready() == ("False", "DomainConflict")
    world.free()
    world.go_on(14)
    assert world.led == [A]
    assert world.ready() == ("False", "DomainConflict")


def test_nor_does_one_of_a_creation(world):
    world.cloudfront.tenants.pop(world.own)
    world.cloudfront.add(name="third", domains={A: "active"})
    world.go_on()
    assert world.ready() == ("False", "DomainConflict")
    world.free()
    world.go_on(14)
    assert B not in world.led


def test_records_that_cannot_be_removed_stop_no_update(world):
    error = DnsError(Failure.NOT_PERMITTED, "AccessDenied")

    class Fixed(EverySecond):
        def read(self, zone, names, *, fresh=False):
            return self.there.read(zone, names, fresh=fresh)

        def write(self, zone, change):
            raise error

    world.free()
    world.clock.advance(601)
    world.reconcile()
    world.access = world.opened(Fixed(world.zone))
    world.clock.advance(61)
    world.edit(tags={"team": "b"})
    world.reconcile()
    assert world.led == [A, B]
    assert world.cloudfront.tenants[world.own].tags["team"] == "b"


class TestListed:
    """The deletion of a resource that still lists the domain."""

    @pytest.fixture
    def held(self, world) -> Moved:
        world.edit(domains=[A, B])
        world.go_on(2)
        world.delete()
        world.go_on()
        assert world.ready() == ("False", "DeletionHeld")
        return world

    def test_a_user_may_move_the_domain_on(self, held):
        held.free()
        held.go_on(1)
        assert B in held.led
        held.take()
        held.go_on(4)
        assert B in held.led
        assert not held.darkened
        held.free()
        held.go_on(1)
        assert B in held.led, "the look before counts no more"

    def test_the_owner_is_asked_once_more_before_the_removal(self, world, monkeypatch):
        world.edit(domains=[A, B])
        world.cloudfront.tenants.clear()
        world.new_process()
        world.delete()
        answers = [None]

        def holder(_client, _mr, domain: str) -> Holder | None:
            """Between the first question and the second one, a tenant gets the second domain."""
            if domain == A or answers:
                return None if domain == A else answers.pop()
            return Holder("another tenant")

        monkeypatch.setattr(TenantClient, "_holder", holder)
        world.go_on(3)
        assert (answers, B in world.led) == ([], True)

    def test_it_goes_after_two_looks(self, held):
        held.free()
        held.go_on(4)
        assert held.led == []
        assert held.gone


def test_a_deletion_waits_until_no_name_server_answers_with_the_records(world):
    world.cloudfront.tenants.clear()
    world.zone.is_served = lambda zone, written: world.served_now
    write = world.zone.write
    world.served_now = False

    def writes(zone, change):
        write(zone, change)
        return Written("ticket")

    world.zone.write = writes
    world.delete()
    world.go_on(6)
    assert world.led == []
    assert not world.gone
    assert "no name server answers with them" in str(world.error)
    world.served_now = True
    world.go_on(2)
    assert world.gone

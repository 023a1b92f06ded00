"""The records that a resource made of domains that it does not have any more, whatever happens to them."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from provider.cloudfront.dns.access import RecordsAccess
from provider.cloudfront.memory.record_tickets import LeftBehind, RecordTickets, Watch
from provider.dns.errors import DnsError, Failure
from provider.dns.ownership import Owner, mark
from provider.dns.records import RecordSet
from tests.unit.provider.cloudfront.dns.test_records_that_stay import NAME, A, B, Failing, Recorded
from tests.unit.provider.dns.memory import MemoryStore

OTHER = "other"
OWNER = Owner.of("i", "shop", "r")


class Moved(Recorded):
    """A tenant that had two domains; one of them is another tenant's now, which makes no records."""

    def __init__(self) -> None:
        super().__init__()
        self.settle(30)
        self.other = self.cloudfront.add(name=OTHER, domains={B: "active"})
        self.own = self.cloudfront.get_tenant("shop.acme").id
        self.cloudfront.edit(self.own, domains={A: "active"})
        self.edit(domains=[A])
        self.darkened = 0
        """How often the records of the domain were removed while the other tenant had it."""
        apply = self.zone.apply

        def applied(change):
            was_led = B in self.led
            apply(change)
            there = self.cloudfront.tenants.get(self.other.id)
            self.darkened += bool(was_led and there and B in there.domains and B not in self.led)

        self.zone.apply = applied

    def opened(self, store: MemoryStore) -> RecordsAccess:
        """The same tickets as long as the process lives."""
        return RecordsAccess(store=store, config=NAME, owner=OWNER, tickets=self.tickets)

    @property
    def tickets(self) -> RecordTickets:
        self._tickets = getattr(self, "_tickets", None) or RecordTickets()
        return self._tickets

    def new_process(self) -> None:
        self._tickets = RecordTickets()
        self.access = self.opened(self.zone)
        self.restart()

    def free(self) -> None:
        """The other tenant gives the domain up."""
        self.cloudfront.edit(self.other.id, domains={"own.example.org": "active"})

    def take(self) -> None:
        """The other tenant gets it (back)."""
        self.cloudfront.edit(self.other.id, domains={B: "active"})

    @property
    def remembers(self) -> bool:
        return B in [each["name"] for each in self.status.get("dnsInstructions") or ()]


@pytest.fixture
def world() -> Moved:
    world = Moved()
    world.go_on()
    return world


def test_they_stay_and_are_remembered_and_told(world):
    assert (world.led, world.remembers) == ([A, B], True)
    status, _, message = world.condition("DNSReady")
    assert status == "True"
    assert f"The DNS records of {B} in zone example.com belong to this resource" in message
    assert "another tenant has the domain" in message


def test_they_go_after_a_second_look_at_the_free_domain(world):
    world.free()
    world.clock.advance(601)
    world.reconcile()
    assert world.led == [A, B]
    world.clock.advance(59)
    world.reconcile()
    assert world.led == [A, B]
    world.clock.advance(2)
    world.reconcile()
    assert world.led == [A]
    world.go_on(2)
    assert not world.remembers
    assert "belong to this resource" not in world.condition("DNSReady")[2]


def test_a_domain_that_is_taken_between_the_two_looks_keeps_them(world):
    world.free()
    world.clock.advance(601)
    world.reconcile()
    world.take()
    world.go_on(20)
    assert world.led == [A, B]
    world.free()
    world.clock.advance(601)
    world.reconcile()
    assert world.led == [A, B], "the look before counts no more"


def test_a_domain_that_is_taken_at_the_last_moment_keeps_them(world, monkeypatch):
    world.free()
    world.clock.advance(601)
    world.reconcile()
    world.clock.advance(61)
    asked = world.cloudfront.tenant_of_domain
    answers = iter([None])
    monkeypatch.setattr(
        world.cloudfront,
        "tenant_of_domain",
        lambda domain: next(answers, None) or _taken(world, asked, domain),
    )
    world.reconcile()
    assert world.led == [A, B]


def _taken(world, asked, domain):
    """The first answer is that no tenant has it; then one has."""
    world.asked = getattr(world, "asked", 0) + 1
    if world.asked > 1:
        world.take()
    return asked(domain)


def test_what_the_status_forgot_the_mark_shows(world):
    """A status is no proof, and no one needs it where the zone shows the marks."""
    world.obj["status"]["dnsInstructions"] = []
    world.zone.marked = lambda owner: frozenset({A, B})
    world.go_on()
    world.free()
    world.go_on(14)
    assert world.led == [A]


def test_what_a_user_writes_to_the_status_removes_no_record_of_others(world):
    theirs = Owner.of("i", "evil", "r")
    world.zone.records += [
        RecordSet("theirs.example.com", "CNAME", ("d9.cloudfront.net",), 300),
        mark("theirs.example.com", theirs),
    ]
    forged = {"type": "CNAME", "name": "theirs.example.com", "value": "x", "purpose": "Routing"}
    world.obj["status"]["dnsInstructions"].append({**forged, "managedBy": "Provider"})
    world.go_on(20)
    assert "theirs.example.com" in world.led
    assert "theirs.example.com" not in str(world.status["dnsInstructions"])


def test_a_conflict_does_not_forget_them(world):
    world.edit(domains=[A, B])
    world.go_on()
    assert world.ready() == ("False", "DomainConflict")
    assert world.remembers
    world.new_process()
    world.edit(domains=[A])
    world.go_on()
    assert world.remembers
    world.free()
    world.go_on(14)
    assert world.led == [A]


def test_while_the_service_fails_they_are_remembered(world):
    world.access = world.opened(Failing("example.com"))
    world.go_on(14)
    assert world.remembers
    assert world.condition("Synced")[0] != "False"
    world.access = world.opened(world.zone)
    world.free()
    world.go_on(14)
    assert world.led == [A]


def test_a_config_that_cannot_be_used_forgets_nothing_and_keeps_the_resource(world):
    world.access = RecordsAccess(problem="cannot assume the role: no answer")
    world.go_on(3)
    assert world.remembers
    world.delete()
    world.go_on()
    assert not world.gone
    assert "remove spec.forProvider.dns" in str(world.error)


def test_a_zone_that_is_not_found_is_told_and_keeps_the_resource(world):
    world.clock.advance(700)
    world.access = world.opened(MemoryStore("other.test"))
    world.go_on()
    assert world.remembers
    assert f"made records of {B}" in world.condition("DNSReady")[2]
    for each in (world.own,):
        world.cloudfront.tenants.pop(each)
    world.delete()
    world.go_on()
    assert not world.gone


def test_a_tenant_that_vanished_does_not_make_the_status_forget(world):
    world.cloudfront.tenants.pop(world.own)
    world.obj["spec"]["managementPolicies"] = ["Observe"]
    world.go_on(2)
    assert world.remembers


def test_a_deletion_asks_for_some_domains_at_a_time():
    many = [f"n{number:02}.example.com" for number in range(45)]
    world = Moved()
    for each in many:
        world.zone.records += [RecordSet(each, "CNAME", ("d1.cloudfront.net",), 300), mark(each, OWNER)]
    world.zone.marked = lambda owner: frozenset({*many, A, B})
    world.cloudfront.edit(world.other.id, domains=dict.fromkeys([B, *many], "active"))
    world.delete()
    before = world.cloudfront.journal.count("GetDistributionTenantByDomain")
    for _ in range(30):
        last = world.cloudfront.journal.count("GetDistributionTenantByDomain")
        world.reconcile()
        assert world.cloudfront.journal.count("GetDistributionTenantByDomain") - last <= 20
        world.cloudfront.deploy()
        world.clock.advance(getattr(world.error, "after", 1.0))
        if world.ready() == ("False", "DeletionHeld"):
            break
    assert world.cloudfront.journal.count("GetDistributionTenantByDomain") - before >= 46
    assert "The same holds for 41 more domains" in str(world.error)


ACTIONS = (
    "free",
    "take",
    "new_process",
    "fails",
    "works",
    "delete_other",
    "delete",
    "list",
    "drop",
    "wait",
    "lose",
)


@settings(max_examples=60, deadline=None)
@example(["fails", "list", "drop", "free"])
@example(["fails", "list", "drop", "delete"])
@given(st.lists(st.sampled_from(ACTIONS), max_size=12))
def test_whatever_happens_no_live_domain_is_dark_and_no_record_is_forgotten(actions):
    world = Moved()
    for each in actions:
        _act(world, each)
        for _ in range(2):
            world.clock.advance(45)
            world.reconcile()
            world.cloudfront.deploy()
        assert not world.darkened, actions
    world.access = world.opened(world.zone)
    world.zone.loses_answers = False
    world.go_on(30)
    live = any(B in each.domains for each in world.cloudfront.tenants.values())
    if B in world.led and not live:
        raise AssertionError(f"a record leads to no tenant: {actions}")
    if B in world.led and world.own not in world.cloudfront.tenants:
        assert not world.gone, "the record is another tenant's, and no resource knows of it"


def _act(world: Moved, action: str) -> None:
    if action in ("free", "take", "new_process"):
        there = world.other.id in world.cloudfront.tenants
        taken = any(B in each.domains for each in world.cloudfront.tenants.values())
        if action == "new_process" or (there and (action == "free" or not taken)):
            getattr(world, action)()
    elif action in ("fails", "works"):
        world.access = world.opened(Failing("example.com") if action == "fails" else world.zone)
    elif action == "lose":
        world.zone.loses_answers = not world.zone.loses_answers
    elif action == "delete_other":
        world.cloudfront.tenants.pop(world.other.id, None)
    elif action == "delete" and not world.mr.deleted:
        world.delete()
    elif action in ("list", "drop") and not world.mr.deleted:
        world.edit(domains=[A, B] if action == "list" else [A])
    elif action == "wait":
        world.go_on(3)


class TestLeftBehind:
    def test_messages_are_of_a_tenant_and_end(self):
        left = LeftBehind()
        left.note("u", "b.example.com", "shop", "t1", "second")
        left.note("u", "a.example.com", "shop", "t1", "first")
        assert left.of("shop", "t1") == ("first", "second")
        left.note("u", "a.example.com", "shop", "t2", "moved on")
        assert (left.of("shop", "t1"), left.of("shop", "t2")) == (("second",), ("moved on",))
        left.drop("u", "b.example.com")
        left.drop("u", "b.example.com")
        assert (left.of("shop", "t1"), left.of("shop", "none")) == ((), ())

    def test_they_are_of_one_namespace(self):
        """The status of a resource of the namespace may name a tenant of another one."""
        left = LeftBehind()
        left.note("u", "a.example.com", "shop", "t1", "words")
        assert (left.of("other", "t1"), left.of("shop", "t1")) == ((), ("words",))

    def test_those_that_are_not_found_again_end(self):
        left = LeftBehind()
        for uid in ("u", "v"):
            left.note(uid, "a.example.com", "shop", "t1", f"a of {uid}")
            left.note(uid, "b.example.com", "shop", "t1", f"b of {uid}")
        left.keep("u", {"b.example.com", "c.example.com"})
        assert left.of("shop", "t1") == ("a of v", "b of u", "b of v")
        left.keep("v", ())
        left.keep("none", ())
        assert left.of("shop", "t1") == ("b of u",)

    def test_it_is_bounded(self, monkeypatch):
        monkeypatch.setattr("provider.cloudfront.memory.record_tickets._MOST", 3)
        left, tickets = LeftBehind(), RecordTickets()
        for number in range(5):
            left.note("u", f"n{number}", "shop", f"t{number}", "words")
            tickets.watch("u", f"n{number}", Watch(0.0))
        assert [left.of("shop", f"t{number}") for number in range(5)] == [(), (), *[("words",)] * 3]
        assert [tickets.watched("u", f"n{number}") is None for number in range(5)] == [True] * 2 + [False] * 3

    def test_a_domain_that_is_wanted_again_is_new_when_it_is_left(self):
        tickets = RecordTickets()
        tickets.watch("u", "n", Watch(0.0, free_since=0.0))
        tickets.wanted("u", "n")
        assert tickets.watched("u", "n") is None


def test_a_failure_that_lasts_is_told(world):
    failing = Failing("example.com")
    failing.error = DnsError(Failure.NOT_PERMITTED, "Route 53: AccessDenied.")
    world.access = world.opened(failing)
    world.go_on(14)
    assert f"The records of {B}, which this resource made, are not known: Route 53: AccessDenied." in str(
        world.condition("DNSReady")
    )

"""What becomes of a change when something goes wrong at one of its requests: at each, in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import SystemClock
from provider.dns import ownership, plan
from provider.dns.errors import DnsError, Failure
from provider.dns.plan import Standing, Wanted
from provider.dns.records import RecordSet, Zone
from provider.dns.store import Change, RecordStore
from tests.contract.dns.described import Answer, Request, Service
from tests.contract.dns.servers import ZONE
from tests.unit.provider.dns.conformance import OTHER_TARGET, TARGET, THEM, US, cname

DOMAIN = f"shop.{ZONE}"
PEOPLE = RecordSet(DOMAIN, "A", ("192.0.2.1",), 120)
EDITED = RecordSet(DOMAIN, "CNAME", ("people.example.net",), 120)
REFUSING = {Failure.LATER, Failure.REFUSED, Failure.CHANGED, Failure.NOT_PERMITTED, Failure.NO_ZONE}
"""Failures that say that nothing was written."""
FAULTS: dict[str, Answer | str] = {
    "lost": "lost",
    "unanswered": "unanswered",
    "no JSON": Answer(200, raw=b"<html>"),
    "another form": Answer(200, raw=b'{"result": 1, "properties": []}'),
    "403": Answer(403, raw=b"{}"),
    "429": Answer(429, raw=b"{}", headers={"Retry-After": "7"}),
    "500": Answer(500, raw=b"{}"),
    "503": Answer(503, raw=b"<html>"),
}


@dataclass
class World:
    """A service, its zone, and new stores for it."""

    service: Service
    zone: Zone
    new_store: Callable[[], RecordStore]

    def step(self, wanted: Wanted, *, take_over: bool = False, store: RecordStore | None = None) -> plan.Step:
        """Look and write, as one reconcile of a process that has just started."""
        store = store or self.new_store()
        found = store.read(self.zone, wanted.names, fresh=True)
        step = plan.settle(wanted, found, US, take_over=take_over)
        if step.change:
            store.write(self.zone, step.change)
        return step

    def release(self, wanted: Wanted) -> None:
        store = self.new_store()
        found = store.read(self.zone, wanted.names, fresh=True)
        change = plan.release(wanted, found, US, lambda each: "cloudfront" in str(each))
        if change:
            store.write(self.zone, change)

    def state(self) -> dict[str, set[tuple[str, tuple[str, ...]]]]:
        names = (DOMAIN, ownership.mark_name(DOMAIN))
        return {name: {(each.type, each.values) for each in self.service.truth(name)} for name in names}

    @property
    def leads(self) -> set[tuple[str, tuple[str, ...]]]:
        return self.state()[DOMAIN]

    @property
    def marked(self) -> bool:
        mark = ownership.mark(DOMAIN, US)
        return (mark.type, mark.values) in self.state()[mark.name]


def created(world: World) -> None:
    world.step(cname(DOMAIN))


def corrected(world: World) -> None:
    world.step(cname(DOMAIN, OTHER_TARGET))


def taken_over(world: World) -> None:
    world.step(cname(DOMAIN), take_over=True)


def removed(world: World) -> None:
    world.release(cname(DOMAIN))


SCENARIOS = {
    "creation": (lambda world: None, created, {("CNAME", (TARGET,))}),
    "correction": (created, corrected, {("CNAME", (OTHER_TARGET,))}),
    "takeover": (lambda world: world.service.put(PEOPLE), taken_over, {("CNAME", (TARGET,))}),
    "removal": (created, removed, set()),
}


def at(number: int, fault: Answer | str | None, first: int) -> Callable[[int, Request], Answer | str | None]:
    return lambda seen, request: fault if seen == first + number else None


def requests(world: World, act: Callable[[World], None]) -> int:
    first = len(world.service.seen)
    act(world)
    return len(world.service.seen) - first


def telling(world: World, act: Callable[[World], None]) -> list[int]:
    """The numbers of the requests of an action that differ from others: its first, those that write, those
    beside them. Those between are reads like the first."""
    first = len(world.service.seen)
    act(world)
    writes = [number for number, each in enumerate(world.service.seen[first:]) if each.writes]
    beside = {number + by for number in writes for by in (-1, 0, 1)}
    return sorted({0, *beside} & set(range(len(world.service.seen) - first)))


def write(store: RecordStore, change: Change, world: World) -> None:
    store.write(world.zone, change)


def clear(world: World) -> None:
    for name in (DOMAIN, ownership.mark_name(DOMAIN)):
        for each in world.service.truth(name):
            world.service.drop(name, each.type)


class Faulted:
    """The tests; a subclass has the fixture `world`."""

    @pytest.fixture
    def world(self) -> World:
        raise NotImplementedError

    @pytest.mark.parametrize("scenario", SCENARIOS)
    @pytest.mark.parametrize("fault", FAULTS)
    def test_a_fault_of_one_request(self, world, scenario, fault):
        """The error is true, no record of ours is without a mark, and the next reconciles end it."""
        before, act, expected = SCENARIOS[scenario]
        before(world)
        for number in telling(world, act):
            clear(world)
            before(world)
            self.run_with(world, act, expected, at(number, FAULTS[fault], len(world.service.seen)))

    @pytest.mark.parametrize("scenario", SCENARIOS)
    def test_the_process_ends_between_two_requests(self, world, scenario):
        before, act, expected = SCENARIOS[scenario]
        before(world)
        count = requests(world, act)
        for number in range(count):
            clear(world)
            before(world)
            first = len(world.service.seen)
            self.run_with(
                world, act, expected, lambda seen, _, end=first + number: "lost" if seen >= end else None
            )

    def run_with(self, world, act, expected, fault):
        there = world.state()
        told = self.attempt(world, fault, act)
        if told and told.failure in REFUSING:
            assert world.state() == there, told
        assert told or world.leads == expected
        self.check(world)
        for _ in range(2):
            act(world)
        self.check(world)
        assert world.leads == expected
        assert world.marked == bool(expected)

    def check(self, world):
        values = world.leads
        assert all(len(each) == 1 for _, each in values), values
        if any("cloudfront" in str(each) for each in values):
            assert world.marked, values

    def test_a_record_that_people_make_meanwhile_is_never_replaced(self, world):
        """Whenever it comes, and even if the process ends at any later request."""
        numbers = telling(world, created)
        cases = 0
        for number in numbers:
            for death in [each for each in numbers if each >= number] + [numbers[-1] + 2]:
                clear(world)
                cases += self.make_meanwhile(world, number, death)
        assert cases >= len(numbers)

    def make_meanwhile(self, world, number, death):
        first, came = len(world.service.seen), []

        def fault(seen: int, request: Request) -> str | None:
            if seen == first + number and not world.leads:
                world.service.put(PEOPLE)
                came.append(PEOPLE)
            return "lost" if seen > first + death else None

        self.attempt(world, fault, created)
        if not came:
            return False
        assert world.leads == {("A", PEOPLE.values)}
        for _ in range(2):
            world.step(cname(DOMAIN))
            assert world.leads == {("A", PEOPLE.values)}
        world.release(cname(DOMAIN))
        assert world.leads == {("A", PEOPLE.values)}
        assert not world.marked
        return True

    @pytest.mark.parametrize("scenario", ["correction", "removal"])
    def test_a_record_that_people_replace_after_the_look_stays(self, world, scenario):
        for number in range(12):
            clear(world)
            created(world)
            store = world.new_store()
            found = store.read(world.zone, cname(DOMAIN).names, fresh=True)
            looked = len(world.service.seen)
            change = {
                "correction": plan.settle(cname(DOMAIN, OTHER_TARGET), found, US).change,
                "removal": plan.release(cname(DOMAIN), found, US, lambda each: "cloudfront" in str(each)),
            }[scenario]

            def fault(seen: int, request: Request, at: int = looked + number) -> None:
                if seen == at:
                    world.service.put(EDITED)

            self.attempt(world, fault, partial(write, store, change))
            if len(world.service.seen) > looked + number:
                assert world.leads == {("CNAME", EDITED.values)}

    @pytest.mark.parametrize("act", [corrected, removed])
    def test_a_mark_of_another_owner_stops_what_has_not_begun(self, world, act):
        created(world)
        world.service.put(ownership.mark(DOMAIN, THEM))
        act(world)
        assert world.leads == {("CNAME", (TARGET,))}
        assert ("TXT", ownership.mark(DOMAIN, THEM).values) in world.state()[ownership.mark_name(DOMAIN)]

    def attempt(self, world, fault, act):
        world.service.fault = fault
        try:
            act(world)
        except DnsError as error:
            return error
        finally:
            world.service.fault = lambda *_: None
        return None

    @pytest.mark.parametrize("scenario", SCENARIOS)
    def test_no_wait_outlasts_the_reconcile(self, world, scenario):
        before, act, _ = SCENARIOS[scenario]
        before(world)
        world.service.fault = lambda seen, request: "hangs" if request.writes else None
        clock = SystemClock()
        began = clock.now()
        with deadline.within(0.5), pytest.raises(DnsError) as told:
            act(world)
        assert clock.now() - began < 3
        assert told.value.failure is Failure.UNCERTAIN

    def test_a_pause_that_the_service_asks_for_is_kept(self, world):
        store = world.new_store()
        world.service.fault = lambda *_: Answer(429, raw=b"{}", headers={"Retry-After": "7"})
        with pytest.raises(DnsError) as told:
            store.read(world.zone, [DOMAIN], fresh=True)
        assert (told.value.failure, told.value.after) == (Failure.LATER, 7)
        sent = len(world.service.seen)
        with pytest.raises(DnsError, match="not sent yet") as told:
            store.zone_of(DOMAIN)
        assert told.value.failure is Failure.LATER
        assert 6 < told.value.after <= 7
        assert len(world.service.seen) == sent

    def test_a_zone_that_is_deleted_is_told_and_found_again(self, world):
        store = world.new_store()
        assert store.zone_of(DOMAIN) == world.zone
        kept = world.service.zones.pop(world.zone.id)
        with pytest.raises(DnsError) as told:
            world.step(cname(DOMAIN), store=store)
        assert told.value.failure is Failure.NO_ZONE
        assert store.zone_of(DOMAIN) is None
        world.service.zones[world.zone.id] = kept

    def test_a_token_without_permission_is_told(self, world):
        world.service.fault = lambda *_: Answer(403, raw=b"{}")
        for ask in (lambda store: store.zone_of(DOMAIN), lambda store: store.read(world.zone, [DOMAIN])):
            with pytest.raises(DnsError, match="needs the ") as told:
                ask(world.new_store())
            assert told.value.failure is Failure.NOT_PERMITTED

    def test_the_deepest_public_zone_is_found(self, world):
        store = world.new_store()
        assert store.zone_of(f"a.b.small.{ZONE}").name == f"small.{ZONE}"
        assert store.zone_of(f"*.{ZONE}") == world.zone
        for name in ("private", "inside", "copied", "moved"):
            assert store.zone_of(f"a.{name}.{ZONE}") == world.zone
        standing = world.step(cname(DOMAIN), store=store).standing
        assert standing is Standing.DUE

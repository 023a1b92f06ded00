"""The shards over an API server in memory: who holds which when processes start, die or count differently."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.kube.kinds import LEASES
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.process.leader import Election, Timing
from edgetenants_runtime.process.shard_leases import (
    ASK_ANNOTATION,
    COUNT_ANNOTATION,
    ShardLeases,
    lease_name,
)
from edgetenants_runtime.shards import shard_of
from edgetenants_runtime.testing import FakeObjects, Journal

TIMING = Timing(lease=15, renew=10.0, retry=2.0)
STEP = 0.5


class Line:
    """What one process sees of the API server."""

    def __init__(self, server: FakeObjects) -> None:
        self.server, self.cut = server, False
        self.requests: list[str] = []
        self.before: Callable[[str], None] = lambda _: None

    def __getattr__(self, verb: str) -> Any:
        def request(kind: Any, *args: Any) -> Any:
            self.requests.append(verb)
            self.before(verb)
            if self.cut:
                raise KubeError(Operation(verb, kind), 0, "no route to host")
            return getattr(self.server, verb)(kind, *args)

        return request


@dataclass(frozen=True)
class Skew:
    """How the clocks of a process differ from those of others."""

    rate: float = 1.0
    """Of the monotonic clock."""
    ahead: float = 0.0
    """Seconds of the monotonic clock: it began at another time."""
    wall: timedelta = timedelta(0)


class SkewedClock(FakeClock):
    def __init__(self, clock: FakeClock, skew: Skew) -> None:
        super().__init__()
        self._clock, self._skew = clock, skew

    def now(self) -> float:
        return self._clock.now() * self._skew.rate + self._skew.ahead


class Process:
    def __init__(self, world: World, name: str, count: int, skew: Skew, rebalance: float) -> None:
        self.line, self.name = Line(world.server), name
        self.clock = SkewedClock(world.clock, skew)
        self.lost, self.ended = threading.Event(), threading.Event()
        self.prepared: list[frozenset[int]] = []
        self.gained: list[int] = []
        self.shards = ShardLeases(
            self.line,
            Election("ns", "toys", TIMING, name, shards=count, rebalance=rebalance),
            on_lost=self.lost.set,
            on_end=self.ended.set,
            rng=random.Random(name),
            clock=self.clock,
            wall=lambda: world.wall() + skew.wall,
        )
        self.shards.before_gain(lambda: self.prepared.append(self.shards.held))
        self.shards.on_gain(self.gained.append)

    @property
    def works_on(self) -> frozenset[int]:
        return self.shards.held if self.shards.leading and not self.lost.is_set() else frozenset()


EXACT = Skew()
SKEWS = (
    Skew(rate=1.05, ahead=86_400, wall=timedelta(days=-400)),
    Skew(rate=0.95, wall=timedelta(hours=5)),
    Skew(ahead=3, wall=timedelta(seconds=-20)),
)


class World:
    def __init__(self) -> None:
        self.server, self.clock = FakeObjects(Journal()), FakeClock()
        self.processes: list[Process] = []
        self.left: list[Process] = []
        """Those that ended themselves, without a fault."""

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.clock.now())

    def start(
        self, name: str, count: int = 3, skew: Skew = EXACT, rebalance: float = Election.rebalance
    ) -> Process:
        self.processes.append(Process(self, name, count, skew, rebalance))
        return self.processes[-1]

    def kill(self, process: Process) -> None:
        self.processes.remove(process)

    def passes(self, seconds: float) -> Iterator[float]:
        """Time passes; yields after each step."""
        for number in range(int(seconds / STEP)):
            for process in list(self.processes):
                process.shards.attempt()
                if process.lost.is_set():
                    self.kill(process)
                elif process.ended.is_set():
                    process.shards.stop(release=True)
                    self.kill(process)
                    self.left.append(process)
            self.check()
            yield (number + 1) * STEP
            self.clock.advance(STEP)

    def after(self, seconds: float) -> dict[str, list[int]]:
        for _ in self.passes(seconds):
            pass
        return {process.name: sorted(process.works_on) for process in self.processes}

    def until(self, met: Callable[[], bool]) -> float:
        for seconds in self.passes(60):
            if met():
                return seconds
        raise AssertionError("not met in a minute")

    def check(self) -> None:
        working = [process for process in self.processes if process.works_on]
        for one, other in itertools.combinations(working, 2):
            assert one.shards.count == other.shards.count, "two numbers of shards at once"
            assert not one.works_on & other.works_on, "a shard with two processes"

    @property
    def worked_on(self) -> frozenset[int]:
        return frozenset().union(*(process.works_on for process in self.processes))

    def edit(self, shard: int, **spec: Any) -> None:
        """As with `kubectl edit`."""
        stored = self.lease(shard)
        stored["spec"].update(spec)
        self.server.put(LEASES, stored)
        self.server.touch(LEASES, ObjectKey("ns", lease_name("toys", shard)))

    def delete(self, shard: int) -> None:
        """As with `kubectl delete`."""
        del self.server._objects[LEASES.resource, ObjectKey("ns", lease_name("toys", shard))]

    def lease(self, shard: int) -> dict[str, Any]:
        found = self.server.find(LEASES, ObjectKey("ns", lease_name("toys", shard)))
        assert found is not None
        return found


@pytest.fixture
def world() -> World:
    return World()


def test_one_shard_is_the_leader_election_and_costs_nothing_more(world: World) -> None:
    a, b = world.start("a", 1), world.start("b", 1)
    assert world.after(STEP) == {"a": [0], "b": []}
    assert a.line.requests == ["get", "create"]
    world.after(STEP)
    assert (a.line.requests, b.line.requests) == (["get", "create", "patch"], ["get", "get"])
    lease = world.lease(0)
    assert lease["metadata"].keys() & {"annotations", "labels"} == set()
    assert (lease["metadata"]["name"], lease["spec"]["holderIdentity"]) == ("toys", "a")
    assert a.shards.mine("any account")
    assert b.shards.mine("any account")
    assert (a.prepared, a.gained) == ([], [])


def test_three_processes_that_start_together_hold_one_of_three_shards_each(world: World) -> None:
    for name in "abc":
        world.start(name)
    held = world.after(5)
    assert sorted(map(len, held.values())) == [1, 1, 1]
    assert world.after(60) == held


def test_a_process_alone_holds_all_within_the_lease_duration(world: World) -> None:
    a = world.start("a", 8)
    assert world.after(TIMING.lease + 3 * STEP) == {"a": list(range(8))}
    assert sorted(a.gained) == list(range(8))
    assert a.prepared == [frozenset(a.gained[:number]) for number in range(8)]


def test_an_owner_belongs_to_one_process(world: World) -> None:
    a, b = world.start("a", 2), world.start("b", 2)
    world.after(5)
    owners = [f"{number:012}" for number in range(100)]
    assert all(a.shards.mine(each) != b.shards.mine(each) for each in owners)
    shares = [sum(map(process.shards.mine, owners)) for process in (a, b)]
    assert min(shares) > 30


def test_shards_never_move_between_releases() -> None:
    """A provider of another version side by side with this one finds the same."""
    assert [shard_of("123456789012", count) for count in (1, 2, 3, 7, 16)] == [0, 0, 1, 1, 10]


@pytest.mark.parametrize("count", [3, 8])
def test_the_shards_of_a_killed_process_have_another_one_after_the_lease(world: World, count: int) -> None:
    a, _, _ = (world.start(name, count) for name in "abc")
    world.after(30)
    everything = frozenset(range(count))
    assert world.worked_on == everything
    world.kill(a)
    assert world.worked_on != everything
    took = world.until(lambda: world.worked_on == everything)
    assert took <= TIMING.lease + TIMING.retry + STEP


def test_the_process_with_fewer_shards_takes_the_next(world: World) -> None:
    for name in "abc":
        world.start(name, 4)
    world.after(30)
    dies, few, many = sorted(world.processes, key=lambda process: len(process.works_on))
    assert (len(dies.works_on), len(few.works_on), len(many.works_on)) == (1, 1, 2)
    world.kill(dies)
    world.until(lambda: len(world.worked_on) == 4)
    assert (len(few.works_on), len(many.works_on)) == (2, 2)


def test_in_an_upgrade_each_new_process_takes_the_shard_of_one_that_stops(world: World) -> None:
    old = [world.start(name) for name in "abc"]
    world.after(5)
    for number, process in enumerate(old):
        world.start(f"new {number}")
        world.after(2)
        process.shards.stop(release=True)
        world.kill(process)
        world.after(1)
        assert world.worked_on == {0, 1, 2}
    assert sorted(map(len, world.after(60).values())) == [1, 1, 1]


def test_released_shards_without_another_process_go_to_those_that_are_left(world: World) -> None:
    a, _, _ = (world.start(name) for name in "abc")
    world.after(5)
    a.shards.stop(release=True)
    world.kill(a)
    assert world.until(lambda: world.worked_on == {0, 1, 2}) <= TIMING.lease + STEP


def test_a_process_that_returns_after_a_crash_gets_its_share_in_some_minutes(world: World) -> None:
    a, _, _ = (world.start(name, 6) for name in "abc")
    world.after(30)
    world.kill(a)
    world.after(10)
    again = world.start("a again", 6)
    assert world.after(200)["a again"] == []
    for _ in world.passes(200):
        if world.left:
            break
    (gave_up,) = world.left
    world.after(8)
    back = world.start(f"{gave_up.name} again", 6)
    held = world.after(600)
    assert world.worked_on == frozenset(range(6))
    assert world.left == [gave_up], "it happens once"
    assert again.works_on
    assert back.works_on
    assert len(held) == 3


def test_the_wait_of_a_process_without_a_shard_is_a_setting_of_at_least_the_lease_duration(
    world: World,
) -> None:
    world.start("a", 2)
    world.after(30)
    world.start("b", 2, rebalance=20.0)
    assert not world.after(19)["b"]
    assert world.left == []
    world.after(4)
    assert [process.name for process in world.left] == ["a"]
    world.after(30)
    world.start("c", 2, rebalance=0.5)
    world.after(TIMING.lease - 1)
    assert len(world.left) == 1
    world.after(4)
    assert len(world.left) == 2


@pytest.mark.parametrize("count", [3, 8])
def test_shards_need_no_clocks_that_agree(world: World, count: int) -> None:
    """Their renewals and the times in the Leases are of clocks that differ by years, and run unevenly."""
    a, *_ = (world.start(str(number), count, skew) for number, skew in enumerate(SKEWS))
    world.after(30)
    everything = frozenset(range(count))
    assert world.worked_on == everything
    before = {process.name: process.works_on for process in world.processes}
    world.after(120)
    assert {process.name: process.works_on for process in world.processes} == before
    world.kill(a)
    took = world.until(lambda: world.worked_on == everything)
    assert took <= (TIMING.lease + TIMING.retry + STEP) * 1.1


def test_after_an_api_server_that_was_away_for_long_each_shard_has_a_process_again(world: World) -> None:
    """All processes end, and begin again as the kubelet starts them."""
    old = [world.start(name) for name in "abc"]
    world.after(30)
    for process in old:
        process.line.cut = True
    assert world.until(lambda: not world.worked_on) <= TIMING.renew
    world.after(2 * TIMING.lease)
    # Their deadlines, which threads guard, have passed.
    world.processes.clear()
    for name in "abc":
        world.start(f"{name} again")
    took = world.until(lambda: world.worked_on == {0, 1, 2})
    assert took <= TIMING.lease + TIMING.retry + STEP
    assert sorted(map(len, world.after(5).values())) == [1, 1, 1]


EDITS: dict[str, Callable[[World, int], None]] = {
    "deleted": World.delete,
    "emptied": lambda world, shard: world.edit(shard, holderIdentity=""),
    "shortened": lambda world, shard: world.edit(shard, leaseDurationSeconds=1),
    "of another": lambda world, shard: world.edit(shard, holderIdentity="no process_of-3-shards"),
}


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS)
def test_a_lease_that_a_person_edits_has_one_process_and_in_the_end_one_again(
    world: World, change: Callable[[World, int], None]
) -> None:
    """`passes` checks that no other one works meanwhile, also while the holder cannot see the change."""
    for name in "abcd":
        world.start(name)
    world.after(10)
    for shard in range(3):
        (holder,) = (process for process in world.processes if shard in process.works_on)
        holder.line.cut = True
        change(world, shard)
        world.after(2)
        holder.line.cut = False
        world.until(lambda: world.worked_on == {0, 1, 2})
        world.start(f"again {shard}")
        world.after(30)
        assert world.worked_on == {0, 1, 2}


def test_a_lease_that_a_person_emptied_goes_to_a_survivor_as_after_a_death(world: World) -> None:
    a, _ = world.start("a", 2), world.start("b", 2)
    world.after(10)
    (shard,) = a.works_on
    world.edit(shard, holderIdentity="")
    world.kill(a)
    took = world.until(lambda: world.worked_on == {0, 1})
    assert TIMING.lease <= took <= TIMING.lease + TIMING.retry + STEP


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS)
def test_a_lease_with_another_number_that_a_person_edits_is_waited_for(
    world: World, change: Callable[[World, int], None]
) -> None:
    old = [world.start(name, 2) for name in "ab"]
    world.after(5)
    (late,) = (process for process in old if 1 in process.works_on)
    (first,) = (process for process in old if 0 in process.works_on)
    late.line.cut = True
    new = world.start("new", 1)
    world.after(1)
    first.shards.stop(release=True)
    world.kill(first)
    world.after(2)
    assert late.works_on
    change(world, 1)
    world.until(lambda: new.works_on == {0})


def test_a_process_too_many_asks_no_one(world: World) -> None:
    for name in "abcd":
        world.start(name, 3)
    before = world.after(10)
    assert world.after(700) == before
    assert world.left == []
    leases = [world.lease(shard)["metadata"].get("annotations", {}) for shard in range(3)]
    assert all(ASK_ANNOTATION not in each for each in leases)


def test_what_was_asked_of_a_process_with_one_shard_is_no_answer_to_a_later_death(world: World) -> None:
    a, b = world.start("a", 2), world.start("b", 2)
    world.after(5)
    (shard,) = a.works_on
    b.shards._locks[shard].annotate({ASK_ANNOTATION: "gone 1"})
    world.after(10)
    world.kill(b)
    assert world.after(60) == {"a": [0, 1]}
    a.shards._locks[shard].annotate({ASK_ANNOTATION: "new 1"})
    world.after(10)
    assert world.left == [a]
    world.start("c", 2)
    world.after(30)
    assert all(ASK_ANNOTATION not in world.lease(n)["metadata"].get("annotations", {}) for n in range(2))


def test_one_overdue_lease_stops_the_work_on_all_shards(world: World) -> None:
    a = world.start("a", 2)
    world.after(20)
    assert a.works_on == {0, 1}
    elector = a.shards._electors[1]
    world.clock.advance(9.0)
    a.shards._electors[0].attempt()
    world.clock.advance(1.5)
    assert a.shards._electors[0].leading
    assert not elector.leading
    assert not a.shards.leading


def test_a_shard_waits_for_what_is_done_before_it(world: World) -> None:
    a = world.start("a", 2)
    failing = [True]

    def prepare() -> None:
        if failing:
            raise KubeError(Operation("list", LEASES), 503, "try again")

    a.shards.before_gain(prepare)
    assert world.after(5) == {"a": []}
    assert not a.shards.mine("123456789012")
    failing.clear()
    assert world.after(STEP) != {"a": []}


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 1), (2, 3), (3, 2)])
def test_the_number_of_shards_changes_with_the_pods(world: World, before: int, after: int) -> None:
    """As in a rolling update: a new pod starts, and an old one stops. `passes` checks that no two processes
    with different numbers work at once."""
    old = [world.start(name, before) for name in "abc"]
    world.after(40)
    assert world.worked_on == frozenset(range(before))
    for number, process in enumerate(old):
        world.start(f"new {number}", after)
        world.after(4)
        process.shards.stop(release=True)
        if process in world.processes:
            world.kill(process)
    world.until(lambda: world.worked_on == frozenset(range(after)))
    assert {process.shards.count for process in world.processes if process.works_on} == {after}


@pytest.mark.parametrize("after", [1, 2])
def test_processes_end_when_one_with_another_number_holds_the_first_shard(world: World, after: int) -> None:
    old = [world.start(name, 3) for name in "abc"]
    world.after(5)
    new = world.start("new", after)
    first = next(process for process in old if 0 in process.works_on)
    first.shards.stop(release=True)
    world.kill(first)
    took = world.until(lambda: new.works_on == frozenset(range(after)))
    assert took <= TIMING.lease + 3 * TIMING.retry
    assert [process for process in world.processes if process in old] == []


@pytest.mark.parametrize(("before", "after"), [(3, 1), (3, 2)])
def test_a_lease_of_a_dead_process_with_another_number_is_waited_for_once(
    world: World, before: int, after: int
) -> None:
    old = [world.start(name, before) for name in "abc"]
    world.after(5)
    for process in old:
        world.kill(process)
    first = world.start("first", after)
    took = world.until(lambda: world.worked_on == frozenset(range(after)))
    assert TIMING.lease <= took <= 3 * TIMING.lease
    first.shards.stop(release=True)
    world.kill(first)
    world.start("second", after)
    assert world.until(lambda: bool(world.worked_on)) <= 2.0


def test_a_frozen_process_with_another_number_finds_its_lease_gone(world: World) -> None:
    old = [world.start(name, 2) for name in "ab"]
    world.after(5)
    frozen = next(process for process in old if 1 in process.works_on)
    for process in old:
        world.kill(process)
    world.start("new", 1)
    world.until(lambda: bool(world.worked_on))
    frozen.shards.attempt()
    assert not frozen.shards.leading
    assert frozen.lost.is_set() or frozen.ended.is_set()


def test_a_process_that_takes_a_shard_just_when_another_number_begins_does_not_work(world: World) -> None:
    three = world.start("three", 3)
    world.after(1)
    assert three.works_on == {0}
    late = world.start("late", 3)
    late.shards._electors[0].attempt()
    # Between its look at the first shard and its own Lease, the number changes.
    three.shards.stop(release=True)
    world.kill(three)
    one = world.start("one", 1)
    one.shards.attempt()
    for elector in late.shards._electors[1:]:
        elector.attempt()
    late.shards.look()
    one.shards.look()
    world.check()
    assert not late.works_on


def test_a_base_lease_without_a_readable_count_is_that_of_no_shards(world: World) -> None:
    world.start("a", 2)
    world.after(5)
    assert world.lease(0)["metadata"]["annotations"] == {COUNT_ANNOTATION: "2"}
    stored = world.lease(0)
    stored["metadata"]["annotations"] = {COUNT_ANNOTATION: "many"}
    world.server.put(LEASES, stored)
    assert world.after(5)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("attempt"), st.integers(0, 4), st.integers(0, 2)),
        st.tuples(st.just("look"), st.integers(0, 4), st.just(0)),
        st.tuples(st.sampled_from(["cut", "join", "release", "kill"]), st.integers(0, 4), st.just(0)),
        st.tuples(st.just("start"), st.integers(1, 3), st.just(0)),
        st.tuples(st.just("wait"), st.sampled_from([1, 2, 5, 11, 16]), st.just(0)),
    ),
    min_size=20,
    max_size=120,
)


@settings(max_examples=300, deadline=None)
@given(STEPS)
def test_never_do_two_processes_work_on_a_shard_nor_with_two_numbers(
    steps: list[tuple[str, int, int]],
) -> None:
    world = World()
    for number, count in enumerate((1, 2, 3)):
        world.start(str(number), count)
    for step, (what, number, shard) in enumerate(steps):
        if what == "start":
            if len(world.processes) < 5:
                # No two processes have one name, also not one after the other.
                world.start(f"{what} {step}", number)
        elif what == "wait":
            world.clock.advance(number)
        elif world.processes:
            _step(world, what, world.processes[number % len(world.processes)], shard)
        world.check()


def _step(world: World, what: str, process: Process, shard: int) -> None:
    match what:
        case "attempt":
            process.shards._electors[shard % process.shards.count].attempt()
        case "look":
            process.shards.look()
        case "cut" | "join":
            process.line.cut = what == "cut"
        case "kill":
            world.kill(process)
        case "release":
            process.shards.stop(release=True)
            world.kill(process)


HANDS = st.lists(
    st.one_of(
        st.tuples(st.just("attempt"), st.integers(0, 2), st.integers(0, 2)),
        st.tuples(st.sampled_from(["look", "cut", "join"]), st.integers(0, 2), st.just(0)),
        st.tuples(st.just("wait"), st.sampled_from([1, 2, 5, 11]), st.just(0)),
        st.tuples(st.sampled_from(sorted(EDITS)), st.just(0), st.integers(0, 2)),
    ),
    min_size=20,
    max_size=100,
)


@settings(max_examples=200, deadline=None)
@given(HANDS)
def test_whatever_a_person_does_to_leases_that_the_processes_have_seen_one_works_on_a_shard(
    steps: list[tuple[str, int, int]],
) -> None:
    world = World()
    everyone = [world.start(str(number), 3, skew) for number, skew in enumerate(SKEWS)]
    world.after(STEP)
    for what, number, shard in steps:
        if what == "wait":
            world.clock.advance(number)
        elif what in EDITS:
            for process in everyone:
                process.line.cut, was = False, process.line.cut
                process.shards._electors[shard].attempt()
                process.line.cut = was
            with suppress(AssertionError, KeyError):
                EDITS[what](world, shard)
        else:
            _step(world, what, everyone[number], shard)
        world.check()


class Chaos:
    """Processes with different numbers of shards, of which others act between any two requests of one."""

    def __init__(self, seed: int) -> None:
        self.world, self.rng = World(), random.Random(seed)
        self._busy: list[Process] = []
        for _ in range(3):
            self.start()

    def start(self) -> None:
        process = self.world.start(f"{self.rng.random()}", self.rng.choice([1, 2, 3]))
        process.line.before = lambda _: self._between()

    def _between(self) -> None:
        self.world.check()
        free = [process for process in self.world.processes if process not in self._busy]
        if free and len(self._busy) < 3 and self.rng.random() < 0.25:
            self.act(self.rng.choice(free))

    def act(self, process: Process) -> None:
        self._busy.append(process)
        if self.rng.random() < 0.6:
            self.rng.choice(process.shards._electors).attempt()
        else:
            process.shards.look()
        self._busy.remove(process)
        self.world.check()

    def step(self) -> None:
        process, chance = self.rng.choice(self.world.processes), self.rng.random()
        if chance < 0.82:
            self.act(process)
        elif chance < 0.92:
            self.world.clock.advance(self.rng.choice([0.5, 1, 2, 3, 6, 11]))
        elif chance < 0.95:
            self.start()
        elif chance < 0.97:
            process.line.cut = not process.line.cut
        elif len(self.world.processes) > 1:
            if chance < 0.985:
                process.shards.stop(release=True)
            self.world.kill(process)
        for each in list(self.world.processes):
            if each.lost.is_set() and len(self.world.processes) > 1:
                self.world.kill(each)


@pytest.mark.parametrize("seeds", [range(part * 40, part * 40 + 40) for part in range(5)], ids=str)
def test_whatever_happens_between_requests_one_process_works_on_a_shard_and_in_the_end_on_each(
    seeds: range,
) -> None:
    for seed in seeds:
        chaos = Chaos(seed)
        for _ in range(chaos.rng.randrange(40, 160)):
            chaos.step()
        world = chaos.world
        world.processes = []
        world.start("last", 3)
        assert world.until(lambda world=world: world.worked_on == {0, 1, 2}) <= 4 * TIMING.lease

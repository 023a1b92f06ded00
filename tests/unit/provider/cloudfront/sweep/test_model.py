"""Random histories of an account, its lists and resources that rely on them, on a virtual clock.

AWS's lists lag behind, skip rows, repeat them, and fail. Others change, delete and create tenants; so does
the provider. Whatever happens:

1. what a resource takes for the state of its tenant is never older than the provider's last write to it;
2. a tenant counts as gone only if a Get said so, or if this process deleted it and it is gone;
3. every change, and every end of a roll-out, is seen within two complete sweeps that show it, or by the poll
   of a resource that no sweep watches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.managed import ObjectKey
from provider.cloudfront.memory.writes import Writes
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.sweep.inventory import Inventory
from provider.cloudfront.sweep.watching import Follower

INTERVAL = 60.0
WATCHED = 600.0
FOLLOWED = 300.0
SOON = 5.0
NAMES = ("a", "b", "c")
LAGS = (0.0, 0.0, 5.0, 20.0)
"""Seconds by which a row lags behind; less than between two sweeps."""


@dataclass
class Aws:
    """The truth, and what lists make of it."""

    clock: FakeClock
    past: dict[str, list[tuple[float, ObservedTenant | None]]] = field(default_factory=dict)
    """By name: since when it was as it was, the oldest first."""
    made: int = 0

    def now(self, name: str) -> ObservedTenant | None:
        return self.at(name, self.clock.now())

    def at(self, name: str, moment: float) -> ObservedTenant | None:
        state = None
        for since, each in self.past.get(name, ()):
            if since <= moment:
                state = each
        return state

    def set(self, name: str, state: ObservedTenant | None) -> None:
        self.past.setdefault(name, []).append((self.clock.now(), state))

    def create(self, name: str) -> None:
        self.made += 1
        made = ObservedTenant(f"dt_{self.made}", f"arn:{name}", name, "E1", distribution_id="E1")
        self.set(name, replace(made, domains={f"{name}.example.com": "active"}, parameters={"v": "1"}))

    def change(self, name: str) -> None:
        """A new ETag; or the same one, and other domains' states."""
        state = self.now(name)
        if state is not None:
            number = int(state.etag[1:]) + 1
            state = replace(state, etag=f"E{number}", parameters={"v": str(number)}, status="InProgress")
            self.set(name, state)

    def roll_out(self, name: str) -> None:
        """A roll-out ends, without another ETag."""
        state = self.now(name)
        if state is not None:
            self.set(name, replace(state, status="Deployed"))

    def turn(self, name: str) -> None:
        """Its domain turns active or inactive, without another ETag."""
        state = self.now(name)
        if state is not None:
            (domain, status), *_ = state.domains.items()
            other = "inactive" if status == "active" else "active"
            self.set(name, replace(state, domains={domain: other}))


class Resource:
    """A managed resource: it looks when it is due or woken."""

    def __init__(self, name: str, world: World) -> None:
        self.name, self.world = name, world
        self.follower = Follower(f"uid-{name}", "v1", ObjectKey("shop", name))
        self.due = 0.0
        self.believes: ObservedTenant | None = None
        self.deleted: ObservedTenant | None = None
        """What it deleted, and what may not be gone."""
        self.watched = False
        self.read = float("-inf")
        """When it last saw something that was true at that time or later."""

    def look(self) -> None:
        world = self.world
        now = world.clock.now()
        world.inventory.unwatch(self.follower)
        self.watched = False
        if self.deleted is not None and world.inventory.has_gone(self.deleted.id, self.name):
            assert self.deleted.id not in {each.id for each in map(world.aws.now, NAMES) if each}
            self.deleted = None
        found = world.inventory.confirmed(self.name, 1, 1.0, lambda _: None)
        seen = found.seen if found else world.aws.now(self.name)
        if found is None and seen is not None:
            world.inventory.got(seen, now)
        elif seen is None:
            world.inventory.absent(self.name, now)
        self.believes = seen
        wrote = world.wrote.get(self.name)
        if wrote is not None and seen is not None:
            self._check_not_before(wrote, seen)
        self.due = now + INTERVAL
        if seen is not None and seen.deployed:
            self.watched = world.inventory.watch(self.follower, seen, 2 * WATCHED)
            self.due = now + (WATCHED if self.watched else INTERVAL)
        elif seen is not None:
            self._follow(seen)

    def _follow(self, seen: ObservedTenant, *, gone: bool = False) -> None:
        within = self.world.inventory.follow(self.follower, seen, FOLLOWED, SOON, gone=gone)
        self.watched = within is not None
        self.due = self.world.clock.now() + (FOLLOWED if self.watched else SOON)

    def _check_not_before(self, wrote: tuple[float, ObservedTenant], seen: ObservedTenant) -> None:
        at, written = wrote
        if seen.id == written.id:
            assert int(seen.etag[1:]) >= int(written.etag[1:]), f"older than the write at {at}"

    def write(self) -> None:
        """As an update: a write to what was read just before."""
        state = self.world.aws.now(self.name)
        if state is None:
            self.world.aws.create(self.name)
            return
        with self.world.writes.to(state.id):
            self.world.aws.change(self.name)
        now = self.world.aws.now(self.name)
        assert now is not None
        self.world.wrote[self.name] = (self.world.clock.now(), now)
        self.world.inventory.unwatch(self.follower)
        self.world.inventory.wrote(now)
        self.believes = now
        self._follow(now)

    def delete(self) -> None:
        """As a deletion that AWS accepts."""
        state = self.world.aws.now(self.name)
        if state is None:
            return
        with self.world.writes.to(state.id):
            self.world.aws.set(self.name, None)
        self.world.inventory.unwatch(self.follower)
        self.believes, self.deleted = None, state
        self._follow(state, gone=True)


class World:
    def __init__(self) -> None:
        self.clock = FakeClock(1000.0)
        self.aws = Aws(self.clock)
        self.writes = Writes(self.clock)
        self.inventory = Inventory(self.clock, self.writes, INTERVAL)
        self.wrote: dict[str, tuple[float, ObservedTenant]] = {}
        self.resources = {name: Resource(name, self) for name in NAMES}
        self.shown: dict[str, list[float]] = {name: [] for name in NAMES}
        """For each tenant, up to when each complete sweep showed the truth about it, the last one last."""
        for name in NAMES:
            self.aws.create(name)

    def pass_time(self, seconds: float) -> None:
        """Let time pass; resources look as they are due."""
        end = self.clock.now() + seconds
        while (first := min(self.resources.values(), key=lambda each: each.due)).due <= end:
            self.clock.advance(max(0.0, first.due - self.clock.now()))
            first.look()
        self.clock.advance(end - self.clock.now())

    def sweep_later(self, lags: list[float], skipped: set[str], repeated: set[str], fails: bool) -> None:
        # Between two sweeps is an interval, and no lag is longer.
        self.pass_time(INTERVAL - 5)
        self.sweep(lags, skipped, repeated, fails=fails)

    def sweep(self, lags: list[float], skipped: set[str], repeated: set[str], *, fails: bool) -> None:
        self.pass_time(0.25)
        began, woken = self.clock.now(), []
        for name, lag in zip(NAMES, lags, strict=True):
            asked = self.clock.now()
            row = self.aws.at(name, asked - lag)
            if row is not None and name not in skipped:
                rows = [replace(row, parameters={})] * (2 if name in repeated else 1)
                woken += self.inventory.page(rows, asked)
            self.pass_time(0.25)
        if fails:
            self.inventory.failed()
        else:
            woken += self.inventory.complete(began)
        woken += self.inventory.overdue()
        for follower in woken:
            self.resources[follower.key.name].look()
        if not fails:
            for name, lag in zip(NAMES, lags, strict=True):
                # One that is skipped is woken, or was not watched.
                self.shown[name].append(began - lag)
        self.check_that_changes_were_seen()

    def check_that_changes_were_seen(self) -> None:
        """What has been true since before two sweeps looked is believed."""
        for name, resource in self.resources.items():
            since = self.aws.past[name][-1][0]
            if sum(moment >= since for moment in self.shown[name]) < 2 or resource.due <= self.clock.now():
                continue
            believes, truth = resource.believes, self.aws.now(name)
            if not resource.watched:
                # It is polled.
                assert resource.due <= self.clock.now() + INTERVAL
                continue
            if resource.deleted is None:
                assert believes == truth, f"{name} has changed at {since}"


NAME = st.sampled_from(NAMES)
STEP = st.one_of(
    st.tuples(st.just("change"), NAME),
    st.tuples(st.just("turn"), NAME),
    st.tuples(st.just("delete"), NAME),
    st.tuples(st.just("create"), NAME),
    st.tuples(st.just("write"), NAME),
    st.tuples(st.just("remove"), NAME),
    st.tuples(st.just("roll out"), NAME),
    st.tuples(st.just("time"), st.sampled_from((1.0, 10.0, 59.0, 200.0))),
    st.tuples(
        st.just("sweep"),
        st.lists(st.sampled_from(LAGS), min_size=len(NAMES), max_size=len(NAMES)),
        st.sets(NAME, max_size=1),
        st.sets(NAME, max_size=1),
        st.sampled_from((False, False, False, True)),
    ),
)


def play(steps: list[tuple]) -> World:
    world = World()
    world.pass_time(0.5)
    aws, resources = world.aws, world.resources
    doing: dict[str, Callable[..., None]] = {
        "change": aws.change,
        "turn": aws.turn,
        "delete": lambda name: aws.set(name, None),
        "create": lambda name: None if aws.now(name) else aws.create(name),
        "roll out": aws.roll_out,
        "write": lambda name: resources[name].write(),
        "remove": lambda name: resources[name].delete(),
        "time": world.pass_time,
        "sweep": world.sweep_later,
    }
    for what, *args in steps:
        doing[what](*args)
        world.pass_time(0.01)
    return world


SWEEP = ("sweep", [0.0] * len(NAMES), set(), set(), False)


@settings(max_examples=300, deadline=None)
@given(st.lists(STEP, max_size=25))
def test_histories(steps):
    """In the beginning, all are watched; in the end, the lists show everything."""
    play([SWEEP, ("time", 59.0), SWEEP, *steps, SWEEP, SWEEP, SWEEP])


def test_the_histories_have_confirmed_looks():
    """Else they would prove nothing."""
    world = play([SWEEP, SWEEP])
    assert all(each.watched for each in world.resources.values())
    calls: list[str] = []
    world.aws.now = calls.append  # type: ignore[method-assign,assignment]
    for each in world.resources.values():
        each.look()
    assert calls == []

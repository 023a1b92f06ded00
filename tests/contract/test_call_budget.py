"""Creations and changes that have many domains get done under the account's pace and their deadline: many
workers at once, the emulator throttling as CloudFront may, and both on one virtual clock."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Any

import pytest

from edgetenants_emulator.server import EmulatorServer
from edgetenants_runtime import deadline
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import NotYet, RetryMode
from provider.cloudfront.account.sessions import Accounts
from tests.contract.admin import Admin
from tests.contract.emulated import ACCOUNT, DISTRIBUTION, SEED
from tests.contract.test_credentials import config_with
from tests.unit.provider.world import World, managed

PER_SECOND = 5
DEADLINE = 60.0
WORKERS = 5
STEP = 0.25
MOST_SECONDS = 900.0


class WaitingClock(FakeClock):
    """A clock that knows who runs: a thread from the time that it waited for until its request is answered.

    Time must not pass for those. A request that the pace has admitted would reach the emulator seconds late
    on a busy machine, together with the next ones, and the emulator would throttle them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._running: set[int] = set()
        self._until: dict[int, float] = {}

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        self.stops()
        self._until[threading.get_ident()] = inf if deadline is None else deadline
        super().wait(condition, deadline)
        self.runs()
        del self._until[threading.get_ident()]

    def runs(self, **_: Any) -> None:
        """This thread sends a request next."""
        self._running.add(threading.get_ident())

    def stops(self, **_: Any) -> None:
        """This thread's request is answered, or none is sent."""
        self._running.discard(threading.get_ident())

    def may_pass(self) -> bool:
        """Whether nothing runs, and nothing is about to run."""
        due = min(list(self._until.values()), default=inf) <= self.now()
        # Another thread has notified one of them, such as of its slot.
        asleep = sum(len(each._waiters) for each in list(self._sleepers._waiting))
        return not due and not self._running and asleep >= len(self._until)


class Busy:
    """An account at its default pace, many resources, and time that passes while they wait."""

    def __init__(self, url: str) -> None:
        self.clock, self.url = WaitingClock(), url
        self.admin = Admin(url)
        self.account = Accounts(self.clock).of(
            config_with(self, ACCOUNT, rateLimits={"cloudfront": PER_SECOND})
        )
        for client in self.account.clients:
            client.meta.events.register_first("before-call", self.clock.runs)
            client.meta.events.register("after-call", self.clock.stops)
            client.meta.events.register("after-call-error", self.clock.stops)
        self.admin("POST", "seed", SEED)
        self.admin("PATCH", "settings", {"cloudfront_requests_per_second": PER_SECOND})
        self.admin("DELETE", "calls")

    def world(self, name: str, domains: list[str], **annotations: str) -> World:
        named = {"crossplane.io/external-name": f"shop.{name}", **annotations}
        asked = {"distributionId": DISTRIBUTION, "domains": domains, "enabled": True}
        return Sharing(managed(asked, uid=name, annotations=named), self)

    def calls(self) -> Counter[str]:
        return Counter(call["operation"] for call in self.admin("GET", "calls")["calls"])

    def work(self, worlds: list[World], done: Callable[[World], bool]) -> float:
        """Let the workers reconcile until all are done; the virtual seconds that it took."""
        begun, over = self.clock.now(), threading.Event()
        passing = threading.Thread(target=self._pass_time, args=(over,), daemon=True)
        passing.start()
        try:
            with ThreadPoolExecutor(WORKERS) as workers:
                assert all(workers.map(lambda world: self._until(world, done, begun), worlds)), (
                    f"not done in {self.clock.now() - begun:.0f} s after {self.calls()}"
                )
        finally:
            over.set()
            passing.join()
        return self.clock.now() - begun

    def _pass_time(self, over: threading.Event) -> None:
        while not over.wait(0.002):
            if not self.clock.may_pass():
                continue
            self.admin("POST", "clock", {"step": STEP})
            self.clock.advance(STEP)

    def _until(self, world: World, done: Callable[[World], bool], begun: float) -> bool:
        while self.clock.now() - begun < MOST_SECONDS:
            with deadline.within(DEADLINE, self.clock):
                world.reconcile()
            self.clock.stops()
            if done(world):
                return True
            self._wait(_seconds(world))
        return False

    def _wait(self, seconds: float) -> None:
        until = self.clock.now() + seconds
        while self.clock.now() < until:
            threading.Event().wait(0.001)


class Sharing(World):
    """One of the resources of an account, whose memory it shares."""

    def __init__(self, obj: dict[str, Any], busy: Busy) -> None:
        self.account = busy.account
        super().__init__(obj, Quiet(busy))
        self.clock = busy.clock

    def restart(self) -> None:
        self.memory = self.account.memory


class Quiet:
    """The calls, for a world that reads no journal."""

    def __init__(self, busy: Busy) -> None:
        self.calls, self.journal = busy.account.cloudfront, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.calls, name)


def _seconds(world: World) -> float:
    """When the runtime would try again."""
    if isinstance(world.error, NotYet):
        return world.error.after
    retry = world.error.retry if world.error else None
    return retry.seconds if retry and retry.mode is RetryMode.AFTER else 2.0


def made(world: World) -> bool:
    return bool(world.status.get("atProvider", {}).get("id"))


def names(prefix: str, number: int) -> list[str]:
    return [f"{prefix}-{n}.example.com" for n in range(number)]


@pytest.fixture
def busy() -> Iterator[Busy]:
    with EmulatorServer(rate=0) as server:
        yield Busy(server.url)


@pytest.mark.parametrize(("tenants", "domains"), [(5, 100), (50, 60)])
def test_creations_of_many_domains_get_done(busy: Busy, tenants: int, domains: int) -> None:
    worlds = [busy.world(f"t{n}", names(f"t{n}", domains)) for n in range(tenants)]
    busy.work(worlds, made)
    calls = busy.calls()
    assert calls["CreateDistributionTenant"] == tenants
    assert sum(calls.values()) <= 2 * tenants + 5, calls


def test_changes_that_add_many_domains_get_done(busy: Busy) -> None:
    worlds = [busy.world(f"t{n}", names(f"t{n}", 1)) for n in range(10)]
    busy.work(worlds, made)
    busy.admin("DELETE", "calls")
    for n, world in enumerate(worlds):
        world.edit(domains=names(f"t{n}", 80))
    busy.work(worlds, lambda world: len(world.status["atProvider"]["domains"]) == 80)
    calls = busy.calls()
    assert calls["UpdateDistributionTenant"] == 10
    assert sum(calls.values()) <= 4 * 10, calls


def test_the_holder_of_the_last_of_many_domains_is_found_by_all(busy: Busy) -> None:
    """They want more lookups than there is time for in one reconcile; what was found is kept and shared."""
    taken = [f"z{n}.example.com" for n in range(5)]
    busy.work([busy.world("holder", taken)], made)
    busy.admin("DELETE", "calls")
    worlds = [busy.world(f"t{n}", [*names("shared", 90), taken[n]]) for n in range(5)]
    busy.work(worlds, lambda world: "is served by tenant shop.holder" in world.condition("Ready")[2])
    assert all(world.ready() == ("False", "DomainConflict") for world in worlds)
    # One that was cut off amid its answer is made again.
    assert 95 <= busy.calls()["GetDistributionTenantByDomain"] <= 100

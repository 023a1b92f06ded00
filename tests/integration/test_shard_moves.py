"""Shards move: to another number of them, to a further replica, and away from a frozen one.

A resource of each account is edited all the time. So the emulator's log shows who works in an account, and
for how long no process does; the Leases show who may.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from edgetenants_runtime.shards import shard_of
from sandbox.errors import WorldError
from sandbox.states import ProcessState
from sandbox.world import World
from tests.integration import shard_history
from tests.integration.claims import Claims
from tests.integration.conftest import leaving
from tests.integration.shard_history import Write
from tests.integration.test_configs_in_use import config, secret, tenant
from tests.integration.watching import Object, Watch, is_true

LEASE, RENEW = 6.0, 4.0
FLAGS = (
    f"--lease-duration={LEASE:.0f}",
    f"--lease-renew-deadline={RENEW:.0f}",
    "--lease-retry-period=0.5",
    f"--rebalance-after={LEASE:.0f}",
)
EDIT_SECONDS = 0.3
LEASES = ("provider-edgetenants", "provider-edgetenants-shard-1", "provider-edgetenants-shard-2")


def account_in(of_two: int, of_three: int) -> str:
    """An account that is in these shards of two and of three."""
    numbers = (f"{number:012}" for number in itertools.count(555_500_000_000))
    return next(each for each in numbers if (shard_of(each, 2), shard_of(each, 3)) == (of_two, of_three))


ACCOUNTS = (account_in(0, 0), account_in(1, 1), account_in(1, 2))


def edited(namespace: str, number: int, turn: int) -> Object:
    """The tenant in an account, with one more edit."""
    made = tenant(namespace, f"moves-{number}", f"of-{number}")
    made["spec"]["forProvider"] = {
        "distributionId": f"E3MOVES{number}",
        "domains": [f"moves-{number}.test"],
        "tags": {"turn": str(turn)},
    }
    return made


class Edits:
    """Edits the tenant of each account again and again, also while the API server is slow."""

    def __init__(self, claims: Claims) -> None:
        self._claims, self._end = claims, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Edits:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(timeout=20)

    def _run(self) -> None:
        for turn in itertools.count(1):
            for number in range(len(ACCOUNTS)):
                with suppress(WorldError):
                    self._claims.apply(edited(self._claims.namespace, number, turn))
            if self._end.wait(EDIT_SECONDS):
                return


@dataclass
class Replicas:
    """Pods with a provider each. As the kubelet does, it starts again what ends without being asked to."""

    claims: Claims
    watch: Watch
    pods: list[str] = field(default_factory=list)
    ever: list[str] = field(default_factory=list)
    since: int = 0

    @property
    def world(self) -> World:
        return self.claims.world

    def create(self, name: str, shards: int) -> None:
        """Create a pod, and wait until it is ready."""
        self.world.add_provider(name, *FLAGS, f"--shards={shards}")
        self.pods.append(name)
        self.ever.append(name)

    def delete(self, name: str) -> None:
        """Delete a pod, and wait until it is gone."""
        self.pods.remove(name)
        if self.world.processes.run(name).state is ProcessState.RUNNING:
            self.world.processes.stop(name)

    def replace(self, old: str, new: str, shards: int) -> None:
        """One step of a rolling update with maxSurge 1 and maxUnavailable 0."""
        self.create(new, shards)
        self.delete(old)
        self.restart()

    def restart(self) -> list[str]:
        """Start the containers that ended; returns their pods."""
        ended = [name for name in self.pods if self.world.processes.run(name).state is ProcessState.DIED]
        for name in ended:
            self.world.processes.start(name)
        return ended

    def mark(self) -> int:
        """The number of the last call so far."""
        return int(self.world.emulator.calls(since=10**9)["total"])

    def writes(self, since: int) -> list[Write]:
        return shard_history.writes(self.world, since, ACCOUNTS)

    def writers(self, since: int) -> list[str] | None:
        """Who writes in each account; None if a process writes in none since then."""
        last = {write.account: write.process for write in self.writes(since)}
        return [last[account] for account in ACCOUNTS] if len(last) == len(ACCOUNTS) else None

    def all_written(self) -> list[str]:
        """Wait until each account has been written to once more; returns by whom."""
        now = self.mark()
        writers: list[str] = self.claims.wait("writes in each account", lambda: self.writers(now), seconds=60)
        return writers

    def holders(self) -> dict[str, str]:
        """The pod that holds each Lease now."""
        whose = shard_history.identities(self.world, self.ever)
        now = (term for term in shard_history.terms(self.watch) if term.end == float("inf"))
        return {term.lease: whose.get(term.identity, "") for term in now}

    def check(self) -> None:
        """Each account had one process at any time, and was never for long without one."""
        made = self.writes(self.since)
        assert {write.process for write in made} <= set(self.ever)
        held = shard_history.terms(self.watch)
        told = "\n".join(map(str, held))
        whose = shard_history.identities(self.world, self.ever)
        work, strange = shard_history.spans(made, held, whose)
        assert strange == [], f"writes without the Lease: {strange}\n{told}"
        moves = [move for account in ACCOUNTS for move in shard_history.following(work, account)]
        assert moves, told
        for former, later in moves:
            gap = shard_history.without_process(former, later, held)
            print(f"{former.account}: {former.process}, and {later.process} after {gap:.1f} s")
            assert later.first >= former.term.end, f"two at once: {former}, {later}\n{told}"
            assert gap <= LEASE + RENEW, f"{former}, {later}\n{told}"


@pytest.fixture
def replicas(world: World, claims: Claims) -> Iterator[Replicas]:
    for number, account in enumerate(ACCOUNTS):
        parent = {"id": f"E3MOVES{number}", "certificateDomains": [f"moves-{number}.test"]}
        world.emulator.seed({"account": account, "distributions": [parent]})
        credentials, of = secret(claims.namespace, account), config(claims.namespace, f"of-{number}")
        credentials["metadata"]["name"] = of["spec"]["credentials"]["secretRef"]["name"] = f"aws-{number}"
        claims.apply(credentials, of, edited(claims.namespace, number, 0))
    claims.wait("the tenants to be Ready", lambda: _all_ready(claims))
    world.processes.stop("provider")
    with Watch(world, "leases") as watch, Edits(claims):
        made = Replicas(claims, watch)
        yield made
    for name in made.ever:
        if world.processes.run(name).state is ProcessState.DIED:
            world.processes.start(name)
        if world.processes.run(name).state is ProcessState.RUNNING:
            world.processes.kill(name)
    world.kubectl("delete", "leases", "-n", "crossplane-system", *LEASES)
    world.processes.start("provider")
    with leaving(world):
        world.kubectl("delete", "edt", "--all", "-n", claims.namespace, "--wait=true", "--timeout=60s")


def _all_ready(claims: Claims) -> bool:
    return all(is_true(claims.get(f"moves-{number}", "edt"), "Ready") for number in range(len(ACCOUNTS)))


def begun(replicas: Replicas, shards: int, *names: str) -> None:
    """These pods start together, and each holds a shard."""
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda name: replicas.create(name, shards), names))
    replicas.claims.wait("each to hold a shard", lambda: set(replicas.holders().values()) == set(names))
    replicas.all_written()
    replicas.since = replicas.mark()


def test_a_rolling_update_takes_two_shards_to_three_and_back(replicas: Replicas) -> None:
    begun(replicas, 2, "two-a", "two-b")
    emulator, claims = replicas.world.emulator, replicas.claims
    holders = replicas.holders()
    first, second = holders[LEASES[0]], holders[LEASES[1]]
    replicas.all_written()
    replicas.create("three-a", 3)
    # An old replica is still in a call while a new one has the Leases of all other shards.
    fault = emulator.arm("hold", "TagResource", account=ACCOUNTS[2], nth=1, when="before")
    assert emulator.wait_held(fault, seconds=20)
    replicas.delete(first)
    claims.wait("three-a to hold the others", lambda: replicas.holders() == mixed(second), seconds=20)
    renewed = len(replicas.watch.of(LEASES[0])) + 4
    claims.wait("renewals", lambda: len(replicas.watch.of(LEASES[0])) >= renewed, seconds=20)
    emulator.release(fault)
    replicas.replace(second, "three-b", 3)
    assert set(replicas.all_written()) <= {"three-a", "three-b"}
    assert len(replicas.holders()) == 3

    replicas.replace("three-a", "back-a", 2)
    replicas.replace("three-b", "back-b", 2)
    assert set(replicas.all_written()) <= {"back-a", "back-b"}
    claims.wait("the stale Lease to be free", lambda: set(replicas.holders()) == set(LEASES[:2]), seconds=20)
    replicas.check()


def mixed(second: str) -> dict[str, str]:
    """The holders while `second` finishes its last call."""
    return {LEASES[0]: "three-a", LEASES[1]: second, LEASES[2]: "three-a"}


def test_a_replica_that_is_added_takes_a_shard_over(replicas: Replicas) -> None:
    begun(replicas, 3, "share-a", "share-b")
    replicas.create("share-c", 3)

    def shared() -> bool:
        replicas.restart()
        holders = replicas.holders()
        return len(holders) == 3 and set(holders.values()) == {"share-a", "share-b", "share-c"}

    replicas.claims.wait("each replica to hold a shard", shared, seconds=60)
    assert set(replicas.all_written()) == {"share-a", "share-b", "share-c"}
    replicas.check()


def test_a_replica_that_froze_in_a_call_writes_nothing_for_a_shard_of_another(replicas: Replicas) -> None:
    begun(replicas, 3, "ice-a", "ice-b")
    world = replicas.world
    fault = world.emulator.hold("TagResource", nth=1, when="after")
    assert world.emulator.wait_held(fault, seconds=20)
    frozen = replicas.writes(replicas.since)[-1].process
    (other,) = {"ice-a", "ice-b"} - {frozen}
    os.kill(world.processes.pid(frozen), signal.SIGSTOP)
    world.emulator.release(fault, drop=False)
    replicas.claims.wait("the other to write", lambda: _writes_alone(replicas, other), seconds=60)

    os.kill(world.processes.pid(frozen), signal.SIGCONT)
    replicas.claims.wait("the frozen one to end", lambda: frozen in replicas.restart(), seconds=30)
    assert world.processes.run(frozen).state is ProcessState.RUNNING
    assert set(replicas.all_written()) == {other}
    replicas.check()


def _writes_alone(replicas: Replicas, name: str) -> bool:
    return set(replicas.holders().values()) == {name} and set(replicas.all_written()) == {name}

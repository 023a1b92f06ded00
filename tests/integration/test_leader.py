"""Two providers side by side: one works, the other takes over, and nothing is done twice."""

import os
import re
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from sandbox.states import ProcessState
from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.test_kill_points import known

LEASE = 6.0
FLAGS = (f"--lease-duration={LEASE:.0f}", "--lease-renew-deadline=4", "--lease-retry-period=0.5")
NAMES = ("provider-a", "provider-b")


@dataclass(frozen=True)
class Replicas:
    """Two providers that take part in the election."""

    world: World

    def page(self, name: str, path: str) -> str:
        health, metrics = self.world.processes.run(name).ports
        port = metrics if path == "/metrics" else health
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def metric(self, name: str, pattern: str) -> float:
        """The sum of the samples whose line begins with the pattern."""
        found = re.findall(rf"^{pattern}.* (\S+)$", self.page(name, "/metrics"), re.MULTILINE)
        return sum(map(float, found))

    def leads(self, name: str) -> bool:
        return self.metric(name, "leader_election_master_status") == 1

    def leader(self) -> str:
        """The one that leads, once there is one."""
        return self.world.wait_for("a leader", lambda: next(filter(self.leads, NAMES), None), seconds=20)

    def wait_told(self, name: str, words: str) -> None:
        """Until a provider's log has the words; fails with the log, as nothing else tells why it has not."""
        deadline = time.monotonic() + 20
        while words not in self.world.log(name):
            if time.monotonic() > deadline:
                run = self.world.processes.run(name)
                told = "\n".join(self.world.log(name).splitlines()[-40:])
                raise AssertionError(f"{name} ({run.state}, {run.exit_code}) never told {words!r}:\n{told}")
            time.sleep(0.1)

    def holder(self) -> str:
        path = "jsonpath={.spec.holderIdentity}"
        return self.world.kubectl(
            "get", "lease", "provider-edgetenants", "-n", "crossplane-system", "-o", path
        )


@pytest.fixture
def replicas(world: World, claims: Claims) -> Iterator[Replicas]:
    world.processes.stop("provider")
    for name in NAMES:
        known_already = any(run.name == name for run in world.processes.runs())
        world.processes.start(name) if known_already else world.add_provider(name, *FLAGS)
    yield Replicas(world)
    for name in NAMES:
        # Once more started, one that died as it should is no news for those who wait.
        if world.processes.run(name).state is ProcessState.DIED:
            world.processes.start(name)
        world.processes.kill(name)
    world.processes.start("provider")


def other(name: str) -> str:
    return NAMES[1 - NAMES.index(name)]


def test_of_two_one_works_and_the_other_is_ready_with_warm_caches(claims: Claims, replicas: Replicas) -> None:
    leader = replicas.leader()
    claims.apply(claims.claim("one"))
    claims.wait_ready("one")
    follower = other(leader)
    assert replicas.metric(leader, "controller_runtime_reconcile_total") > 0
    assert replicas.metric(follower, "controller_runtime_reconcile_total") == 0
    assert "waiting for leadership" in replicas.page(follower, "/readyz")
    assert replicas.metric(follower, "crossplane_managed_resource_ready") == 1
    assert len(claims.tenants("one")) == 1


def test_the_leader_is_killed_amid_a_creation_and_the_other_finishes_it_once(
    claims: Claims, replicas: Replicas
) -> None:
    emulator = claims.world.emulator
    emulator.set_rate(1)
    leader = replicas.leader()
    start = emulator.calls()["total"]
    fault = emulator.hold("CreateDistributionTenant", nth=1, when="after")
    claims.apply(claims.claim("handed-over"))
    assert emulator.wait_held(fault, seconds=20)
    claims.world.processes.kill(leader)
    killed = time.monotonic()
    emulator.release(fault, drop=False)

    claims.wait("the other to lead", lambda: replicas.leads(other(leader)), seconds=30)
    took = time.monotonic() - killed
    assert took < LEASE + 3, f"the take-over took {took:.1f} s"
    claims.wait("the tenant to be known", lambda: known(claims, "handed-over"))
    emulator.step(60)
    claims.wait_ready("handed-over")
    made = [c for c in emulator.calls(since=start)["calls"] if c["operation"] == "CreateDistributionTenant"]
    assert len(made) == 1
    assert len(claims.tenants("handed-over")) == 1


def test_a_leader_that_is_stopped_finishes_what_is_under_way_and_hands_over_at_once(
    claims: Claims, replicas: Replicas
) -> None:
    emulator, processes = claims.world.emulator, claims.world.processes
    leader = replicas.leader()
    start = emulator.calls()["total"]
    fault = emulator.hold("CreateDistributionTenant", nth=1, when="before")
    claims.apply(claims.claim("finished"))
    assert emulator.wait_held(fault, seconds=20)
    stop = threading.Thread(target=processes.stop, args=(leader,))
    stop.start()
    replicas.wait_told(leader, "finishing work in progress")
    assert not replicas.leads(other(leader))
    emulator.release(fault, drop=False)
    stop.join()
    gone = time.monotonic()
    assert processes.run(leader).exit_code == 0
    assert "external-create-succeeded" in str(claims.managed("finished")["metadata"]["annotations"])

    claims.wait("the other to lead", lambda: replicas.leads(other(leader)), seconds=20)
    took = time.monotonic() - gone
    assert took < LEASE / 2, f"the hand-over took {took:.1f} s"
    claims.wait_ready("finished")
    made = [c for c in emulator.calls(since=start)["calls"] if c["operation"] == "CreateDistributionTenant"]
    assert len(made) == 1


def test_a_leader_that_froze_does_nothing_more_when_it_thaws(claims: Claims, replicas: Replicas) -> None:
    leader = replicas.leader()
    processes = claims.world.processes
    os.kill(processes.pid(leader), signal.SIGSTOP)
    claims.wait("the other to lead", lambda: replicas.leads(other(leader)), seconds=30)
    holder = replicas.holder()
    claims.apply(claims.claim("meanwhile"))
    claims.wait_ready("meanwhile")
    os.kill(processes.pid(leader), signal.SIGCONT)
    claims.wait("the old leader to end", lambda: processes.run(leader).exit_code is not None, seconds=20)
    assert processes.run(leader).exit_code == 1
    assert "leadership lost" in claims.world.log(leader)
    assert replicas.holder() == holder
    assert len(claims.tenants("meanwhile")) == 1

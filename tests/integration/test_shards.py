"""Three providers with three shards: each account has one of them, also after one is killed."""

from __future__ import annotations

import itertools
import re
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from edgetenants_runtime.shards import shard_of
from sandbox.states import ProcessState
from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.test_configs_in_use import config, secret, tenant
from tests.integration.watching import Object, is_true

LEASE = 10.0
FLAGS = (
    "--shards=3",
    f"--lease-duration={LEASE:.0f}",
    "--lease-renew-deadline=7",
    "--lease-retry-period=0.5",
)
NAMES = ("provider-x", "provider-y", "provider-z")
LEASES = ("provider-edgetenants", "provider-edgetenants-shard-1", "provider-edgetenants-shard-2")
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)


def account_in(shard: int) -> str:
    """An account of that shard."""
    numbers = (f"{number:012}" for number in itertools.count(444_400_000_000))
    return next(number for number in numbers if shard_of(number, 3) == shard)


ACCOUNTS = tuple(map(account_in, range(3)))


@dataclass
class Replicas:
    claims: Claims
    alive: list[str] = field(default_factory=lambda: list(NAMES))

    @property
    def world(self) -> World:
        return self.claims.world

    def samples(self, name: str, metric: str) -> list[tuple[str, float]]:
        port = self.world.processes.run(name).ports[1]
        with _DIRECT.open(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            found = _SAMPLE.findall(answer.read().decode())
        return [(labels, float(value)) for each, labels, value in found if each == metric]

    def holder(self, shard: int) -> str | None:
        """The living process that holds the shard."""
        label = f'name="{LEASES[shard]}"'
        holders = [
            name
            for name in self.alive
            if any(label == of and value for of, value in self.samples(name, "leader_election_master_status"))
        ]
        assert len(holders) <= 1, f"shard {shard} has {holders}"
        return holders[0] if holders else None

    def holders(self) -> list[str] | None:
        found = [self.holder(shard) for shard in range(3)]
        return [name for name in found if name] if all(found) else None

    def callers(self, account: str) -> dict[str, float]:
        """The living processes that called CloudFront in the account, each with the number of its calls."""
        counts = {
            name: sum(
                value
                for labels, value in self.samples(name, "edgetenants_aws_request_duration_seconds_count")
                if f'account="{account}"' in labels and 'operation="cloudfront:' in labels
            )
            for name in self.alive
        }
        return {name: count for name, count in counts.items() if count}

    def tenant(self, shard: int, number: int, **fields: object) -> Object:
        made = tenant(self.claims.namespace, f"shard-{shard}-{number}", f"of-{shard}")
        parent = f"E3SHARD{shard}"
        made["spec"]["forProvider"] = {
            "distributionId": parent,
            "domains": [f"{number}.shard-{shard}.test"],
            **fields,
        }
        return made

    def ready(self, shard: int, number: int) -> bool:
        return is_true(self.claims.get(f"shard-{shard}-{number}", "edt"), "Ready")

    def is_disabled(self, shard: int, number: int) -> bool:
        found = self.claims.tenants(f"shard-{shard}-{number}")
        return [each["Enabled"] for each in found] == [False]


@pytest.fixture
def replicas(world: World, claims: Claims) -> Iterator[Replicas]:
    for shard, account in enumerate(ACCOUNTS):
        parent = {"id": f"E3SHARD{shard}", "certificateDomains": [f"*.shard-{shard}.test"]}
        world.emulator.seed({"account": account, "distributions": [parent]})
        credentials, of = secret(claims.namespace, account), config(claims.namespace, f"of-{shard}")
        credentials["metadata"]["name"] = of["spec"]["credentials"]["secretRef"]["name"] = f"aws-{shard}"
        claims.apply(credentials, of)
    world.processes.stop("provider")
    for name in NAMES:
        world.add_provider(name, *FLAGS)
    made = Replicas(claims)
    yield made
    world.kubectl("delete", "edt", "--all", "-n", claims.namespace, "--wait=true", "--timeout=60s")
    for name in NAMES:
        if world.processes.run(name).state is ProcessState.DIED:
            world.processes.start(name)
        world.processes.kill(name)
    world.processes.start("provider")


def test_each_account_has_one_process_also_after_one_of_three_is_killed(
    claims: Claims, replicas: Replicas
) -> None:
    world, emulator = claims.world, claims.world.emulator
    claims.wait("each shard to have a process", replicas.holders, seconds=40)
    everyone = [(shard, number) for shard in range(3) for number in range(2)]
    claims.apply(*(replicas.tenant(*each) for each in everyone))
    claims.wait("all to be Ready", lambda: all(itertools.starmap(replicas.ready, everyone)), seconds=90)

    held = replicas.holders()
    assert held is not None
    for shard, account in enumerate(ACCOUNTS):
        assert list(replicas.callers(account)) == [held[shard]], f"{account}: {replicas.callers(account)}"

    victim = held[0]
    lost = [shard for shard in range(3) if held[shard] == victim]
    start = emulator.calls()["total"]
    world.processes.kill(victim)
    killed = time.monotonic()
    replicas.alive.remove(victim)
    claims.apply(*(replicas.tenant(*each, enabled=False) for each in everyone))
    done = dict[int, float]()

    def all_done() -> bool:
        for shard in range(3):
            if shard not in done and all(replicas.is_disabled(shard, number) for number in range(2)):
                done[shard] = time.monotonic() - killed
        return len(done) == 3

    claims.wait("the edits of all accounts", all_done, seconds=60)
    print(f"edits after the death of {victim}, which held {lost}: {done}")
    assert max(done.values()) < LEASE + 8, done

    now: list[str] = claims.wait("each shard to have a process", replicas.holders, seconds=20)
    for shard, account in enumerate(ACCOUNTS):
        assert shard in lost or now[shard] == held[shard]
        assert list(replicas.callers(account)) == [now[shard]], f"{account}: {replicas.callers(account)}"
    calls = emulator.calls(since=start)["calls"]
    assert [call for call in calls if call["operation"] == "CreateDistributionTenant"] == []
    updates = [call["account"] for call in calls if call["operation"] == "UpdateDistributionTenant"]
    assert {account: updates.count(account) for account in ACCOUNTS} == dict.fromkeys(ACCOUNTS, 2)

    world.processes.start(victim)
    time.sleep(3)
    replicas.alive.append(victim)
    assert replicas.holders() == now
    assert all(victim not in replicas.callers(account) for account in ACCOUNTS)

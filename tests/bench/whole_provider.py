"""Memory, processor time, and requests to Kubernetes of the provider's own process, with many tenants.

A whole sandbox takes part, with Crossplane core, the emulator, and an API server and etcd of their own. The
provider runs as in a pod, with its leader election. What it reads from and writes to Kubernetes is counted in
the API server's audit log. Stages:

    created    all tenants are created and become Ready
    idle       nothing changes, for some minutes at the speed of real time
    an hour    nothing changes, with AWS's clock faster than real time: a whole hour of polls and checks
    busy       users change tenants, so many a minute
    restarted  the provider is stopped and started
    standby    a second process starts: it reads and watches everything, and waits for the Lease

Processor time is that of the process: what else the machine does hardly changes it.
"""

from __future__ import annotations

import json
import os
import random
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from edgetenants_runtime.kube.client import KubeClient, Page
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import ObjectKey, ResourceKind
from provider.records.config_maps import LABEL
from sandbox.manifests import NAMESPACE
from sandbox.pki import PROVIDER_USER
from sandbox.world import World
from tests.bench.cold_start import NAMESPACES, used
from tests.bench.crowd import DISTRIBUTION, RESOURCES, is_ready
from tests.bench.environments import cache

TENANTS: Final = int(os.environ.get("BENCH_TENANTS", "10000"))
TEAMS: Final = 100
"""Namespaces."""
IDLE_SECONDS: Final = float(os.environ.get("BENCH_SECONDS", "300"))
"""Real seconds of the idle and of the busy stage."""
SPEED: Final = 8.0
"""How many times as fast as real time the hour passes."""
HOUR: Final = 3600.0
CHANGES_PER_MINUTE: Final = 200
SETTLES: Final = 60.0
"""Seconds without a write but of Leases after which nothing follows a creation or a change any more."""
AFTER_START: Final = 90.0
CREATION_SECONDS: Final = float(os.environ.get("BENCH_CREATION_SECONDS", "2700"))
"""Real seconds after which no more tenants are created, if the machine is slow."""
LONGEST: Final = 3600.0
CREATING: Final = {"cloudfront": 1000, "acm": 1000}
"""The ProviderConfig's requests per second while tenants are created."""
IDLE: Final = {"cloudfront": 5, "acm": 5}
"""The defaults."""
BUSY: Final = {"cloudfront": 20, "acm": 5}
LEADER, STANDBY = "leader", "standby"
CONFIGS: Final = ResourceKind(
    "m.edgetenants.io", "v1alpha1", "ClusterProviderConfig", "clusterproviderconfigs", namespaced=False
)
USAGES: Final = ResourceKind(
    "m.edgetenants.io", "v1alpha1", "ProviderConfigUsage", "providerconfigusages", namespaced=True
)
_READS: Final = frozenset({"get", "list", "watch"})
_MIB: Final = 1024 * 1024


@dataclass(frozen=True)
class Stage:
    """What one process did in a stage."""

    name: str
    seconds: float
    """Real seconds."""
    hours: float
    """Hours on AWS's clock."""
    cpu_seconds: float
    memory_mib: float
    """Resident at the end."""
    reads: dict[str, int]
    """Requests to Kubernetes: `list distributiontenants`; those of all processes, which are one user."""
    writes: dict[str, int]
    aws: dict[str, int]
    """Calls by operation."""

    @property
    def cpu_per_hour(self) -> float:
        """Seconds of processor time in an hour on AWS's clock."""
        return self.cpu_seconds / self.hours


@dataclass
class WholeProvider:
    """The provider with so many tenants."""

    tenants: int
    empty_mib: float = 0.0
    """Resident memory without tenants."""
    stages: list[Stage] = field(default_factory=list)
    changes: int = 0
    """Changes of users in the busy stage."""
    object_bytes: float = 0.0
    """A DistributionTenant as the API server lists it, in JSON, on average."""
    usage_bytes: float = 0.0
    """The ProviderConfigUsage of each tenant, the same."""
    record_bytes: float = 0.0
    """The records of kept domains and names of each tenant, in the data of ConfigMaps."""
    etcd_bytes: float = 0.0
    """What each tenant added to etcd's database, in use, after its compaction."""
    standby_empty_mib: float = 0.0
    standby_mib: float = 0.0
    """Resident memory of a process that only watches, without and with the tenants."""
    standby_ready_seconds: float = 0.0
    """Real seconds from its start until it has read everything."""
    standby_cpu_seconds: float = 0.0
    """The same in processor time."""
    list_seconds: float = 0.0
    """Real seconds of a list of all tenants in pages of 500, as a client reads it."""


def whole_providers() -> list[WholeProvider]:
    """Measure one."""
    with _sandbox() as world:
        return [_Measuring(world, TENANTS).measure()]


@contextmanager
def _sandbox() -> Iterator[World]:
    _say("starts a sandbox")
    world = World.up(name="bench-provider", cache=cache(), progress=lambda _: None)
    try:
        world.processes.stop("provider")
        yield world
    finally:
        world.down()


def _say(words: str) -> None:
    print(f"provider: {words}", flush=True)


class _Measuring:
    def __init__(self, world: World, tenants: int) -> None:
        self.world, self.found = world, WholeProvider(tenants)
        self.client = KubeClient.from_kubeconfig(str(world.kubeconfig), field_manager="bench")
        self.audit = _Audit(world.audit_log)
        self.rng = random.Random(1)
        self.edits = 0

    def measure(self) -> WholeProvider:
        """Go through all stages."""
        found, world = self.found, self.world
        world.emulator.change_settings({"tenants_per_account": 2 * found.tenants})
        world.add_provider(STANDBY)
        self._wait(20.0)
        found.standby_empty_mib = self._memory(STANDBY)
        world.processes.stop(STANDBY)
        world.add_provider(LEADER)
        self._wait(20.0)
        found.empty_mib = self._memory(LEADER)
        before = self._etcd_bytes()
        self._permit(CREATING)
        self._stage("created", self._create)
        # What follows a creation, such as the first check of DNS, would take long at the default rate.
        self._come_to_rest()
        self._permit(IDLE)
        self._come_to_rest()
        self._stage("idle", lambda: self._wait(IDLE_SECONDS))
        self._stage("an hour", self._hour)
        found.etcd_bytes = (self._etcd_bytes() - before) / found.tenants
        self._weigh()
        self._permit(BUSY)
        self._wait(30.0)
        self._stage("busy", self._change)
        self._permit(IDLE)
        self._come_to_rest()
        self._restart()
        self._stand_by()
        return found

    def _stage(self, name: str, happen: Callable[[], None], process: str = LEADER) -> None:
        """Measure a process while something happens."""
        self.audit.read()
        self.world.emulator.reset_calls()
        cpu, began, clock = self._cpu(process), time.monotonic(), self._aws_clock()
        happen()
        seconds, hours = time.monotonic() - began, (self._aws_clock() - clock) / HOUR
        requests = self.audit.read()
        stage = Stage(
            name=name,
            seconds=seconds,
            hours=hours,
            cpu_seconds=self._cpu(process) - cpu,
            memory_mib=self._memory(process),
            reads={what: count for what, count in requests.items() if not _is_write(what)},
            writes={what: count for what, count in requests.items() if _is_write(what)},
            aws=self._calls(),
        )
        self.found.stages.append(stage)
        _say(json.dumps(asdict(stage)))

    def _create(self) -> None:
        for number in range(TEAMS):
            metadata = {"name": f"team-{number}"}
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            self.client.create(NAMESPACES, namespace)
        began = time.monotonic()
        for number in range(self.found.tenants):
            self._apply(number)
            if number % 1000 == 0:
                _say(
                    f"{number} created after {time.monotonic() - began:.0f} s, {self._memory(LEADER):.0f} MiB"
                )
            if time.monotonic() > began + CREATION_SECONDS:
                self.found.tenants = number + 1
                _say(f"measures {number + 1} tenants: there is no time for more")
                break
        ready = 0
        while ready < self.found.tenants:
            assert time.monotonic() < began + LONGEST, f"only {ready} are Ready"
            time.sleep(15.0)
            ready = sum(map(is_ready, self._all(RESOURCES)))
            _say(f"{ready} Ready after {time.monotonic() - began:.0f} s, {self._memory(LEADER):.0f} MiB")

    def _apply(self, number: int) -> None:
        key, name = _key(number), f"t-{number}"
        for_provider = {
            "distributionId": DISTRIBUTION,
            "domains": [f"{name}.example.com"],
            "parameters": {"tenantName": name},
            "tags": {"team": key.namespace},
        }
        self.client.create(
            RESOURCES,
            {
                "apiVersion": RESOURCES.api_version,
                "kind": RESOURCES.kind,
                "metadata": {"name": key.name, "namespace": key.namespace},
                "spec": {"forProvider": for_provider},
            },
        )

    def _hour(self) -> None:
        self.world.emulator.set_rate(SPEED)
        self._wait(HOUR / SPEED)
        self.world.emulator.set_rate(1.0)

    def _change(self) -> None:
        began = time.monotonic()
        while (passed := time.monotonic() - began) < IDLE_SECONDS:
            while self.found.changes < passed / 60 * CHANGES_PER_MINUTE:
                self._edit(self.rng.randrange(self.found.tenants))
            time.sleep(0.1)

    def _edit(self, number: int) -> None:
        self.found.changes += 1
        parameters = {"tenantName": f"t-{number}-{self.found.changes}"}
        patch = {"spec": {"forProvider": {"parameters": parameters}}}
        self.client.patch(RESOURCES, _key(number), patch)

    def _restart(self) -> None:
        self.world.processes.stop(LEADER)
        self.audit.read()
        self.world.emulator.reset_calls()
        began = time.monotonic()
        self.world.processes.start(LEADER)
        ready = time.monotonic() - began
        _say(f"ready {ready:.0f} s after its start")
        self._wait(AFTER_START)
        requests = self.audit.read()
        self.found.stages.append(
            Stage(
                name="restarted",
                seconds=time.monotonic() - began,
                hours=(time.monotonic() - began) / HOUR,
                cpu_seconds=self._cpu(LEADER),
                memory_mib=self._memory(LEADER),
                reads={what: count for what, count in requests.items() if not _is_write(what)},
                writes={what: count for what, count in requests.items() if _is_write(what)},
                aws=self._calls(),
            )
        )
        _say(json.dumps(asdict(self.found.stages[-1])))

    def _stand_by(self) -> None:
        began = time.monotonic()
        self.world.processes.start(STANDBY)
        self.found.standby_ready_seconds = time.monotonic() - began
        self.found.standby_cpu_seconds = self._cpu(STANDBY)
        self._stage("standby", lambda: self._wait(IDLE_SECONDS / 2), STANDBY)
        self.found.standby_mib = self._memory(STANDBY)

    def _weigh(self) -> None:
        """Measure the objects, and the list of all of them."""
        began = time.monotonic()
        pages = list(self._pages(RESOURCES))
        self.found.list_seconds = time.monotonic() - began
        self.found.object_bytes = sum(page.size for page in pages) / self.found.tenants
        self.found.usage_bytes = sum(page.size for page in self._pages(USAGES)) / self.found.tenants
        maps = self.client.select(CONFIG_MAPS, NAMESPACE, {LABEL: "true"})
        records = sum(
            len(key) + len(value) for each in maps for key, value in (each.get("data") or {}).items()
        )
        self.found.record_bytes = records / self.found.tenants

    def _all(self, kind: ResourceKind) -> Iterator[Mapping[str, Any]]:
        for page in self._pages(kind):
            yield from page.items

    def _pages(self, kind: ResourceKind) -> Iterator[Page]:
        token = ""
        while True:
            page = self.client.list_page(kind, continue_token=token)
            yield page
            token = page.continue_token
            if not token:
                return

    def _permit(self, rates: Mapping[str, int]) -> None:
        self.client.patch(CONFIGS, ObjectKey("", "default"), {"spec": {"rateLimits": dict(rates)}})

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 60.0))
            dead = self.world.processes.died()
            assert not dead, dead

    def _come_to_rest(self) -> None:
        self.audit.read()
        began = time.monotonic()
        while True:
            self._wait(SETTLES)
            requests = self.audit.read()
            written = {what for what in requests if _is_write(what)} - {"patch leases"}
            if not written:
                return
            _say(f"not at rest after {time.monotonic() - began:.0f} s: {written}")
            assert time.monotonic() < began + LONGEST, "does not come to rest"

    def _aws_clock(self) -> float:
        return float(self.world.emulator.clock()["virtual"])

    def _calls(self) -> dict[str, int]:
        return dict(self.world.emulator.calls()["by_operation"])

    def _cpu(self, process: str) -> float:
        return used(self.world.processes.pid(process))[0]

    def _memory(self, process: str) -> float:
        status = Path(f"/proc/{self.world.processes.pid(process)}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def _etcd_bytes(self) -> float:
        url = f"http://127.0.0.1:{self.world.state.ports['etcd']}/metrics"
        with urllib.request.urlopen(url) as answer:
            lines = answer.read().decode().splitlines()
        name = "etcd_mvcc_db_total_size_in_use_in_bytes "
        return float(next(line for line in lines if line.startswith(name)).removeprefix(name))


def _key(number: int) -> ObjectKey:
    return ObjectKey(f"team-{number % TEAMS}", f"t-{number}")


class _Audit:
    """The requests of the provider, from the audit log."""

    def __init__(self, log: Path) -> None:
        self._log, self._at = log, 0

    def read(self) -> Counter[str]:
        """Those since the last reading, by verb and resource."""
        found = Counter[str]()
        with self._log.open("rb") as lines:
            lines.seek(self._at)
            for line in lines:
                if not line.endswith(b"\n"):
                    break
                self._at += len(line)
                event = json.loads(line)
                if event["user"]["username"] == PROVIDER_USER and event["stage"] != "ResponseStarted":
                    found[_what(event)] += 1
        return found


def _is_write(what: str) -> bool:
    return what.split(maxsplit=1)[0] not in _READS


def _what(event: Mapping[str, Any]) -> str:
    about = event.get("objectRef") or {}
    return f"{event['verb']} {about.get('resource') or event.get('requestURI', '')}"

"""A thousand objects of one namespace, and the object of another one meanwhile.

The whole sandbox takes part: API server, Crossplane core, function, provider and emulator. The object of the
calm namespace is created when no other one exists, then several times while those of the crowd are created
and become ready. The rival is the idle sandbox itself: how many times as long does it take beside the crowd?

Two crowds: of claims, for which Crossplane core composes the managed resources, and of managed resources
alone, which only the provider serves.
"""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.managed import ObjectKey, ResourceKind
from sandbox.world import World
from tests.bench.environments import cache

CROWD: Final = int(os.environ.get("BENCH_CLAIMS", "1000"))
IDLE_ROUNDS: Final = 5
RATE: Final = 60.0
"""How fast the clock of the emulator runs: a roll-out takes some seconds, the rest of the time is ours."""
LONGEST: Final = 300.0
CLAIMS: Final = ResourceKind(
    "platform.edgetenants.io", "v1alpha1", "TenantClaim", "tenantclaims", namespaced=True
)
RESOURCES: Final = ResourceKind(
    "cloudfront.m.edgetenants.io", "v1alpha1", "DistributionTenant", "distributiontenants", namespaced=True
)
DISTRIBUTION: Final = "E1EDGETENANTS"
"""In every sandbox."""
NAMESPACES: Final = ResourceKind("", "v1", "Namespace", "namespaces", namespaced=False)


@dataclass(frozen=True)
class Crowd:
    """The result, in seconds."""

    kind: str
    """The kind of the objects."""
    objects: int
    idle: float
    """Until an object is Ready with nothing else to do: the median."""
    beside: list[float]
    """The same for each object that was created while the crowd was busy."""
    composed: list[float]
    """Of each claim of these: until Crossplane had created its managed resource."""
    all_ready: float
    """Until all objects of the crowd were Ready."""
    ratio: float
    """The median of `beside` to `idle`."""


def crowds() -> list[Crowd]:
    """Measure one crowd of each kind, in a sandbox of its own."""
    return [in_sandbox(kind, spec) for kind, spec in ((CLAIMS, claim), (RESOURCES, tenant))]


def in_sandbox(kind: ResourceKind, spec: Callable[[str], dict[str, Any]]) -> Crowd:
    """Measure one crowd."""
    world = World.up(name="bench-crowd", cache=cache(), progress=lambda _: None)
    try:
        world.emulator.set_rate(RATE)
        client = KubeClient.from_kubeconfig(str(world.kubeconfig), field_manager="bench")
        crowd = _Measuring(world, client, kind, spec).crowd()
    finally:
        world.down()
    # Each takes minutes: who stops the second one keeps the first.
    print(
        f"{crowd.kind}: {crowd.ratio} times {crowd.idle} s; all ready after {crowd.all_ready} s", flush=True
    )
    return crowd


@dataclass(frozen=True)
class _Measuring:
    world: World
    client: KubeClient
    kind: ResourceKind
    spec: Callable[[str], dict[str, Any]]
    """Returns the spec of an object with the given name for its domain."""

    def crowd(self) -> Crowd:
        """Create objects one by one, then the crowd, then others beside it."""
        for name in ("calm", "crowd"):
            self.client.create(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
        names = (f"calm-{number}" for number in itertools.count())
        idle = [self.timed(next(names))[0] for _ in range(IDLE_ROUNDS)]
        began = time.monotonic()
        ended: list[float] = []
        threads = [
            threading.Thread(target=lambda: [self.create("crowd", f"c{n}") for n in range(CROWD)]),
            threading.Thread(target=lambda: ended.append(self.until_ready(began))),
        ]
        for thread in threads:
            thread.start()
        found = list(self.beside(names, ended))
        for thread in threads:
            thread.join()
        took, composed = [each for each, _ in found], [each for _, each in found if each]
        usual = median(idle)
        ratio = round(median(took) / usual, 1)
        return Crowd(self.kind.kind, CROWD, round(usual, 1), took, composed, ended[0], ratio)

    def beside(self, names: Iterator[str], ended: list[float]) -> Iterator[tuple[float, float]]:
        """Time one object after the other until the crowd is ready."""
        while not ended:
            yield self.timed(next(names))
            time.sleep(2)

    def timed(self, name: str) -> tuple[float, float]:
        """Seconds until a new object is Ready, and until a claim has a managed resource; then delete it."""
        began, composed = time.monotonic(), 0.0
        self.create("calm", name)
        while time.monotonic() < began + LONGEST:
            if self.kind is CLAIMS and not composed and self.composes(name):
                composed = time.monotonic() - began
            if is_ready(self.client.get(self.kind, ObjectKey("calm", name))):
                break
            time.sleep(0.1)
        took = time.monotonic() - began
        self.world.kubectl("delete", self.kind.resource, name, "-n", "calm", "--wait=false")
        return round(took, 1), round(composed, 1)

    def composes(self, claim_name: str) -> bool:
        """Whether the managed resource of a claim exists."""
        return bool(self.client.select(RESOURCES, "calm", {"crossplane.io/composite": claim_name}))

    def create(self, namespace: str, name: str) -> None:
        """Create an object with a domain of its own."""
        metadata = {"name": name, "namespace": namespace}
        spec = self.spec(f"{name}-{namespace}.example.com")
        made = {"apiVersion": self.kind.api_version, "kind": self.kind.kind}
        self.client.create(self.kind, {**made, "metadata": metadata, "spec": spec})

    def until_ready(self, began: float) -> float:
        """Seconds until all objects of the crowd were Ready."""
        while True:
            found = self.client.select(self.kind, "crowd", {})
            if len(found) == CROWD and all(map(is_ready, found)):
                return round(time.monotonic() - began, 1)
            time.sleep(3)


def is_ready(obj: dict[str, Any]) -> bool:
    """Whether Ready is True."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def claim(domain: str) -> dict[str, Any]:
    """The spec of a claim."""
    return {"plan": "standard", "domains": [domain]}


def tenant(domain: str) -> dict[str, Any]:
    """The spec of a managed resource."""
    return {"forProvider": {"distributionId": DISTRIBUTION, "domains": [domain]}}

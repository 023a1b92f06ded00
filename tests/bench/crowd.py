"""A thousand objects of one namespace, and the object of another one meanwhile.

The whole sandbox takes part: API server, Crossplane core, function, provider and emulator. The object of the
calm namespace is created when no other one exists, then several times while those of the crowd are created
and become ready. The rival is the idle sandbox itself: how many times as long does it take beside the crowd?

Two crowds: of claims, for which Crossplane core composes the managed resources, and of managed resources
alone, which only the provider serves.

Two speeds. At CloudFront's own, a roll-out takes 45 s, and the crowd keeps the account's request rate used up
for as long as the measurement takes. At 60 times that, the roll-outs cost next to nothing, and what is
measured is the work of the control plane on this machine.
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
REAL_SPEED: Final = 1.0
FAST: Final = 60.0
"""How many times as fast as real time the emulator rolls out."""
LONGEST: Final = 300.0
"""Seconds until an object of the calm namespace counts as Ready, at most."""
LONGEST_CROWD: Final = float(os.environ.get("BENCH_SECONDS", "900"))
"""Seconds of the crowd, at most."""
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
    speed: float
    """How many times as fast as real time the emulator rolled out."""
    objects: int
    idle: float
    """Until an object is Ready with nothing else to do: the median."""
    beside: list[float]
    """The same for each object that was created while the crowd was busy."""
    composed: list[float]
    """Of each claim of these: until Crossplane had created its managed resource."""
    lasted: float
    """Until all objects of the crowd were Ready, or the measurement ended."""
    ready: int
    """Objects of the crowd that were Ready then."""
    ratio: float
    """The median of `beside` to `idle`."""


def crowds() -> list[Crowd]:
    """Measure one crowd after the other, each in a sandbox of its own."""
    measured = ((CLAIMS, claim, REAL_SPEED), (CLAIMS, claim, FAST), (RESOURCES, tenant, FAST))
    return [in_sandbox(*each) for each in measured]


def in_sandbox(kind: ResourceKind, spec: Callable[[str], dict[str, Any]], speed: float) -> Crowd:
    """Measure one crowd."""
    world = World.up(name="bench-crowd", cache=cache(), progress=lambda _: None)
    try:
        world.emulator.set_rate(speed)
        client = KubeClient.from_kubeconfig(str(world.kubeconfig), field_manager="bench")
        crowd = _Measuring(world, client, kind, spec, speed).crowd()
    finally:
        world.down()
    # Each takes minutes: who stops the next one keeps this one.
    print(summary(crowd), flush=True)
    return crowd


def summary(crowd: Crowd) -> str:
    """Say in some lines what was measured."""
    composed = f"\n  of that, until Crossplane composed it: {crowd.composed} s" if crowd.composed else ""
    return (
        f"crowd at {crowd.speed:g} times CloudFront's speed: {crowd.objects} {crowd.kind}s of one namespace,"
        f" {crowd.ready} Ready after {crowd.lasted} s"
        f"\n  that of another namespace, idle: {crowd.idle} s; beside them: {crowd.beside} s{composed}"
        f"\n  ratio of the medians: {crowd.ratio}"
    )


@dataclass(frozen=True)
class _Measuring:
    world: World
    client: KubeClient
    kind: ResourceKind
    spec: Callable[[str], dict[str, Any]]
    """Returns the spec of an object with the given name for its domain."""
    speed: float

    def crowd(self) -> Crowd:
        """Create objects one by one, then the crowd, then others beside it."""
        for name in ("calm", "crowd"):
            self.client.create(
                NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
        names = (f"calm-{number}" for number in itertools.count())
        idle = [self.timed(next(names))[0] for _ in range(IDLE_ROUNDS)]
        began = time.monotonic()
        ended: list[int] = []
        threads = [
            threading.Thread(target=lambda: [self.create("crowd", f"crowd-{n}") for n in range(CROWD)]),
            threading.Thread(target=lambda: ended.append(self.ready_at_last(began))),
        ]
        for thread in threads:
            thread.start()
        found = list(self.beside(names, ended))
        for thread in threads:
            thread.join()
        lasted = round(time.monotonic() - began, 1)
        took, composed = [each for each, _ in found], [each for _, each in found if each]
        usual = median(idle)
        ratio = round(median(took) / usual, 1)
        idle_median = round(usual, 1)
        return Crowd(self.kind.kind, self.speed, CROWD, idle_median, took, composed, lasted, ended[0], ratio)

    def beside(self, names: Iterator[str], ended: list[int]) -> Iterator[tuple[float, float]]:
        """Time one object after the other until the crowd is Ready, or its time is over."""
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

    def ready_at_last(self, began: float) -> int:
        """Wait until all objects of the crowd are Ready, or the measurement ends; return how many are."""
        while True:
            ready = sum(map(is_ready, self.client.select(self.kind, "crowd", {})))
            if ready == CROWD or time.monotonic() > began + LONGEST_CROWD:
                return ready
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

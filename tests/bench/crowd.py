"""A thousand claims of one namespace, and the claim of another one meanwhile.

The whole sandbox takes part: API server, Crossplane core, function, provider and emulator. The claim of the
calm namespace is created when no other claim exists, then several times while the crowd's claims are created
and become ready. The rival is the idle sandbox itself: how many times as long does a claim take beside the
crowd?
"""

import itertools
import os
import threading
import time
from collections.abc import Iterator
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
NAMESPACES: Final = ResourceKind("", "v1", "Namespace", "namespaces", namespaced=False)


@dataclass(frozen=True)
class Crowd:
    """The result, in seconds."""

    claims: int
    idle: float
    """Until a claim is Ready with nothing else to do: the median."""
    beside: list[float]
    """The same for each claim that was created while the crowd was busy."""
    composed: list[float]
    """Of each of these: until Crossplane had created its managed resource."""
    all_ready: float
    """Until all claims of the crowd were Ready."""
    ratio: float
    """The median of `beside` to `idle`."""


def crowds() -> list[Crowd]:
    """Measure one crowd, in a sandbox of its own."""
    world = World.up(name="bench-crowd", cache=cache(), progress=lambda _: None)
    try:
        world.emulator.set_rate(RATE)
        return [measured(world, KubeClient.from_kubeconfig(str(world.kubeconfig), field_manager="bench"))]
    finally:
        world.down()


def measured(world: World, client: KubeClient) -> Crowd:
    """Create claims one by one, then the crowd, then others beside it."""
    for name in ("calm", "crowd"):
        client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    names = (f"calm-{number}" for number in itertools.count())
    idle = [timed(world, client, next(names))[0] for _ in range(IDLE_ROUNDS)]
    began = time.monotonic()
    creator = threading.Thread(target=lambda: create(client))
    creator.start()
    ended: list[float] = []
    watcher = threading.Thread(target=lambda: ended.append(until_ready(client, began)))
    watcher.start()
    found = list(beside(world, client, names, ended))
    creator.join()
    watcher.join()
    took, composed = [each for each, _ in found], [each for _, each in found]
    usual = median(idle)
    return Crowd(CROWD, round(usual, 1), took, composed, ended[0], round(median(took) / usual, 1))


def create(client: KubeClient) -> None:
    """Create the claims of the crowd."""
    for number in range(CROWD):
        client.create(CLAIMS, claim("crowd", f"c{number}"))


def beside(
    world: World, client: KubeClient, names: Iterator[str], ended: list[float]
) -> Iterator[tuple[float, float]]:
    """Time one claim after the other until the crowd is ready."""
    while not ended:
        yield timed(world, client, next(names))
        time.sleep(2)


def timed(world: World, client: KubeClient, name: str) -> tuple[float, float]:
    """Seconds until a new claim is Ready, and until its managed resource exists; then delete the claim."""
    began = time.monotonic()
    client.create(CLAIMS, claim("calm", name))
    composed = 0.0
    key = ObjectKey("calm", name)
    while time.monotonic() < began + LONGEST:
        if not composed and resources(client, name):
            composed = time.monotonic() - began
        if is_ready(client.get(CLAIMS, key)):
            break
        time.sleep(0.1)
    took = time.monotonic() - began
    world.kubectl("delete", "tenantclaim", name, "-n", "calm", "--wait=false")
    return round(took, 1), round(composed, 1)


def resources(client: KubeClient, claim_name: str) -> list[dict[str, Any]]:
    """The managed resources of a claim."""
    return client.select(RESOURCES, "calm", {"crossplane.io/composite": claim_name})


def until_ready(client: KubeClient, began: float) -> float:
    """Seconds until all claims of the crowd are Ready."""
    while True:
        found = client.select(CLAIMS, "crowd", {})
        if len(found) == CROWD and all(map(is_ready, found)):
            return round(time.monotonic() - began, 1)
        time.sleep(3)


def is_ready(obj: dict[str, Any]) -> bool:
    """Whether Ready is True."""
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def claim(namespace: str, name: str) -> dict[str, Any]:
    """A claim with a domain of its own."""
    return {
        "apiVersion": CLAIMS.api_version,
        "kind": CLAIMS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"plan": "standard", "domains": [f"{name}-{namespace}.example.com"]},
    }

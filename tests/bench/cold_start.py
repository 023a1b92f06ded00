"""The time from a cold start until all managed resources are reconciled once, for three no-op providers.

Each has its own API server on the same machine, and all resources exist before it starts:

    edgetenants_runtime     providers/on_runtime.py
    crossplane-runtime      goprovider/, in Go
    kopf                    providers/on_kopf.py, which guarantees less (see its docstring)
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import KubeError
from edgetenants_runtime.managed import ManagedKind, ResourceKind
from sandbox.world import Options, World
from tests.bench.environments import cache, go_program, python_of

HERE = Path(__file__).resolve().parent
PROVIDERS = HERE / "providers"
NOOPS = ManagedKind("bench.example.org", "v1alpha1", "Noop", "noops", namespaced=True)
NAMESPACES = ResourceKind("", "v1", "Namespace", "namespaces", namespaced=False)
NAMESPACE = "bench"
RESOURCES = int(os.environ.get("BENCH_RESOURCES", "10000"))
WORKERS = 10
LONGEST = 600.0
"""Timeout of a provider in seconds. Its row then says how many resources are Ready."""
LOOK_EVERY = 5.0


@dataclass(frozen=True)
class ColdStart:
    """The result of one provider. Memory is the peak resident memory; writes are those to the resources."""

    name: str
    provider: str
    resources: int
    ready: int
    """The number of Ready resources: all, unless the provider timed out."""
    seconds: float
    reconciles_per_second: float
    cpu_seconds: float
    memory_mb: float
    writes_per_resource: float
    ratio_to_go: float | None
    """Go's seconds divided by this provider's: above 1 is faster than Go. None if Go was not measured."""


def cold_starts() -> list[ColdStart]:
    """Measure all three, one after the other. The Go provider is skipped if Go is missing."""
    commands: dict[str, Sequence[str | Path]] = {
        "edgetenants_runtime": (sys.executable, PROVIDERS / "on_runtime.py"),
        "kopf 1.45.2": (python_of("kopf"), PROVIDERS / "on_kopf.py"),
    }
    go = go_program("goprovider", "a provider on crossplane-runtime")
    if go:
        commands = {"crossplane-runtime v2.3.3 (Go)": (go,)} | commands
    found: list[ColdStart] = []
    for name, command in commands.items():
        first = found[0].seconds if go and found else None
        found.append(measure(name, command, first))
    return found


def measure(name: str, command: Sequence[str | Path], go_seconds: float | None) -> ColdStart:
    """Measure one provider with a new API server."""
    with control_plane() as world:
        client = KubeClient.from_kubeconfig(world.kubeconfig, field_manager="bench-observer")
        populate(world, client)
        arguments = [world.kubeconfig, str(WORKERS)]
        log = (cache() / "bench" / "provider.log").open("w")
        start = time.monotonic()
        process = subprocess.Popen([*command, *arguments], stdout=log, stderr=log)
        try:
            ready, seconds = wait_ready(client, process, start)
            cpu, memory = used(process.pid)
        finally:
            process.terminate()
            process.wait(30)
        writes = writes_to_resources(world.audit_log)
    return ColdStart(
        name="cold-start",
        provider=name,
        resources=RESOURCES,
        ready=ready,
        seconds=round(seconds, 1),
        reconciles_per_second=round(ready / seconds, 1),
        cpu_seconds=round(cpu, 1),
        memory_mb=round(memory, 1),
        writes_per_resource=round(writes / RESOURCES, 2),
        ratio_to_go=None if go_seconds is None else round(go_seconds / seconds, 2),
    )


@contextmanager
def control_plane() -> Iterator[World]:
    """An API server with the benchmark's kind."""
    options = Options(control_plane_only=True)
    world = World.up(name="bench", cache=cache(), progress=lambda _: None, options=options)
    try:
        world.kubectl("apply", "-f", str(PROVIDERS / "crd.yaml"))
        world.wait_for_condition("crd", "noops.bench.example.org", "Established")
        yield world
    finally:
        world.down()


def populate(world: World, client: KubeClient, threads: int = 8) -> None:
    """Create the resources before a provider reconciles them."""
    world.kubectl("create", "namespace", NAMESPACE)
    numbers = iter(range(RESOURCES))
    lock = threading.Lock()

    def create() -> None:
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            metadata = {"name": f"noop-{number}", "namespace": NAMESPACE}
            client.create(NOOPS, {"metadata": metadata, "spec": {"forProvider": {"size": 1}}})

    workers = [threading.Thread(target=create) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def wait_ready(client: KubeClient, process: "subprocess.Popen[bytes]", start: float) -> tuple[int, float]:
    """How many resources are Ready, and after how many seconds all are. Polls each LOOK_EVERY seconds."""
    ready = 0
    while True:
        if process.poll() is not None:
            raise RuntimeError(f"the provider ended with exit code {process.returncode}; see provider.log")
        with suppress(KubeError):  # a busy API server may time out; the next poll follows soon
            ready = count_ready(client)
        seconds = time.monotonic() - start
        if ready == RESOURCES or seconds > LONGEST:
            return ready, seconds
        time.sleep(LOOK_EVERY)


def count_ready(client: KubeClient) -> int:
    """How many resources have Ready True, from a paged list."""
    count, token = 0, ""
    while True:
        page = client.list_page(NOOPS, continue_token=token)
        for item in page.items:
            conditions = (item.get("status") or {}).get("conditions") or ()
            count += any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
        token = page.continue_token
        if not token:
            return count


def used(pid: int) -> tuple[float, float]:
    """CPU seconds and peak resident memory in MB of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return ticks / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) / 1024


def writes_to_resources(audit_log: Path) -> int:
    """Updates and patches of the resources that the API server accepted."""
    verbs: Counter[str] = Counter()
    with audit_log.open() as lines:
        for line in lines:
            event = json.loads(line)
            if (event.get("objectRef") or {}).get("resource") != "noops":
                continue
            if (event.get("responseStatus") or {}).get("code", 0) < 300:
                verbs[event["verb"]] += 1
    return verbs["update"] + verbs["patch"]

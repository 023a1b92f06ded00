"""The function against the same composition in the SDK's usual style, over one mTLS connection like core's.

1, 10 and 100 composed resources; 1 and 8 calls in flight. Every composed resource is observed with its
status. No request is sent twice: in each, the composite and one of the resources have new versions, like a
call of core after a change. In the rows "with news", the message of a condition changes, which affects the
response; in the others, only fields change that do not affect it.

function-pythonic 0.6 requires Python 3.12. If it is missing, the rival is skipped with a message.
"""

import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grpc
import trustme
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function.composed.naming import digest
from tests.bench.environments import find_python, python_of
from tests.bench.servers import free_port, server

FUNCTIONS = Path(__file__).resolve().parent / "functions"
SIZES = (1, 10, 100)
RUNS = ((1, False), (1, True), (8, False))
"""Calls in flight, and whether each request has changed input."""
ROUNDS = 5
CALLS = {1: 400, 10: 300, 100: 80}
"""Calls per round, by the number of composed resources."""

Times = tuple[list[float], float]


@dataclass(frozen=True)
class Row:
    """One measurement of one function: time of a call, calls per second, peak resident memory so far."""

    name: str
    function: str
    resources: int
    in_flight: int
    p50_ms: float
    p99_ms: float
    calls_per_second: float
    memory_mb: float
    ours_times_as_fast: float | None
    """This function's median time divided by ours, in alternating rounds; None for ours."""


@dataclass(frozen=True)
class Function:
    """A running function, a connection to it, and the input of its step."""

    name: str
    pid: int
    call: Any
    input: Mapping[str, Any]

    def times(self, requests: list[bytes], in_flight: int) -> "Times":
        """The seconds of each call, and of all calls together."""

        def one(request: bytes) -> float:
            start = time.perf_counter()
            self.call(request)
            return time.perf_counter() - start

        start = time.perf_counter()
        if in_flight == 1:
            found = [one(request) for request in requests]
        else:
            with ThreadPoolExecutor(in_flight) as pool:
                found = list(pool.map(one, requests))
        return found, time.perf_counter() - start


def rows() -> list[Row]:
    """Measure all functions in alternation."""
    with TemporaryDirectory() as folder, ExitStack() as open_:
        authority = certificates(Path(folder))
        functions = [
            open_.enter_context(function(authority, Path(folder), program))
            for program in programs(Path(folder))
        ]
        return [
            row
            for size in SIZES
            for in_flight, news in RUNS
            for row in measure(functions, size, in_flight, news=news)
        ]


def measure(functions: list[Function], size: int, in_flight: int, *, news: bool) -> list[Row]:
    """Measure alternating rounds, after one warm-up round of each function."""
    versions = count(1)
    check(functions, size, next(versions))
    rounds: list[list[Times]] = []
    for _ in range(ROUNDS):
        numbers = [next(versions) for _ in range(CALLS[size])]
        rounds.append(
            [
                each.times([request(each, size, version, news=news) for version in numbers], in_flight)
                for each in functions
            ]
        )
    medians = [[statistics.median(seconds) for seconds, _ in each] for each in rounds]
    return [
        row(each, (size, in_flight, news), [times[index] for times in rounds], ratio(medians, index))
        for index, each in enumerate(functions)
    ]


def ratio(medians: list[list[float]], index: int) -> float | None:
    if index == 0:
        return None
    return round(statistics.median(each[index] / each[0] for each in medians), 2)


def row(
    function: Function,
    run: tuple[int, int, bool],
    rounds: list[tuple[list[float], float]],
    ratio: float | None,
) -> Row:
    size, in_flight, news = run
    times = sorted(seconds * 1000 for each, _ in rounds for seconds in each)
    return Row(
        name="composition with news" if news else "composition",
        function=function.name,
        resources=size,
        in_flight=in_flight,
        p50_ms=round(statistics.median(times), 2),
        p99_ms=round(times[int(len(times) * 0.99)], 2),
        calls_per_second=round(len(times) / sum(whole for _, whole in rounds), 1),
        memory_mb=round(memory(function.pid), 1),
        ours_times_as_fast=ratio,
    )


def check(functions: list[Function], size: int, version: int) -> None:
    """Check that all functions return the same resources, all of them ready."""
    answers = [
        fnv1.RunFunctionResponse.FromString(each.call(request(each, size, version))) for each in functions
    ]
    wanted = [{name: each.resource for name, each in answer.desired.resources.items()} for answer in answers]
    for one, answer, resources in zip(functions, answers, wanted, strict=True):
        ready = [each for each in answer.desired.resources.values() if each.ready == fnv1.READY_TRUE]
        if len(ready) != size or resources != wanted[0]:
            told = [result.message for result in answer.results]
            raise RuntimeError(
                f"{one.name} returns other resources, or {len(ready)} of {size} are ready: {told}"
            )


def request(function: Function, size: int, version: int, *, news: bool = False) -> bytes:
    """A claim with `size` domains and one tenant per domain, of which one has just changed."""
    req = fnv1.RunFunctionRequest()
    req.CopyFrom(_settled(size))
    req.input.update(dict(function.input))
    changed = list(req.observed.resources.values())[version % size]
    for resource in (req.observed.composite.resource, changed.resource):
        resource["metadata"]["resourceVersion"] = str(version)
    changed.resource["status"]["atProvider"]["etag"] = f"E{version}"
    if news:
        changed.resource["status"]["conditions"][1]["message"] = f"Observation number {version}."
    return req.SerializeToString()


@lru_cache
def _settled(size: int) -> fnv1.RunFunctionRequest:
    domains = [f"d{number}.example.com" for number in range(size)]
    req = fnv1.RunFunctionRequest(meta=fnv1.RequestMeta(tag="bench"))
    req.observed.composite.resource.update(claim(domains))
    for domain in domains:
        req.observed.resources[f"tenant-{digest(domain)}"].resource.update(observed(domain))
    return req


PLAN: Mapping[str, Any] = {
    "distributionId": "E1EDGETENANTS",
    "parameters": {"tier": "standard"},
    "tags": {"plan": "standard"},
    "allow": {"override": ["parameters"], "maxPerDomain": 100, "maxDomains": 100},
}
PLANS = {
    "apiVersion": "edgetenants.fn.crossplane.io/v1alpha1",
    "kind": "TenantPlans",
    "plans": {"standard": PLAN},
}


def claim(domains: list[str]) -> dict[str, Any]:
    return {
        "apiVersion": "platform.edgetenants.io/v1alpha1",
        "kind": "TenantClaim",
        "metadata": {"name": "acme", "namespace": "shop", "uid": "0f6c1f0e-0000-4000-8000-000000000001"},
        "spec": {
            "plan": "standard",
            "isolation": "PerDomain",
            "domains": domains,
            "parameters": {"tenantName": "acme"},
        },
        "status": {"conditions": [{"type": "Live", "status": "True", "reason": "Live"}]},
    }


def observed(domain: str) -> dict[str, Any]:
    """A served tenant, with the fields that the API server and the provider have set."""
    name = f"shop.acme-{digest(domain)}"
    told = {"status": "True", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    asked = {
        "distributionId": "E1EDGETENANTS",
        "domains": [domain],
        "enabled": True,
        "parameters": {"tier": "standard", "tenantName": "acme"},
        "tags": {"plan": "standard"},
    }
    return {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {
            "name": f"acme-{digest(domain)}",
            "namespace": "shop",
            "uid": f"0f6c1f0e-0000-40{digest(domain)}",
            "generation": 1,
            "resourceVersion": "4711",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {
                "crossplane.io/external-name": name,
                "crossplane.io/composition-resource-name": f"tenant-{digest(domain)}",
                "crossplane.io/external-create-pending": "2026-01-01T00:00:00.000001Z",
                "crossplane.io/external-create-succeeded": "2026-01-01T00:00:01.000001Z",
            },
            "labels": {"crossplane.io/composite": "acme"},
            "finalizers": ["finalizer.managedresource.crossplane.io"],
        },
        "spec": {
            "managementPolicies": ["*"],
            "providerConfigRef": {"kind": "ClusterProviderConfig", "name": "default"},
            "forProvider": asked,
        },
        "status": {
            "domainsReady": "1/1",
            "observedGeneration": 1,
            "conditions": [
                {"type": "Ready", "reason": "Available", **told},
                {"type": "Synced", "reason": "ReconcileSuccess", **told},
                {"type": "Deployed", "reason": "Deployed", **told},
                {"type": "InSync", "reason": "InSync", **told},
                {"type": "CertificateReady", "reason": "NotConfigured", **told},
                {"type": "DNSReady", "reason": "DNSNotConfigured", **told},
            ],
            "atProvider": {
                "id": f"dt_{digest(domain)}",
                "arn": f"arn:aws:cloudfront::123456789012:distribution-tenant/dt_{digest(domain)}",
                "etag": "E23ZP02F085DFQ",
                "name": name,
                "status": "Deployed",
                "enabled": True,
                "distributionId": "E1EDGETENANTS",
                "connectionGroupId": "cg_default",
                "routingEndpoint": "d111111abcdef8.cloudfront.net",
                "domains": [{"domain": domain, "status": "active"}],
                "parameters": asked["parameters"],
            },
        },
    }


def certificates(folder: Path) -> trustme.CA:
    """Write tls.crt, tls.key and ca.crt for a server on loopback, as Crossplane mounts them."""
    authority = trustme.CA()
    own = authority.issue_cert("localhost", "127.0.0.1")
    own.private_key_pem.write_to_path(folder / "tls.key")
    (folder / "tls.crt").write_bytes(b"".join(blob.bytes() for blob in own.cert_chain_pems))
    authority.cert_pem.write_to_path(folder / "ca.crt")
    return authority


@dataclass(frozen=True)
class Program:
    """The command line of a function; its address is appended."""

    name: str
    command: tuple[str, ...]
    python: str
    input: Mapping[str, Any]


def ours(folder: Path) -> Program:
    """Our function, as released."""
    command = ("-m", "function.main", "--tls-server-certs-dir", str(folder), "--address")
    return Program("ours", command, sys.executable, PLANS)


def dict_style(folder: Path) -> Program:
    """The same composition in the style of the Python SDK's documentation."""
    command = (str(FUNCTIONS / "dict_style.py"), str(folder))
    return Program("dict style", command, sys.executable, PLANS)


def programs(folder: Path) -> list[Program]:
    """Our function, followed by the rivals that can run on this machine."""
    tls = ("--tls-certs-dir", str(folder))
    found = [ours(folder), dict_style(folder)]
    newer = find_python("3.12")
    if newer is None:
        print("skipping function-pythonic 0.6: it requires Python 3.12; `function` measures 0.1.4")
        return found
    python = python_of("pythonic06", newer)
    composite = (FUNCTIONS / "pythonic_style.py").read_text()
    input_ = {
        "apiVersion": "pythonic.fn.crossplane.io/v1alpha1",
        "kind": "Composite",
        "composite": composite,
    }
    command = (str(python.with_name("function-pythonic")), "grpc", *tls, "--address")
    return [*found, Program("function-pythonic 0.6.3", command, str(python), input_)]


@contextmanager
def function(authority: trustme.CA, folder: Path, program: Program) -> Iterator[Function]:
    """Run a function in its own process, with one connection with a client certificate."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    own = authority.issue_cert("crossplane")
    chain = b"".join(blob.bytes() for blob in own.cert_chain_pems)
    credentials = grpc.ssl_channel_credentials(authority.cert_pem.bytes(), own.private_key_pem.bytes(), chain)
    options = [("grpc.max_receive_message_length", -1)]
    with (
        server(*program.command, address, port=port, python=program.python) as process,
        grpc.secure_channel(address, credentials, options=options) as channel,
    ):
        grpc.channel_ready_future(channel).result(timeout=20)
        # Requests are serialized in advance, so that only the function and the connection are measured.
        call = channel.unary_unary("/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction")
        yield Function(program.name, process.pid, call, program.input)


def memory(pid: int) -> float:
    """The peak resident memory of a process so far, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024

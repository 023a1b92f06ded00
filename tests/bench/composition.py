"""The function beside the same composition in the SDK's usual style, over one mTLS connection as core has it.

1, 10 and 100 composed resources; 1 and 8 calls in flight. Every composed resource is observed with its
status. No request is ever sent twice: in each, the composite and one of the resources have a version that was
not seen before, as it is when core calls because something has changed.

Left out: function-pythonic 0.6, which needs Python 3.12 where this project's environment has the oldest Python
that it supports. The bench `function` measures 0.1.4, the last one for 3.11.
"""

import statistics
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

from function.naming import digest
from tests.bench.servers import free_port, server

DICT_STYLE = Path(__file__).resolve().parent / "functions" / "dict_style.py"
SIZES = (1, 10, 100)
IN_FLIGHT = (1, 8)
ROUNDS = 5
CALLS = {1: 400, 10: 300, 100: 80}
"""Calls of one round, by the number of composed resources."""


@dataclass(frozen=True)
class Row:
    """One measurement of one function: time of a call, calls a second, most resident memory so far."""

    name: str
    function: str
    resources: int
    in_flight: int
    p50_ms: float
    p99_ms: float
    calls_per_second: float
    memory_mb: float
    times_as_fast: float | None
    """The dict style's median time through ours, by rounds in turn; None for the dict style itself."""


def rows() -> list[Row]:
    """Measure both, in turn."""
    print("left out: function-pythonic 0.6, which needs Python 3.12; `function` measures 0.1.4", flush=True)
    with TemporaryDirectory() as folder, ExitStack() as open_:
        authority = certificates(Path(folder))
        ours = open_.enter_context(function(authority, Path(folder), ours=True))
        theirs = open_.enter_context(function(authority, Path(folder), ours=False))
        return [
            row for size in SIZES for in_flight in IN_FLIGHT for row in measure(ours, theirs, size, in_flight)
        ]


@dataclass(frozen=True)
class Function:
    """A running function and one connection to it."""

    name: str
    pid: int
    call: Any

    def times(self, requests: list[bytes], in_flight: int) -> tuple[list[float], float]:
        """Seconds of each call, and of all together."""

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


def measure(ours: Function, theirs: Function, size: int, in_flight: int) -> list[Row]:
    """Rounds in turn, after one of each that does not count."""
    versions = count(1)
    check(ours, theirs, request(size, next(versions)), size)
    rounds = []
    for _ in range(ROUNDS):
        requests = [request(size, next(versions)) for _ in range(CALLS[size])]
        rounds.append((ours.times(requests, in_flight), theirs.times(requests, in_flight)))
    ratio = statistics.median(
        statistics.median(their[0]) / statistics.median(our[0]) for our, their in rounds
    )
    return [
        row(ours, size, in_flight, [our for our, _ in rounds], round(ratio, 2)),
        row(theirs, size, in_flight, [their for _, their in rounds], None),
    ]


def row(
    function: Function,
    size: int,
    in_flight: int,
    rounds: list[tuple[list[float], float]],
    ratio: float | None,
) -> Row:
    times = sorted(seconds * 1000 for each, _ in rounds for seconds in each)
    return Row(
        name="composition",
        function=function.name,
        resources=size,
        in_flight=in_flight,
        p50_ms=round(statistics.median(times), 2),
        p99_ms=round(times[int(len(times) * 0.99)], 2),
        calls_per_second=round(len(times) / sum(whole for _, whole in rounds), 1),
        memory_mb=round(memory(function.pid), 1),
        times_as_fast=ratio,
    )


def check(ours: Function, theirs: Function, sent: bytes, size: int) -> None:
    """Both must want the same resources, all of them ready."""
    answers = [fnv1.RunFunctionResponse.FromString(each.call(sent)) for each in (ours, theirs)]
    for answer in answers:
        ready = [each for each in answer.desired.resources.values() if each.ready == fnv1.READY_TRUE]
        if len(ready) != size:
            raise RuntimeError(f"{len(ready)} of {size} are ready: {[r.message for r in answer.results]}")
    one, other = (answer.desired.resources for answer in answers)
    if {k: v.resource for k, v in one.items()} != {k: v.resource for k, v in other.items()}:
        raise RuntimeError("the two compositions differ")


def request(size: int, version: int) -> bytes:
    """A claim with so many domains, each with a tenant of its own, of which one has just changed."""
    req = fnv1.RunFunctionRequest()
    req.CopyFrom(_settled(size))
    changed = list(req.observed.resources.values())[version % size]
    for resource in (req.observed.composite.resource, changed.resource):
        resource["metadata"]["resourceVersion"] = str(version)
    return req.SerializeToString()


@lru_cache
def _settled(size: int) -> fnv1.RunFunctionRequest:
    domains = [f"d{number}.example.com" for number in range(size)]
    req = fnv1.RunFunctionRequest(meta=fnv1.RequestMeta(tag="bench"))
    req.observed.composite.resource.update(claim(domains))
    req.input.update(
        {
            "apiVersion": "edgetenants.fn.crossplane.io/v1alpha1",
            "kind": "TenantPlans",
            "plans": {"standard": PLAN},
        }
    )
    for domain in domains:
        req.observed.resources[f"tenant-{digest(domain)}"].resource.update(observed(domain))
    return req


PLAN: Mapping[str, Any] = {
    "distributionId": "E1EDGETENANTS",
    "parameters": {"tier": "standard"},
    "tags": {"plan": "standard"},
    "allow": {"override": ["parameters"], "maxPerDomain": 100, "maxDomains": 100},
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
    """A tenant that serves, with all that the API server and the provider put into it."""
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
            "uid": f"0f6c1f0e-0000-4000-8000-{digest(domain)}00",
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
    """tls.crt, tls.key and ca.crt of a server on loopback, as Crossplane mounts them."""
    authority = trustme.CA()
    own = authority.issue_cert("localhost", "127.0.0.1")
    own.private_key_pem.write_to_path(folder / "tls.key")
    (folder / "tls.crt").write_bytes(b"".join(blob.bytes() for blob in own.cert_chain_pems))
    authority.cert_pem.write_to_path(folder / "ca.crt")
    return authority


@contextmanager
def function(authority: trustme.CA, folder: Path, *, ours: bool) -> Iterator[Function]:
    """A function as a process of its own, and one connection with a client certificate."""
    port = free_port()
    address = f"127.0.0.1:{port}"
    arguments = [str(DICT_STYLE), address, str(folder)]
    if ours:
        arguments = ["-m", "function.main", "--address", address, "--tls-server-certs-dir", str(folder)]
    own = authority.issue_cert("crossplane")
    chain = b"".join(blob.bytes() for blob in own.cert_chain_pems)
    credentials = grpc.ssl_channel_credentials(authority.cert_pem.bytes(), own.private_key_pem.bytes(), chain)
    with (
        server(*arguments, port=port) as process,
        grpc.secure_channel(
            address, credentials, options=[("grpc.max_receive_message_length", -1)]
        ) as channel,
    ):
        grpc.channel_ready_future(channel).result(timeout=20)
        # Serialized once beforehand: what is measured is the function and the wire, not this client.
        call = channel.unary_unary("/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction")
        yield Function("ours" if ours else "dict style", process.pid, call)


def memory(pid: int) -> float:
    """Most resident memory of a process so far, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024

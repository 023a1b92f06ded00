"""The API server stops, forgets, and loses a kind; the provider misses nothing and needs no restart."""

import json
import os
import signal
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from sandbox.world import World
from tests.integration.claims import Claims

CRD = "distributiontenants.cloudfront.m.edgetenants.io"


@contextmanager
def frozen(world: World, process: str) -> Iterator[None]:
    """The process stands still, with all its connections open as far as it knows."""
    pid = world.processes.pid(process)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def restart_api_server(world: World) -> None:
    world.processes.kill("apiserver")
    world.processes.start("apiserver")


def compact(world: World) -> None:
    """Have etcd forget everything but the present (its gRPC gateway, api/etcdserverpb/rpc.proto)."""
    etcd = f"http://127.0.0.1:{world.state.ports['etcd']}/v3/kv"

    def ask(path: str, **body: Any) -> Any:
        request = urllib.request.Request(f"{etcd}/{path}", json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    revision = ask("range", key="AA==", limit="1")["header"]["revision"]
    ask("compaction", revision=revision, physical=True)


def readiness(world: World) -> str:
    health = world.processes.run("provider").ports[0]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{health}/readyz", timeout=5) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return str(error.read().decode())


def provider_lists(world: World, since: int) -> int:
    """How often the provider has listed tenants since that place in the audit log."""
    with world.audit_log.open() as log:
        log.seek(since)
        entries = [json.loads(line) for line in log if line.strip()]
    return len(
        [
            e
            for e in entries
            if e["verb"] == "list"
            and e["user"]["username"].endswith(":provider-edgetenants")
            and (e.get("objectRef") or {}).get("resource") == "distributiontenants"
        ]
    )


def one_comes_and_one_goes(claims: Claims) -> None:
    """Core composes a tenant for the claim `comes`, and asks for the deletion of that of `goes`."""
    claims.apply(claims.claim("comes"))
    claims.wait("core to compose", lambda: claims.managed("comes"))
    claims.delete("goes")
    claims.wait(
        "the deletion to be asked for",
        lambda: claims.managed("goes").get("metadata", {}).get("deletionTimestamp"),
    )


def test_an_api_server_that_stops_is_waited_for_and_told_by_readiness(claims: Claims, world: World) -> None:
    claims.apply(claims.claim("before"))
    claims.wait_ready("before")
    pid = world.processes.pid("provider")
    world.processes.kill("apiserver")
    world.wait_for("readiness to tell", lambda: "Connection refused" in readiness(world))
    world.processes.start("apiserver")
    world.wait_for("readiness to heal", lambda: readiness(world).startswith("ok\n"), seconds=60)
    claims.apply(claims.claim("after"))
    claims.wait_ready("after")
    claims.delete("before")
    claims.wait_gone(["before"])
    assert world.processes.pid("provider") == pid


def test_what_changed_while_nobody_watched_is_not_missed(claims: Claims, world: World) -> None:
    claims.apply(claims.claim("stays"), claims.claim("goes"))
    claims.wait_ready("stays")
    claims.wait_ready("goes")
    with frozen(world, "provider"):
        restart_api_server(world)
        one_comes_and_one_goes(claims)
    claims.wait_ready("comes")
    claims.wait_gone(["goes"])
    assert len(claims.tenants("stays")) == len(claims.tenants("comes")) == 1


def test_a_past_that_etcd_has_compacted_is_listed_anew(claims: Claims, world: World) -> None:
    claims.apply(claims.claim("stays"), claims.claim("goes"))
    claims.wait_ready("stays")
    claims.wait_ready("goes")
    with frozen(world, "provider"):
        restart_api_server(world)
        one_comes_and_one_goes(claims)
        compact(world)
        # A server without a memory of its own: what it tells is what etcd still knows.
        restart_api_server(world)
        audited = world.audit_log.stat().st_size
    claims.wait_ready("comes")
    claims.wait_gone(["goes"])
    assert provider_lists(world, audited) >= 1
    assert len(claims.tenants("stays")) == len(claims.tenants("comes")) == 1


def test_a_kind_that_goes_and_comes_back_is_served_again(claims: Claims, world: World) -> None:
    claims.apply(claims.claim("old"))
    claims.wait_ready("old")
    claims.delete("old")
    claims.wait_gone(["old"])
    pid = world.processes.pid("provider")
    crd = world.kubectl("get", "crd", CRD, "-o", "json")
    world.kubectl("delete", "crd", CRD)
    waiting = f"waiting for {CRD} to be served"
    try:
        world.wait_for("readiness to tell", lambda: waiting in readiness(world))
        assert readiness(world).startswith("ok\n")
    finally:
        stored = json.loads(crd)
        manifest = {**stored, "metadata": {"name": CRD, "labels": stored["metadata"].get("labels", {})}}
        manifest.pop("status")
        world.kubectl("create", "-f", "-", input=yaml.safe_dump(manifest))
    world.wait_for_condition("crd", CRD, "Established")
    world.wait_for("the kind to be read", lambda: waiting not in readiness(world), seconds=60)
    claims.apply(claims.claim("new"))
    claims.wait_ready("new", seconds=120)
    assert world.processes.pid("provider") == pid

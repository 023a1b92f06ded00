"""The local world itself: side by side, supervised, and gone without a trace."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox.world import World
from tests.integration.conftest import CACHE


def edgetenants(*args: str) -> subprocess.CompletedProcess[str]:
    """The command as a user runs it."""
    command = [sys.executable, "-m", "cli.main", *args]
    environment = {**os.environ, "EDGETENANTS_CACHE": str(CACHE)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
def second() -> "str":
    name = f"second-{os.getpid()}"
    yield name
    edgetenants("sandbox", "down", "--name", name)


def test_a_second_world_runs_beside_the_first_names_its_dead_and_leaves_nothing(
    world: World, second: str
) -> None:
    up = edgetenants("sandbox", "up", "--name", second)
    assert up.returncode == 0, up.stdout + up.stderr
    status = json.loads(edgetenants("sandbox", "status", "--name", second, "-o", "json").stdout)
    processes = {p["name"]: p for p in status["processes"]}
    assert {"apiserver", "crossplane", "emulator", "function", "provider"} <= set(processes)
    other_ports = {
        p
        for q in json.loads(edgetenants("sandbox", "status", "--name", world.name, "-o", "json").stdout)[
            "processes"
        ]
        for p in q["ports"]
    }
    ports = {port for p in processes.values() for port in p["ports"]}
    assert ports
    assert not ports & other_ports

    os.kill(processes["function"]["pid"], 9)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        told = edgetenants("sandbox", "status", "--name", second)
        if told.returncode != 0:
            break
        time.sleep(0.2)
    assert told.returncode != 0
    assert "function" in told.stdout + told.stderr

    down = edgetenants("sandbox", "down", "--name", second)
    assert down.returncode == 0, down.stdout + down.stderr
    assert [p["name"] for p in processes.values() if alive(p["pid"])] == []
    assert [port for port in ports if listening(port)] == []
    assert world.kubectl("get", "--raw", "/readyz").strip() == "ok"


def test_an_unknown_log_lists_the_known_ones(world: World) -> None:
    told = edgetenants("sandbox", "logs", "porvider", "--name", world.name)
    assert told.returncode != 0
    assert "provider" in told.stderr
    assert "audit" in told.stderr


def test_the_environments_kubeconfig_is_not_used(world: World) -> None:
    told = edgetenants("sandbox", "env", "--name", world.name)
    assert f"KUBECONFIG={world.kubeconfig}" in told.stdout.replace('"', "").replace("'", "")


def test_a_cluster_where_crossplane_runs_is_refused(world: World) -> None:
    context = world.kubectl("config", "current-context").strip()
    told = edgetenants(
        "sandbox", "up", "--name", "intruder", "--kubeconfig", str(world.kubeconfig), "--context", context
    )
    assert told.returncode != 0
    assert "--i-own-this-cluster" in told.stderr
    unknown = edgetenants(
        "sandbox", "up", "--name", "intruder", "--kubeconfig", str(world.kubeconfig), "--context", "nowhere"
    )
    assert unknown.returncode != 0
    assert context in unknown.stderr

"""What a person sees: status, shell variables, logs."""

import os
import shlex
import signal
import subprocess
import time

import pytest

from sandbox import logs, report
from sandbox.control import recorded
from sandbox.errors import WorldError
from sandbox.state import ControlPlane, Phase, State
from sandbox.world import World


@pytest.fixture
def world(layout, processes):
    state = State("test", ControlPlane.BUILT, {"emulator": 5000}, "/opt/bin/kubectl", phase=Phase.UP)
    return World(layout, layout.save(state))


def test_status_of_what_runs(world, processes, spec):
    processes.launch(spec("emulator", ports=(5000,)))
    found = report.status(world)
    assert found.healthy
    [row] = found.processes
    assert (row["name"], row["ports"], row["state"]) == ("emulator", [5000], "running")
    assert row["uptime_seconds"] >= 0
    assert "emulator" in found.text()


def test_status_names_the_dead_with_their_last_lines(world, processes, spec):
    processes.launch(spec("function", "print('why it ended'); raise SystemExit(4)"))
    while not processes.died():
        time.sleep(0.01)
    found = report.status(world)
    assert not found.healthy
    assert "function died (exit code 4)" in found.text()
    assert "why it ended" in found.text()
    assert '"healthy": false' in found.to_json()


def test_status_without_a_supervisor_does_not_say_running(world, processes, layout, spec):
    processes.launch(spec("emulator"))
    known = recorded(layout.directory)
    known.supervisor.signal(signal.SIGKILL)
    while any(p.alive for p in known.everyone()):
        time.sleep(0.01)
    found = report.status(world)
    assert not found.healthy
    assert found.processes[0]["state"] == "gone"
    assert "the supervisor has ended" in found.text()


def test_a_process_that_was_stopped_is_not_a_fault(world, processes, spec):
    processes.launch(spec("provider"))
    processes.kill("provider")
    assert report.status(world).healthy
    assert "stopped (-9)" in report.status(world).text()


def test_the_variables_are_what_a_shell_reads_back(world, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/a folder")
    monkeypatch.setenv("KUBECONFIG", "/elsewhere")
    script = (
        report.exports(world.environment()) + '\nprintf "%s\\n" "$KUBECONFIG" "$AWS_ENDPOINT_URL" "$PATH"'
    )
    out = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, check=True, env={}
    ).stdout.splitlines()
    assert out[:2] == [str(world.kubeconfig), "http://127.0.0.1:5000"]
    own, *rest = out[2].split(":")
    assert rest == ["/usr/bin", "/a folder"]
    assert own.startswith(str(world.layout.directory))


def test_setting_the_variables_twice_does_not_lengthen_the_path(world, monkeypatch):
    monkeypatch.setenv("PATH", world.environment()["PATH"])
    assert world.environment()["PATH"] == os.environ["PATH"]


def test_variables_of_a_control_plane_alone_name_no_aws(layout):
    world = World(layout, State("test", ControlPlane.BUILT, {}, "/opt/bin/kubectl", control_plane_only=True))
    assert not [name for name in world.environment() if name.startswith("AWS")]


def test_exports_quote():
    value = "it's $HOME"
    assert report.exports({"A": value}) == f"export A={shlex.quote(value)}"


def test_a_table_without_rows_is_nothing():
    assert report.table(("A",), []) == ""
    assert report.table(("A", "B"), [("long", "x")]) == "A      B\nlong   x"


@pytest.mark.parametrize(("seconds", "text"), [(None, "-"), (5.9, "0m05s"), (75, "1m15s"), (3700, "1h01m")])
def test_uptime(seconds, text):
    assert report._uptime(seconds) == text


@pytest.mark.parametrize(
    ("tail", "text"), [(None, "1\n2\n3\n"), (0, ""), (1, "3\n"), (2, "2\n3\n"), (9, "1\n2\n3\n")]
)
def test_the_tail_of_a_log(world, tail, text):
    world.layout.log("provider").write_text("1\n2\n3\n")
    assert "".join(logs.read(world, "provider", tail=tail)) == text


def test_the_tail_of_a_log_of_many_blocks_that_has_no_newline_at_its_end(world, monkeypatch):
    monkeypatch.setattr(logs, "_BLOCK", 7)
    lines = [f"line {n}" for n in range(100)]
    world.layout.log("provider").write_text("\n".join(lines))
    assert "".join(logs.read(world, "provider", tail=30)) == "\n".join(lines[-30:])


def test_a_character_on_the_edge_of_a_block_stays_whole(world, monkeypatch):
    monkeypatch.setattr(logs, "_BLOCK", 3)
    world.layout.log("provider").write_text("ab→cd\n")
    assert "".join(logs.read(world, "provider")) == "ab→cd\n"


def test_following_a_log(world):
    file = world.layout.log("provider")
    file.write_text("one\n")
    pieces = logs.read(world, "provider", follow=True)
    assert next(pieces) == "one\n"
    with file.open("a") as log:
        log.write("two\n")
    assert next(pieces) == "two\n"


def test_an_unknown_log_is_answered_with_the_known_ones(world):
    world.layout.log("provider").touch()
    world.layout.audit_log.touch()
    with pytest.raises(WorldError, match=r"log 'porvider' not found; logs: audit, provider"):
        logs.read(world, "porvider")


def test_a_given_cluster_keeps_its_own_audit_log(layout):
    world = World(layout, State("test", ControlPlane.GIVEN, {}, "kubectl", cluster="prod"))
    with pytest.raises(WorldError, match="no access to the audit log of cluster prod"):
        logs.read(world, "audit")

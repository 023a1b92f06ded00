"""The command line: wrong input is answered in words on stderr, with exit code 1."""

import json

import pytest
from click.testing import CliRunner

from cli.main import cli
from sandbox.errors import WorldError
from sandbox.state import ControlPlane, Crossplane, Phase, State
from sandbox.world import World


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("EDGETENANTS_CACHE", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return lambda *args: CliRunner().invoke(cli, ["sandbox", *args])


WRONG = {
    "a kubeconfig that is not there": (
        ("up", "--kubeconfig", "/no/file", "--context", "x"),
        "file /no/file not found",
    ),
    "a context alone": (("up", "--context", "x"), "--context requires --kubeconfig"),
    "a port that is none": (
        ("up", "--port", "emulator=http"),
        "expected NAME=PORT with a port from 1 to 65535, such as emulator=5000, got 'emulator=http'",
    ),
    "a port that does not exist": (
        ("up", "--port", "emulator=99999"),
        "expected NAME=PORT with a port from 1 to 65535, such as emulator=5000, got 'emulator=99999'",
    ),
    "a port of nobody": (("up", "--port", "emulator"), "expected NAME=PORT"),
    "a name that is none": (("up", "--name", "a/b"), "--name: expected at most 63 lower-case letters"),
    "no sandbox to look at": (("status",), "sandbox 'default' not found"),
    "no sandbox to take stock of": (("inventory",), "sandbox 'default' not found"),
    "no sandbox to read": (("logs", "provider"), "sandbox 'default' not found"),
    "no sandbox to use": (("env",), "sandbox 'default' not found"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_input_is_answered_in_words(run, case):
    args, words = WRONG[case]
    done = run(*args)
    assert done.exit_code == 1
    assert words in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("flags", "crossplane"), [((), Crossplane.V2), (("--crossplane", "v1"), Crossplane.V1)]
)
def test_the_core_is_v2s_unless_v1_is_asked_for(run, monkeypatch, flags, crossplane):
    asked = []

    def up(**what):
        asked.append(what["options"])
        raise WorldError("not today")

    monkeypatch.setattr(World, "up", up)
    assert "not today" in run("up", *flags).stderr
    assert [options.crossplane for options in asked] == [crossplane]


def test_a_core_that_there_is_not_is_refused(run):
    assert "'v3' is not one of 'v1', 'v2'" in run("up", "--crossplane", "v3").stderr


def test_down_of_nothing_is_fine(run):
    assert run("down").exit_code == 0
    assert run("down", "--all").exit_code == 0


@pytest.fixture
def sandbox(layout, processes):
    state = State("test", ControlPlane.BUILT, {}, "/opt/bin/kubectl", phase=Phase.UP, control_plane_only=True)
    layout.save(state)
    return processes


def test_a_sandbox_is_looked_at_handled_and_taken_down(run, sandbox, spec):
    sandbox.launch(spec("apiserver"))
    of = ("--name", "test")
    assert json.loads(run("status", *of, "-o", "json").stdout)["processes"][0]["name"] == "apiserver"
    assert "apiserver is running with pid" in run("restart", "apiserver", *of).output
    assert run("kill", "apiserver", *of).exit_code == 0
    assert run("status", *of).exit_code == 0
    assert run("start", "apiserver", *of).exit_code == 0
    assert run("stop", "apiserver", *of).exit_code == 0
    stock = json.loads(run("inventory", *of, "-o", "json").stdout)
    assert stock["processes"][0]["state"] == "stopped"
    assert "Objects created by up" in run("inventory", *of).output
    assert run("logs", "apiserver", *of).exit_code == 0
    assert "its 1 processes have ended" in run("down", "--all").output
    assert run("status", *of).exit_code == 1


def test_status_fails_when_a_process_died(run, sandbox, spec):
    sandbox.launch(spec("apiserver", "print('the disk is full')"))
    while not sandbox.died():
        pass
    done = run("status", "--name", "test")
    assert done.exit_code == 1
    assert "the disk is full" in done.output


def test_env_is_for_the_shell(run, sandbox):
    done = run("env", "--name", "test")
    assert all(line.startswith("export ") for line in done.stdout.splitlines())

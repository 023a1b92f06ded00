"""Processes under a real supervisor: named when they die, started again as they were, never left behind."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sandbox import launch
from sandbox.control import Control, recorded
from sandbox.errors import ProcessDied, SupervisorGone, WorldError
from sandbox.pids import ProcessId
from sandbox.processes import Processes
from sandbox.specs import Probe, ProcessSpec
from sandbox.state import Layout
from sandbox.states import ProcessState

STUBBORN = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
POLITE = (
    "import signal, sys, time; signal.signal(15, lambda *_: sys.exit(0)); "
    "print('ears', flush=True); time.sleep(60)"
)


def until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


def test_a_child_that_ends_by_itself_is_named_with_its_last_lines(processes, spec):
    processes.launch(spec("weak", "print('first'); print('the reason'); raise SystemExit(3)"))
    until(processes.died)
    [dead] = processes.died()
    assert (dead.name, dead.state, dead.exit_code) == ("weak", ProcessState.DIED, 3)
    with pytest.raises(ProcessDied, match=r"(?s)weak died \(exit code 3\).*the reason"):
        processes.wait_ready("weak")


def test_a_child_killed_by_somebody_else_has_died(processes, spec):
    processes.launch(spec("victim"))
    os.kill(processes.pid("victim"), signal.SIGKILL)
    until(processes.died)
    assert processes.died()[0].ending() == "signal 9"


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_child_that_was_asked_to_end_has_not_died(processes, spec, end):
    processes.launch(spec("polite", POLITE))
    until(lambda: "ears" in processes.run("polite").output())
    getattr(processes, end)("polite")
    assert processes.run("polite").state is ProcessState.STOPPED
    assert processes.died() == ()
    assert processes.run("polite").exit_code == (0 if end == "stop" else -9)


def test_a_child_that_does_not_hear_is_killed(processes, spec):
    processes.launch(spec("deaf", STUBBORN))
    until(lambda: "deaf" in processes.run("deaf").output())
    processes.stop("deaf")
    assert processes.run("deaf").exit_code == -signal.SIGKILL


def test_a_child_starts_again_as_it_was_and_its_output_is_told_apart(processes, spec):
    code = "import os, time; print(os.environ['WORD'], os.getpid(), flush=True); time.sleep(60)"
    processes.launch(spec("twice", code, env={"WORD": "hello"}))
    until(lambda: "hello" in processes.run("twice").output())
    first = processes.pid("twice")
    processes.kill("twice")
    processes.start("twice")
    until(lambda: "hello" in processes.run("twice").output())
    assert processes.pid("twice") != first
    assert str(first) not in processes.run("twice").output()
    assert str(first) in processes.run("twice").log.read_text()


def test_flags_are_for_one_run(processes, spec):
    processes.launch(spec("flags", "import sys, time; print(sys.argv[1:], flush=True); time.sleep(60)"))
    for flags, said in ([], "[]"), (["--one", "2"], "['--one', '2']"), ([], "[]"):
        processes.kill("flags")
        processes.start("flags", flags=flags)
        until(lambda said=said: said in processes.run("flags").output())


def test_a_child_inherits_nothing_of_the_environment(processes, spec, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "production")
    processes.launch(
        spec("bare", "import os; print(sorted(set(os.environ) - {'LC_CTYPE'}))", env={"ONLY": "this"})
    )
    until(processes.died)
    assert processes.run("bare").output().strip() == "['ONLY']"


def test_restart_and_ensure_running(processes, spec):
    processes.launch(spec("any"))
    first = processes.pid("any")
    processes.ensure_running("any")
    assert processes.pid("any") == first
    processes.restart("any")
    second = processes.pid("any")
    assert second != first
    processes.kill("any")
    processes.ensure_running("any")
    assert processes.pid("any") not in {first, second}


@pytest.mark.parametrize("act", ["start", "stop", "kill", "run", "restart"])
def test_an_unknown_name_is_answered_with_the_known_ones(processes, spec, act):
    processes.launch(spec("known"))
    with pytest.raises(WorldError, match=r"'unknown'.*known"):
        getattr(processes, act)("unknown")


def test_what_runs_is_not_started_again(processes, spec):
    processes.launch(spec("one"))
    with pytest.raises(WorldError, match="one is already running with pid"):
        processes.start("one")


def test_a_program_that_is_not_there_is_an_error_and_the_supervisor_goes_on(processes, layout, spec):
    with pytest.raises(WorldError, match=r"cannot start ghost.*/no/such/program"):
        processes.launch(ProcessSpec(name="ghost", argv=("/no/such/program",), log=str(layout.log("ghost"))))
    processes.launch(spec("after"))
    assert processes.run("after").state is ProcessState.RUNNING


def test_a_request_that_makes_no_sense_is_answered(processes, layout):
    with pytest.raises(WorldError, match="unknown request 'dance'"):
        Control(layout.directory)._ask({"do": "dance"})


def test_not_ready_in_time_says_what_was_asked_and_the_last_lines(processes, spec):
    code = "import time; print('still thinking', flush=True); time.sleep(60)"
    processes.launch(spec("slow", code, probe=Probe("http://127.0.0.1:9/readyz")))
    until(lambda: "thinking" in processes.run("slow").output())
    with pytest.raises(
        WorldError, match=r"(?s)slow is not ready after 0 s \(http://127.0.0.1:9/readyz\).*thinking"
    ):
        processes.wait_ready("slow", seconds=0.1)
    with pytest.raises(WorldError, match="stopped waiting for slow"):
        processes.wait_ready("slow", abandoned=lambda: True)


def test_shutdown_leaves_nothing_and_ends_higher_tiers_first(processes, layout, spec):
    telling = (
        "import signal, sys, time\n"
        "signal.signal(15, lambda *_: (print(time.time(), flush=True), sys.exit(0)))\n"
    )
    for name, tier in (("store", 0), ("server", 1), ("client", 2)):
        processes.launch(spec(name, f"{telling}print('ears', flush=True); time.sleep(60)", tier=tier))
        until(lambda name=name: "ears" in processes.run(name).output())
    everyone = recorded(layout.directory).everyone()
    assert len(everyone) == 4
    processes.shutdown()
    assert [p for p in everyone if p.alive] == []
    ended = [float(layout.log(name).read_text().split()[-1]) for name in ("client", "server", "store")]
    assert ended == sorted(ended)
    with pytest.raises(SupervisorGone):
        processes.runs()


def test_a_supervisor_that_is_killed_leaves_no_process(processes, layout, spec):
    processes.launch(spec("orphan", STUBBORN))
    until(lambda: "deaf" in processes.run("orphan").output())
    known = recorded(layout.directory)
    assert known.supervisor is not None
    known.supervisor.signal(signal.SIGKILL)
    until(lambda: not any(p.alive for p in known.everyone()))
    processes.shutdown()
    with pytest.raises(SupervisorGone, match="not running"):
        processes.runs()


def test_a_supervisor_that_hangs_is_ended_with_its_children(processes, layout, spec, monkeypatch):
    processes.launch(spec("child"))
    known = recorded(layout.directory)
    known.supervisor.signal(signal.SIGSTOP)
    monkeypatch.setattr(Control, "shutdown", lambda self: self._ask({"do": "shutdown"}, timeout=0.2))
    processes.shutdown()
    assert not any(p.alive for p in known.everyone())


def test_sigterm_ends_the_supervisor_and_its_children(processes, layout, spec):
    processes.launch(spec("child"))
    known = recorded(layout.directory)
    known.supervisor.signal(signal.SIGTERM)
    until(lambda: not any(p.alive for p in known.everyone()))
    with pytest.raises(SupervisorGone):
        processes.runs()


def test_a_pid_that_changed_hands_is_not_touched(layout, spec):
    """What stands in processes.json may be of another boot, or its pids may be another owner's by now."""
    with subprocess.Popen(["sleep", "30"]) as stranger:
        mine = ProcessId.of(stranger.pid)
        earlier = ProcessId(stranger.pid, mine.start - 1, mine.boot)
        other_boot = ProcessId(stranger.pid, mine.start, "another boot")
        for wrong in (earlier, other_boot):
            assert not wrong.alive
            assert not wrong.signal(signal.SIGKILL)
        assert stranger.poll() is None
        assert mine.signal(signal.SIGKILL)
        stranger.wait(5)
        assert not mine.alive
        assert not mine.signal(signal.SIGKILL)


def test_a_folder_with_a_long_path_works(tmp_path: Path, spec):
    """A socket's address holds 108 bytes."""
    layout = Layout(tmp_path / ("long" * 30), "test")
    layout.make()
    launch.start_supervisor(layout, grace=0.5)
    try:
        assert Processes(layout.directory).runs() == ()
    finally:
        Processes(layout.directory).shutdown()


def test_a_supervisor_that_cannot_start_says_why(layout):
    (layout.directory / "control.sock").mkdir()
    with pytest.raises(WorldError, match=r"(?s)supervisor did not start.*Error"):
        launch.start_supervisor(layout)

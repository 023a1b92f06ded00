"""Processes that are started again as copies of the supervisor: like others, without the imports."""

import os
import signal
import sys
import threading
import time
from ast import literal_eval
from pathlib import Path

import pytest

from sandbox import copies, launch
from sandbox.processes import Processes
from sandbox.specs import ProcessSpec
from sandbox.states import ProcessState

PROGRAM = "tests.unit.sandbox.program"


@pytest.fixture
def processes(monkeypatch, layout):
    monkeypatch.setenv(copies.VARIABLE, f"other {PROGRAM}")
    launch.start_supervisor(layout, grace=5)
    running = Processes(layout.directory)
    try:
        yield running
    finally:
        running.shutdown()


@pytest.fixture
def program(layout):
    def make(*arguments, module=PROGRAM):
        argv = (sys.executable, "-m", module, *arguments)
        return ProcessSpec(name="program", argv=argv, log=str(layout.log("program")), env={"WORD": "hello"})

    return make


def until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def ended(processes):
    until(lambda: processes.run("program").state is not ProcessState.RUNNING)
    return processes.run("program")


def test_a_copy_is_like_a_process_that_was_executed(processes, program):
    processes.launch(program("3"))
    assert ended(processes).exit_code == 3
    *executed, own = ended(processes).output().splitlines()
    processes.start("program", flags=["4"], ready=False)
    assert ended(processes).exit_code == 4
    *copied, inherited = ended(processes).output().splitlines()
    assert (own, inherited) == ("own", "inherited")
    assert [literal_eval(line) for line in copied[:2]] == [["3", "4"], {"WORD": "hello"}]
    assert copied[2:] == executed[2:], "files, session, signals"


def test_the_parent_of_copies_goes_on(processes, program):
    processes.launch(program("3"))
    for code in (5, 6):
        ended(processes)
        processes.start("program", flags=[str(code)], ready=False)
    assert ended(processes).exit_code == 6


@pytest.mark.parametrize(("end", "code"), [("stop", -signal.SIGTERM), ("kill", -signal.SIGKILL)])
def test_a_copy_hears_signals_at_once(processes, program, end, code):
    processes.launch(program("3"))
    ended(processes)
    processes.start("program", flags=["wait"], ready=False)
    begun = time.monotonic()
    getattr(processes, end)("program")
    assert processes.run("program").exit_code == code
    assert time.monotonic() - begun < 4, "it did not wait for SIGKILL"


def test_a_copy_does_not_outlive_its_supervisor(processes, program):
    processes.launch(program("3"))
    ended(processes)
    processes.start("program", flags=["wait"], ready=False)
    until(lambda: "inherited" in processes.run("program").output())
    copy = processes.run("program").identity
    os.kill(parent(copy.pid), signal.SIGKILL)
    until(lambda: not copy.alive)


def parent(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_without_being_asked_for_a_program_is_executed(processes, program):
    processes.launch(program("3", module="tests.unit.sandbox.program2"))
    ended(processes)
    processes.start("program", ready=False)
    assert "No module named" in ended(processes).output()


def test_a_program_whose_import_starts_a_thread_is_executed():
    program = copies.Copied(PROGRAM, (), {}, 1)
    wait = threading.Event()
    other = threading.Thread(target=wait.wait)
    other.start()
    try:
        assert copies.copy(program, lambda: None) is None
    finally:
        wait.set()
        other.join()


@pytest.mark.parametrize(
    "module", ["tests.unit.sandbox.no_such_module", "tests.unit.sandbox.test_copies.none"]
)
def test_a_program_that_cannot_be_imported_is_executed_and_says_why(module):
    assert copies.copy(copies.Copied(module, (), {}, 1), lambda: None) is None


def test_without_room_for_a_copy_the_program_is_executed_and_signals_are_heard(monkeypatch):
    def fail():
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fail)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert copies.copy(copies.Copied(PROGRAM, (), {}, 1), lambda: None) is None
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before

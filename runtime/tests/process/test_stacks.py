"""Where a thread is, and that the question does not stop the process."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from edgetenants_runtime.process.stacks import stack_of

_WITH_GARBAGE = """
import gc, sys, threading, time
from edgetenants_runtime.process.stacks import stack_of

class Garbage:
    def __init__(self):
        self.itself = self
    def __del__(self):
        time.sleep(0.001)  # lets other threads run, as a socket does that is closed

def start_threads():
    while True:
        each = threading.Thread(target=int)
        each.start()
        each.join()

waits = [threading.Thread(target=time.sleep, args=(100,), daemon=True) for _ in range(20)]
starts = [threading.Thread(target=start_threads, daemon=True) for _ in range(3)]
for each in (*waits, *starts):
    each.start()
frames = sys._current_frames

def frames_with_garbage():
    Garbage()
    return frames()

sys._current_frames = frames_with_garbage
gc.set_threshold(1)
for _ in range(100):
    assert stack_of(waits[0])
print("done")
"""


@pytest.fixture
def waiting() -> Iterator[threading.Thread]:
    go_on, begun = threading.Event(), threading.Event()

    def wait_here() -> None:
        begun.set()
        go_on.wait()

    thread = threading.Thread(target=wait_here)
    thread.start()
    begun.wait()
    yield thread
    go_on.set()
    thread.join()


def test_the_innermost_lines_are_returned(waiting: threading.Thread) -> None:
    lines = stack_of(waiting)
    assert any(line.startswith(f"{__file__}:") and line.endswith(" wait_here") for line in lines)
    assert lines[-1].endswith(" wait")
    assert len(lines) <= 8


def test_a_thread_that_does_not_run_has_none() -> None:
    thread = threading.Thread(target=int)
    assert stack_of(thread) == []
    thread.start()
    thread.join()
    assert stack_of(thread) == []


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_does_not_run_meanwhile_and_is_as_before(
    waiting: threading.Thread, monkeypatch: pytest.MonkeyPatch, enabled: bool
) -> None:
    seen: list[bool] = []
    frames = sys._current_frames
    monkeypatch.setattr(sys, "_current_frames", lambda: [seen.append(gc.isenabled()), frames()][1])
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        stack_of(waiting)
        assert (seen, gc.isenabled()) == ([False], enabled)
    finally:
        (gc.enable if before else gc.disable)()


def test_the_collector_is_as_before_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError

    monkeypatch.setattr(sys, "_current_frames", fail)
    with pytest.raises(RuntimeError):
        stack_of(threading.current_thread())
    assert gc.isenabled()


def test_garbage_does_not_stop_the_process() -> None:
    """Without the fix, Python 3.11 hangs here."""
    done = subprocess.run(
        [sys.executable, "-c", _WITH_GARBAGE], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr

"""Controls the processes of a sandbox, for tests, the demo and the command line."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from sandbox.control import Control, Run, recorded
from sandbox.errors import ProcessDied, WorldError
from sandbox.pids import ProcessId
from sandbox.specs import ProcessSpec
from sandbox.states import ProcessState

__all__ = ["Processes", "obituary"]

READY_WITHIN = 60.0
"""Maximum seconds until a process is ready. On a busy machine, a start takes up to ten times longer."""

_LOOK_EVERY = 0.1


class Processes:
    """Starts, stops, kills and watches the processes of the sandbox in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._control = Control(directory)

    def runs(self) -> tuple[Run, ...]:
        """The latest run of each process.

        Raises:
            SupervisorGone: the supervisor is not running.
        """
        return self._control.status()

    def run(self, name: str) -> Run:
        """The latest run of one process.

        Raises:
            WorldError: the process does not exist; the message lists the existing ones.
        """
        runs = {r.name: r for r in self.runs()}
        if name not in runs:
            raise WorldError(f"process {name!r} not found; processes: {', '.join(runs) or 'none'}")
        return runs[name]

    def pid(self, name: str) -> int:
        """The process id of the latest run."""
        return self.run(name).identity.pid

    def died(self) -> tuple[Run, ...]:
        """The processes that ended unexpectedly."""
        return tuple(r for r in self.runs() if r.state is ProcessState.DIED)

    def launch(self, spec: ProcessSpec) -> None:
        """Start a process for the first time; does not wait until it is ready."""
        self._control.launch(spec)

    def start(self, name: str, *, flags: Sequence[str] = (), ready: bool = True) -> None:
        """Start a process that was stopped, killed or has died, and wait until it is ready.

        Args:
            name: of the process.
            flags: for this run only, after its own. It runs without them when it is started the next time.
            ready: wait until it is ready.

        Raises:
            WorldError: it is already running, or is not ready in time.
            ProcessDied: it ended before it was ready.
        """
        self._control.start(name, flags)
        if ready:
            self.wait_ready(name)

    def stop(self, name: str) -> None:
        """Send SIGTERM, then SIGKILL after the grace period; returns when the process has ended."""
        self._control.stop(name)
        self._wait_gone(name)

    def kill(self, name: str) -> None:
        """Send SIGKILL; returns when the process has ended."""
        self._control.kill(name)
        self._wait_gone(name)

    def restart(self, name: str) -> None:
        """Stop the process and start it again."""
        if self.run(name).state is ProcessState.RUNNING:
            self.stop(name)
        self.start(name)

    def ensure_running(self, name: str) -> None:
        """Start the process unless it is running; returns when it is ready."""
        if self.run(name).state is not ProcessState.RUNNING:
            self._control.start(name)
        self.wait_ready(name)

    def wait_ready(
        self, name: str, *, seconds: float = READY_WITHIN, abandoned: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until a process is ready. Polls ten times a second.

        Raises:
            ProcessDied: it ended; the message contains its last lines.
            WorldError: it is not ready within `seconds`, or `abandoned` returned true.
        """
        deadline = time.monotonic() + seconds
        while True:
            run = self.run(name)
            if run.state is not ProcessState.RUNNING:
                raise ProcessDied(obituary(run))
            if run.probe is None or run.probe.ready():
                return
            if abandoned():
                raise WorldError(f"stopped waiting for {name} because another step failed")
            if time.monotonic() > deadline:
                asked = run.probe.url
                raise WorldError(f"{name} is not ready after {seconds:.0f} s ({asked}):\n{run.last_lines()}")
            time.sleep(_LOOK_EVERY)

    def shutdown(self) -> None:
        """End all processes and their supervisor, even if the supervisor has died or hangs."""
        everyone = recorded(self._directory).everyone()
        # If the supervisor has died or hangs, its record lists the processes to end.
        with contextlib.suppress(WorldError):
            self._control.shutdown()
        _end(everyone)

    def _wait_gone(self, name: str, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while self.run(name).state is ProcessState.RUNNING:
            if time.monotonic() > deadline:
                raise WorldError(f"{name} (pid {self.pid(name)}) did not end")
            time.sleep(0.02)


def obituary(run: Run) -> str:
    """A message about a process that ended: how, and its last lines."""
    verb = "died" if run.state is ProcessState.DIED else "is not running"
    return f"{run.name} {verb} ({run.ending()}); its last lines, from {run.log}:\n{run.last_lines()}"


def _end(everyone: tuple[ProcessId, ...]) -> None:
    """Wait briefly for the processes to end, then kill the remaining ones."""
    deadline = time.monotonic() + 2
    while any(p.alive for p in everyone) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in everyone:
        process.signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while (left := [p.pid for p in everyone if p.alive]) and time.monotonic() < deadline:
        time.sleep(0.02)
    if left:
        raise WorldError(f"processes still running after SIGKILL: {', '.join(map(str, left))}")

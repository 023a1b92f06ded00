"""The processes of a sandbox, as tests, the demo and the command line handle them."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable
from pathlib import Path

from sandbox.control import Control, Run, recorded
from sandbox.errors import ProcessDied, WorldError
from sandbox.pids import ProcessId
from sandbox.specs import ProcessSpec
from sandbox.states import ProcessState

__all__ = ["Processes", "obituary"]

READY_WITHIN = 60.0
"""Seconds that a process may take until it is ready; on a busy machine ten times what it takes alone."""

_LOOK_EVERY = 0.1


class Processes:
    """Starts, stops, kills and watches the processes of the sandbox in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._control = Control(directory)

    def runs(self) -> tuple[Run, ...]:
        """The latest run of each process.

        Raises:
            SupervisorGone: nobody supervises them any more.
        """
        return self._control.status()

    def run(self, name: str) -> Run:
        """The latest run of one process.

        Raises:
            WorldError: there is no process of that name; the message lists those that there are.
        """
        runs = {r.name: r for r in self.runs()}
        if name not in runs:
            raise WorldError(f"there is no process {name!r}; there are: {', '.join(runs) or 'none yet'}")
        return runs[name]

    def pid(self, name: str) -> int:
        """The process id of the latest run."""
        return self.run(name).identity.pid

    def died(self) -> tuple[Run, ...]:
        """Processes that ended though nobody asked them to."""
        return tuple(r for r in self.runs() if r.state is ProcessState.DIED)

    def launch(self, spec: ProcessSpec) -> None:
        """Start a process for the first time; does not wait until it is ready."""
        self._control.launch(spec)

    def start(self, name: str, *, ready: bool = True) -> None:
        """Start a process that was stopped, killed or has died, and wait until it is ready.

        Raises:
            WorldError: it runs already, or is not ready in time.
            ProcessDied: it ended before it was ready.
        """
        self._control.start(name)
        if ready:
            self.wait_ready(name)

    def stop(self, name: str) -> None:
        """SIGTERM, and SIGKILL after a while; returns when it is gone."""
        self._control.stop(name)
        self._wait_gone(name)

    def kill(self, name: str) -> None:
        """SIGKILL; returns when it is gone."""
        self._control.kill(name)
        self._wait_gone(name)

    def restart(self, name: str) -> None:
        """Stop and start."""
        if self.run(name).state is ProcessState.RUNNING:
            self.stop(name)
        self.start(name)

    def ensure_running(self, name: str) -> None:
        """Start the process unless it runs; returns when it is ready."""
        if self.run(name).state is not ProcessState.RUNNING:
            self._control.start(name)
        self.wait_ready(name)

    def wait_ready(
        self, name: str, *, seconds: float = READY_WITHIN, abandoned: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until a process says that it is ready, looking ten times a second.

        Raises:
            ProcessDied: it ended; the message has its last lines.
            WorldError: it is not ready within `seconds`, or `abandoned` says that nobody waits any more.
        """
        deadline = time.monotonic() + seconds
        while True:
            run = self.run(name)
            if run.state is not ProcessState.RUNNING:
                raise ProcessDied(obituary(run))
            if run.probe is None or run.probe.ready():
                return
            if abandoned():
                raise WorldError(f"no longer waiting for {name}")
            if time.monotonic() > deadline:
                asked = run.probe.url
                raise WorldError(f"{name} is not ready after {seconds:.0f} s ({asked}):\n{run.last_lines()}")
            time.sleep(_LOOK_EVERY)

    def shutdown(self) -> None:
        """End all processes and their supervisor, also when the supervisor is gone or hangs."""
        everyone = recorded(self._directory).everyone()
        # Where it is gone or hangs, what it recorded says whom to end.
        with contextlib.suppress(WorldError):
            self._control.shutdown()
        _end(everyone)

    def _wait_gone(self, name: str, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while self.run(name).state is ProcessState.RUNNING:
            if time.monotonic() > deadline:
                raise WorldError(f"{name} (pid {self.pid(name)}) does not end")
            time.sleep(0.02)


def obituary(run: Run) -> str:
    """Who ended, how, and its last words."""
    verb = "died" if run.state is ProcessState.DIED else "is not running"
    return f"{run.name} {verb} ({run.ending()}); its last lines, from {run.log}:\n{run.last_lines()}"


def _end(everyone: tuple[ProcessId, ...]) -> None:
    """Wait a moment for processes that are about to go, then kill what is left of them."""
    deadline = time.monotonic() + 2
    while any(p.alive for p in everyone) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in everyone:
        process.signal(signal.SIGKILL)
    deadline = time.monotonic() + 5
    while (left := [p.pid for p in everyone if p.alive]) and time.monotonic() < deadline:
        time.sleep(0.02)
    if left:
        raise WorldError(f"processes that do not end even when killed: {', '.join(map(str, left))}")

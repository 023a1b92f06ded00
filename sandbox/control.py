"""Sends requests to a sandbox's supervisor, and reads what it recorded, even if it is no longer running."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.errors import SupervisorGone, WorldError
from sandbox.pids import ProcessId
from sandbox.specs import Probe, ProcessSpec
from sandbox.states import ProcessState
from sandbox.supervisor import CONTROL_SOCKET, PROCESSES_FILE

__all__ = ["Control", "Recorded", "Run", "recorded"]


@dataclass(frozen=True)
class Run:
    """The latest run of one supervised process."""

    name: str
    identity: ProcessId
    ports: tuple[int, ...]
    state: ProcessState
    exit_code: int | None
    """None while it runs. Negative: the number of the signal that ended it."""
    started: float
    """Seconds since the epoch."""
    ended: float | None
    log: Path
    log_offset: int
    """The offset in the log file at which this run begins, in bytes."""
    probe: Probe | None

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Run:
        """Parse it from a response of the supervisor."""
        return cls(
            name=data["name"],
            identity=ProcessId.parse(dict(data)),
            ports=tuple(data["ports"]),
            state=ProcessState(data["state"]),
            exit_code=data["exit_code"],
            started=data["started"],
            ended=data["ended"],
            log=Path(data["log"]),
            log_offset=data["log_offset"],
            probe=Probe(**data["probe"]) if data["probe"] else None,
        )

    def output(self) -> str:
        """The complete output of this run so far."""
        with self.log.open("rb") as log:
            log.seek(self.log_offset)
            return log.read().decode(errors="replace")

    def last_lines(self, count: int = 15) -> str:
        """The last lines of this run's output, indented for a message."""
        lines = self.output().splitlines()[-count:]
        return "\n".join(f"    {line}" for line in lines) or "    (no output)"

    def ending(self) -> str:
        """How it ended, for messages."""
        if self.exit_code is None:
            return "ended together with the supervisor"
        return f"signal {-self.exit_code}" if self.exit_code < 0 else f"exit code {self.exit_code}"


@dataclass(frozen=True)
class Recorded:
    """What the supervisor recorded: itself and its processes."""

    supervisor: ProcessId | None
    runs: tuple[Run, ...]

    def everyone(self) -> tuple[ProcessId, ...]:
        """The supervisor, followed by all its processes."""
        return (*((self.supervisor,) if self.supervisor else ()), *(r.identity for r in self.runs))


def recorded(directory: Path) -> Recorded:
    """Read DIR/processes.json; empty if it does not exist."""
    try:
        body = json.loads((directory / PROCESSES_FILE).read_text())
    except FileNotFoundError:
        return Recorded(None, ())
    supervisor = ProcessId.parse(body["supervisor"]) if body["supervisor"] else None
    return Recorded(supervisor, tuple(Run.parse(p) for p in body["processes"]))


class Control:
    """A client for the supervisor of the sandbox in a directory. Each request returns the resulting runs."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def status(self) -> tuple[Run, ...]:
        """Return all processes."""
        return self._ask({"do": "status"})

    def launch(self, spec: ProcessSpec) -> tuple[Run, ...]:
        """Start a new process."""
        return self._ask({"do": "start", "spec": spec.to_json()})

    def start(self, name: str, flags: Sequence[str] = ()) -> tuple[Run, ...]:
        """Start a known process again, with more flags for this run only."""
        return self._ask({"do": "start", "name": name, "flags": list(flags)})

    def stop(self, name: str) -> tuple[Run, ...]:
        """Send SIGTERM to a process; does not wait until it ends."""
        return self._ask({"do": "stop", "name": name})

    def kill(self, name: str) -> tuple[Run, ...]:
        """Send SIGKILL to a process; does not wait until it ends."""
        return self._ask({"do": "kill", "name": name})

    def shutdown(self) -> tuple[Run, ...]:
        """End all processes and the supervisor, and wait for the processes."""
        return self._ask({"do": "shutdown"}, timeout=60)

    def _ask(self, request: Mapping[str, Any], timeout: float = 15) -> tuple[Run, ...]:
        try:
            answer = self._exchange(json.dumps(request).encode(), timeout)
        except TimeoutError as e:
            raise WorldError(f"the supervisor did not respond to {request['do']!r} in {timeout:.0f} s") from e
        except OSError as e:
            where = self._directory
            raise SupervisorGone(f"the sandbox is not running: no supervisor responds in {where}") from e
        if not answer:
            raise SupervisorGone(f"the supervisor in {self._directory} ended during a request")
        reply = json.loads(answer)
        if "error" in reply:
            raise WorldError(reply["error"])
        return tuple(Run.parse(p) for p in reply["processes"])

    def _exchange(self, request: bytes, timeout: float) -> bytes:
        handle = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(timeout)
                connection.connect(f"/proc/self/fd/{handle}/{CONTROL_SOCKET}")
                connection.sendall(request + b"\n")
                return connection.makefile("rb").readline()
        finally:
            os.close(handle)

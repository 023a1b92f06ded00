"""Talking to a sandbox's supervisor, and reading what it left behind when it is gone."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
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
    """Negative: the number of the signal that ended it. None while it runs."""
    started: float
    """Seconds since the epoch."""
    ended: float | None
    log: Path
    log_offset: int
    """Where in the log file this run begins, bytes."""
    probe: Probe | None

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> Run:
        """From what the supervisor answers."""
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
        """All that this run wrote so far."""
        with self.log.open("rb") as log:
            log.seek(self.log_offset)
            return log.read().decode(errors="replace")

    def last_lines(self, count: int = 15) -> str:
        """The end of what this run wrote, indented for a message."""
        lines = self.output().splitlines()[-count:]
        return "\n".join(f"    {line}" for line in lines) or "    (it wrote nothing)"

    def ending(self) -> str:
        """How it ended, in words."""
        if self.exit_code is None:
            return "the supervisor is gone, and it with it"
        return f"signal {-self.exit_code}" if self.exit_code < 0 else f"exit code {self.exit_code}"


@dataclass(frozen=True)
class Recorded:
    """What the supervisor wrote down: itself and its processes."""

    supervisor: ProcessId | None
    runs: tuple[Run, ...]

    def everyone(self) -> tuple[ProcessId, ...]:
        """The supervisor and all its processes; the supervisor first."""
        return (*((self.supervisor,) if self.supervisor else ()), *(r.identity for r in self.runs))


def recorded(directory: Path) -> Recorded:
    """Read DIR/processes.json; empty when there is none."""
    try:
        body = json.loads((directory / PROCESSES_FILE).read_text())
    except FileNotFoundError:
        return Recorded(None, ())
    supervisor = ProcessId.parse(body["supervisor"]) if body["supervisor"] else None
    return Recorded(supervisor, tuple(Run.parse(p) for p in body["processes"]))


class Control:
    """Requests to the supervisor of the sandbox in a directory. Each returns the runs afterwards."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def status(self) -> tuple[Run, ...]:
        """All processes."""
        return self._ask({"do": "status"})

    def launch(self, spec: ProcessSpec) -> tuple[Run, ...]:
        """Start a process that the supervisor does not know yet."""
        return self._ask({"do": "start", "spec": spec.to_json()})

    def start(self, name: str) -> tuple[Run, ...]:
        """Start a known process again."""
        return self._ask({"do": "start", "name": name})

    def stop(self, name: str) -> tuple[Run, ...]:
        """Ask a process to end; does not wait for it."""
        return self._ask({"do": "stop", "name": name})

    def kill(self, name: str) -> tuple[Run, ...]:
        """SIGKILL a process; does not wait for it."""
        return self._ask({"do": "kill", "name": name})

    def shutdown(self) -> tuple[Run, ...]:
        """End all processes and the supervisor; waits for the processes."""
        return self._ask({"do": "shutdown"}, timeout=60)

    def _ask(self, request: Mapping[str, Any], timeout: float = 15) -> tuple[Run, ...]:
        try:
            answer = self._exchange(json.dumps(request).encode(), timeout)
        except TimeoutError as e:
            raise WorldError(f"the supervisor did not answer {request['do']!r} within {timeout:.0f} s") from e
        except OSError as e:
            where = self._directory
            raise SupervisorGone(f"the sandbox is not running: no supervisor answers in {where}") from e
        if not answer:
            raise SupervisorGone(f"the supervisor in {self._directory} ended while it was asked")
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

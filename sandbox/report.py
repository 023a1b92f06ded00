"""The terminal output about a sandbox: tables, status, shell variables."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.control import Run, recorded
from sandbox.errors import SupervisorGone
from sandbox.processes import obituary
from sandbox.states import ProcessState
from sandbox.world import World

__all__ = ["Status", "exports", "process_rows", "processes_table", "status", "table"]

JsonObject = dict[str, Any]


@dataclass(frozen=True)
class Status:
    """The state of a sandbox."""

    sandbox: str
    control_plane: str
    cluster: str
    phase: str
    versions: Mapping[str, str]
    supervisor: bool
    """Whether the supervisor responds. Without it, no process is running."""
    processes: tuple[JsonObject, ...]
    """name, pid, ports, state, exit_code, uptime_seconds, log."""
    dead: tuple[str, ...]
    """Messages about the processes that died, with their last lines."""

    @property
    def healthy(self) -> bool:
        """Whether the supervisor responds and no process has died."""
        return self.supervisor and not self.dead

    def to_json(self) -> str:
        """As JSON."""
        return json.dumps({**vars(self), "versions": dict(self.versions), "healthy": self.healthy}, indent=2)

    def text(self) -> str:
        """As text for people."""
        versions = ", ".join(f"{k} {v}" for k, v in self.versions.items())
        where = f" ({self.cluster})" if self.cluster else ""
        head = f"sandbox {self.sandbox}: {self.phase}; control plane: {self.control_plane}{where}; {versions}"
        gone = (
            []
            if self.supervisor
            else ["the supervisor has ended, so no process is running; run `down` to clean up, or `up` again"]
        )
        return "\n".join([head, processes_table(self.processes), *gone, *self.dead])


def status(world: World) -> Status:
    """Read the state of a sandbox, even if its supervisor has ended."""
    supervised, runs = _look(world)
    return Status(
        sandbox=world.name,
        control_plane=world.state.control_plane.value,
        cluster=world.state.cluster,
        phase=world.state.phase.value,
        versions=world.state.versions,
        supervisor=supervised,
        processes=tuple(_row(run) for run in runs),
        dead=tuple(obituary(run) for run in runs if run.state is ProcessState.DIED),
    )


def _look(world: World) -> tuple[bool, tuple[Run, ...]]:
    """Whether the supervisor responds, and the processes from its response or from its last record."""
    try:
        return True, world.processes.runs()
    except SupervisorGone:
        return False, recorded(world.layout.directory).runs


def process_rows(world: World) -> list[JsonObject]:
    """The processes as JSON objects."""
    return list(status(world).processes)


def processes_table(rows: Iterable[JsonObject]) -> str:
    """The processes as a table."""
    header = ("NAME", "PID", "PORTS", "STATE", "UPTIME")
    return table(
        header, [(r["name"], str(r["pid"]), _ports(r), _state(r), _uptime(r["uptime_seconds"])) for r in rows]
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with columns as wide as their widest cell; empty if there are no rows."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = (
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in (header, *rows)
    )
    return "\n".join(line.rstrip() for line in lines)


def exports(variables: Mapping[str, str]) -> str:
    """Export statements for a POSIX shell."""
    return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())


def _row(run: Run) -> JsonObject:
    # The last record of a dead supervisor may still say "running".
    alive = run.state is ProcessState.RUNNING and run.identity.alive
    state = run.state.value if alive or run.state is not ProcessState.RUNNING else "gone"
    return {
        "name": run.name,
        "pid": run.identity.pid,
        "ports": list(run.ports),
        "state": state,
        "exit_code": run.exit_code,
        "uptime_seconds": round(time.time() - run.started, 1) if alive else None,
        "log": str(run.log),
    }


def _ports(row: JsonObject) -> str:
    return ",".join(map(str, row["ports"]))


def _state(row: JsonObject) -> str:
    code = row["exit_code"]
    return str(row["state"]) if code in (None, 0) else f"{row['state']} ({code})"


def _uptime(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{rest:02}s"

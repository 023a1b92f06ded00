"""Identifies processes. The kernel reuses pids, but a pid with its start time and boot id is unique."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["ProcessId"]

_DEAD = frozenset("ZX")


@dataclass(frozen=True)
class ProcessId:
    """One process of this machine, even after its pid is reused."""

    pid: int
    start: int
    """Clock ticks from boot to the start of the process (proc(5), field 22 of /proc/PID/stat)."""
    boot: str
    """The kernel's boot id at the start of the process."""

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """The process that has this pid now; None if there is none, or if it is a zombie."""
        stat = _stat(pid)
        if stat is None or stat[0] in _DEAD:
            return None
        return cls(pid, int(stat[19]), _boot_id())

    @classmethod
    def parse(cls, data: dict[str, Any]) -> ProcessId:
        """Parse it from its JSON object."""
        return cls(int(data["pid"]), int(data["start"]), str(data["boot"]))

    @property
    def alive(self) -> bool:
        """Whether this process, and not another one with its pid, is running."""
        return ProcessId.of(self.pid) == self

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to this process; False if it is no longer running.

        The process is checked and signalled through a pidfd, so that another process that gets the pid in the
        meantime is never signalled.
        """
        try:
            handle = os.pidfd_open(self.pid)
        except (ProcessLookupError, PermissionError):
            return False
        try:
            if not self.alive:
                return False
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
                return True
            return False
        finally:
            os.close(handle)


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the third on. The second, the command, may contain spaces and
    parentheses."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


@cache
def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

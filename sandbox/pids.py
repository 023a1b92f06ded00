"""Which process a pid means: pids are used again, a pid with its start time and boot is not."""

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
    """One process of this machine, for ever."""

    pid: int
    start: int
    """Clock ticks from boot to the start of the process (proc(5), field 22 of /proc/PID/stat)."""
    boot: str
    """The kernel's id of the boot in which it was started."""

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """The process that has this pid now; None when there is none, or only an unreaped dead one."""
        stat = _stat(pid)
        if stat is None or stat[0] in _DEAD:
            return None
        return cls(pid, int(stat[19]), _boot_id())

    @classmethod
    def parse(cls, data: dict[str, Any]) -> ProcessId:
        """From its JSON object."""
        return cls(int(data["pid"]), int(data["start"]), str(data["boot"]))

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return ProcessId.of(self.pid) == self

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to this very process; False when it runs no more.

        The pid is looked at through a file descriptor that is opened first, so that a pid that changes
        hands in between is never hit.
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
    """Fields 3 and on of /proc/PID/stat; the second, the command, may hold blanks and brackets."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


@cache
def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

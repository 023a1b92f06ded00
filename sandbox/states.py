"""The states of a supervised process."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ProcessState"]


class ProcessState(StrEnum):
    """The state of a process that was started."""

    RUNNING = "running"
    """It is running, but not necessarily ready."""
    STOPPED = "stopped"
    """It ended as requested."""
    DIED = "died"
    """It ended unexpectedly, or was killed from outside."""

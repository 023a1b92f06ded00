"""The states of a supervised process."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["ProcessState"]


class ProcessState(StrEnum):
    """What became of a process that was started."""

    RUNNING = "running"
    """It runs. Whether it is ready is another question."""
    STOPPED = "stopped"
    """It ended because it was asked to."""
    DIED = "died"
    """It ended by itself, or somebody else killed it."""

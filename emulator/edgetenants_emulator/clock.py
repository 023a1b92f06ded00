"""The virtual clock: the emulator's only clock. It can be stepped, scaled or stopped."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime

__all__ = ["Reading", "VirtualClock", "wall_clock"]


_END = 253_402_300_799.0
"""The last second with a valid date, in seconds since 1970. The clock stops there."""


def wall_clock() -> float:
    """Real seconds since 1970, for the call log only."""
    return time.time()


@dataclass(frozen=True)
class Reading:
    """The clock at one moment."""

    version: int
    """Changes with each step and each change of the rate."""
    virtual: float
    """Virtual seconds since the emulator started."""
    rate: float
    """Virtual seconds per real second."""


class VirtualClock:
    """Starts at real time, runs at `rate` virtual seconds per real second, and can be stepped forward."""

    def __init__(self, rate: float = 1.0) -> None:
        _check(rate, "rate")
        self._changed = threading.Condition()
        self._epoch = time.time()
        self._anchor = time.monotonic()
        self._base = 0.0
        self._rate = rate
        self._version = 1

    def now(self) -> float:
        """Virtual seconds since the start."""
        with self._changed:
            return self._now()

    def reading(self) -> Reading:
        """Version, time and rate at one moment."""
        with self._changed:
            return self._reading()

    def step(self, seconds: float) -> Reading:
        """Advance by virtual seconds. Raises ValueError for a negative number: time never runs backwards."""
        _check(seconds, "step")
        with self._changed:
            # Not beyond the last valid date.
            self._move(min(self._now() + seconds, max(self._now(), _END - self._epoch)), self._rate)
            return self._reading()

    def set_rate(self, rate: float) -> Reading:
        """Set the rate; 0 stops the clock. Raises ValueError below 0."""
        _check(rate, "rate")
        with self._changed:
            self._move(self._now(), rate)
            return self._reading()

    def wait_change(self, since: int | None, timeout: float) -> Reading:
        """The reading, once its version differs from `since`, or after `timeout` real seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != since, timeout)
            return self._reading()

    def stamp(self, virtual: float) -> str:
        """A virtual time in AWS's format: `2026-01-02T03:04:05.678Z`."""
        moment = datetime.fromtimestamp(self.unix(virtual), UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"

    def date(self, unix: float) -> None:
        """Set the date of the present, in seconds since 1970. Virtual time does not change."""
        with self._changed:
            self._epoch = unix - self._now()

    def unix(self, virtual: float) -> float:
        """A virtual time as seconds since 1970."""
        return min(self._epoch + virtual, _END)

    def _now(self) -> float:
        now = self._base + (time.monotonic() - self._anchor) * self._rate
        return min(now, max(self._base, _END - self._epoch))

    def _move(self, virtual: float, rate: float) -> None:
        self._base, self._anchor = virtual, time.monotonic()
        self._rate = rate
        self._version += 1
        self._changed.notify_all()

    def _reading(self) -> Reading:
        return Reading(self._version, self._now(), self._rate)


def _check(number: float, what: str) -> None:
    if not 0 <= number < float("inf"):
        raise ValueError(f"{what}: expected a number of at least 0, got {number}")

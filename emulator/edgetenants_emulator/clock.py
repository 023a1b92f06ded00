"""The virtual clock: the emulator's only time, which can be stepped, scaled or stopped."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime

__all__ = ["Reading", "VirtualClock", "wall_clock"]


_END = 253_402_300_799.0
"""The last second that has a date, in seconds since 1970: the clock stands still there."""


def wall_clock() -> float:
    """Real seconds since 1970: for the call log only."""
    return time.time()


@dataclass(frozen=True)
class Reading:
    """The clock at one moment."""

    version: int
    """Moves with each step and each change of rate."""
    virtual: float
    """Virtual seconds since the emulator started."""
    rate: float
    """Virtual seconds for each real second."""


class VirtualClock:
    """Starts at the real time, runs `rate` virtual seconds for each real one, can be stepped forward."""

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
        """Version, time and rate, taken together."""
        with self._changed:
            return self._reading()

    def step(self, seconds: float) -> Reading:
        """Let virtual seconds pass at once. Raises ValueError for less than none: time never runs back."""
        _check(seconds, "step")
        with self._changed:
            # Not beyond the end of time, where no date can be shown.
            self._move(min(self._now() + seconds, max(self._now(), _END - self._epoch)), self._rate)
            return self._reading()

    def set_rate(self, rate: float) -> Reading:
        """Run faster or slower from now on; 0 stands still. Raises ValueError below 0."""
        _check(rate, "rate")
        with self._changed:
            self._move(self._now(), rate)
            return self._reading()

    def wait_change(self, since: int | None, timeout: float) -> Reading:
        """The reading as soon as its version is not `since`, or after `timeout` real seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._version != since, timeout)
            return self._reading()

    def stamp(self, virtual: float) -> str:
        """A virtual time as AWS writes it: `2026-01-02T03:04:05.678Z`."""
        moment = datetime.fromtimestamp(self.unix(virtual), UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"

    def date(self, unix: float) -> None:
        """Let the present be a date, as seconds since 1970; virtual time itself is not touched."""
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
        raise ValueError(f"{what} must be a number of at least 0, not {number}")

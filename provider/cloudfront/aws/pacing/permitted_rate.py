"""The rate of calls that AWS permits for one operation, learned from its answers.

AWS publishes no limits for CloudFront, and its answer to a call too many says only that it was too many. The
rate is found as TCP finds the bandwidth of a link with CUBIC (RFC 9438), which botocore's adaptive mode also
follows:

    rate │       refused                 refused
         │         /│                     /│
      top├┄┄┄┄┄┄┄┄/┄│┄┄┄┄┄┄┄_________┄┄┄/┄┄│   a little below the rate that was refused
         │          │    /                │
         │          │  /                  │
         └──────────┴─────────────────────┴──── answered calls

A refused call lowers the rate by a tenth. Answered calls bring it back to the top quickly; then it stays near
the top, and then rises, faster and faster: AWS may permit more by now. So of a hundred calls, one or two are
refused, however few AWS permits in a second.

What was answered between two refused calls is all that AWS permitted in that time, so the rate falls to that
at once if it is lower. While nothing is answered, it falls by half each time.

Not thread-safe: the account's Pace holds the lock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

__all__ = ["FIRST_RATE", "NOTHING", "PermittedRate", "Spacing"]

FIRST_RATE: Final = 1.0
"""Calls per second after the first refused call, unless more were answered in the second before."""
NOTHING: Final = 1e-6
"""Tolerance in seconds for rounding errors."""
_DECREASE: Final = 0.9
"""What a refused call leaves of the rate."""
_TOP: Final = 0.95
"""The top, as a part of the refused rate."""
_CALLS: Final = 40.0
"""Answered calls from the decrease to the top, for rates between 1 and 4 a second."""
_SLOW_SECONDS: Final = 40.0
"""Seconds from the decrease to the top at lower rates: forty calls would take too long."""
_FAST_SECONDS: Final = 10.0
"""The same at higher rates: AWS answers a burst, which hides for a while that the rate is too high."""
_FEWEST: Final = 2.0
"""Answered calls from the decrease to the top at the lowest rates."""
_FIRST_STEP: Final = 4.0
"""As many times faster the rate rises if no call was answered before it fell: what AWS permits is unknown."""
_MOST_RISE: Final = 1.25
"""How many times higher the rate is after one answered call, at most."""
_USED: Final = 2.0
"""Calls that are further apart than this many gaps do not use the rate: their answers do not raise it."""
_RECOVERED: Final = 0.5
"""The part of the way to the top after which earlier refused calls say nothing any more: in between, AWS may
have permitted more than was used."""
_SHORTEST: Final = 1.0
"""Seconds between two refused calls that are enough to say how much AWS permits."""
_MEASURED: Final = 1.0
"""Seconds before the first refused call whose answers are counted."""
_IDLE: Final = 60.0
"""Seconds without a call after which a lower rate is the first rate again: AWS may permit more by now."""
_FREE: Final = 600.0
"""Seconds without a refused call after which the operation is free."""


@dataclass(frozen=True)
class _Decrease:
    at: float
    answered: int
    """The number of answered calls before it."""


class PermittedRate:
    """The permitted rate of one operation in one account. All times are seconds of one clock."""

    def __init__(self, lowest: float) -> None:
        """`lowest` is the minimum rate, in calls per second."""
        self._lowest = lowest
        self.rate: float | None = None
        """Calls per second; None before the first refused call."""
        self.refused_at = float("-inf")
        """The time of the last decrease."""
        self._top = self._depth = 0.0
        self._decreases: deque[_Decrease] = deque(maxlen=16)
        """Those since the rate was last near its top."""
        self._is_known = False
        """A call was answered between the last two decreases."""
        self._recent: deque[float] = deque(maxlen=128)
        """When calls were answered before the first decrease."""
        self._answered = self._answered_before = 0
        """Answered calls, also until the last decrease."""
        self._steps = 0.0
        """Answered calls since the decrease, as far as they used the rate."""
        self._began = float("-inf")
        """When the last answered call started."""

    def refused(self, began: float, now: float) -> bool:
        """AWS refused a call that started at `began`. Return whether this lowers the rate: a call that was
        sent before the last decrease says nothing new."""
        if began <= self.refused_at:
            return False
        if self._steps > self._way() * _RECOVERED:
            self._decreases.clear()
        reached = self._reached(now)
        self._is_known = self.rate is not None and self._answered > self._answered_before
        self._answered_before = self._answered
        self.rate = max(self._lowest, reached * _DECREASE)
        self._top, self._depth = reached * _TOP, reached * (_TOP - _DECREASE)
        self._decreases.append(_Decrease(now, self._answered))
        self.refused_at, self._steps = now, 0.0
        return True

    def answered(self, began: float, now: float) -> None:
        """AWS answered a call that started at `began`."""
        self._answered += 1
        if self.rate is None:
            self._recent.append(now)
        elif began > self.refused_at:
            used = began - max(self._began, self.refused_at) <= _USED / self.rate
            self._began = max(self._began, began)
            self._rise(1.0 if used else 0.0, self.rate)

    def raise_to(self, rate: float) -> None:
        """Raise a lower rate to this one, as if it were the top."""
        if self.rate is not None and self.rate < rate:
            self.rate = self._top = rate
            self._depth, self._steps = rate * (_TOP - _DECREASE), self._way()

    def _rise(self, steps: float, rate: float) -> None:
        """Follow the cubic curve by so many answered calls, from that rate."""
        self._steps += steps if self._is_known else steps * _FIRST_STEP
        curve = self._top + self._depth * (self._steps / self._way() - 1) ** 3
        self.rate = max(rate, min(curve, rate * _MOST_RISE))

    def _reached(self, now: float) -> float:
        """Return what AWS permits at most, as far as the answers show."""
        if self.rate is None:
            recent = sum(1 for at in self._recent if now - at <= _MEASURED)
            return max(FIRST_RATE / _DECREASE, recent / _MEASURED)
        each = [(self._answered - before.answered + 1, now - before.at) for before in self._decreases]
        return min([self.rate, *(calls / seconds for calls, seconds in each if seconds >= _SHORTEST)])

    def _way(self) -> float:
        """Return the number of answered calls from the decrease to the top."""
        return max(_FEWEST, min(_CALLS, _SLOW_SECONDS * self._top), _FAST_SECONDS * self._top)


class Spacing:
    """Spaces the calls of one operation in one account evenly, at the permitted rate. There are no bursts,
    also not after a pause. All times are seconds of one clock."""

    def __init__(self, lowest: float) -> None:
        """`lowest` is the minimum rate, in calls per second."""
        self._lowest = lowest
        self._permitted = PermittedRate(lowest)
        self._next = float("-inf")
        """When the next call may be made."""

    @property
    def rate(self) -> float:
        """Calls per second; infinite if the operation is free."""
        return self._permitted.rate or float("inf")

    def pause(self, now: float) -> float:
        """Return the seconds until the next call is possible."""
        return max(0.0, self._next - now) if self._gap else 0.0

    def space(self, now: float) -> float:
        """Take the next possible moment, before calls that wait for turns; return the seconds until then."""
        if self._is_free(now):
            return 0.0
        start = max(now, self._next)
        self._next = start + self._gap
        return start - now

    def throttled(self, began: float, now: float) -> None:
        """AWS throttled a call that started at `began`."""
        if self._permitted.refused(began, now):
            self._next = max(self._next, now + self._gap)

    def answered(self, began: float, now: float) -> None:
        """AWS did not throttle a call that started at `began`."""
        before = self._gap
        self._permitted.answered(began, now)
        # The next call is one new gap after the last one.
        self._next -= before - self._gap

    @property
    def _gap(self) -> float:
        """Seconds between two calls; 0 if the operation is free."""
        return 1 / self._permitted.rate if self._permitted.rate else 0.0

    def _is_free(self, now: float) -> bool:
        """Whether no call was refused for long, or ever."""
        if self._gap and now - self._permitted.refused_at > _FREE:
            self._permitted = PermittedRate(self._lowest)
        if self._gap and now - self._next > _IDLE:
            self._permitted.raise_to(FIRST_RATE)
        return not self._gap

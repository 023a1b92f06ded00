"""Whether all name servers of Route 53 answer with a change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from itertools import count
from typing import Final

from edgetenants_runtime.clock import Clock
from provider.dns.route53.calls import ZoneCalls

__all__ = ["ChangeMarks"]

_FIRST: Final = 15.0
_EVERY: Final = 10.0
"""Seconds. Route 53 says that changes usually reach all servers within 60 seconds."""
_USUAL: Final = 60.0
"""Seconds after which a change counts as served if Route 53 cannot be asked about it."""
_LONGEST: Final = 3600.0
"""Seconds after which a change counts as served: Route 53 does not say what became of it, and a look at DNS
shows more."""
_MOST: Final = 10_000


@dataclass
class _Mark:
    made: float
    look_at: float
    served: bool = False
    is_lost: bool = False
    """Route 53's id of the change is not known."""


class ChangeMarks:
    """The changes of one provider config. Thread-safe; no lock is held during a request. One worker at a time
    asks about a change."""

    def __init__(self, calls: ZoneCalls, clock: Clock) -> None:
        self._calls, self._clock = calls, clock
        self._lock = threading.Lock()
        self._marks: OrderedDict[str, _Mark] = OrderedDict()
        self._numbers = count()

    def made(self, change: str) -> None:
        """Route 53 accepted a change."""
        now = self._clock.now()
        with self._lock:
            self._marks.setdefault(change, _Mark(now, now + _FIRST))
            while len(self._marks) > _MOST:
                self._marks.popitem(last=False)

    def lost(self) -> str:
        """The answer to a change was lost; return what identifies it here. It may have been made."""
        now = self._clock.now()
        with self._lock:
            ticket = f"lost {next(self._numbers)}"
            self._marks[ticket] = _Mark(now, now + _USUAL, is_lost=True)
            return ticket

    def is_served(self, change: str) -> bool:
        """Whether all name servers answer with a change; True for one that is not known here.

        Raises:
            DnsError: Route 53 does not answer the question.
        """
        now = self._clock.now()
        with self._lock:
            mark = self._marks.get(change)
            if mark is None or mark.served or now > mark.made + _LONGEST:
                return True
            if now < mark.look_at:
                return False
            if mark.is_lost:
                return True
            mark.look_at = now + _EVERY
        mark.served = self._calls.is_insync(change)
        return mark.served

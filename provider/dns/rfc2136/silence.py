"""Name servers that did not answer, so that they are left alone for a minute.

A name server that is gone costs some seconds for each question. The resources of a zone all ask for their own
changes, and would occupy the workers with it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["SilentServers"]

_SECONDS: Final = 60.0
_MOST: Final = 1000


class SilentServers:
    """The name servers of all zones of one store. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._silent: OrderedDict[tuple[str, str], tuple[float, str]] = OrderedDict()
        """By zone and host name: until when, and why."""

    def why(self, zone: str, server: str) -> str:
        """Return what is known of a server that did not answer in the last minute; "" of any other."""
        with self._lock:
            until, words = self._silent.get((zone, server), (0.0, ""))
            return words if words and self._clock.now() < until else ""

    def note(self, zone: str, server: str, why: str) -> None:
        """A server did not answer."""
        with self._lock:
            self._silent.pop((zone, server), None)
            self._silent[zone, server] = (self._clock.now() + _SECONDS, why)
            while len(self._silent) > _MOST:
                self._silent.popitem(last=False)

    def answered(self, zone: str, server: str) -> None:
        """A server answered."""
        with self._lock:
            self._silent.pop((zone, server), None)

"""When the provider last wrote to each tenant of an account."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from edgetenants_runtime.clock import Clock

__all__ = ["Writes"]

_MOST: Final = 20_000
"""How many tenants are remembered. One that was written to less recently counts as written to at the time of
the last one that was forgotten."""


class Writes:
    """What AWS said before a write does not count after it. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last: OrderedDict[str, float] = OrderedDict()
        """By id; the last write is the last."""
        self._forgotten = float("-inf")

    @contextmanager
    def to(self, id_: str) -> Iterator[None]:
        """The block writes to the tenant with that id. Whether it succeeds does not matter: the answer may be
        lost."""
        self._note(id_)
        try:
            yield
        finally:
            self._note(id_)

    def last(self, id_: str) -> float:
        """Return when the last write to a tenant began or ended, on the injected clock; -inf if there was
        none. What AWS was asked for later than that shows its effect."""
        with self._lock:
            return self._last.get(id_, self._forgotten)

    def _note(self, id_: str) -> None:
        with self._lock:
            self._last[id_] = self._clock.now()
            self._last.move_to_end(id_)
            while len(self._last) > _MOST:
                _, self._forgotten = self._last.popitem(last=False)

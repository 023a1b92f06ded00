"""What this process has observed, in whatever account: credentials of another account show nothing of it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final

__all__ = ["Sightings"]

_MOST: Final = 100_000
"""The most resources to remember; those that were not observed for longest are forgotten."""


class Sightings:
    """The external resources that the accounts' managed resources were last observed to have. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._arns: OrderedDict[str, str] = OrderedDict()

    def note(self, uid: str, arn: str) -> None:
        """Note an observation."""
        with self._lock:
            self._arns[uid] = arn
            self._arns.move_to_end(uid)
            while len(self._arns) > _MOST:
                self._arns.popitem(last=False)

    def has(self, uid: str, arn: str) -> bool:
        """Whether that was observed last."""
        with self._lock:
            return self._arns.get(uid) == arn

    def forget(self, uid: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._arns.pop(uid, None)

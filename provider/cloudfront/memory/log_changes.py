"""Which facts the log already has: it has one line per change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

__all__ = ["LogChanges"]

_MOST: Final = 10_000
"""Maximum number of resources whose logged facts are remembered; a repeated log line is harmless."""
_MOST_TOPICS: Final = 32
"""Maximum number of topics of one resource: one that lists hundreds of domains must not make the provider
forget the topics of others."""


class LogChanges:
    """The last logged fact for each resource and topic. What is older than the bounds is forgotten.
    Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._logged: OrderedDict[str, OrderedDict[str, Hashable]] = OrderedDict()

    def is_new(self, uid: str, topic: str, what: Hashable) -> bool:
        """Whether this process last logged something else on a topic."""
        with self._lock:
            of_one = self._logged.setdefault(uid, OrderedDict())
            self._logged.move_to_end(uid)
            before = of_one.pop(topic, None)
            of_one[topic] = what
            if len(of_one) > _MOST_TOPICS:
                of_one.popitem(last=False)
            if len(self._logged) > _MOST:
                self._logged.popitem(last=False)
            return before != what

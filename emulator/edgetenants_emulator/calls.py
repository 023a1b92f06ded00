"""The log of every request: what was asked, by whom, about what, and what came of it."""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Any

from edgetenants_emulator.clock import wall_clock

__all__ = ["Call", "CallLog"]


@dataclass
class Call:
    """One request. It is logged when it arrives; `status` and `code` follow with the answer."""

    n: int
    operation: str
    service: str
    account: str
    target: str
    """The resource that the request names; empty when it names none."""
    virtual: float
    """Virtual seconds at arrival."""
    real: float
    """Real seconds since 1970 at arrival."""
    status: int | None = None
    """HTTP status; None while not answered, 0 when the connection was dropped instead."""
    code: str = ""
    """The error's code; empty when there is none."""
    fault: str = ""
    """The fault that was meant for this call; empty when there was none."""


class CallLog:
    """Counts every call, keeps the newest."""

    KEPT = 100_000

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: deque[Call] = deque(maxlen=self.KEPT)
        self._counts: Counter[str] = Counter()
        self._total = 0

    def begin(self, operation: str, service: str, account: str, virtual: float) -> Call:
        """Log a request that has arrived."""
        with self._lock:
            self._total += 1
            self._counts[operation] += 1
            call = Call(self._total, operation, service, account, "", virtual, wall_clock())
            self._calls.append(call)
            return call

    def reset(self) -> None:
        """Forget all and count from 1 again."""
        with self._lock:
            self._calls.clear()
            self._counts.clear()
            self._total = 0

    def report(self, since: int = 0) -> dict[str, Any]:
        """The calls after number `since`, and their number by operation."""
        with self._lock:
            newer = [asdict(call) for call in takewhile(lambda call: call.n > since, reversed(self._calls))]
            newer.reverse()
            counts = Counter(call["operation"] for call in newer) if since > 0 else self._counts
            return {"total": self._total, "by_operation": dict(sorted(counts.items())), "calls": newer}

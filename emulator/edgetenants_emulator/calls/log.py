"""The log of every request: what was asked, by whom, about what, and what came of it."""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from edgetenants_emulator.clock import wall_clock

__all__ = ["Call", "CallLog", "as_text"]


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
    request_id: str
    """As the answer has it."""
    status: int | None = None
    """HTTP status; None while not answered, 0 when the connection was dropped instead."""
    code: str = ""
    """The error's code; empty when there is none."""
    fault: str = ""
    """The fault that was meant for this call; empty when there was none."""
    parameters: Mapping[str, Any] | None = field(default=None)
    """By the model's names, without secrets; None where they are not kept any more."""


class CallLog:
    """Counts every call, keeps the newest, and of the newest the parameters."""

    KEPT = 100_000
    KEPT_BYTES = 4_000_000
    """Of bodies, as they came: the parameters of older calls are dropped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: deque[Call] = deque(maxlen=self.KEPT)
        self._with_parameters: deque[tuple[Call, int]] = deque()
        self._bytes = 0
        self._counts: Counter[str] = Counter()
        self._total = 0

    def begin(self, operation: str, service: str, account: str, virtual: float, request_id: str = "") -> Call:
        """Log a request that has arrived."""
        with self._lock:
            self._total += 1
            self._counts[operation] += 1
            call = Call(self._total, operation, service, account, "", virtual, wall_clock(), request_id)
            self._calls.append(call)
            return call

    def keep(self, call: Call, parameters: Mapping[str, Any], size: int) -> None:
        """Give a call its parameters, which came in a body of so many bytes."""
        with self._lock:
            call.parameters = parameters
            # What is in no body is in the path, and small.
            self._with_parameters.append((call, size + 100))
            self._bytes += size + 100
            while self._bytes > self.KEPT_BYTES:
                oldest, its_size = self._with_parameters.popleft()
                oldest.parameters = None
                self._bytes -= its_size

    def reset(self) -> None:
        """Forget all and count from 1 again."""
        with self._lock:
            self._calls.clear()
            self._with_parameters.clear()
            self._bytes = 0
            self._counts.clear()
            self._total = 0

    def report(self, since: int = 0, wanted: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The calls after number `since` with `wanted` values of Call's members, and their number by
        operation."""
        filters = list((wanted or {}).items())
        with self._lock:
            newer = [
                vars(call).copy()
                for call in takewhile(lambda call: call.n > since, reversed(self._calls))
                if all(getattr(call, name) == value for name, value in filters)
            ]
            newer.reverse()
            all_of_them = since <= 0 and not filters
            counts = self._counts if all_of_them else Counter(call["operation"] for call in newer)
            return {"total": self._total, "by_operation": dict(sorted(counts.items())), "calls": newer}


def as_text(calls: Iterable[Mapping[str, Any]]) -> str:
    """For people: a line for each call."""
    return "".join(_line(call) for call in calls)


def _line(call: Mapping[str, Any]) -> str:
    outcome = {None: "unanswered", 0: "dropped"}.get(call["status"]) or str(call["status"])
    parameters = json.dumps(call["parameters"], ensure_ascii=False, default=str) if call["parameters"] else ""
    words = (
        f"{call['n']:>6} {call['virtual']:>12.3f}s {call['account']}",
        f"{call['service'] or '?'}:{call['operation'] or '?'}",
        f"{outcome} {call['code']}".rstrip(),
        f"fault {call['fault']}" if call["fault"] else "",
        parameters,
    )
    return "  ".join(word for word in words if word) + "\n"

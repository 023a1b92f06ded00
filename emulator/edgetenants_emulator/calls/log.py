"""The log of all requests: operation, caller, resource and result."""

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
    """One request. It is logged when it arrives; `status` and `code` are set with the response."""

    n: int
    operation: str
    service: str
    account: str
    target: str
    """The resource of the request; empty if there is none."""
    virtual: float
    """Arrival in virtual seconds."""
    real: float
    """Arrival in real seconds since 1970."""
    request_id: str
    """The request id of the response."""
    status: int | None = None
    """The HTTP status; None before the response, 0 if the connection was dropped."""
    code: str = ""
    """The error code; empty if there is none."""
    fault: str = ""
    """The fault that applied to this call; empty if there was none."""
    app: str = ""
    """The app id in the User-Agent, which the caller sets with AWS_SDK_UA_APP_ID; empty if there is none."""
    parameters: Mapping[str, Any] | None = field(default=None)
    """The parameters by the model's names, without secrets; None if they are no longer kept."""


class CallLog:
    """Counts every call, and keeps the newest calls and the parameters of the newest of these."""

    KEPT = 100_000
    KEPT_BYTES = 4_000_000
    """The maximum total size of bodies. The parameters of older calls are dropped."""

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
        """Set the parameters of a call, whose body had `size` bytes."""
        with self._lock:
            call.parameters = parameters
            # Parameters outside the body are in the path, and small.
            self._with_parameters.append((call, size + 100))
            self._bytes += size + 100
            while self._bytes > self.KEPT_BYTES:
                oldest, its_size = self._with_parameters.popleft()
                oldest.parameters = None
                self._bytes -= its_size

    def reset(self) -> None:
        """Clear the log and count from 1 again."""
        with self._lock:
            self._calls.clear()
            self._with_parameters.clear()
            self._bytes = 0
            self._counts.clear()
            self._total = 0

    def report(self, since: int = 0, wanted: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The calls after number `since` with the `wanted` values of Call's members, and their count per
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
    """One line per call, for people."""
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

"""Faults on demand: the n-th call of an operation is held, delayed, failed or cut off.

arrives ──▶ before ──▶ effect ──▶ after ──▶ answer
              │                     │
              hold · delay · fail · reset
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from edgetenants_emulator.errors import STATUS, AwsError, ConnectionDropped, ErrorCode
from edgetenants_emulator.operations import CLOUDFRONT, service_model

__all__ = ["Action", "Fault", "Faults", "When"]


class When(StrEnum):
    """On which side of the call's effect a fault strikes."""

    BEFORE = "before"
    """Nothing has been done yet."""
    AFTER = "after"
    """The state has changed, the answer is not sent."""


class Action(StrEnum):
    """What happens to the call."""

    HOLD = "hold"
    """It waits until the fault is released."""
    DELAY = "delay"
    """It waits `seconds` of real time."""
    FAIL = "fail"
    """It is answered with `error`."""
    RESET = "reset"
    """Its connection is reset."""


class State(StrEnum):
    """How far a fault has come."""

    ARMED = "armed"
    """It waits for its call."""
    HELD = "held"
    """A call waits in it."""
    DONE = "done"
    """It has struck for the last time."""


@dataclass
class Fault:
    """One order to disturb a call."""

    id: str
    operation: str
    service: str = ""
    """Only calls of that service; empty for any."""
    account: str = ""
    """Only calls of that account; empty for any."""
    nth: int = 1
    every: bool = False
    when: When = When.BEFORE
    action: Action = Action.FAIL
    seconds: float = 0.0
    error: dict[str, Any] = field(default_factory=dict)
    seen: int = 0
    waiting: int = 0
    released: bool = False
    dropped: bool = False
    struck: int = 0

    @property
    def state(self) -> State:
        """How far it has come."""
        if self.waiting:
            return State.HELD
        return State.DONE if self.released or (self.struck and not self.every) else State.ARMED

    def as_json(self) -> dict[str, Any]:
        """For the admin API."""
        shown = ("id", "operation", "nth", "every", "when", "action", "struck")
        return {"state": self.state, **{name: getattr(self, name) for name in shown}}

    def concerns(self, operation: str, service: str, account: str) -> bool:
        """Whether it counts such a call."""
        fits = self.operation == operation and self.service in ("", service) and self.account in ("", account)
        return fits and not self.released


class Faults:
    """All faults, under a lock of their own: a held call holds up nobody else."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._faults: dict[str, Fault] = {}
        self._ids = itertools.count(1)

    def add(self, wanted: Mapping[str, Any]) -> Fault:
        """Arm a fault. Raises ValueError for what is not understood."""
        fault = _parse(f"f{next(self._ids)}", wanted)
        with self._changed:
            self._faults[fault.id] = fault
        return fault

    def meet(self, operation: str, service: str, account: str) -> list[Fault]:
        """Count a call that has arrived; the faults that are meant for it."""
        if not self._faults:
            return []
        with self._changed:
            mine = [f for f in self._faults.values() if f.concerns(operation, service, account)]
            for fault in mine:
                fault.seen += 1
            return [fault for fault in mine if fault.every or fault.seen == fault.nth]

    def strike(self, faults: list[Fault], when: When) -> None:
        """Do to a call what its faults order on this side of its effect.

        Raises AwsError to fail it, ConnectionDropped to cut it off.
        """
        for fault in faults:
            if fault.when == when:
                self._strike(fault)

    def find(self, fault_id: str, wait: float = 0.0) -> Fault:
        """A fault, after up to `wait` real seconds for it to be held or done. KeyError for no such id."""
        with self._changed:
            fault = self._faults[fault_id]
            self._changed.wait_for(lambda: fault.state != State.ARMED, wait)
            return fault

    def listed(self) -> list[Fault]:
        """All that were not removed."""
        with self._changed:
            return list(self._faults.values())

    def remove(self, fault_id: str, *, drop: bool = False) -> Fault:
        """Disarm a fault and let go what it holds; with `drop` the held call ends here: before its effect it
        never happens. Raises KeyError for an unknown id."""
        with self._changed:
            fault = self._faults.pop(fault_id)
            fault.released, fault.dropped = True, drop
            self._changed.notify_all()
            return fault

    def remove_all(self, *, drop: bool = False) -> None:
        """Disarm all."""
        for fault in self.listed():
            self.remove(fault.id, drop=drop)

    def _strike(self, fault: Fault) -> None:
        with self._changed:
            fault.struck += 1
            if fault.action in (Action.HOLD, Action.DELAY):
                self._wait(fault)
            self._changed.notify_all()
            if fault.dropped or fault.action is Action.RESET:
                raise ConnectionDropped
        if fault.action is Action.FAIL:
            raise _error(fault)

    def _wait(self, fault: Fault) -> None:
        fault.waiting += 1
        self._changed.notify_all()
        seconds = fault.seconds if fault.action is Action.DELAY else None
        self._changed.wait_for(lambda: fault.released, seconds)
        fault.waiting -= 1


def _parse(fault_id: str, wanted: Mapping[str, Any]) -> Fault:
    known = {"operation", "service", "account", "nth", "every", "when", "action", "seconds", "error"}
    unknown = sorted(set(wanted) - known)
    if unknown:
        raise ValueError(f"a fault has no {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    if not wanted.get("operation"):
        raise ValueError("operation is missing: the name of an operation, such as CreateDistributionTenant")
    fault = Fault(fault_id, **wanted)
    fault.when, fault.action = When(fault.when), Action(fault.action)
    if fault.nth < 1:
        raise ValueError(f"nth counts from 1, the next call; it is {fault.nth}")
    return fault


def _error(fault: Fault) -> AwsError:
    code = fault.error.get("code", ErrorCode.SERVICE_UNAVAILABLE)
    status = fault.error.get("status") or STATUS.get(code) or _declared_status(fault, code)
    return AwsError(code, fault.error.get("message", "This error was asked for."), int(status))


def _declared_status(fault: Fault, code: str) -> int:
    """The HTTP status that the model has for an error of the operation; 400 for one that it does not have."""
    model = service_model(fault.service or CLOUDFRONT)
    if model is None or fault.operation not in model.operation_names:
        return 400
    for shape in model.operation_model(fault.operation).error_shapes:
        if shape.name == code:
            return int(shape.metadata.get("error", {}).get("httpStatusCode", 400))
    return 400

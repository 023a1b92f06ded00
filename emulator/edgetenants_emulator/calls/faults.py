"""Injected faults: they hold, delay, fail or reset calls.

arrives ──▶ before ──▶ effect ──▶ after ──▶ response
              │                     │
              hold · delay · fail · reset
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

from edgetenants_emulator.calls.fault_orders import Action, Fault, State, When, parse
from edgetenants_emulator.errors import ConnectionDropped

__all__ = ["Action", "Fault", "Faults", "When"]

_GLANCE = 0.02
"""Real seconds between polls of the virtual clock."""


class Faults:
    """All faults. They have their own lock, so that a held call does not block other calls."""

    def __init__(self, virtual: Callable[[], float]) -> None:
        """`virtual` returns the virtual time in seconds."""
        self._virtual = virtual
        self._changed = threading.Condition()
        self._faults: dict[str, Fault] = {}
        self._ids = itertools.count(1)

    def add(self, wanted: Any) -> Fault:
        """Arm a fault. Raises ValueError for an invalid order."""
        fault = parse(f"f{next(self._ids)}", wanted)
        with self._changed:
            self._faults[fault.id] = fault
        return fault

    def meet(self, operation: str, service: str, account: str) -> list[Fault]:
        """Count a call that has arrived, and return the faults that apply to it."""
        if not self._faults:
            return []
        with self._changed:
            mine = [f for f in self._faults.values() if f.concerns(operation, service, account)]
            return [fault for fault in mine if fault.counts()]

    def strike(self, faults: list[Fault], when: When) -> None:
        """Apply a call's faults, before or after its effect.

        Raises AwsError to fail the call, ConnectionDropped to reset its connection.
        """
        for fault in faults:
            if fault.when == when:
                self._strike(fault)

    def find(self, fault_id: str, wait: float = 0.0) -> Fault:
        """A fault, once it is held or done, or after `wait` real seconds. KeyError for an unknown id."""
        with self._changed:
            fault = self._faults[fault_id]
            self._changed.wait_for(lambda: fault.state != State.ARMED, wait)
            return fault

    def listed(self) -> list[Fault]:
        """All faults that were not removed."""
        with self._changed:
            return list(self._faults.values())

    def remove(self, fault_id: str, *, drop: bool = False) -> Fault:
        """Remove a fault and release the call that it holds. With `drop`, the held call ends here: if it is
        held before its effect, it has none. Raises KeyError for an unknown id."""
        with self._changed:
            fault = self._faults.pop(fault_id)
            fault.released, fault.dropped = True, drop
            self._changed.notify_all()
            return fault

    def remove_all(self, *, drop: bool = False) -> None:
        """Remove all faults."""
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
            raise fault.aws_error()

    def _wait(self, fault: Fault) -> None:
        fault.waiting += 1
        self._changed.notify_all()
        if fault.action is Action.HOLD:
            self._changed.wait_for(lambda: fault.released)
        else:
            self._changed.wait_for(lambda: fault.released, fault.seconds)
            self._wait_virtually(fault)
        fault.waiting -= 1

    def _wait_virtually(self, fault: Fault) -> None:
        end = self._virtual() + fault.virtual_seconds
        while not fault.released and self._virtual() < end:
            self._changed.wait(_GLANCE)

"""Parses the JSON of a fault. Errors name the invalid member."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from edgetenants_emulator.errors import STATUS, AwsError, ErrorCode
from edgetenants_emulator.protocol.operations import CLOUDFRONT, service_model

__all__ = ["Action", "Fault", "State", "When", "parse"]

_SERVICES = (CLOUDFRONT, "acm", "route53", "sts", "iam")
"""The services that are searched for an operation if its service is not set."""
_ACCOUNT = re.compile(r"[0-9]{12}")
_CODES = {500: ErrorCode.INTERNAL_ERROR, 503: ErrorCode.SERVICE_UNAVAILABLE}


class When(StrEnum):
    """Whether a fault applies before or after the call's effect."""

    BEFORE = "before"
    """The call has not been executed yet."""
    AFTER = "after"
    """The state has changed, but the response is not sent yet."""


class Action(StrEnum):
    """What happens to the call."""

    HOLD = "hold"
    """It waits until the fault is released."""
    DELAY = "delay"
    """It waits for `seconds` of real time, or for `virtualSeconds`."""
    FAIL = "fail"
    """It gets the response `error`."""
    RESET = "reset"
    """Its connection is reset."""


class State(StrEnum):
    """The state of a fault."""

    ARMED = "armed"
    """It waits for a call."""
    HELD = "held"
    """It holds a call."""
    DONE = "done"
    """It does not apply to further calls."""


_SHORT: dict[str, dict[str, Any]] = {
    "hang": {"action": "hold"},
    "slow": {"action": "delay", "seconds": 2.0},
    "throttle": {"action": "fail", "error": {"code": "Throttling", "message": "Rate exceeded"}},
    "unavailable": {"action": "fail", "error": {"code": "ServiceUnavailable"}},
    "internal-error": {"action": "fail", "error": {"code": "InternalError"}},
}
"""Aliases of actions, with the members that they set unless the order sets them."""


@dataclass
class Fault:
    """One injected fault."""

    id: str
    operation: str = ""
    """The operation to which it applies; empty for all."""
    service: str = ""
    """The service to which it applies; empty for all."""
    account: str = ""
    """The account to which it applies; empty for all."""
    nth: int = 1
    """The first call to which it applies, counted from 1."""
    count: int = 1
    """To how many calls it applies, starting with `nth`."""
    every: bool = False
    """Whether it applies to all calls, starting with `nth`."""
    when: When = When.BEFORE
    action: Action = Action.FAIL
    seconds: float = 0.0
    """Real seconds of a delay."""
    virtual_seconds: float = 0.0
    """Virtual seconds of a delay."""
    error: dict[str, Any] = field(default_factory=dict)
    seen: int = 0
    waiting: int = 0
    released: bool = False
    dropped: bool = False
    struck: int = 0

    @property
    def state(self) -> State:
        """The current state."""
        if self.waiting:
            return State.HELD
        done = self.released or (self.struck >= self.count and not self.every)
        return State.DONE if done else State.ARMED

    def as_json(self) -> dict[str, Any]:
        """For the admin API."""
        shown = ("id", "operation", "service", "account", "nth", "count", "every", "when", "action", "struck")
        row = {"state": self.state, **{name: getattr(self, name) for name in shown}}
        if self.action is Action.DELAY:
            row |= {"seconds": self.seconds, "virtualSeconds": self.virtual_seconds}
        return {**row, "error": self.error} if self.error else row

    def concerns(self, operation: str, service: str, account: str) -> bool:
        """Whether such a call matches."""
        wanted = (self.operation, self.service, self.account)
        fits = all(
            own in ("", given) for own, given in zip(wanted, (operation, service, account), strict=True)
        )
        return fits and not self.released

    def counts(self) -> bool:
        """Count a matching call, and return whether the fault applies to it."""
        self.seen += 1
        return self.seen >= self.nth and (self.every or self.seen < self.nth + self.count)

    def aws_error(self) -> AwsError:
        """The error response of a failed call."""
        status = self.error.get("status")
        code = self.error.get("code") or _CODES.get(status or 503, ErrorCode.SERVICE_UNAVAILABLE)
        status = status or STATUS.get(code) or _declared_status(self, code)
        return AwsError(code, self.error.get("message", "This error was asked for."), status)


def parse(fault_id: str, wanted: Any) -> Fault:
    """Parse a fault. Raises ValueError with the name of the invalid member."""
    if not isinstance(wanted, Mapping) or not {"operation", "service", "action"} & set(wanted):
        raise ValueError(
            'fault: expected an operation, a service or an action: {"operation": "CreateDistributionTenant", '
            '"action": "throttle"}'
        )
    order = {**wanted, **_spelled_out(wanted)}
    unknown = sorted(set(order) - set(_MEMBERS))
    if unknown:
        raise ValueError(f"fault: unknown {', '.join(unknown)}; known: {', '.join(sorted(_MEMBERS))}")
    for name, value in order.items():
        fits, meaning = _MEMBERS[name]
        if not fits(value):
            raise ValueError(f"{name} of a fault: expected {meaning}, got {value!r}")
    _check_together(order)
    _check_operation(order.get("operation", ""), order.get("service", ""))
    members = {("virtual_seconds" if k == "virtualSeconds" else k): v for k, v in order.items()}
    fault = Fault(fault_id, **members)
    fault.when, fault.action = When(fault.when), Action(fault.action)
    fault.operation = "" if fault.operation == "*" else fault.operation
    return fault


def _spelled_out(wanted: Mapping[str, Any]) -> dict[str, Any]:
    action = wanted.get("action")
    short = dict(_SHORT.get(action, {})) if isinstance(action, str) else {}
    if "virtualSeconds" in wanted:
        short.pop("seconds", None)
    return {name: value for name, value in short.items() if name == "action" or name not in wanted}


def _check_together(order: Mapping[str, Any]) -> None:
    """Refuse members that have no effect in combination."""
    action = order.get("action", Action.FAIL)
    if "error" in order and action != Action.FAIL:
        raise ValueError(f"error of a fault requires the action fail, got {action}")
    if {"seconds", "virtualSeconds"} & set(order) and action != Action.DELAY:
        raise ValueError(f"seconds and virtualSeconds of a fault require the action delay, got {action}")
    if action == Action.DELAY and not {"seconds", "virtualSeconds"} & set(order):
        raise ValueError("the action delay requires seconds or virtualSeconds")
    if "count" in order and order.get("every"):
        raise ValueError("a fault cannot have both count and every")


def _check_operation(operation: str, service: str) -> None:
    """Refuse a service or an operation that AWS does not have, because the fault would never apply."""
    if service and service_model(service) is None:
        raise ValueError(
            f"service of a fault: expected the name in a signature, such as cloudfront, got {service!r}"
        )
    if operation in ("", "*"):
        return
    known: list[str] = []
    for name in (service,) if service else _SERVICES:
        model = service_model(name)
        known += model.operation_names if model else []
        if operation in known:
            return
    near = difflib.get_close_matches(operation, known, n=3)
    meant = f"; did you mean {' or '.join(near)}?" if near else "; for another service, set service"
    raise ValueError(f"operation {operation!r} not found in {service or ', '.join(_SERVICES)}{meant}")


def _declared_status(fault: Fault, code: str) -> int:
    """The HTTP status that the model declares for the operation's error; 400 if it declares none."""
    model = service_model(fault.service or CLOUDFRONT)
    if model is None or fault.operation not in model.operation_names:
        return 400
    for shape in model.operation_model(fault.operation).error_shapes:
        if shape.name == code:
            return int(shape.metadata.get("error", {}).get("httpStatusCode", 400))
    return 400


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_seconds(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < float("inf")


def _is_error(value: Any) -> bool:
    if not isinstance(value, Mapping) or set(value) - {"code", "status", "message"}:
        return False
    status = value.get("status", 400)
    texts = all(isinstance(value.get(name, ""), str) for name in ("code", "message"))
    return texts and type(status) is int and 400 <= status <= 599


_MEMBERS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "operation": (lambda v: isinstance(v, str), "an operation's name, or * for all"),
    "service": (lambda v: isinstance(v, str), "the name in a signature, such as cloudfront"),
    "account": (lambda v: isinstance(v, str) and bool(_ACCOUNT.fullmatch(v)), "twelve digits in a string"),
    "nth": (_is_count, "a whole number from 1, the next call"),
    "count": (_is_count, "a whole number from 1"),
    "every": (lambda v: isinstance(v, bool), "true or false"),
    "when": (lambda v: v in list(When), "before or after"),
    "action": (lambda v: v in list(Action), ", ".join([*Action, *_SHORT])),
    "seconds": (_is_seconds, "a number of real seconds"),
    "virtualSeconds": (_is_seconds, "a number of virtual seconds"),
    "error": (_is_error, '{"code": string, "status": 400 to 599, "message": string}, each optional'),
}
"""Each member of an order: its check, and a description of valid values."""

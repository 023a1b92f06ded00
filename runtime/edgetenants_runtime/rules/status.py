"""The next status of a managed resource, and the smallest patch towards it (pure).

Every write to a managed resource wakes its composite, whose circuit breaker counts it. So what did not
change is not written: transition times move only with the condition's status, and the request id in a
message is not news.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any

from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.bounds import MOST_CONDITIONS
from edgetenants_runtime.clock import rfc3339
from edgetenants_runtime.managed import conditions_in

__all__ = ["Report", "merge_patch", "next_status", "patch_for", "plain", "same_message", "without_request_id"]

_REQUEST_ID = re.compile(r"\s*\(request id: [^)]*\)")


@dataclass(frozen=True)
class Report:
    """What one reconcile has to say."""

    conditions: tuple[Condition, ...]
    """The last of a type wins."""
    at_provider: Mapping[str, Any] | None = None
    """Replaces status.atProvider; None leaves it."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Other top-level fields, each replaced whole; None removes one."""
    withdrawn: frozenset[str] = frozenset()
    """Types of conditions that no longer hold and go, unless reported."""
    acted_upon: bool = True
    """The generation was acted upon. Not so where the reconcile ended before it had looked outside."""


def patch_for(old: Mapping[str, Any], report: Report, *, generation: int, now: datetime) -> dict[str, Any]:
    """The JSON merge patch of status that the report asks for; empty when there is no news."""
    return merge_patch(old, next_status(old, report, generation=generation, now=now))


def next_status(old: Mapping[str, Any], report: Report, *, generation: int, now: datetime) -> dict[str, Any]:
    """The status that the report leads to. `generation` is the one that it tells of."""
    status = {**old, **{name: plain(value) for name, value in report.fields.items()}}
    status = {name: value for name, value in status.items() if value is not None}
    if report.at_provider is not None:
        status["atProvider"] = plain(report.at_provider)
    kept = [c for c in conditions_in(old) if c["type"] not in report.withdrawn - _types(report)]
    status["conditions"] = _merge_conditions(kept, report.conditions, generation, now)
    # 0 where none ever was: what waits by it must not take silence for success.
    status["observedGeneration"] = generation if report.acted_upon else _acted_upon(old)
    return status


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch (RFC 7386) from `old` to `new`; removed keys become null, lists are replaced
    whole.

    >>> merge_patch({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"c": 1, "d": 3}})
    {'a': None, 'b': {'d': 3}}
    """
    patch: dict[str, Any] = dict.fromkeys(name for name in old if name not in new)
    for name, value in new.items():
        before = old.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            inner = merge_patch(before, value)
            if inner:
                patch[name] = inner
        elif name not in old or before != value:
            patch[name] = value
    return patch


def plain(value: Any) -> Any:
    """The value as JSON has it: mappings and sequences made plain, enums by value, absent (None) members
    dropped."""
    if isinstance(value, Mapping):
        return {str(name): plain(member) for name, member in value.items() if member is not None}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(member) for member in value]
    return value


def same_message(one: str, other: str) -> bool:
    """The messages differ at most in the request id, which is another one at every attempt."""
    return one == other or without_request_id(one) == without_request_id(other)


def without_request_id(message: str) -> str:
    """The message without the suffix that `ExternalError` appends."""
    return _REQUEST_ID.sub("", message)


def _acted_upon(status: Mapping[str, Any]) -> int:
    stored = status.get("observedGeneration")
    return stored if isinstance(stored, int) else 0


def _types(report: Report) -> frozenset[str]:
    return frozenset(str(condition.type) for condition in report.conditions)


def _merge_conditions(
    old: Iterable[Mapping[str, Any]], reported: Iterable[Condition], generation: int, now: datetime
) -> list[Mapping[str, Any]]:
    merged: dict[str, Mapping[str, Any]] = {c["type"]: c for c in old}
    latest = {str(condition.type): condition for condition in reported}
    # Others may write conditions too. So many that no server stores ours beside them lose their last ones.
    foreign = [type_ for type_ in merged if type_ not in latest]
    for type_ in foreign[max(0, MOST_CONDITIONS - len(latest)) :]:
        del merged[type_]
    for type_, condition in latest.items():
        merged[type_] = _transition(merged.get(type_), condition, generation, now)
    return list(merged.values())


def _transition(
    old: Mapping[str, Any] | None, condition: Condition, generation: int, now: datetime
) -> Mapping[str, Any]:
    new = {
        "type": str(condition.type),
        "status": str(condition.status),
        "reason": str(condition.reason),
        "message": condition.message,
        "lastTransitionTime": rfc3339(now),
        "observedGeneration": condition.observed_generation or generation,
    }
    if not condition.message:
        del new["message"]
    if old is None or old.get("status") != new["status"]:
        return new
    new["lastTransitionTime"] = _text(old, "lastTransitionTime") or new["lastTransitionTime"]
    if same_message(_text(old, "message"), condition.message):
        new.pop("message", None)
        new.update({"message": old["message"]} if _text(old, "message") else {})
    return old if new == old else new


def _text(stored: Mapping[str, Any], name: str) -> str:
    value = stored.get(name)
    return value if isinstance(value, str) else ""

"""The next status of a managed resource, and the smallest patch to it (pure).

Every write to a managed resource requeues its composite, whose circuit breaker counts it. Therefore unchanged
values are not written: a transition time changes only with the condition's status, and a different request id
in a message does not count as a change.
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

_REQUEST_ID = re.compile(r"(?<!\s)\s*\(request id: [^()]*\)")
"""Takes time in proportion to the text, because others may write messages, too: it starts once for each run
of blanks, and an unfinished request id ends where the next one begins."""


@dataclass(frozen=True)
class Report:
    """The status of one reconcile."""

    conditions: tuple[Condition, ...]
    """The last one of a type wins."""
    at_provider: Mapping[str, Any] | None = None
    """Replaces status.atProvider; None leaves it unchanged."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Other top-level fields. Each is replaced as a whole; None removes it."""
    withdrawn: frozenset[str] = frozenset()
    """Types of conditions to remove, unless they are reported."""
    acted_upon: bool = True
    """The generation was observed. False if the reconcile ended before it observed the external resource."""


def patch_for(old: Mapping[str, Any], report: Report, *, generation: int, now: datetime) -> dict[str, Any]:
    """The JSON merge patch of status for the report; empty if nothing changed."""
    return merge_patch(old, next_status(old, report, generation=generation, now=now))


def next_status(old: Mapping[str, Any], report: Report, *, generation: int, now: datetime) -> dict[str, Any]:
    """The status after the report, which is for `generation`."""
    status = {**old, **{name: plain(value) for name, value in report.fields.items()}}
    status = {name: value for name, value in status.items() if value is not None}
    if report.at_provider is not None:
        status["atProvider"] = plain(report.at_provider)
    kept = [c for c in conditions_in(old) if c["type"] not in report.withdrawn - _types(report)]
    status["conditions"] = _merge_conditions(kept, report.conditions, generation, now)
    # 0 if none was ever observed: tools that wait for it must not take its absence for success.
    status["observedGeneration"] = generation if report.acted_upon else _acted_upon(old)
    return status


def merge_patch(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch (RFC 7386) from `old` to `new`; removed keys become null, lists are replaced as a
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
    """The value in JSON form: plain mappings and lists, enums by value, without absent (None) members."""
    if isinstance(value, Mapping):
        return {str(name): plain(member) for name, member in value.items() if member is not None}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(member) for member in value]
    return value


def same_message(one: str, other: str) -> bool:
    """The messages differ at most in the request id, which is different on every attempt."""
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
    # Others may write conditions too. If there are too many for the API server, drop the last of theirs.
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

"""What a TenantSource says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from apis.conditions import (
    SourceConditionType,
    SourceDegradedReason,
    SourceReadyReason,
    SourceSuspendedReason,
    SourceSyncedReason,
)
from edgetenants_runtime.api.conditions import Condition, ConditionStatus
from edgetenants_runtime.bounds import named
from edgetenants_runtime.rules.status import Report
from sources.objects import CONFIRM
from sources.plan import Plan
from sources.rows import Problem, Table

__all__ = [
    "Counts",
    "Failure",
    "Report",
    "deleting",
    "failed",
    "followed",
    "recounted",
    "suspended",
    "undeletable",
]

_MOST: Final = 20
"""Rows and names in a status."""


@dataclass(frozen=True)
class Counts:
    """The objects of a TenantSource, as seen in the cache."""

    objects: int
    live: int

    @property
    def fields(self) -> dict[str, Any]:
        """In the status."""
        return {"objects": self.objects, "live": self.live}


@dataclass(frozen=True)
class Failure:
    """Why the rows cannot be followed."""

    reason: SourceSyncedReason
    message: str


def followed(table: Table, plan: Plan, counts: Counts, failure: Failure | None) -> Report:
    """After a complete read; `failure`: why not everything was written."""
    ready = _condition(SourceConditionType.READY, SourceReadyReason.FOLLOWING, True)
    if plan.waiting:
        message = f"{plan.waiting} rows wait for their object, as {plan.waits_for}"
        ready = _condition(SourceConditionType.READY, SourceReadyReason.IMPORTING, False, message)
    synced = _condition(
        SourceConditionType.SYNCED, SourceSyncedReason.SYNCED, True, _said_of_gone(table, plan)
    )
    if failure is not None:
        ready, synced = _not_read(failure)
    return Report(
        (ready, synced, _degraded(table, plan), _active()),
        fields={**_fields(table, plan), **counts.fields},
    )


def failed(failure: Failure, counts: Counts | None) -> Report:
    """The rows could not be read: what was said of them before stays."""
    return Report((*_not_read(failure), _active()), fields=counts.fields if counts else {})


def recounted(counts: Counts) -> Report:
    """Between two reads."""
    return Report((), fields=counts.fields)


def suspended(counts: Counts) -> Report:
    """`suspend: true`."""
    ready = _condition(SourceConditionType.READY, SourceReadyReason.SUSPENDED, False)
    synced = _condition(SourceConditionType.SYNCED, SourceSyncedReason.SUSPENDED, False)
    stopped = _condition(SourceConditionType.SUSPENDED, SourceSuspendedReason.MANUALLY_SUSPENDED, True)
    return Report((ready, synced, stopped), fields=counts.fields)


def deleting(counts: Counts) -> Report:
    """Its objects are being deleted."""
    message = f"{counts.objects} objects are being deleted"
    ready = _condition(SourceConditionType.READY, SourceReadyReason.DELETING, False, message)
    return Report((ready,), fields=counts.fields)


def undeletable(message: str) -> Report:
    """It is being deleted, and does not say what is to become of its objects."""
    return Report((_condition(SourceConditionType.READY, SourceReadyReason.DELETING, False, message),))


def _not_read(failure: Failure) -> tuple[Condition, Condition]:
    return (
        _condition(SourceConditionType.READY, SourceReadyReason.NOT_READ, False, failure.message),
        _condition(SourceConditionType.SYNCED, failure.reason, False, failure.message),
    )


def _active() -> Condition:
    return _condition(SourceConditionType.SUSPENDED, SourceSuspendedReason.ACTIVE, False)


def _said_of_gone(table: Table, plan: Plan) -> str:
    if table.keyless:
        return f"{table.keyless} rows have no usable key, so no object counts as gone until they have one"
    if plan.gone:
        return f"the rows of {len(plan.gone)} objects are gone: {named(plan.gone)}"
    return ""


def _degraded(table: Table, plan: Plan) -> Condition:
    if plan.removal is not None:
        names, token = plan.removal.names, plan.removal.token
        message = (
            f"the rows of {len(names)} objects went at once ({named(names)}), which looks like an accident; "
            f"to remove exactly these objects, set the annotation {CONFIRM} to {token}"
        )
        return _condition(SourceConditionType.DEGRADED, SourceDegradedReason.REMOVAL_HELD, True, message)
    wrong = len(plan.problems) + table.keyless
    if wrong:
        first = _problems(table, plan)[0]
        message = (
            f"{wrong} rows have a problem, such as {first.key}: {first.field}: expected {first.expected}"
        )
        return _condition(SourceConditionType.DEGRADED, SourceDegradedReason.ROWS_INVALID, True, message)
    return _condition(SourceConditionType.DEGRADED, SourceDegradedReason.AS_EXPECTED, False)


def _fields(table: Table, plan: Plan) -> Mapping[str, Any]:
    removal = plan.removal
    return {
        "rows": table.rows,
        "invalid": len(plan.problems) + table.keyless,
        "gone": len(plan.gone),
        "waiting": plan.waiting,
        "problems": [_problem(each) for each in _problems(table, plan)[:_MOST]] or None,
        "goneNames": list(plan.gone[:_MOST]) or None,
        "removal": None
        if removal is None
        else {"count": len(removal.names), "names": list(removal.names[:_MOST]), "token": removal.token},
    }


def _problems(table: Table, plan: Plan) -> list[Problem]:
    """All rows that have one, by key; rows without one last."""
    return [*(each for _, each in sorted(plan.problems.items())), *table.nameless]


def _problem(problem: Problem) -> dict[str, str]:
    return {"key": problem.key, "field": problem.field[:253], "expected": problem.expected[:512]}


def _condition(type_: str, reason: str, true: bool, message: str = "") -> Condition:
    status = ConditionStatus.TRUE if true else ConditionStatus.FALSE
    return Condition(type=type_, status=status, reason=reason, message=message)

"""The conditions of operations that outlast a reconcile (pure). They are upjet's."""

from __future__ import annotations

from edgetenants_runtime.api import conditions
from edgetenants_runtime.api.conditions import (
    AsyncOperationReason,
    Condition,
    ConditionType,
    LastAsyncOperationReason,
)
from edgetenants_runtime.external import AsyncOperation, Observation, OperationState
from edgetenants_runtime.managed import Managed

__all__ = ["told"]


def told(mr: Managed, seen: Observation, begun: AsyncOperation | None) -> tuple[Condition, ...]:
    """The conditions for the observed operation and for the one that this reconcile started.

                     ┌── ONGOING ──▶ AsyncOperation Ongoing
    `seen`, `begun` ─┼── ended ────▶ AsyncOperation Finished, LastAsyncOperation Success or …Failure
                     └── none ─────▶ as stored; an Ongoing that is no longer reported is Finished
    """
    observed = _of(seen.operation, deleting=mr.deleted) if seen.operation else _vanished(mr, seen)
    return (*observed, *(_of(begun, deleting=mr.deleted) if begun else ()))


def _of(operation: AsyncOperation, *, deleting: bool) -> tuple[Condition, ...]:
    if operation.state is OperationState.ONGOING:
        return (conditions.operation_ongoing(operation.message),)
    return conditions.operation_finished(), conditions.last_operation(
        _ending(operation.state, deleting=deleting), operation.message
    )


def _ending(state: OperationState, *, deleting: bool) -> LastAsyncOperationReason:
    if state is OperationState.SUCCEEDED:
        return LastAsyncOperationReason.SUCCESS
    return LastAsyncOperationReason.DESTROY_FAILURE if deleting else LastAsyncOperationReason.APPLY_FAILURE


def _vanished(mr: Managed, seen: Observation) -> tuple[Condition, ...]:
    """An ongoing operation that is no longer reported has ended, with success if its goal is reached."""
    stored = mr.condition(ConditionType.ASYNC_OPERATION)
    if stored is None or stored.reason != AsyncOperationReason.ONGOING:
        return ()
    finished = conditions.operation_finished()
    if seen.exists and seen.up_to_date and not mr.deleted:
        return finished, conditions.last_operation(LastAsyncOperationReason.SUCCESS)
    return (finished,)

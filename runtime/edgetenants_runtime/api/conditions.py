"""Conditions of managed resources: the types and reasons that Crossplane itself defines.

The words are those of crossplane-runtime (apis/common/v1/condition.go) and, for what outlasts a reconcile, of
upjet (pkg/resource/conditions.go); tools and people look for them. A provider's own types and reasons stand
beside its kinds.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from edgetenants_runtime.bounds import LONGEST_MESSAGE, MOST_CONDITIONS, cut

from .model import NOT_TEXT, ApiModel, Kube


class ConditionStatus(StrEnum):
    """Whether what the type says is so."""

    TRUE = "True"
    """It is so."""
    FALSE = "False"
    """It is not so."""
    UNKNOWN = "Unknown"
    """It could not be told."""


class ConditionType(StrEnum):
    """The condition types of every managed resource."""

    READY = "Ready"
    """The external resource does what it is for. Set from what was observed."""
    SYNCED = "Synced"
    """The last reconcile went through: the external resource was observed, and made or changed as asked."""
    ASYNC_OPERATION = "AsyncOperation"
    """Work in the outside world that outlasts a reconcile. Always True: the reason says if it goes on."""
    LAST_ASYNC_OPERATION = "LastAsyncOperation"
    """How the last work that outlasted a reconcile ended."""
    UNKNOWN = "Unknown"
    """Present, and False, only while the last reconcile failed in a way that nobody foresaw."""


class ReadyReason(StrEnum):
    """Crossplane's own reasons of type Ready; a provider adds those of its kinds."""

    AVAILABLE = "Available"
    """The external resource serves. Nobody needs to act."""
    UNAVAILABLE = "Unavailable"
    """The external resource exists and does not serve; the message says why. Clears by itself when it serves
    again."""
    CREATING = "Creating"
    """The external resource is being made. Nobody needs to act; clears by itself."""
    DELETING = "Deleting"
    """The external resource is being deleted. Nobody needs to act; the object goes when it is gone."""
    UNKNOWN = "Unknown"
    """The external resource was never observed, as the provider failed in a way that nobody foresaw; Synced
    says why. Clears with the next successful observation."""
    DELETION_HELD = "DeletionHeld"
    """The object is being deleted, and nothing is deleted outside: the kind's CRD is being deleted too, or
    the provider was told to hold deletions. Whoever is sure confirms as the message says; does not clear by
    itself."""


class SyncedReason(StrEnum):
    """Crossplane's reasons of type Synced."""

    RECONCILE_SUCCESS = "ReconcileSuccess"
    """The last reconcile went through. Nobody needs to act."""
    RECONCILE_ERROR = "ReconcileError"
    """A step of the last reconcile failed; the message has the step and the outside world's own words. It is
    tried again by itself; who acts depends on the message."""
    RECONCILE_PAUSED = "ReconcilePaused"
    """The annotation crossplane.io/paused or an empty managementPolicies stops all reconciling, deletion
    included. Whoever paused it resumes it; does not clear by itself."""
    DELETION_HELD = "DeletionHeld"
    """The deletion is held, as Ready says with the same reason."""


class AsyncOperationReason(StrEnum):
    """upjet's reasons of type AsyncOperation."""

    ONGOING = "Ongoing"
    """The outside world is at work; nothing else is begun meanwhile. Nobody acts; clears by itself."""
    FINISHED = "Finished"
    """Nothing is under way; LastAsyncOperation says how the last work ended."""


class LastAsyncOperationReason(StrEnum):
    """upjet's reasons of type LastAsyncOperation."""

    SUCCESS = "Success"
    """It ended well. Nobody needs to act."""
    APPLY_FAILURE = "ApplyFailure"
    """A creation or update failed after it had been accepted; the message has the outside world's words. It
    is tried again by itself."""
    DESTROY_FAILURE = "DestroyFailure"
    """A deletion failed after it had been accepted; the message has the outside world's words. It is tried
    again by itself."""


class UnknownReason(StrEnum):
    """The reason of type Unknown."""

    UNKNOWN = "Unknown"
    """A bug in the provider: its log has the details. Whoever runs the provider acts; the condition goes with
    the next reconcile that ends otherwise."""


def _bounded(message: object) -> object:
    # Cut and not refused: a condition that cannot be made is one that nobody reads.
    return cut(message) if isinstance(message, str) else message


class Condition(ApiModel):
    """One observation about an object, in the form that Kubernetes uses everywhere."""

    type: Annotated[str, Field(min_length=1, max_length=316)]
    """What is told of; unique among the conditions of an object."""
    status: ConditionStatus
    """Whether it is so: True, False or Unknown."""
    reason: Annotated[str, Field(max_length=1024)]
    """Why, as one word out of the type's closed list."""
    message: Annotated[str, Field(max_length=LONGEST_MESSAGE), BeforeValidator(_bounded)] = ""
    """The finding, its cause in the outside world's own words, and what to do next. May be empty."""
    last_transition_time: Annotated[
        str | None, Field(json_schema_extra={"format": "date-time"}), Kube(required=True)
    ] = None
    """When `status` last changed (RFC 3339, UTC). It does not move while the status stays."""
    observed_generation: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The metadata.generation of the object that this was told of."""


Conditions = Annotated[
    tuple[Condition, ...], Field(max_length=MOST_CONDITIONS), Kube(list_type="map", keys=("type",))
]
"""The conditions of one object, told apart by type."""


def available() -> Condition:
    """Ready: the external resource serves."""
    return _ready(ConditionStatus.TRUE, ReadyReason.AVAILABLE)


def unavailable(message: str) -> Condition:
    """Not ready: the external resource exists and does not serve; `message` says why."""
    return _ready(ConditionStatus.FALSE, ReadyReason.UNAVAILABLE, message)


def creating() -> Condition:
    """Not ready: the external resource is being made."""
    return _ready(ConditionStatus.FALSE, ReadyReason.CREATING)


def deleting() -> Condition:
    """Not ready: the external resource is being deleted."""
    return _ready(ConditionStatus.FALSE, ReadyReason.DELETING)


def reconcile_success(message: str = "") -> Condition:
    """Synced: the last reconcile went through. `message`: what it waits for."""
    return _synced(ConditionStatus.TRUE, SyncedReason.RECONCILE_SUCCESS, message)


def reconcile_error(message: str) -> Condition:
    """Not synced: a step of the last reconcile failed; `message` says which and why."""
    return _synced(ConditionStatus.FALSE, SyncedReason.RECONCILE_ERROR, message)


def reconcile_paused(message: str = "") -> Condition:
    """Not synced: reconciling is paused."""
    return _synced(ConditionStatus.FALSE, SyncedReason.RECONCILE_PAUSED, message)


def deletion_held(message: str) -> tuple[Condition, Condition]:
    """Ready and Synced: the object is being deleted and the external resource is kept; `message` says why and
    the way out."""
    return (
        _ready(ConditionStatus.FALSE, ReadyReason.DELETION_HELD, message),
        _synced(ConditionStatus.FALSE, SyncedReason.DELETION_HELD, message),
    )


def never_observed(message: str) -> Condition:
    """Ready: it cannot be told, as the provider failed before it ever saw the external resource."""
    return _ready(ConditionStatus.UNKNOWN, ReadyReason.UNKNOWN, message)


def unforeseen(message: str) -> Condition:
    """Unknown: the last reconcile failed in a way that nobody foresaw; `message` says at which step."""
    return Condition(
        type=ConditionType.UNKNOWN,
        status=ConditionStatus.FALSE,
        reason=UnknownReason.UNKNOWN,
        message=message,
    )


def operation_ongoing(message: str = "") -> Condition:
    """AsyncOperation: the outside world is at work."""
    return _operation(AsyncOperationReason.ONGOING, message)


def operation_finished() -> Condition:
    """AsyncOperation: nothing is under way."""
    return _operation(AsyncOperationReason.FINISHED)


def last_operation(reason: LastAsyncOperationReason, message: str = "") -> Condition:
    """LastAsyncOperation: how the last work ended."""
    well = reason is LastAsyncOperationReason.SUCCESS
    return Condition(
        type=ConditionType.LAST_ASYNC_OPERATION,
        status=ConditionStatus.TRUE if well else ConditionStatus.FALSE,
        reason=reason,
        message=message,
    )


def _operation(reason: AsyncOperationReason, message: str = "") -> Condition:
    return Condition(
        type=ConditionType.ASYNC_OPERATION, status=ConditionStatus.TRUE, reason=reason, message=message
    )


def _ready(status: ConditionStatus, reason: ReadyReason, message: str = "") -> Condition:
    return Condition(type=ConditionType.READY, status=status, reason=reason, message=message)


def _synced(status: ConditionStatus, reason: SyncedReason, message: str = "") -> Condition:
    return Condition(type=ConditionType.SYNCED, status=status, reason=reason, message=message)

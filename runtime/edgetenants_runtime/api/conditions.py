"""Conditions of managed resources: the types and reasons that Crossplane itself defines.

The names are those of crossplane-runtime (apis/common/v1/condition.go) and, for asynchronous operations, of
upjet (pkg/resource/conditions.go), because tools and people rely on them. A provider defines its own types
and reasons next to its kinds.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from edgetenants_runtime.bounds import LONGEST_MESSAGE, MOST_CONDITIONS, cut

from .model import NOT_TEXT, ApiModel, Kube


class ConditionStatus(StrEnum):
    """Whether the condition applies."""

    TRUE = "True"
    """The condition applies."""
    FALSE = "False"
    """The condition does not apply."""
    UNKNOWN = "Unknown"
    """The status could not be determined."""


class ConditionType(StrEnum):
    """The condition types of every managed resource."""

    READY = "Ready"
    """The external resource is ready for use. Set from the last observation."""
    SYNCED = "Synced"
    """The last reconcile succeeded: the external resource was observed, and created or updated as desired."""
    ASYNC_OPERATION = "AsyncOperation"
    """An operation of the external API that outlasts a reconcile. Always True: the reason says whether it is
    ongoing."""
    LAST_ASYNC_OPERATION = "LastAsyncOperation"
    """The result of the last operation that outlasted a reconcile."""
    UNKNOWN = "Unknown"
    """Present, and False, only while the last reconcile failed with an unexpected error."""


class ReadyReason(StrEnum):
    """Crossplane's own reasons of type Ready. A provider adds the reasons of its kinds."""

    AVAILABLE = "Available"
    """The external resource is available. No action is needed."""
    UNAVAILABLE = "Unavailable"
    """The external resource exists but is not available; the message says why. Clears when it is available
    again."""
    CREATING = "Creating"
    """The external resource is being created. No action is needed; clears automatically."""
    DELETING = "Deleting"
    """The external resource is being deleted. No action is needed; the object is removed after it."""
    UNKNOWN = "Unknown"
    """The external resource was never observed because the provider failed with an unexpected error; Synced
    says why. Clears with the next successful observation."""
    DELETION_HELD = "DeletionHeld"
    """The object is being deleted, but the external resource is kept: the kind's CRD is being deleted too, or
    the provider is configured to hold deletions. To proceed, set the annotation shown in the message."""


class SyncedReason(StrEnum):
    """Crossplane's reasons of type Synced."""

    RECONCILE_SUCCESS = "ReconcileSuccess"
    """The last reconcile succeeded. No action is needed."""
    RECONCILE_ERROR = "ReconcileError"
    """A step of the last reconcile failed; the message has the step and the error of the external API. The
    provider retries; the message says whether action is needed."""
    RECONCILE_PAUSED = "ReconcilePaused"
    """The annotation crossplane.io/paused or an empty managementPolicies pauses all reconciliation, including
    deletion. To resume, remove it."""
    DELETION_HELD = "DeletionHeld"
    """The deletion is held; Ready has the same reason and says why."""


class AsyncOperationReason(StrEnum):
    """upjet's reasons of type AsyncOperation."""

    ONGOING = "Ongoing"
    """An operation is ongoing; the provider starts no other meanwhile. No action is needed; clears
    automatically."""
    FINISHED = "Finished"
    """No operation is ongoing; LastAsyncOperation has the result of the last one."""


class LastAsyncOperationReason(StrEnum):
    """upjet's reasons of type LastAsyncOperation."""

    SUCCESS = "Success"
    """The operation succeeded. No action is needed."""
    APPLY_FAILURE = "ApplyFailure"
    """A creation or update failed after it was accepted; the message has the error of the external API. The
    provider retries."""
    DESTROY_FAILURE = "DestroyFailure"
    """A deletion failed after it was accepted; the message has the error of the external API. The provider
    retries."""


class UnknownReason(StrEnum):
    """The reason of type Unknown."""

    UNKNOWN = "Unknown"
    """A bug in the provider. The platform team checks the provider's log. Clears with the next reconcile that
    has no unexpected error."""


def _bounded(message: object) -> object:
    # Truncate instead of rejecting: a rejected condition would never be shown.
    return cut(message) if isinstance(message, str) else message


class Condition(ApiModel):
    """One observation about an object, in Kubernetes' common form."""

    type: Annotated[str, Field(min_length=1, max_length=316)]
    """Type of the condition; unique among the conditions of an object."""
    status: ConditionStatus
    """Status of the condition: True, False or Unknown."""
    reason: Annotated[str, Field(max_length=1024)]
    """Reason for the status: one word from the type's closed list."""
    message: Annotated[str, Field(max_length=LONGEST_MESSAGE), BeforeValidator(_bounded)] = ""
    """What was found, its cause in the words of the external API, and the next action. May be empty."""
    last_transition_time: Annotated[
        str | None, Field(json_schema_extra={"format": "date-time"}), Kube(required=True)
    ] = None
    """When `status` last changed (RFC 3339, UTC). Unchanged while the status stays the same."""
    observed_generation: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The metadata.generation that the condition was set for."""


Conditions = Annotated[
    tuple[Condition, ...], Field(max_length=MOST_CONDITIONS), Kube(list_type="map", keys=("type",))
]
"""The conditions of one object, keyed by type."""


def available() -> Condition:
    """Ready: the external resource is available."""
    return _ready(ConditionStatus.TRUE, ReadyReason.AVAILABLE)


def unavailable(message: str) -> Condition:
    """Not ready: the external resource exists but is not available; `message` says why."""
    return _ready(ConditionStatus.FALSE, ReadyReason.UNAVAILABLE, message)


def creating(message: str = "") -> Condition:
    """Not ready: the external resource is being created. `message`: what the creation waits for."""
    return _ready(ConditionStatus.FALSE, ReadyReason.CREATING, message)


def deleting(message: str = "") -> Condition:
    """Not ready: the external resource is being deleted. `message`: what the deletion waits for."""
    return _ready(ConditionStatus.FALSE, ReadyReason.DELETING, message)


def reconcile_success(message: str = "") -> Condition:
    """Synced: the last reconcile succeeded. `message`: what the managed resource waits for."""
    return _synced(ConditionStatus.TRUE, SyncedReason.RECONCILE_SUCCESS, message)


def reconcile_error(message: str) -> Condition:
    """Not synced: a step of the last reconcile failed; `message` says which and why."""
    return _synced(ConditionStatus.FALSE, SyncedReason.RECONCILE_ERROR, message)


def reconcile_paused(message: str = "") -> Condition:
    """Not synced: reconciliation is paused."""
    return _synced(ConditionStatus.FALSE, SyncedReason.RECONCILE_PAUSED, message)


def deletion_held(message: str) -> tuple[Condition, Condition]:
    """Ready and Synced: the object is being deleted and the external resource is kept; `message` says why and
    how to proceed."""
    return (
        _ready(ConditionStatus.FALSE, ReadyReason.DELETION_HELD, message),
        _synced(ConditionStatus.FALSE, SyncedReason.DELETION_HELD, message),
    )


def never_observed(message: str) -> Condition:
    """Ready is Unknown: the provider failed before it ever observed the external resource."""
    return _ready(ConditionStatus.UNKNOWN, ReadyReason.UNKNOWN, message)


def unforeseen(message: str) -> Condition:
    """Unknown: the last reconcile failed with an unexpected error; `message` has the step."""
    return Condition(
        type=ConditionType.UNKNOWN,
        status=ConditionStatus.FALSE,
        reason=UnknownReason.UNKNOWN,
        message=message,
    )


def operation_ongoing(message: str = "") -> Condition:
    """AsyncOperation: an operation of the external API is ongoing."""
    return _operation(AsyncOperationReason.ONGOING, message)


def operation_finished() -> Condition:
    """AsyncOperation: no operation is ongoing."""
    return _operation(AsyncOperationReason.FINISHED)


def last_operation(reason: LastAsyncOperationReason, message: str = "") -> Condition:
    """LastAsyncOperation: the result of the last operation."""
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

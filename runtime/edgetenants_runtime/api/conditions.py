"""Conditions of managed resources: the types and reasons that Crossplane itself defines.

The words are those of crossplane-runtime (apis/common/v1/condition.go); tools and people look for them. A
provider's own types and reasons stand beside its kinds.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

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
    """The external resource could not be observed; Synced says why. Clears with the next successful
    observation."""


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


class Condition(ApiModel):
    """One observation about an object, in the form that Kubernetes uses everywhere."""

    type: Annotated[str, Field(min_length=1, max_length=316)]
    """What is told of; unique among the conditions of an object."""
    status: ConditionStatus
    """Whether it is so: True, False or Unknown."""
    reason: Annotated[str, Field(max_length=1024)]
    """Why, as one word out of the type's closed list."""
    message: Annotated[str, Field(max_length=32768)] = ""
    """The finding, its cause in the outside world's own words, and what to do next. May be empty."""
    last_transition_time: Annotated[
        str | None, Field(json_schema_extra={"format": "date-time"}), Kube(required=True)
    ] = None
    """When `status` last changed (RFC 3339, UTC). It does not move while the status stays."""
    observed_generation: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The metadata.generation of the object that this was told of."""


Conditions = Annotated[tuple[Condition, ...], Field(max_length=32), Kube(list_type="map", keys=("type",))]
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


def reconcile_success() -> Condition:
    """Synced: the last reconcile went through."""
    return _synced(ConditionStatus.TRUE, SyncedReason.RECONCILE_SUCCESS)


def reconcile_error(message: str) -> Condition:
    """Not synced: a step of the last reconcile failed; `message` says which and why."""
    return _synced(ConditionStatus.FALSE, SyncedReason.RECONCILE_ERROR, message)


def reconcile_paused(message: str = "") -> Condition:
    """Not synced: reconciling is paused."""
    return _synced(ConditionStatus.FALSE, SyncedReason.RECONCILE_PAUSED, message)


def _ready(status: ConditionStatus, reason: ReadyReason, message: str = "") -> Condition:
    return Condition(type=ConditionType.READY, status=status, reason=reason, message=message)


def _synced(status: ConditionStatus, reason: SyncedReason, message: str = "") -> Condition:
    return Condition(type=ConditionType.SYNCED, status=status, reason=reason, message=message)

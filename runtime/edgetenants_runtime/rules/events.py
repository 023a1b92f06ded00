"""The events that a managed resource's story is told with."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from edgetenants_runtime.managed import Managed

__all__ = ["EventReason", "EventType", "Recorder"]


class EventType(StrEnum):
    """Kubernetes' event types."""

    NORMAL = "Normal"
    """Something was done."""
    WARNING = "Warning"
    """Something failed that people may have to look at."""


class EventReason(StrEnum):
    """crossplane-runtime's event reasons (pkg/reconciler/managed/reconciler.go), which people search for, and
    some of our own."""

    CANNOT_CONNECT = "CannotConnectToProvider"
    """The provider config or its credentials could not be used; the message names the field."""
    CANNOT_DISCONNECT = "CannotDisconnectFromProvider"
    """The client could not let go of what it holds; what the reconcile did stands."""
    CANNOT_INITIALIZE = "CannotInitializeManagedResource"
    """The external name could not be set, or it is unknown how a creation ended."""
    CANNOT_RESOLVE = "CannotResolveResourceReferences"
    """A reference or selector leads to no object, or the provider may not read it; the message has the
    field."""
    CANNOT_OBSERVE = "CannotObserveExternalResource"
    """The external resource could not be read, or does not exist and may not be created."""
    CANNOT_CREATE = "CannotCreateExternalResource"
    """The external API refused the creation."""
    CANNOT_UPDATE = "CannotUpdateExternalResource"
    """The external API refused the update."""
    CANNOT_DELETE = "CannotDeleteExternalResource"
    """The external API refused the deletion."""
    CANNOT_PUBLISH = "CannotPublishConnectionDetails"
    """The connection Secret could not be written."""
    CANNOT_UPDATE_MANAGED = "CannotUpdateManagedResource"
    """The managed resource itself could not be written."""
    INVALID_MANAGEMENT_POLICY = "CannotUseInvalidManagementPolicy"
    """spec.managementPolicies is not a supported combination; the message lists those."""
    CREATED = "CreatedExternalResource"
    """The creation was accepted."""
    UPDATED = "UpdatedExternalResource"
    """The update was accepted."""
    DELETED = "DeletedExternalResource"
    """A step of the deletion was accepted, or the external resource is gone."""
    DRIFT_DETECTED = "DriftDetected"
    """The external resource was changed behind our back, and is left so; the message has the fields."""
    PENDING = "PendingExternalResource"
    """The outside world is not ready; the message says what is waited for."""
    PAUSED = "ReconciliationPaused"
    """Nothing is done until the pause ends."""
    DELETION_HELD = "DeletionHeld"
    """Nothing is deleted outside until somebody confirms it; the message has the reason and the way out."""
    REQUEST_HANDLED = "ReconcileRequestHandled"
    """The reconcile that the annotation crossplane.io/reconcile-requested-at asked for was done."""

    USAGE_ACCOUNTING = "UsageAccounting"
    """A provider config was deleted and stays until nothing uses it (pkg/reconciler/providerconfig)."""


class Recorder(Protocol):
    """Takes events. Never raises: telling must not stop the doing."""

    def event(self, mr: Managed, type_: EventType, reason: EventReason, message: str) -> None:
        """Tell of something that was done to the managed resource, or failed."""
        ...

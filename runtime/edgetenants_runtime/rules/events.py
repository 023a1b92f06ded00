"""The events of a managed resource."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from edgetenants_runtime.managed import Managed

__all__ = ["EventReason", "EventType", "Recorder"]


class EventType(StrEnum):
    """Kubernetes' event types."""

    NORMAL = "Normal"
    """An action was taken."""
    WARNING = "Warning"
    """A failure that may need attention."""


class EventReason(StrEnum):
    """crossplane-runtime's event reasons (pkg/reconciler/managed/reconciler.go), which users search for, and
    some of our own."""

    CANNOT_CONNECT = "CannotConnectToProvider"
    """The provider config or its credentials could not be used; the message names the field."""
    CANNOT_DISCONNECT = "CannotDisconnectFromProvider"
    """The client could not release what it holds; the result of the reconcile remains valid."""
    CANNOT_INITIALIZE = "CannotInitializeManagedResource"
    """The external name could not be set, or the result of a creation is unknown."""
    CANNOT_RESOLVE = "CannotResolveResourceReferences"
    """A reference or selector matches no object, or the provider may not read it; the message has the
    field."""
    CANNOT_OBSERVE = "CannotObserveExternalResource"
    """The external resource could not be read, or does not exist and may not be created."""
    CANNOT_CREATE = "CannotCreateExternalResource"
    """The external API rejected the creation."""
    CANNOT_UPDATE = "CannotUpdateExternalResource"
    """The external API rejected the update."""
    CANNOT_DELETE = "CannotDeleteExternalResource"
    """The external API rejected the deletion."""
    CANNOT_PUBLISH = "CannotPublishConnectionDetails"
    """The connection Secret could not be written."""
    CANNOT_UPDATE_MANAGED = "CannotUpdateManagedResource"
    """The managed resource itself could not be written."""
    INVALID_MANAGEMENT_POLICY = "CannotUseInvalidManagementPolicy"
    """spec.managementPolicies is not a supported combination; the message lists the supported ones."""
    CREATED = "CreatedExternalResource"
    """The creation was accepted."""
    UPDATED = "UpdatedExternalResource"
    """The update was accepted."""
    DELETED = "DeletedExternalResource"
    """A step of the deletion was accepted, or the external resource is gone."""
    DRIFT_DETECTED = "DriftDetected"
    """The external resource has drifted from its desired state; the message has the fields."""
    PENDING = "PendingExternalResource"
    """A dependency is not ready; the message says what the provider waits for."""
    PAUSED = "ReconciliationPaused"
    """Reconciliation is paused."""
    DELETION_HELD = "DeletionHeld"
    """The external resource is kept until the deletion is confirmed; the message says why and how to
    proceed."""
    REQUEST_HANDLED = "ReconcileRequestHandled"
    """The reconcile requested with the annotation crossplane.io/reconcile-requested-at is done."""

    USAGE_ACCOUNTING = "UsageAccounting"
    """A provider config is being deleted and remains until it is unused (pkg/reconciler/providerconfig)."""
    QUOTA_NEARLY_USED = "QuotaNearlyUsed"
    """The account of a provider config has used nearly all of a quota; the message has the numbers."""


class Recorder(Protocol):
    """Records events. Never raises: a failed event must not stop a reconcile."""

    def event(self, mr: Managed, type_: EventType, reason: EventReason, message: str) -> None:
        """Record an action on the managed resource, or a failure."""
        ...

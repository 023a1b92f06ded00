"""The external client: the four methods that implement a kind. This file is the manual for provider authors.

A reconcile calls `connect`, then `observe`, then at most one of `create`, `update` and `delete`. The calls
for one managed resource come from one thread at a time, those for different ones from many threads. All
return values are frozen; changes that a client makes to its arguments are discarded. Clients never write to
Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.bounds import wait
from edgetenants_runtime.managed import Managed

__all__ = [
    "AsyncOperation",
    "Change",
    "Connector",
    "Disconnects",
    "ExternalClient",
    "FieldDiff",
    "Observation",
    "OperationState",
    "RecordsDeletions",
    "TellsOfReferences",
    "TellsOfWaiting",
]


class OperationState(StrEnum):
    """The state of an operation that outlasts a reconcile."""

    ONGOING = "Ongoing"
    """The external system is working on it."""
    SUCCEEDED = "Succeeded"
    """It succeeded."""
    FAILED = "Failed"
    """It was accepted and failed later."""


@dataclass(frozen=True)
class AsyncOperation:
    """An operation of the external API that outlasts a reconcile; shown as upjet's conditions AsyncOperation
    and LastAsyncOperation.

    A client without such operations never reports any, and the conditions never appear. A client with them
    reports ONGOING when it starts the operation and while it observes it. When it stops reporting it, the
    operation has ended, with success if the external resource is then up to date. It reports FAILED for as
    long as that is true.
    """

    state: OperationState
    message: str = ""
    """A message of the external API. It must not change on its own: a percentage would be written on every
    poll."""


@dataclass(frozen=True)
class FieldDiff:
    """One field whose desired and observed values differ, in readable form."""

    field: str
    """Path below spec.forProvider, for example `customizations.webAcl`."""
    desired: str
    observed: str


def _announced() -> None:
    """No runtime waits for the announcement."""


@dataclass(frozen=True)
class Observation:
    """The result of `observe`."""

    exists: bool
    """The external resource exists and belongs to this managed resource. False leads to `create`, or
    completes a deletion."""
    up_to_date: bool = True
    """The external resource matches the spec. False leads to `update`."""
    diff: tuple[FieldDiff, ...] = ()
    """Why it is not up to date; logged."""
    drifted: str = ""
    """A description of what drifted since the last observation. The runtime emits it as an event if it does
    not update the external resource. "" if there is no new drift."""
    conditions: tuple[Condition, ...] = ()
    """Ready and the provider's own types; never Synced, which the runtime sets."""
    at_provider: Mapping[str, Any] | None = None
    """Replaces status.atProvider; None leaves it unchanged."""
    status: Mapping[str, Any] = field(default_factory=dict)
    """Other top-level fields of status. Each is replaced as a whole; the value None removes it."""
    late_initialized: Mapping[str, Any] = field(default_factory=dict)
    """Fields to fill into spec.forProvider, written only under the LateInitialize policy."""
    connection_details: Mapping[str, bytes] = field(default_factory=dict)
    """Published to the resource's connection Secret; existing keys are kept."""
    operation: AsyncOperation | None = None
    """An operation that outlasts a reconcile. While it is ONGOING, the runtime calls neither create nor
    update nor delete. A client whose deletion can interrupt the operation does not report ONGOING for a
    managed resource that is being deleted."""
    poll_after: float | None = None
    """Observe again after that many seconds of the injected clock, if that is sooner than the poll interval.
    The resource awaits something, and has not settled."""
    watched_for: float | None = None
    """For that many seconds of the injected clock, the client itself notices changes of the external resource
    and has it reconciled (`Controller.enqueue`). Until then, the runtime does not poll it, even if that is
    later than the poll interval or `poll_after`. It polls it then, and without `poll_after` not sooner than
    after the poll interval. Ignored if the resource is updated."""
    creation_record: Mapping[str, str] = field(default_factory=dict)
    """Annotations to record before a creation, such as the account that it goes to. The runtime writes them
    with the external-create-pending annotation. A client that sets them calls `announce` in `create`, and its
    kind declares them (`ManagedKind.annotations`)."""
    announce: Callable[[], None] = field(default=_announced, repr=False, compare=False)
    """Set by the runtime in the `seen` of `create`. A client with a `creation_record` calls it directly
    before each call that may create something, and lets its exceptions pass. After a recorded refusal it
    writes the record and external-create-pending again. So a refusal by the client's own checks costs no
    write."""
    state: Any = field(default=None, repr=False)
    """Any value; passed in `seen` to create, update or delete of the same reconcile."""

    def __post_init__(self) -> None:
        if self.poll_after is not None:
            object.__setattr__(self, "poll_after", wait(self.poll_after))
        if self.watched_for is not None:
            object.__setattr__(self, "watched_for", wait(self.watched_for))

    @property
    def busy(self) -> bool:
        """An operation on the external resource is ongoing."""
        return self.operation is not None and self.operation.state is OperationState.ONGOING


@dataclass(frozen=True)
class Change:
    """The result of `create`, `update` or `delete`."""

    conditions: tuple[Condition, ...] = ()
    """As in Observation; they take precedence over the observation's."""
    at_provider: Mapping[str, Any] | None = None
    """As in Observation."""
    status: Mapping[str, Any] = field(default_factory=dict)
    """As in Observation."""
    connection_details: Mapping[str, bytes] = field(default_factory=dict)
    """As in Observation."""
    external_name: str | None = None
    """From `create` only: the name that the external API chose. The runtime writes it to the external-name
    annotation immediately."""
    operation: AsyncOperation | None = None
    """As in Observation: for example, the operation that this call started."""
    requeue_after: float | None = None
    """Observe again after that many seconds of the injected clock.

    None: after create and delete, 1 s with exponential back-off; after update, the poll interval."""
    message: str = ""
    """Appended to the event about the change."""
    drifted: str = ""
    """As in Observation: drift that the update repaired and that users need to know about. The runtime emits
    it as a separate event."""

    def __post_init__(self) -> None:
        if self.requeue_after is not None:
            object.__setattr__(self, "requeue_after", wait(self.requeue_after))


class ExternalClient(Protocol):
    """Access to the external resources of one kind, with the credentials of one managed resource.

    Any method may raise `NotYet` (retried quietly) or `ExternalError` (shown to the user); any other
    exception counts as a bug. Every method must be safe to repeat: the process may die after any call, before
    its result is stored.
    """

    def observe(self, mr: Managed) -> Observation:
        """Observe the external resource; called first in every reconcile. It must not change anything.

        If the external API chooses names, `mr.external_name` is None until the resource is created: nothing
        exists then.
        """
        ...

    def create(self, mr: Managed, seen: Observation) -> Change:
        """Create the external resource. Called if it does not exist and the policies allow it.

        The finalizer and the external-create-pending annotation are already written. With deterministic
        names, `mr.external_name` is set, and a creation that finds the resource created by an earlier attempt
        is a success. If the external API chooses names, it is None unless the user set one, and the result
        has the name: `Change(external_name=…)`.

        Raise ExternalError with `made_nothing=True` for a clear rejection. After any other ExternalError, or
        a bug, it is unknown whether something was created: after a timeout, a reset connection or a 5xx
        response the call may have succeeded, or may still succeed. NotYet means that nothing was created,
        unless it says otherwise.
        """
        ...

    def update(self, mr: Managed, seen: Observation) -> Change:
        """Update the external resource to match the spec. Called if `seen.up_to_date` is False and the
        policies allow it."""
        ...

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """Delete the external resource, or perform the next step of the deletion.

        Called while the managed resource is being deleted and `seen.exists`. Called again until `observe`
        reports that the resource does not exist, so a deletion that is already in progress is a success.
        """
        ...


@runtime_checkable
class Disconnects(Protocol):
    """An optional method for an external client that holds resources during one reconcile."""

    def disconnect(self) -> None:
        """Release what `connect` acquired: a session, a temporary file.

        Called once at the end of each reconcile that connected, however it ended. An exception is reported as
        an event and has no other effect.
        """
        ...


@runtime_checkable
class TellsOfWaiting(Protocol):
    """An optional method for a connector that sets its own conditions for a waiting change."""

    def waiting(self, mr: Managed, cause: str) -> tuple[Condition, ...]:
        """The conditions to set while the external resource is not observed; `cause` says why.

        Called if a reconcile ends before `ExternalClient.observe` has returned: the resource is paused, or an
        object that it refers to does not exist.
        """
        ...


@runtime_checkable
class TellsOfReferences(Protocol):
    """An optional method for a connector that sets its own conditions while a field waits for a reference."""

    def unresolved(self, mr: Managed, cause: str, told: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """The conditions to set while a field of an existing external resource stays as it is because its
        reference cannot be resolved (ReferenceField.follows_later). `cause` says why; `told` are the
        conditions that the reconcile would set otherwise."""
        ...


@runtime_checkable
class RecordsDeletions(Protocol):
    """An optional method for a connector that records in status how a deletion began."""

    def deletion_record(self, mr: Managed) -> Mapping[str, Any]:
        """Top-level fields of status for a managed resource that is being deleted. Must not fail, and must
        not call the external API.

        Written with the first report about the deletion, also if the resource is paused or cannot be
        observed. Otherwise what the object says now could be edited before anyone has noted it.
        """
        ...


class Connector(Protocol):
    """Creates external clients."""

    def connect(self, mr: Managed) -> ExternalClient:
        """The client for this managed resource, with its provider config resolved and credentials loaded.

        Called once in each reconcile. The connector caches sessions worth keeping; `Disconnects.disconnect`
        releases what was created for one reconcile.

        Raises NotYet, ExternalError.
        """
        ...

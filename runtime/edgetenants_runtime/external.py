"""The external client: the four methods that make a kind. This file is the manual for provider authors.

A reconcile calls `connect`, then `observe`, then at most one of `create`, `update` and `delete`, always
from one thread for one managed resource, and from many threads for different ones. Everything returned is a
frozen value; nothing that a client does to its arguments is kept. Clients never write to Kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    "TellsOfWaiting",
]


class OperationState(StrEnum):
    """How work that outlasts a reconcile stands."""

    ONGOING = "Ongoing"
    """The outside world is at it."""
    SUCCEEDED = "Succeeded"
    """It ended well."""
    FAILED = "Failed"
    """It was accepted, and failed afterwards."""


@dataclass(frozen=True)
class AsyncOperation:
    """Work in the outside world that outlasts a reconcile; shown as upjet's conditions AsyncOperation and
    LastAsyncOperation.

    A client that has none never speaks of it, and the conditions never appear. A client that has says ONGOING
    when it begins the work and as long as it sees it; saying nothing any more means that it ended, well where
    the external resource is then up to date. FAILED is said for as long as it is true.
    """

    state: OperationState
    message: str = ""
    """In the outside world's words. Must not move by itself: a percentage would be written at each look."""


@dataclass(frozen=True)
class FieldDiff:
    """One field whose desired and observed values differ, for people to read."""

    field: str
    """Path below spec.forProvider, for example `customizations.webAcl`."""
    desired: str
    observed: str


@dataclass(frozen=True)
class Observation:
    """What `observe` saw."""

    exists: bool
    """The external resource exists and is this managed resource's own. False leads to `create`, or ends a
    deletion."""
    up_to_date: bool = True
    """Updating the external resource to the spec would change nothing. False leads to `update`."""
    diff: tuple[FieldDiff, ...] = ()
    """Why it is not up to date; logged."""
    drifted: str = ""
    """What somebody else changed since the last look, in words; told as an event where nothing is done about
    it. "" where that is no news."""
    conditions: tuple[Condition, ...] = ()
    """Ready and the provider's own types; never Synced, which is the runtime's."""
    at_provider: Mapping[str, Any] | None = None
    """Replaces status.atProvider; None leaves it as it is."""
    status: Mapping[str, Any] = field(default_factory=dict)
    """Other top-level fields of status, each replaced whole; the value None removes one."""
    late_initialized: Mapping[str, Any] = field(default_factory=dict)
    """Fields to fill into spec.forProvider, written only under the LateInitialize policy."""
    connection_details: Mapping[str, bytes] = field(default_factory=dict)
    """Published to the resource's connection Secret, added to what is there."""
    operation: AsyncOperation | None = None
    """Work that outlasts a reconcile. While it is ONGOING, neither create nor update nor delete is called; a
    client whose deletion may cut in does not say ONGOING of a managed resource that is being deleted."""
    poll_after: float | None = None
    """Look again after that many seconds of the injected clock, if that is sooner than the poll interval."""
    state: Any = field(default=None, repr=False)
    """Anything; handed back in `seen` to create, update or delete of the same reconcile."""

    def __post_init__(self) -> None:
        if self.poll_after is not None:
            object.__setattr__(self, "poll_after", wait(self.poll_after))

    @property
    def busy(self) -> bool:
        """The outside world is at work on the external resource."""
        return self.operation is not None and self.operation.state is OperationState.ONGOING


@dataclass(frozen=True)
class Change:
    """What `create`, `update` or `delete` did."""

    conditions: tuple[Condition, ...] = ()
    """As in Observation; they win over the observation's."""
    at_provider: Mapping[str, Any] | None = None
    """As in Observation."""
    status: Mapping[str, Any] = field(default_factory=dict)
    """As in Observation."""
    connection_details: Mapping[str, bytes] = field(default_factory=dict)
    """As in Observation."""
    external_name: str | None = None
    """From `create` only: the name that the external API chose; written to the external-name annotation at
    once."""
    operation: AsyncOperation | None = None
    """As in Observation: the work that this call began, for example."""
    requeue_after: float | None = None
    """Look again after that many seconds of the injected clock.

    None: 1 s, then backing off, after create and delete; the poll interval after update."""
    message: str = ""
    """Appended to the event that tells of the change."""
    drifted: str = ""
    """As in Observation, of what the update repaired and somebody has to know of all the same; told as an
    event of its own."""

    def __post_init__(self) -> None:
        if self.requeue_after is not None:
            object.__setattr__(self, "requeue_after", wait(self.requeue_after))


class ExternalClient(Protocol):
    """The external resources of one kind, reached with the credentials of one managed resource.

    Any method may raise `NotYet` (retried quietly) or `ExternalError` (shown to the user); any other
    exception is taken for a bug. Every method must be safe to repeat: a process may die after any call and
    before its result is written down.
    """

    def observe(self, mr: Managed) -> Observation:
        """Look at the external resource; called first in every reconcile. Must not change anything outside.

        Where the external API chooses names, `mr.external_name` is None until something was created: nothing
        exists then.
        """
        ...

    def create(self, mr: Managed, seen: Observation) -> Change:
        """Create the external resource. Called when it does not exist and the policies allow it.

        The finalizer and the external-create-pending annotation have been written. Where names are
        deterministic, `mr.external_name` is set, and a creation that finds the resource already made by an
        earlier attempt is a success. Where the external API chooses them, it is None unless people gave one,
        and the answer says the name: `Change(external_name=…)`.

        A clear refusal is ExternalError with `made_nothing=True`. Any other ExternalError, and a bug, leaves
        open whether something was made: after a time-out, a reset connection or an answer 5xx the call may
        have had its effect, or have it yet. NotYet says that nothing was made, unless it says otherwise.
        """
        ...

    def update(self, mr: Managed, seen: Observation) -> Change:
        """Bring the external resource to the spec. Called when `seen.up_to_date` is False and the policies
        allow it."""
        ...

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """Delete the external resource, or take the next step towards it.

        Called while the managed resource is being deleted and `seen.exists`; called again until `observe`
        says that it is gone, so a deletion that is under way already is a success.
        """
        ...


@runtime_checkable
class Disconnects(Protocol):
    """An external client that holds something for the time of one reconcile may have this method, too."""

    def disconnect(self) -> None:
        """Let go of what `connect` took: a session, a temporary file.

        Called once at the end of each reconcile that connected, however it ended. What it raises is told as
        an event and changes nothing else.
        """
        ...


@runtime_checkable
class TellsOfWaiting(Protocol):
    """A connector that has conditions of its own for a change that waits may have this method, too."""

    def waiting(self, mr: Managed, cause: str) -> tuple[Condition, ...]:
        """What is said while nobody looks at the external resource; `cause` says why.

        Called where a reconcile ends before `ExternalClient.observe` has answered: the resource is paused, or
        what it refers to is not there.
        """
        ...


class Connector(Protocol):
    """Makes external clients."""

    def connect(self, mr: Managed) -> ExternalClient:
        """The client for this managed resource: its provider config resolved, its credentials loaded.

        Called once in each reconcile, so sessions worth keeping are cached by the connector; what is made for
        one reconcile is let go by `Disconnects.disconnect`.

        Raises NotYet, ExternalError.
        """
        ...

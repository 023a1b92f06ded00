"""What a reconcile writes to its managed resource and emits as events, and how it handles a failed step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import structlog

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.api.conditions import Condition, ConditionType, SyncedReason
from edgetenants_runtime.bounds import LONGEST_REQUEST, cut
from edgetenants_runtime.errors import NotYet, Retry
from edgetenants_runtime.external import (
    Change,
    Observation,
    RecordsDeletions,
    TellsOfReferences,
    TellsOfWaiting,
)
from edgetenants_runtime.kube.errors import Conflict, Invalid, KubeError, NotFound, NotServed, TooLarge
from edgetenants_runtime.managed import Managed, ManagedKind
from edgetenants_runtime.reconcile.collaborators import Collaborators
from edgetenants_runtime.reconcile.steps import Next, Outcome, Step, StepFailed, outcome_of, step
from edgetenants_runtime.rules import meta, operations
from edgetenants_runtime.rules.events import EventReason, EventType
from edgetenants_runtime.rules.status import Report, same_message

__all__ = ["StatusWriter"]

_log = structlog.get_logger("edgetenants_runtime.reconciler")

_LOOKS = frozenset({Step.CONNECT, Step.OBSERVE})
_LONGEST_LOGGED = 4096
"""Characters of an error in one log line."""


class StatusWriter:
    """The Kubernetes side of one reconcile of one managed resource. `mr` is always the newest version that
    was read or written."""

    def __init__(self, kind: ManagedKind, deps: Collaborators, mr: Managed) -> None:
        self.kind, self.deps, self.mr = kind, deps, mr
        self.unsaved: dict[str, str] = {}
        self.resolved: Mapping[str, Any] = {}
        self.seen = Observation(exists=False)
        self.looked = False
        self.overtaken = False
        self.withheld: StepFailed | None = None
        """The failure to publish connection details, which does not keep an update away."""
        self.unresolved: StepFailed | None = None
        """Why a reference cannot be resolved whose field may follow later."""
        self.poll_seconds = deps.pace.poll_interval

    # Writing and telling.

    def save(self, annotations: Mapping[str, str]) -> None:
        """Set annotations and the finalizer in one write, or none if nothing is missing."""
        finalizers = meta.with_finalizer(self.mr.finalizers)
        if annotations or tuple(finalizers) != self.mr.finalizers or self.resolved:
            self.mr = self.deps.writer.patch_metadata(
                self.mr, annotations=annotations, finalizers=finalizers, spec=self.resolved
            )
        self.unsaved, self.resolved = {}, {}

    def release(self) -> None:
        """Remove the finalizer of the managed resource."""
        finalizers = meta.without_finalizer(self.mr.finalizers)
        try:
            self.deps.writer.patch_metadata(self.mr, annotations={}, finalizers=finalizers)
        except NotFound:
            # Another client removed the finalizer: the resource is already deleted.
            return

    def report(
        self,
        *said: Condition,
        change: Change | None = None,
        synced: Condition | None = None,
        acted_upon: bool | None = None,
    ) -> None:
        """Write the status from the observation, then `said`, then the change. The generation counts as
        observed if the external resource was observed, unless `acted_upon` says otherwise."""
        change = change or Change()
        with step(Step.REPORT):
            under_way = operations.told(self.mr, self.seen, change.operation) if self.looked else ()
            told = (*self.seen.conditions, *said, *change.conditions)
            outcome = synced or self.outcome()
            self.write(
                Report(
                    conditions=(*told, *self.left_as_it_is(told), *under_way, outcome),
                    at_provider=self.seen.at_provider if change.at_provider is None else change.at_provider,
                    fields={
                        **self.deletion_record(),
                        **self.seen.status,
                        **change.status,
                        **self.handled_request(),
                    },
                    withdrawn=frozenset({ConditionType.UNKNOWN}),
                    acted_upon=self.looked if acted_upon is None else acted_upon,
                )
            )

    def outcome(self) -> Condition:
        """Synced of a reconcile in which no step failed."""
        unresolved = self.unresolved
        if unresolved is None or isinstance(unresolved.cause, NotYet):
            return conditions.reconcile_success()
        return conditions.reconcile_error(unresolved.message)

    def left_as_it_is(self, told: tuple[Condition, ...]) -> tuple[Condition, ...]:
        """The connector's conditions for a field that waits for its reference, if there is one."""
        connector = self.deps.connector
        if self.unresolved is None or not self.looked or not isinstance(connector, TellsOfReferences):
            return ()
        return connector.unresolved(self.mr, str(self.unresolved.cause), told)

    def write(self, report: Report) -> None:
        """Write the report to the status."""
        self.wrote(self.deps.writer.write_status(self.mr, report), over=self.mr)

    def wrote(self, written: Managed, *, over: Managed) -> None:
        """Continue with the stored version. A write without a version precondition returns the changes that
        others made meanwhile, and the watch no longer reports them."""
        self.overtaken |= written.with_annotations(self.unsaved).asked_for != over.asked_for
        self.mr = written

    def deletion_record(self) -> Mapping[str, Any]:
        """The status fields that record how a deletion began."""
        connector = self.deps.connector
        if not self.mr.deleted or not isinstance(connector, RecordsDeletions):
            return {}
        return connector.deletion_record(self.mr)

    def request_to_handle(self) -> str:
        """When a reconcile was requested, if that is not acknowledged yet."""
        requested = cut(self.mr.annotations.get(names.RECONCILE_REQUESTED_AT) or "", LONGEST_REQUEST)
        return "" if requested == self.mr.status.get("lastHandledReconcileAt") else requested

    def handled_request(self) -> dict[str, str]:
        """The status field that acknowledges a requested reconcile, if one was requested."""
        requested = self.request_to_handle()
        if not requested or self.mr.paused:
            return {}
        self.tell(EventReason.REQUEST_HANDLED, f"Handled the reconcile requested at {requested}")
        return {"lastHandledReconcileAt": requested}

    def tell(
        self, reason: EventReason, message: str, detail: str = "", *, type_: EventType = EventType.NORMAL
    ) -> None:
        """Record an event."""
        self.deps.recorder.event(self.mr, type_, reason, f"{message}: {detail}" if detail else message)

    def told_before(self, message: str) -> bool:
        """The last reconcile failed with the same message."""
        stored = self.mr.condition(ConditionType.SYNCED)
        if stored is None or stored.reason != SyncedReason.RECONCILE_ERROR:
            return False
        return same_message(stored.message, cut(message))

    def is_new(self, condition: Condition) -> bool:
        """The condition differs from the stored one, so that an event is useful."""
        stored = self.mr.condition(condition.type)
        return stored is None or (stored.reason, stored.message) != (condition.reason, condition.message)

    # What a failed step leads to.

    def failed(self, failure: StepFailed) -> Outcome:
        """Report the failure according to its cause, and decide when to retry."""
        match failure.cause:
            case Conflict():
                # Another client changed the object. That is not an error, so it is not reported. The watch
                # delivers the change; wait for a lagging cache, as each reconcile costs external calls.
                return Outcome(Next.REAL_BACKOFF)
            case NotServed() as unknown if unknown.operation.kind == self.kind:
                # The API server has just started, or the kind is being removed together with its objects.
                return Outcome(Next.REAL_BACKOFF, failed=True)
            case NotFound() as gone if gone.operation.kind == self.kind:
                return Outcome(Next.NEVER)
            case KubeError() as error if error.transient:
                _log.warning("the API server does not respond, backing off", error=str(error))
                return Outcome(Next.REAL_BACKOFF, failed=True)
            case NotYet() as not_yet:
                return self.not_yet(failure.step, not_yet)
            case _:
                return self.report_failure(failure)

    def not_yet(self, at: Step, cause: NotYet) -> Outcome:
        """A dependency is not ready: no error."""
        if cause.quiet:
            return Outcome(Next.AFTER, cause.after)
        self.tell(EventReason.PENDING, cause.message)
        meanwhile = (at.value.ready,) if at.value.ready else ()
        synced = None
        if self.withheld is not None:
            # The wait may take days, and the user can correct this meanwhile.
            self.tell(self.withheld.step.value.reason, self.withheld.message, type_=EventType.WARNING)
            synced = conditions.reconcile_error(self.withheld.message)
        told = (*meanwhile, *self.waiting(cause.message), *cause.conditions)
        try:
            self.report(*told, change=Change(status=cause.status), synced=synced)
        except StepFailed as failure:
            return self.failed(failure)
        return Outcome(Next.AFTER, cause.after)

    def report_failure(self, failure: StepFailed, change: Change | None = None) -> Outcome:
        """Report an error: an event, Synced, and the step's Ready condition. `change` is what succeeded
        before, and says when to look again."""
        change = change or Change()
        # Otherwise a client that repeatedly touches a failing object would fill the log.
        log = _log.debug if self.told_before(failure.message) else _log.warning
        error = cut(failure.message, _LONGEST_LOGGED)
        log("reconcile failed", step=failure.step.name, error=error, exc_info=failure.bug)
        if failure.retry != Retry.never() or self.is_new(conditions.reconcile_error(failure.message)):
            self.tell(failure.step.value.reason, failure.message, type_=EventType.WARNING)
        if failure.step is Step.REPORT:
            return self.unreported(failure)
        try:
            self.report(
                *self.unseen(failure),
                *self.waiting(failure.message),
                *failure.conditions,
                change=replace(change, status={**change.status, **failure.status}),
                synced=conditions.reconcile_error(failure.message),
            )
        except StepFailed as second:
            return self.failed(second)
        if change.requeue_after is None:
            return outcome_of(failure.retry, self.poll_seconds)
        return Outcome(Next.AFTER, min(change.requeue_after, self.poll_seconds), failed=True)

    def unreported(self, failure: StepFailed) -> Outcome:
        """The status could not be written. If the API server rejects it, only Synced is written to say so."""
        if isinstance(failure.cause, (TooLarge, Invalid)):
            try:
                synced = conditions.reconcile_error(failure.message)
                self.write(Report(conditions=(synced,), acted_upon=False))
            except KubeError as error:
                _log.warning("cannot write the Synced condition either", error=str(error))
        return Outcome(Next.REAL_BACKOFF, failed=True)

    def waiting(self, cause: str) -> tuple[Condition, ...]:
        """The connector's conditions for a change that waits, if the external resource was not observed."""
        connector = self.deps.connector
        if self.looked or not isinstance(connector, TellsOfWaiting):
            return ()
        return connector.waiting(self.mr, cause)

    def unseen(self, failure: StepFailed) -> tuple[Condition, ...]:
        """Ready is Unknown if a bug prevented the first observation."""
        never = failure.step in _LOOKS and self.mr.condition(ConditionType.READY) is None
        return (conditions.never_observed(failure.message),) if failure.bug and never else ()

"""Reconciling one managed resource: Crossplane's contract, one line a step.

The order, the event reasons, annotations and conditions are crossplane-runtime's (pkg/reconciler/managed);
people and tools rely on them. Every `return` ends a reconcile with at most one write of status.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import structlog

from edgetenants_runtime import immutable, lateinit, meta, policies
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.api.conditions import ConditionType, ReadyReason
from edgetenants_runtime.collaborators import Collaborators
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.events import EventReason, EventType
from edgetenants_runtime.external import Change, ExternalClient
from edgetenants_runtime.kube.errors import KubeError
from edgetenants_runtime.managed import Managed, ManagedKind
from edgetenants_runtime.policies import Permissions
from edgetenants_runtime.steps import Next, Outcome, Step, StepFailed, step
from edgetenants_runtime.telling import Telling

__all__ = ["Reconciler"]

_log = structlog.get_logger("edgetenants_runtime.reconciler")

_CREATION_UNCERTAIN = (
    f"cannot determine creation result - remove the {names.EXTERNAL_CREATE_PENDING} annotation "
    "if it is safe to proceed"
)
_COLLECTORS = frozenset({"foregroundDeletion", "orphan"})
"""Finalizers of Kubernetes' garbage collector: it waits for dependents, not for us, and neither do we for
it."""


class Reconciler:
    """Reconciles the managed resources of one kind. Thread-safe for different resources."""

    def __init__(self, kind: ManagedKind, collaborators: Collaborators) -> None:
        self._kind = kind
        self._with = collaborators
        self._known = _Known()

    def reconcile(self, mr: Managed) -> Outcome:
        """One pass over the contract. Raises nothing but what ends the process."""
        return _Pass(self._kind, self._with, self._known, mr).run()

    def forget(self, uid: str) -> None:
        """The managed resource is gone: let go of what is remembered of it."""
        self._known.forget(uid)
        self._with.writer.forget(uid)
        self._with.connections.forget(uid)


class _Known:
    """What only this process knows of external resources, so that it need not wait for what may yet show."""

    def __init__(self) -> None:
        self.seen = _Uids()
        """Seen since the last creation: its absence is no delay of the outside."""
        self.refused = _Uids()
        """The last creation was refused: there is nothing to show."""

    def begin_creation(self, uid: str) -> None:
        self.forget(uid)

    def forget(self, uid: str) -> None:
        self.seen.discard(uid)
        self.refused.discard(uid)


class _Uids:
    """A set of resources that threads share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uids: set[str] = set()

    def add(self, uid: str) -> None:
        with self._lock:
            self._uids.add(uid)

    def discard(self, uid: str) -> None:
        with self._lock:
            self._uids.discard(uid)

    def __contains__(self, uid: str) -> bool:
        with self._lock:
            return uid in self._uids


class _Pass(Telling):
    """One reconcile of one managed resource."""

    def __init__(self, kind: ManagedKind, having: Collaborators, known: _Known, mr: Managed) -> None:
        super().__init__(kind, having, mr)
        self.known = known
        self.may = Permissions(create=False, update=False, delete=False, late_initialize=False)

    def run(self) -> Outcome:
        try:
            outcome = self.steps()
        except StepFailed as failure:
            outcome = self.failed(failure)
        return Outcome(Next.SOON) if self.overtaken else outcome

    def steps(self) -> Outcome:  # noqa: PLR0911 - one return for each way a reconcile can end
        if self.mr.paused:
            return self.pause()
        with step(Step.POLICIES):
            self.may = policies.permissions(self.mr.management_policies, self.mr.deletion_policy)
        if self.mr.deleted and names.FINALIZER not in self.mr.finalizers:
            return Outcome(Next.NEVER)
        if self.mr.deleted and not self.may.delete:
            return self.orphan()
        with step(Step.INITIALIZE):
            self.initialize()
        with step(Step.CREATION_GUARD):
            self.refuse_uncertain_creation()
        with step(Step.RESOLVE):
            self.resolve()
        with step(Step.CONNECT):
            client = self.having.connector.connect(self.mr)
        with step(Step.OBSERVE):
            self.observe(client)
        if self.may_not_show_yet():
            return self.await_existence()
        if self.mr.deleted:
            return self.delete(client)
        with step(Step.PUBLISH):
            self.having.connections.publish(self.mr, self.seen.connection_details)
        if not self.seen.exists and not self.seen.busy:
            return self.create(client)
        with step(Step.HOLD):
            self.hold()
        with step(Step.LATE_INITIALIZE):
            self.late_initialize()
        if self.seen.up_to_date or self.seen.busy or not self.may.update:
            return self.settle()
        return self.update(client)

    # The steps.

    def pause(self) -> Outcome:
        held = " Its deletion is held until then." if self.mr.deleted else ""
        paused = conditions.reconcile_paused(f"Reconciliation is paused via {self.paused_by()}.{held}")
        if self.news(paused):
            self.tell(EventReason.PAUSED, paused.message)
        self.report(synced=paused)
        return Outcome(Next.NEVER)

    def paused_by(self) -> str:
        if self.mr.management_policies:
            return f"the annotation {names.PAUSED}"
        return "an empty spec.managementPolicies"

    def orphan(self) -> Outcome:
        # Not observed first: an orphan must go although the outside world cannot be reached.
        with step(Step.RELEASE):
            self.release()
        return Outcome(Next.NEVER)

    def initialize(self) -> None:
        pace = self.having.pace
        interval = meta.poll_interval(
            self.mr.annotations, default=pace.poll_interval, shortest=pace.shortest_poll
        )
        self.poll_seconds = interval * self.having.rng.uniform(1 - pace.jitter, 1 + pace.jitter)
        if self.mr.external_name is None and self.kind.deterministic_name:
            # Written with the next write of metadata, so that a new resource costs one write and not three.
            self.unsaved[names.EXTERNAL_NAME] = self.mr.name
            self.mr = self.mr.with_annotations(self.unsaved)

    def refuse_uncertain_creation(self) -> None:
        if meta.creation(self.mr.annotations).incomplete and not self.kind.deterministic_name:
            # Creating again could make a second external resource that nobody knows of.
            raise ExternalError(_CREATION_UNCERTAIN, retry=Retry.poll())

    def resolve(self) -> None:
        # Not while deleting: what is referred to is likely to go, too.
        if not self.mr.deleted:
            # Written with the next write of metadata, like the external name.
            self.resolved = self.having.resolve(self.mr)
            self.mr = self.mr.with_spec(self.resolved)

    def observe(self, client: ExternalClient) -> None:
        self.seen = seen = client.observe(self.mr)
        self.looked = True
        if seen.exists:
            self.known.seen.add(self.mr.uid)
        elif not self.may.create and not self.mr.deleted and not seen.busy:
            policy = ", ".join(self.mr.management_policies)
            raise ExternalError(
                f"external resource does not exist, and spec.managementPolicies [{policy}] does not permit "
                f"to create it; the annotation {names.EXTERNAL_NAME} must name an existing one",
                conditions=[conditions.unavailable("The external resource does not exist.")],
                retry=Retry.poll(),
            )

    def may_not_show_yet(self) -> bool:
        if self.seen.exists or self.seen.busy or self.mr.uid in self.known.seen:
            return False
        creation = meta.creation(self.mr.annotations)
        if creation.seen_since(self.mr.condition(ConditionType.READY)):
            return False
        now, grace = self.having.now(), self.having.pace.creation_grace
        if self.mr.deleted_at and creation.attempted_since_success and self.mr.uid not in self.known.refused:
            # Nobody knows how the last creation ended. It began before the deletion was asked for.
            return (now - self.mr.deleted_at).total_seconds() < grace
        return creation.succeeded_within(grace, now)

    def await_existence(self) -> Outcome:
        self.tell(EventReason.PENDING, "Waiting for external resource existence to be confirmed")
        return Outcome(Next.REAL_BACKOFF)

    def delete(self, client: ExternalClient) -> Outcome:
        others = set(self.mr.finalizers) - {names.FINALIZER} - _COLLECTORS
        if others:
            self.tell(EventReason.PENDING, f"Waiting for other finalizers: {', '.join(sorted(others))}")
            return self.again(None)
        if self.seen.busy:
            return self.settle()
        if not self.seen.exists:
            return self.finish_deletion()
        with step(Step.JUDGE_DELETION):
            held = self.having.deletion_held(self.mr)
        if held:
            return self.hold_deletion(held)
        with step(Step.DELETE):
            change = client.delete(self.mr, self.seen)
        self.tell(EventReason.DELETED, "Successfully requested deletion of external resource", change.message)
        self.report(conditions.deleting(), change=change)
        return self.look_soon(change)

    def hold_deletion(self, why: str) -> Outcome:
        ready, synced = conditions.deletion_held(why)
        if self.news(synced):
            self.tell(EventReason.DELETION_HELD, why, type_=EventType.WARNING)
        self.report(ready, synced=synced)
        return self.again(None)

    def finish_deletion(self) -> Outcome:
        ready = self.mr.condition(ConditionType.READY)
        with step(Step.RELEASE):
            self.release()
        if ready is not None and ready.reason == ReadyReason.DELETING:
            self.tell(EventReason.DELETED, "External resource is gone")
        return Outcome(Next.NEVER)

    def create(self, client: ExternalClient) -> Outcome:
        with step(Step.PREPARE):
            self.begin_creation()
        try:
            with step(Step.CREATE):
                change = client.create(self.mr, self.seen)
        except StepFailed as failure:
            if _nothing_was_made(failure.cause):
                self.known.refused.add(self.mr.uid)
                self.note_failed_creation()
            raise
        with step(Step.ANNOTATE):
            self.save_creation(change)
        with step(Step.PUBLISH):
            self.having.connections.publish(self.mr, change.connection_details)
        self.tell(EventReason.CREATED, "Successfully requested creation of external resource", change.message)
        self.report(conditions.creating(), change=change)
        return self.look_soon(change)

    def begin_creation(self) -> None:
        # Before the call, and it must fail on a conflict: if we die after the call, the annotation is all
        # that says that an external resource may exist, and the finalizer all that keeps it from being
        # forgotten.
        self.known.begin_creation(self.mr.uid)
        creation = meta.creation(self.mr.annotations)
        annotations = dict(self.unsaved)
        if not (self.kind.deterministic_name and creation.attempted_since_success):
            annotations |= meta.creation_pending(self.having.now())
        self.save(annotations)

    def note_failed_creation(self) -> None:
        creation = meta.creation(self.mr.annotations)
        if self.kind.deterministic_name and not creation.incomplete:
            # An earlier attempt has noted it; each further write would wake the composite for nothing.
            return
        try:
            failed = meta.creation_failed(self.having.now())
            self.set_critical(failed)
        except KubeError as error:
            # Told and not raised: why the creation failed matters more.
            self.tell(Step.ANNOTATE.value.reason, str(error), type_=EventType.WARNING)

    def save_creation(self, change: Change) -> None:
        annotations = meta.creation_succeeded(self.having.now())
        if change.external_name and change.external_name != self.mr.external_name:
            annotations[names.EXTERNAL_NAME] = change.external_name
        self.set_critical(annotations)

    def set_critical(self, annotations: Mapping[str, str]) -> None:
        written = self.having.writer.set_critical_annotations(self.mr, annotations)
        self.wrote(written, over=self.mr.with_annotations(annotations))

    def hold(self) -> None:
        self.save(self.unsaved)

    def late_initialize(self) -> None:
        fields = lateinit.permitted(self.kind, self.mr, self.seen.late_initialized)
        if fields and self.may.late_initialize:
            self.mr = self.having.writer.fill_in(self.mr, fields)

    def settle(self) -> Outcome:
        if not self.seen.up_to_date:
            _log.debug("external resource differs and is not updated now", diff=self.seen.diff)
        if self.mr.deleted:
            self.report(conditions.deleting())
        else:
            if self.seen.drifted:
                self.tell(EventReason.DRIFT_DETECTED, self.seen.drifted, type_=EventType.WARNING)
            self.report(*(() if self.seen.exists else (conditions.creating(),)))
        return self.again(self.seen.poll_after)

    def update(self, client: ExternalClient) -> Outcome:
        _log.info("external resource differs from desired state", diff=[d.field for d in self.seen.diff])
        with step(Step.UPDATE):
            immutable.check(self.kind, self.seen.diff)
            change = client.update(self.mr, self.seen)
        with step(Step.PUBLISH):
            self.having.connections.publish(self.mr, change.connection_details)
        self.tell(EventReason.UPDATED, "Successfully requested update of external resource", change.message)
        self.report(change=change)
        return self.again(self.seen.poll_after if change.requeue_after is None else change.requeue_after)

    # When to look again.

    def again(self, sooner: float | None) -> Outcome:
        seconds = self.poll_seconds if sooner is None else min(sooner, self.poll_seconds)
        return Outcome(Next.AFTER, seconds)

    def look_soon(self, change: Change) -> Outcome:
        if change.requeue_after is None:
            return Outcome(Next.BACKOFF)
        return Outcome(Next.AFTER, change.requeue_after)


def _nothing_was_made(cause: Exception) -> bool:
    # A bug or a lost answer may have come after the creation. Noted as a failure, it would be tried again,
    # and a generated name would have two external resources.
    return isinstance(cause, NotYet) or (isinstance(cause, ExternalError) and not cause.uncertain)

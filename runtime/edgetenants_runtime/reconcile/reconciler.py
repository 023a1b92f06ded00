"""Reconciles one managed resource by Crossplane's contract, one line per step.

The order, event reasons, annotations and conditions are crossplane-runtime's (pkg/reconciler/managed), as
users and tools rely on them. Every `return` ends a reconcile with at most one write of status.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

import structlog

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType, ReadyReason
from edgetenants_runtime.bounds import LONGEST_ANNOTATION
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.external import Change, Disconnects, ExternalClient, Observation
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.kube.errors import AlreadyExists, Conflict, KubeError, NotFound, NotServed
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import Managed, ManagedKind
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.reconcile.collaborators import Collaborators
from edgetenants_runtime.reconcile.status_writer import StatusWriter
from edgetenants_runtime.reconcile.steps import Next, Outcome, Step, StepFailed, step
from edgetenants_runtime.reconcile.unsettled import has_new_spec, is_settled
from edgetenants_runtime.rules import immutable, late_init, meta, policies
from edgetenants_runtime.rules.events import EventReason, EventType
from edgetenants_runtime.rules.policies import Permissions
from edgetenants_runtime.rules.references import Resolved

__all__ = ["Reconciler"]

_log = structlog.get_logger("edgetenants_runtime.reconciler")

_UNANSWERED = "The response to the create request was lost"
_RESTARTED = "The provider restarted after its create request and does not know the result"
_CREATION_UNCERTAIN = (
    f"cannot determine creation result - remove the {names.EXTERNAL_CREATE_PENDING} annotation "
    "if it is safe to proceed"
)


class Reconciler:
    """Reconciles the managed resources of one kind. Thread-safe for different resources."""

    def __init__(self, kind: ManagedKind, collaborators: Collaborators) -> None:
        self._kind = kind
        self._deps = collaborators
        self._known = _Known()

    def reconcile(self, mr: Managed) -> Outcome:
        """Reconcile once. Raises only what ends the process."""
        return _Pass(self._kind, self._deps, self._known, mr).run()

    def makes(self, change: ObjectChange) -> bool:
        """Whether a change is that of a write of this reconciler, whose response has not arrived yet."""
        return self._deps.writer.makes(change)

    def forget(self, uid: str) -> None:
        """The managed resource was deleted: drop what is remembered about it."""
        self._known.forget(uid)
        self._deps.writer.forget(uid)
        self._deps.connections.forget(uid)


@dataclass(frozen=True)
class _Creations:
    """What this process knows about the creations of one external resource."""

    seen: bool = False
    """The external resource was observed since the last creation started, so its absence is not a delay."""
    refused: bool = False
    """Every creation since the last success was clearly rejected: no external resource can appear."""
    unanswered_at: float | None = None
    """When the last creation with unknown result ended, as `Collaborators.uptime`."""
    absent: tuple[str, float] | None = None
    """The external name that was not found while the resource waited for a reference, and until when that
    counts, as `Collaborators.uptime`."""
    unwritten: Mapping[str, str] = field(default_factory=dict)
    """Annotations with the result of the last creation that could not be written yet, including the name that
    the external API chose."""


class _Known:
    """What only this process knows about external resources, to avoid waiting for resources to appear.
    Thread-safe for different resources."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._creations: dict[str, _Creations] = {}
        self._waits: dict[str, str] = {}

    def of(self, uid: str) -> _Creations:
        with self._lock:
            return self._creations.get(uid, _Creations())

    def saw(self, uid: str) -> None:
        self._note(uid, replace(self.of(uid), seen=True, absent=None))

    def absent(self, uid: str, external_name: str, until: float) -> None:
        self._note(uid, replace(self.of(uid), absent=(external_name, until)))

    def is_absent(self, uid: str, external_name: str | None, uptime: float) -> bool:
        absent = self.of(uid).absent
        return absent is not None and absent[0] == external_name and uptime < absent[1]

    def begin_creation(self, uid: str) -> None:
        self._note(uid, replace(self.of(uid), seen=False, refused=False, absent=None))

    def refused(self, uid: str) -> None:
        self._note(uid, replace(self.of(uid), refused=True))

    def unanswered(self, uid: str, uptime: float) -> None:
        self._note(uid, replace(self.of(uid), refused=False, unanswered_at=uptime))

    def unwritten(self, uid: str, annotations: Mapping[str, str]) -> None:
        self._note(uid, replace(self.of(uid), unwritten=dict(annotations)))

    def begins_to_wait(self, uid: str, for_: str) -> bool:
        """Note what it waits for. True: it did not wait for that before."""
        with self._lock:
            before, self._waits[uid] = self._waits.get(uid), for_
        return before != for_

    def forget(self, uid: str) -> None:
        with self._lock:
            self._creations.pop(uid, None)
            self._waits.pop(uid, None)

    def _note(self, uid: str, known: _Creations) -> None:
        with self._lock:
            self._creations[uid] = known


class _Pass(StatusWriter):
    """One reconcile of one managed resource."""

    def __init__(self, kind: ManagedKind, deps: Collaborators, known: _Known, mr: Managed) -> None:
        super().__init__(kind, deps, mr)
        self.known = known
        self.may = Permissions(create=False, update=False, delete=False, late_initialize=False)
        self.none_is_open = False
        """No earlier creation has an unknown result."""
        self.unannounced = False
        """The creation was not sent, as the runtime could not announce it."""
        self.later = Resolved({})
        """The result of the references."""
        self.spec_is_new = has_new_spec(mr)
        """The spec has changed since the last reconcile: what differs is not drift."""
        self.made: Priority | None = None
        """See `Outcome`."""

    def run(self) -> Outcome:
        try:
            with step(Step.RECONCILE):
                outcome = self.steps()
        except StepFailed as failure:
            outcome = self.failed(failure)
        return replace(Outcome(Next.SOON) if self.overtaken else outcome, made=self.made)

    def steps(self) -> Outcome:
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
        with step(Step.ANNOTATE):
            self.write_what_is_unwritten()
        with step(Step.CREATION_GUARD):
            self.refuse_uncertain_creation()
        with step(Step.RESOLVE):
            self.resolve()
        with step(Step.CONNECT):
            client = self.deps.connector.connect(self.mr)
        try:
            return self.connected(client)
        finally:
            self.disconnect(client)

    def connected(self, client: ExternalClient) -> Outcome:
        with step(Step.OBSERVE):
            self.observe(client)
        if self.later.unresolved is not None:
            self.go_on_without(self.later.unresolved)
        if self.may_not_show_yet():
            return self.await_existence()
        if self.mr.deleted:
            return self.delete(client)
        if not self.seen.exists and not self.seen.busy:
            # Publish after the creation: details of a former external resource must not stop the next one,
            # nor be lost if this observation is wrong.
            self.deps.connections.keep(self.mr, self.seen.connection_details)
            return self.create(client)
        self.withheld = self.unpublished(self.seen.connection_details)
        with step(Step.HOLD):
            self.hold()
        with step(Step.LATE_INITIALIZE):
            self.late_initialize()
        if not (self.seen.up_to_date or self.seen.busy or not self.may.update):
            return self.update(client)
        if self.withheld:
            raise self.withheld
        return self.settle()

    def unpublished(self, details: Mapping[str, bytes]) -> StepFailed | None:
        """Publish connection details. Return the failure unless a retry may help without anyone, such as with
        a Secret of another owner, or one that the API server refuses: the external resource must follow its
        spec nevertheless, or that Secret would keep a change of the platform team from it."""
        try:
            with step(Step.PUBLISH):
                self.deps.connections.publish(self.mr, details)
        except StepFailed as failure:
            if _passes(failure.cause):
                raise
            return failure
        return None

    def disconnect(self, client: ExternalClient) -> None:
        if not isinstance(client, Disconnects):
            return
        try:
            with step(Step.DISCONNECT):
                client.disconnect()
        except StepFailed as failure:
            # Only reported: the result of the reconcile remains valid.
            _log.warning("cannot disconnect", error=failure.message, exc_info=failure.bug)
            self.tell(EventReason.CANNOT_DISCONNECT, failure.message, type_=EventType.WARNING)

    # The steps.

    def pause(self) -> Outcome:
        what = "the deletion" if self.mr.deleted else "reconciliation"
        paused = conditions.reconcile_paused(
            f"Reconciliation is paused via {self.paused_by()}. Remove it to resume {what}."
        )
        if self.is_new(paused):
            self.tell(EventReason.PAUSED, paused.message)
        # A pause in spec counts as observed. A spec that changes while the annotation pauses it waits.
        asked = not self.mr.management_policies
        self.report(*(() if asked else self.waiting(paused.message)), synced=paused, acted_upon=asked)
        return Outcome(Next.NEVER, settled=True)

    def paused_by(self) -> str:
        if self.mr.management_policies:
            return f"the annotation {names.PAUSED}"
        return "an empty spec.managementPolicies"

    def orphan(self) -> Outcome:
        # Do not observe: an orphan must be released even if the external system is unreachable.
        with step(Step.RELEASE):
            self.release()
        return Outcome(Next.NEVER)

    def initialize(self) -> None:
        pace = self.deps.pace
        longest = self.kind.annotations.get(names.EXTERNAL_NAME, LONGEST_ANNOTATION)
        meta.check_name(self.mr.annotations, longest)
        # A malformed poll interval must not block a deletion.
        annotations = {} if self.mr.deleted else self.mr.annotations
        interval = meta.poll_interval(annotations, default=pace.poll_interval, shortest=pace.shortest_poll)
        self.poll_seconds = self.jittered(interval)
        if self.mr.external_name is None and self.kind.deterministic_name:
            # Written with the next write of metadata, so that a new resource needs one write instead of
            # three.
            self.unsaved[names.EXTERNAL_NAME] = self.mr.name
            self.mr = self.mr.with_annotations(self.unsaved)

    def write_what_is_unwritten(self) -> None:
        annotations = self.known.of(self.mr.uid).unwritten
        chosen = annotations.get(names.EXTERNAL_NAME)
        if self.kind.deterministic_name and not chosen:
            # A repeatable creation writes all of this again: nothing waits for it.
            annotations = {}
        if chosen and self.mr.external_name not in (None, chosen):
            # A user has found the created external resource and set its name.
            annotations = {}
        if annotations:
            self.set_critical(annotations)

    def refuse_uncertain_creation(self) -> None:
        if meta.creation(self.mr.annotations).incomplete and not self.kind.deterministic_name:
            # Creating it again could create a second, unknown external resource.
            raise ExternalError(_CREATION_UNCERTAIN, retry=Retry.never())

    def await_others(self) -> Outcome:
        waits = f"Waiting for other finalizers: {', '.join(self.mr.held_by_others)}"
        if self.known.begins_to_wait(self.mr.uid, waits):
            self.tell(EventReason.PENDING, waits)
        # Events expire after an hour, and this may take days.
        self.report(
            synced=conditions.reconcile_success(f"{waits}. The controllers that set them must remove them.")
        )
        return Outcome(Next.REAL_BACKOFF)

    def resolve(self) -> None:
        # Not during deletion: the referenced objects are likely being deleted too.
        if self.mr.deleted:
            return
        try:
            found = self.deps.resolve(self.mr)
            if found.unresolved is not None and self.counts_as_absent():
                raise found.unresolved
        except (ExternalError, NotYet):
            if self.mr.external_name is not None and names.FINALIZER not in self.mr.finalizers:
                # The external resource may exist: a deletion meanwhile must look for it.
                self.hold_what_can_be_looked_for()
            raise
        # Written with the next write of metadata, like the external name.
        self.resolved = found.patch
        self.mr = self.mr.with_spec(self.resolved)
        self.later = found

    def counts_as_absent(self) -> bool:
        """Another look would cost a request for nothing, every few seconds, for each resource that waits for
        a reference."""
        if self.request_to_handle():
            return False
        return self.known.is_absent(self.mr.uid, self.mr.external_name, self.deps.uptime())

    def go_on_without(self, unresolved: ExternalError | NotYet) -> None:
        """Reconcile an existing external resource without the field that waits for its reference: otherwise
        the author of the reference would keep every other change from it."""
        if not self.seen.exists:
            self.await_reference(unresolved)
        if self.later.at_creation:
            return
        self.unresolved = later = StepFailed(Step.FOLLOW_LATER, unresolved)
        match unresolved:
            case NotYet():
                self.tell(EventReason.PENDING, unresolved.message)
            case _:
                self.tell(later.step.value.reason, later.message, type_=EventType.WARNING)

    def await_reference(self, unresolved: ExternalError | NotYet) -> NoReturn:
        """There is nothing to reconcile until the reference is resolved."""
        if self.mr.external_name is not None:
            with step(Step.HOLD):
                # It may have been created meanwhile, or exist as a predecessor's.
                self.hold()
            if self.nothing_can_appear():
                self.known.absent(self.mr.uid, self.mr.external_name, self.deps.uptime() + self.poll_seconds)
        ready = self.mr.condition(ConditionType.READY)
        if ready is not None and ready.status is ConditionStatus.TRUE:
            # It was there before: what was seen now is what it misses. Otherwise, what was seen is about an
            # external resource without the field, and the reference's error has a Ready condition.
            said = (conditions.creating(unresolved.message), *self.seen.conditions)
            unresolved = unresolved.but(conditions=said)
        self.seen, self.looked = Observation(exists=False), False
        raise StepFailed(Step.RESOLVE, unresolved)

    def nothing_can_appear(self) -> bool:
        """No creation was started that may still have an effect."""
        creation = meta.creation(self.mr.annotations)
        if creation.incomplete or creation.succeeded is not None:
            return False
        return self.known.of(self.mr.uid).unanswered_at is None

    def without_later(self) -> Managed:
        """The managed resource without the former values of fields that wait for their references."""
        return self.mr.with_spec(self.later.left_out)

    def hold_what_can_be_looked_for(self) -> None:
        try:
            client = self.deps.connector.connect(self.mr)
        except (ExternalError, NotYet, KubeError):
            # Its deletion would wait for a provider config that may never have been usable.
            return
        self.disconnect(client)
        self.hold()

    def observe(self, client: ExternalClient) -> None:
        try:
            self.seen = seen = client.observe(self.without_later())
        except NotYet:
            if not self.mr.deleted and self.mr.external_name is not None:
                # It may exist, as a predecessor's. A deletion meanwhile must look for it.
                self.hold()
            raise
        self.looked = True
        if seen.exists:
            self.known.saw(self.mr.uid)
        elif self.may.create or self.mr.deleted or seen.busy or self.may_not_show_yet():
            # Right after a creation, an error would set Ready to a reason that means it was seen since.
            return
        else:
            policy = ", ".join(self.mr.management_policies)
            raise ExternalError(
                f"external resource does not exist, and spec.managementPolicies [{policy}] does not permit "
                f"creating it; set the annotation {names.EXTERNAL_NAME} to the name of an existing one",
                conditions=[conditions.unavailable("The external resource does not exist.")],
                retry=Retry.poll(),
            )

    def may_not_show_yet(self) -> bool:
        if self.seen.exists or self.seen.busy:
            return False
        if self.mr.deleted and self.may_yet_be_made():
            return True
        creation, ready = meta.creation(self.mr.annotations), self.mr.condition(ConditionType.READY)
        if self.known.of(self.mr.uid).seen or creation.attempted_since_success or creation.seen_since(ready):
            return False
        return creation.succeeded_within(self.deps.pace.creation_grace, self.deps.now())

    def may_yet_be_made(self) -> bool:
        """The result of the last creation is unknown, and its call may still be running. If the managed
        resource were released now, the external resource would be orphaned."""
        longest, known = self.deps.pace.uncertain_grace, self.known.of(self.mr.uid)
        if known.unanswered_at is not None and self.deps.uptime() < known.unanswered_at + longest:
            return True
        if known.seen or known.refused or self.mr.deletion_began:
            return False
        # Another process's knowledge is lost. It started the creation before the deletion was requested.
        asked = self.mr.deleted_at
        uncertain = meta.creation(self.mr.annotations).attempted_since_success
        return uncertain and asked is not None and meta.within(longest, asked, self.deps.now())

    def await_existence(self) -> Outcome:
        self.tell(EventReason.PENDING, "Waiting for external resource existence to be confirmed")
        if self.mr.deleted:
            known = self.known.of(self.mr.uid)
            why = _UNANSWERED if known.unanswered_at is not None else _RESTARTED
            # Do not set Ready to Deleting: that means that the external resource is known.
            self.report(
                synced=conditions.reconcile_success(
                    f"{why}, so the external resource may still appear. This resource is deleted if it has "
                    f"not appeared after {self.deps.pace.uncertain_grace:.0f} s. No action is needed."
                )
            )
        return Outcome(Next.REAL_BACKOFF)

    def delete(self, client: ExternalClient) -> Outcome:
        if self.mr.held_by_others:
            return self.await_others()
        if self.seen.busy:
            return self.settle()
        if not self.seen.exists:
            return self.finish_deletion()
        with step(Step.JUDGE_DELETION):
            held = self.deps.deletion_held(self.mr)
            if not held:
                # What is deleted externally does not come back with the API server's next answer.
                self.deps.writer.check_deleted(self.mr)
        if held:
            return self.hold_deletion(held)
        self.made = Priority.DELETION
        with step(Step.DELETE):
            change = client.delete(self.mr, self.seen)
        self.tell(EventReason.DELETED, "Successfully requested deletion of external resource", change.message)
        self.report(conditions.deleting(), change=change)
        return self.look_soon(change)

    def hold_deletion(self, why: str) -> Outcome:
        ready, synced = conditions.deletion_held(why)
        if self.is_new(synced):
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
        self.made = Priority.CHANGE
        try:
            with step(Step.CREATE):
                change = client.create(self.mr, replace(self.seen, announce=self.announce))
        except StepFailed as failure:
            self.creation_failed(failure.cause)
            raise
        except BaseException as why:
            # The process may no longer act, or ends.
            self.cut_off(why)
            raise
        self.deps.connections.keep_created(self.mr, change.connection_details)
        try:
            with step(Step.ANNOTATE):
                self.save_creation(change)
        except StepFailed as failure:
            if isinstance(failure.cause, NotFound) and not isinstance(failure.cause, NotServed):
                self.leave(change)
            raise
        with step(Step.PUBLISH_CREATED):
            self.deps.connections.publish(self.mr, change.connection_details)
        self.tell(EventReason.CREATED, "Successfully requested creation of external resource", change.message)
        self.report(conditions.creating(), change=change)
        return self.look_soon(change)

    def leave(self, change: Change) -> None:
        """The API server deleted the resource although it got its finalizer (see leftovers.py for the
        reason): the new external resource is orphaned."""
        external_name = change.external_name or self.mr.external_name
        _log.error(
            "the managed resource was deleted during creation, its external resource is orphaned",
            namespace=self.mr.namespace,
            name=self.mr.name,
            external_name=external_name,
        )
        if self.may.delete:
            self.deps.left(self.mr, external_name)

    def begin_creation(self) -> None:
        # Before the call, and it must fail on a conflict: if the process dies after the call, only the
        # annotation shows that an external resource may exist, and only the finalizer prevents orphaning it.
        creation = meta.creation(self.mr.annotations)
        # One rejection says nothing about earlier attempts, some of them by other processes.
        known_refused = self.known.of(self.mr.uid).refused or self.refusal_is_recorded(creation)
        self.none_is_open = not creation.attempted_since_success or known_refused
        self.known.begin_creation(self.mr.uid)
        annotations = dict(self.unsaved)
        if not (self.kind.deterministic_name and creation.attempted_since_success):
            annotations |= {**self.seen.creation_record, **self.mark(creation)}
        self.save(annotations)

    def refusal_is_recorded(self, creation: meta.Creation) -> bool:
        """The last creation was refused, also if another process sent it. The annotations of a client without
        a record do not show that: they have the first of several creations."""
        record = self.seen.creation_record
        return bool(record) and record.keys() <= self.mr.annotations.keys() and not creation.incomplete

    def announce(self) -> None:
        """Record a creation that is about to be sent, unless `begin_creation` has just done so. A process
        that dies after the call would otherwise leave the record of an earlier refusal."""
        creation, record = meta.creation(self.mr.annotations), self.seen.creation_record
        stored = record.items() <= self.mr.annotations.items()
        if not record or (creation.incomplete and stored):
            return
        self.unannounced = True
        self.save({**record, **self.mark(creation)})
        self.unannounced = False

    def mark(self, creation: meta.Creation) -> dict[str, str]:
        return meta.creation_pending(creation.begins(self.deps.now()))

    def creation_failed(self, cause: Exception) -> None:
        if self.unannounced:
            # The call was not sent. The announcement may have been written, so the next pass may end it.
            self.nothing_was_sent()
        elif not _nothing_was_made(cause):
            # Do not record a failure: it would be retried, and a generated name could get two external
            # resources.
            self.known.unanswered(self.mr.uid, self.deps.uptime())
        elif self.none_is_open:
            self.known.refused(self.mr.uid)
            self.note_failed_creation()
        elif not self.kind.deterministic_name:
            # It was started after the previous one had ended.
            self.note_failed_creation()

    def cut_off(self, why: BaseException) -> None:
        if not (isinstance(why, StandDown) and why.made_nothing):
            # The call may have been sent.
            self.known.unanswered(self.mr.uid, self.deps.uptime())
            return
        self.nothing_was_sent()
        recorded = self.none_is_open and bool(self.seen.creation_record)
        if recorded or not self.kind.deterministic_name:
            self.take_back()

    def nothing_was_sent(self) -> None:
        if self.none_is_open:
            self.known.refused(self.mr.uid)

    def take_back(self) -> None:
        """Record that the announced creation made nothing: a generated name would wait for a user, and the
        record of the creation would count."""
        if not meta.creation(self.mr.annotations).incomplete:
            return
        failed = meta.creation_failed(meta.creation(self.mr.annotations).ends(self.deps.now()))
        with contextlib.suppress(KubeError):
            # Only at the version of the announcement: the new leader may have written its own.
            self.deps.writer.patch_metadata(self.mr, annotations=failed, finalizers=self.mr.finalizers)

    def note_failed_creation(self) -> None:
        creation = meta.creation(self.mr.annotations)
        if self.kind.deterministic_name and not creation.incomplete:
            # An earlier attempt recorded it; each further write would requeue the composite for nothing.
            return
        if not self.deps.writer.may_act():
            # The new leader may have started a creation of its own since.
            self.take_back()
            return
        try:
            self.set_critical(meta.creation_failed(creation.ends(self.deps.now())))
        except KubeError as error:
            # Emit an event and do not raise: the cause of the failed creation matters more.
            self.tell(Step.ANNOTATE.value.reason, str(error), type_=EventType.WARNING)

    def save_creation(self, change: Change) -> None:
        creation = meta.creation(self.mr.annotations)
        annotations = meta.creation_succeeded(creation.ends(self.deps.now()))
        if change.external_name and change.external_name != self.mr.external_name:
            annotations[names.EXTERNAL_NAME] = change.external_name
        self.set_critical(annotations)

    def set_critical(self, annotations: Mapping[str, str]) -> None:
        # Remember it until it is written: otherwise a generated name would be lost.
        self.known.unwritten(self.mr.uid, annotations)
        written = self.deps.writer.set_critical_annotations(self.mr, annotations)
        self.known.unwritten(self.mr.uid, {})
        self.wrote(written, over=self.mr.with_annotations(annotations))

    def hold(self) -> None:
        self.save(self.unsaved)

    def late_initialize(self) -> None:
        fields = late_init.permitted(self.kind, self.mr, self.seen.late_initialized)
        if fields and self.may.late_initialize:
            self.mr = self.deps.writer.fill_in(self.mr, fields)

    def settle(self) -> Outcome:
        if not self.seen.up_to_date:
            _log.debug(
                "external resource differs from desired state and is not updated now", diff=self.seen.diff
            )
        if self.mr.deleted:
            self.report(conditions.deleting())
        else:
            if self.seen.drifted:
                self.tell(EventReason.DRIFT_DETECTED, self.seen.drifted, type_=EventType.WARNING)
            self.report(*(() if self.seen.exists else (conditions.creating(),)))
        # A client that looks again sooner, or that reports an operation, awaits something.
        at_rest = self.seen.poll_after is None and not self.seen.busy
        return replace(self.looks_again(), settled=at_rest and is_settled(self.mr))

    def update(self, client: ExternalClient) -> Outcome:
        _log.info("external resource differs from desired state", diff=[d.field for d in self.seen.diff])
        with step(Step.UPDATE):
            immutable.check(self.kind, self.seen.diff)
            self.made = Priority.CHANGE if self.spec_is_new else Priority.DRIFT
            change = client.update(self.without_later(), self.seen)
        unpublished = self.unpublished(change.connection_details)
        self.tell(EventReason.UPDATED, "Successfully requested update of external resource", change.message)
        if change.drifted:
            self.tell(EventReason.DRIFT_DETECTED, change.drifted, type_=EventType.WARNING)
        if unpublished:
            return self.report_failure(unpublished, change)
        self.report(change=change)
        return self.again(self.seen.poll_after if change.requeue_after is None else change.requeue_after)

    # When to reconcile again.

    def jittered(self, seconds: float) -> float:
        jitter = self.deps.pace.jitter
        return seconds * self.deps.rng.uniform(1 - jitter, 1 + jitter)

    def looks_again(self) -> Outcome:
        if self.seen.watched_for is not None:
            watched = self.jittered(self.seen.watched_for)
            # What a client awaits does not depend on the poll interval.
            least = self.poll_seconds if self.seen.poll_after is None else self.seen.poll_after
            return Outcome(Next.AFTER, max(least, watched))
        return self.again(self.seen.poll_after)

    def again(self, sooner: float | None) -> Outcome:
        seconds = self.poll_seconds if sooner is None else min(sooner, self.poll_seconds)
        return Outcome(Next.AFTER, seconds)

    def look_soon(self, change: Change) -> Outcome:
        if change.requeue_after is None:
            return Outcome(Next.BACKOFF)
        return Outcome(Next.AFTER, change.requeue_after)


def _passes(cause: Exception) -> bool:
    """A retry may help: the API server does not respond, or another client was faster."""
    return isinstance(cause, KubeError) and (cause.transient or isinstance(cause, (AlreadyExists, Conflict)))


def _nothing_was_made(cause: Exception) -> bool:
    # A bug or a lost response may have come after the creation.
    return isinstance(cause, (NotYet, ExternalError)) and cause.made_nothing

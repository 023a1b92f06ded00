"""Reconciles a TenantSource: read everything, plan, write, say so.

Between two reads nothing is read of the store: a change of an object only updates the counts in the status.
What this process remembers of a TenantSource can make it read sooner or remove later, never remove sooner.
Nothing is removed before the record of what is gone is stored.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any, Final

import structlog

from apis import errors
from apis.conditions import SourceSyncedReason
from apis.kinds import TENANT_SOURCE, Kind
from apis.tenantsource import OnSourceDelete, TemplateKind, TenantSourceSpec, WhenGone, parse, seconds
from edgetenants_runtime import deadline
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.clock import Clock
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.kube.errors import Conflict, Forbidden, KubeError, NotFound
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.reconcile.writer import ManagedWriter
from sources import status
from sources.attempts import Attempts
from sources.going import Before, Record, step
from sources.metrics import SourceMetrics
from sources.objects import BY_OWNER, CONFIRM, Existing, owner_value
from sources.plan import Action, Plan, Verb, World, planned
from sources.quiet import LONGEST, TIME_TO_REPORT, Found, Quiet, fingerprint, in_time, read_all
from sources.reading import OpenStore
from sources.records import Kept, Records, lost
from sources.rows import Problem, Table, settled, shown
from sources.status import Counts, Failure
from sources.stores.store import StoreError
from sources.template import KINDS, Compiled, InvalidTemplate, compile_template
from sources.writing import Objects, Refused, Writer, resource_kind

__all__ = ["FINALIZER", "Parts", "SourceReconciler"]

_log = structlog.get_logger("edgetenants.sources")

FINALIZER: Final = "sources.edgetenants.io/objects"
"""Keeps a TenantSource with onDelete Delete until its objects are deleted."""
_AGAIN: Final = 1.0
"""Seconds until the next read, if time ran out."""
_MINUTE: Final = 60.0
_NOT_READY: Final = 1.0
"""Real seconds; the objects have not been listed yet."""
_MOST_FAILURES: Final = 3
"""Writes in a row that fail for what may concern all: an API server that is away needs no further ones."""
_LOOK_AT_SPEC: Final = 20
"""Removals between two looks at the TenantSource."""
_TOKEN: Final = 64
"""Characters of a confirmation that are compared: no token has more."""


_UNDELETABLE: Final = (
    "spec.onDelete and spec.template.kind do not say which objects to delete: set both, or set onDelete to "
    "Orphan so that all objects stay. Until then, the TenantSource stays, too"
)
_NO_REMOVALS: Final = (
    "spec.whenGone: expected Orphan: this process neither suspends nor deletes objects whose rows are gone, "
    "as it runs without --enable-alpha-removals"
)


@dataclass(frozen=True)
class Parts:
    """What a reconciler works with."""

    objects: Objects
    writer: ManagedWriter
    """Writes the TenantSources themselves."""
    seen: Callable[[ObjectKey], Mapping[str, Any] | None]
    """Returns a TenantSource as its watch last brought it."""
    informers: Mapping[str, Informer]
    """By kind: the objects that TenantSources can make."""
    open_store: OpenStore
    clock: Clock
    now: Callable[[], datetime]
    may_act: Callable[[], bool]
    removes: bool
    """The process may suspend and delete objects whose rows are gone."""
    kind_leaves: Callable[[], bool]
    """The CRD of TenantSources is being deleted, so their deletion says nothing of what people want."""
    metrics: SourceMetrics
    records: Records


@dataclass
class _Memory:
    """What this process remembers of a TenantSource."""

    kept: Kept | None = None
    begun: int = 0
    """See `Before`."""
    overlooked: bool = False
    """Reads were followed without the record, so what it says is no longer true."""
    ended: float | None = None
    """When the last read ended that was complete, in seconds of the clock; None if something failed since."""
    next_read: float = 0.0
    asked: tuple[object, ...] = ()
    """What its author asked for at the last read."""
    attempts: Attempts = field(default_factory=Attempts)
    quiet: Quiet | None = None
    """The last read, if nothing was left to do after it."""
    compiled: tuple[int, TenantSourceSpec, Compiled] | None = None
    """By generation: its valid spec. To check a large template costs more than to count objects."""
    untold: status.Report | None = None
    """What the last read found, if the API server has not taken it yet: the next read may find no change."""


class SourceReconciler:
    """Reconciles TenantSources; a `Reconciles`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lock = threading.Lock()
        self._memories: dict[str, _Memory] = {}

    def makes(self, change: ObjectChange) -> bool:
        """See `Reconciles`."""
        return self._parts.writer.makes(change)

    def forget(self, uid: str) -> None:
        """See `Reconciles`."""
        with self._lock:
            self._memories.pop(uid, None)
        self._parts.writer.forget(uid)
        self._parts.metrics.forget(uid)

    def reconcile(self, mr: Managed) -> Outcome:
        """See `Reconciles`."""
        with self._lock:
            memory = self._memories.setdefault(mr.uid, _Memory())
        try:
            return _Reconcile(self._parts, memory, mr).run()
        except Conflict:
            return Outcome(Next.REAL_BACKOFF)
        except NotFound as error:
            if error.operation.kind.kind == "TenantSource":
                return Outcome(Next.NEVER)
            return self._refused(error)
        except KubeError as error:
            return self._refused(error)

    def _refused(self, error: KubeError) -> Outcome:
        _log.warning("cannot reconcile, backing off", error=str(error))
        return Outcome(Next.REAL_BACKOFF, failed=True)


class _Reconcile:
    """One reconcile of one TenantSource."""

    def __init__(self, parts: Parts, memory: _Memory, mr: Managed) -> None:
        self.parts, self.memory, self.mr = parts, memory, mr
        self.more = False
        """Writes are left for the next time."""
        self.acted = False
        """Something was written, or refused."""
        self.unseen: Failure | None = None
        """Why nothing was removed, though it was due: the TenantSource itself cannot be read."""

    def run(self) -> Outcome:
        if self.mr.deleted:
            return self.leave()
        try:
            spec, template = self.compiled()
            _check_removals(spec, removes=self.parts.removes)
        except (errors.InvalidInput, InvalidTemplate) as error:
            return self.invalid(str(error))
        informer = self.parts.informers[template.kind.kind]
        if not informer.synced:
            self.memory.ended = None
            return self.not_served(template.kind, informer)
        self.hold(deletes=spec.on_delete is OnSourceDelete.DELETE)
        if spec.suspend:
            self.memory.ended = None
            self.report(status.suspended(self.counts(template.kind, informer)))
            return Outcome(Next.NEVER)
        wait = self.memory.next_read - self.parts.clock.now()
        if wait > 0 and self.memory.asked == self.asked():
            self.recount(self.counts(template.kind, informer))
            return Outcome(Next.AFTER, wait)
        return self.read(spec, template, informer)

    def compiled(self) -> tuple[TenantSourceSpec, Compiled]:
        """What the TenantSource asks for. Raises InvalidInput or InvalidTemplate."""
        known = self.memory.compiled
        if known is None or known[0] != self.mr.generation:
            spec = parse(self.mr.spec)
            known = self.mr.generation, spec, compile_template(spec.template)
            self.memory.compiled = known
        return known[1], known[2]

    # Steps

    def read(self, spec: TenantSourceSpec, template: Compiled, informer: Informer) -> Outcome:
        self.memory.asked = self.asked()
        poll = seconds(spec.poll_interval)
        last, self.memory.ended = self.memory.ended, None
        before, self.memory.quiet = self.quiet_before(informer), None
        try:
            kept = self.take_over(spec)
        except KubeError as error:
            self.next_read(min(poll, _MINUTE))
            message = f"the record of rows that are gone cannot be read: {_why(error)}"
            return self.failed(Failure(SourceSyncedReason.WRITE_FAILED, message), template, informer)
        began = self.parts.clock.now()
        try:
            found = self.table(spec, template, before)
        except StoreError as error:
            self.next_read(poll)
            return self.failed(
                Failure(SourceSyncedReason(error.reason.value), error.message), template, informer
            )
        ended = self.parts.clock.now()
        self.parts.metrics.read(self.mr, "complete")
        if found is None:
            # No row was gone, and nothing is on record.
            return self.unchanged(before, poll, self.counts(template.kind, informer))
        known = Before(kept.record, self.memory.begun, step(last, began, poll))
        world = self.world(spec, template.kind, informer, known)
        table = settled(found.table, world.mine)
        plan, unstored = self.store(planned(table, world), kept)
        self.memory.ended = ended
        self.memory.attempts.keep({row.name for row in table.desired.values()} | set(world.mine))
        failure, plan = self.write(plan, world, self.writer(template.kind, informer))
        failure = failure or unstored or self.unseen
        if failure is None and not (self.acted or self.more) and _is_settled(plan):
            self.memory.quiet = self.quiet_now(found, table, world, informer)
        self.next_read(self.pause(plan, poll))
        counts = self.counts(template.kind, informer)
        self.parts.metrics.counted(self.mr, table, plan, counts)
        self.tell(status.followed(table, plan, counts, failure))
        return Outcome(Next.AFTER, self.memory.next_read - self.parts.clock.now(), failed=failure is not None)

    def take_over(self, spec: TenantSourceSpec) -> Kept:
        """The record of the rows that are gone. Raises KubeError."""
        memory = self.memory
        if memory.kept is None:
            try:
                memory.kept = self.parts.records.take_over(self.mr)
            except Forbidden:
                if spec.when_gone is not WhenGone.ORPHAN:
                    raise
                # Nothing is removed, so nothing has to be known.
                memory.overlooked = True
                return Kept(Record.new(), "")
            if memory.overlooked:
                memory.kept = replace(memory.kept, record=Record.new())
            memory.begun = memory.kept.record.counted
        return memory.kept

    def store(self, plan: Plan, kept: Kept) -> tuple[Plan, Failure | None]:
        """Store what is known now of the rows that are gone. Returns the plan, without removals if it is not
        stored, and why."""
        memory = self.memory
        if memory.kept is None:
            return plan, None
        if not self.parts.may_act():
            raise StandDown("the record of rows that are gone")
        try:
            memory.kept = self.parts.records.store(self.mr, kept, plan.record)
        except KubeError as error:
            memory.kept = replace(lost(kept), record=plan.record)
            _log.warning("cannot store the record of rows that are gone", error=str(error))
            message = f"the record of rows that are gone cannot be stored, so none is removed: {_why(error)}"
            failure = Failure(SourceSyncedReason.WRITE_FAILED, message)
            # Nor is a token told: another process may give its number to other rows.
            return replace(plan, removals=(), removal=None), failure
        if memory.kept.record != plan.record:
            # It was someone else's: the time begins again.
            memory.begun = memory.kept.record.counted
            return replace(plan, removals=(), removal=None), None
        return plan, None

    def unchanged(self, before: Quiet | None, poll: float, counts: Counts) -> Outcome:
        self.memory.quiet = before
        self.parts.metrics.unchanged(self.mr, counts)
        self.next_read(poll)
        self.recount(counts)
        return Outcome(Next.AFTER, poll)

    def quiet_before(self, informer: Informer) -> Quiet | None:
        """The last read, if nothing was left to do then, and no object has changed since."""
        before, now = self.memory.quiet, self.parts.clock.now()
        if before is None or before.asked != self.asked() or before.until <= now:
            return None
        return before if self.fingerprint(informer, before.others) == before.objects else None

    def quiet_now(self, found: Found, table: Table, world: World, informer: Informer) -> Quiet:
        names = (row.name for row in table.desired.values())
        others = tuple(name for name in names if name not in world.mine and world.other(name) is not None)
        until = min(self.memory.attempts.next, self.parts.clock.now() + LONGEST)
        objects = self.fingerprint(informer, others)
        return Quiet(self.asked(), found.total, found.position, others, objects, until)

    def fingerprint(self, informer: Informer, others: tuple[str, ...]) -> int:
        """Of the objects of the TenantSource, and of those of someone else that rows ask for."""
        theirs = (informer.cache.get(ObjectKey(self.mr.namespace, name)) for name in others)
        return fingerprint(chain(self.stored(informer), filter(None, theirs)))

    def pause(self, plan: Plan, poll: float) -> float:
        """Seconds until the next read."""
        if self.more:
            return _AGAIN
        return min(poll, _MINUTE) if plan.waiting else poll

    def next_read(self, after: float) -> None:
        self.memory.next_read = self.parts.clock.now() + after

    def table(self, spec: TenantSourceSpec, template: Compiled, before: Quiet | None) -> Found | None:
        """All rows; None if they are those of the read before. Raises StoreError; then the read was not
        complete."""
        opened = partial(self.parts.open_store, self.mr.namespace, spec.source)
        return read_all(opened, before, spec, template, in_time)

    def write(self, plan: Plan, world: World, writer: Writer) -> tuple[Failure | None, Plan]:
        """Do what the plan says. Returns why not all of it was done, and the plan with what was refused."""
        problems = dict(plan.problems)
        # One after the other, and failures count for each: a few objects that are always refused must not
        # stop all removals, nor the other way round.
        parts = (self.in_turn(plan.actions), self.removals_in_turn(plan.removals))
        failures = [self.write_part(part, world, writer, problems) for part in parts]
        return next(filter(None, failures), None), replace(plan, problems=problems)

    def write_part(
        self, actions: Iterable[Action], world: World, writer: Writer, problems: dict[str, Problem]
    ) -> Failure | None:
        """Do these. Returns why not all of them were done."""
        failure: Failure | None = None
        in_a_row = 0
        for action in actions:
            if deadline.remaining() < TIME_TO_REPORT or in_a_row == _MOST_FAILURES:
                self.more = self.more or in_a_row < _MOST_FAILURES
                break
            if self.tried_before(action, problems):
                continue
            refused = self.perform(action, world, writer, problems)
            if refused is None or not refused.of_all:
                in_a_row = 0
                continue
            in_a_row += 1
            said = f"{action.verb} of {action.name}: {refused.field}: expected {refused.expected}"
            failure = failure or Failure(SourceSyncedReason.WRITE_FAILED, said)
        return failure

    def in_turn(self, actions: Iterable[Action]) -> Iterator[Action]:
        """These, while the TenantSource is as it was read, as last seen."""
        for action in self.memory.attempts.ordered(actions):
            if self.seen_changed():
                return
            yield action

    def removals_in_turn(self, removals: Iterable[Action]) -> Iterator[Action]:
        """These, while the TenantSource is as it was read, also as the API server has it."""
        for number, action in enumerate(self.memory.attempts.ordered(removals)):
            if self.seen_changed() or (number % _LOOK_AT_SPEC == 0 and self.changed_meanwhile()):
                return
            yield action

    def seen_changed(self) -> bool:
        """Whether someone is known to have changed the TenantSource since the read began, such as to stop
        it: the next reconcile reads again."""
        seen = self.parts.seen(self.mr.key)
        found = seen is None or self.is_another(Managed(seen))
        # It may be changed back, and then the next read must not find that nothing is left to do.
        self.more = self.more or found
        return found

    def changed_meanwhile(self) -> bool:
        """The same, of what the API server has."""
        try:
            stored = Managed(self.parts.objects.get(resource_kind(TENANT_SOURCE), self.mr.key))
        except KubeError as error:
            _log.warning("cannot read the TenantSource, so nothing is removed", error=str(error))
            if not isinstance(error, NotFound):
                # Not at once: a right that is missing would cost a read of all rows each second.
                message = f"the TenantSource cannot be read, so nothing is removed: {_why(error)}"
                self.unseen = Failure(SourceSyncedReason.WRITE_FAILED, message)
            return True
        return self.is_another(stored)

    def is_another(self, stored: Managed) -> bool:
        """Whether it asks for something else than what was read."""
        same = stored.uid == self.mr.uid and stored.generation == self.mr.generation
        confirms = (stored.annotations.get(CONFIRM) or "")[:_TOKEN]
        return stored.deleted or not same or confirms != (self.mr.annotations.get(CONFIRM) or "")[:_TOKEN]

    def perform(
        self, action: Action, world: World, writer: Writer, problems: dict[str, Problem]
    ) -> Refused | None:
        """Do it. Returns why it was refused."""
        if not self.parts.may_act():
            raise StandDown(f"{action.verb} of an object")
        self.acted = True
        key, refused = _key(action), None
        try:
            writer.perform(action, world.now)
        except Refused as error:
            refused = error
            problems[key] = Problem(shown(key), error.field, error.expected)
        self.parts.metrics.wrote(self.mr, action.verb, refused=refused is not None)
        self.remember(action, refused, problems.get(key))
        return refused

    def tried_before(self, action: Action, problems: dict[str, Problem]) -> bool:
        """The same was tried lately; what came of it is still true."""
        tried = self.memory.attempts.same(action, self.parts.clock.now())
        if tried is not None and tried.problem is not None:
            problems[_key(action)] = tried.problem
        return tried is not None

    def remember(self, action: Action, refused: Refused | None, problem: Problem | None) -> None:
        existing, raw = action.existing, None
        if existing is not None:
            raw = self.parts.informers[existing.kind.kind].cache.get(existing.managed.key)
        self.memory.attempts.note(
            action,
            problem if refused is not None else None,
            self.parts.clock.now(),
            stored=Existing(existing.kind, raw) if existing is not None and raw else None,
            soon=refused is not None and refused.of_all,
        )

    def leave(self) -> Outcome:
        """The TenantSource is being deleted. What this means is in two fields: it is done, or said, also if
        others of its fields are invalid."""
        if FINALIZER not in self.mr.finalizers:
            return Outcome(Next.NEVER)
        deletes = _deletes(self.mr.spec)
        if deletes is False or self.parts.kind_leaves():
            self.release()
            return Outcome(Next.NEVER)
        kind = _kind(self.mr.spec)
        if deletes is None or kind is None:
            self.report(status.undeletable(_UNDELETABLE))
            return Outcome(Next.NEVER, failed=True)
        return self.delete(kind, self.parts.informers[kind.kind])

    def delete(self, kind: Kind, informer: Informer) -> Outcome:
        """The objects go with the TenantSource."""
        if not informer.synced:
            return self.not_served(kind, informer)
        mine = self.mine(kind, informer)
        if not mine:
            self.release()
            return Outcome(Next.NEVER)
        self.parts.writer.check_deleted(self.mr)
        writer = self.writer(kind, informer)
        in_a_row = 0
        left = [each for each in mine.values() if not each.managed.deleted]
        for number, each in enumerate(left):
            if deadline.remaining() < TIME_TO_REPORT or in_a_row == _MOST_FAILURES:
                break
            if self.parts.kind_leaves() or (number % _LOOK_AT_SPEC == 0 and self.is_another_spec()):
                # Its author may have set onDelete to Orphan.
                return Outcome(Next.AFTER, _NOT_READY)
            if not self.parts.may_act():
                raise StandDown("the deletion of an object")
            in_a_row = 0 if self.delete_one(writer, each) else in_a_row + 1
        self.report(status.deleting(self.counts(kind, informer)))
        return Outcome(Next.AFTER, 10.0)

    def is_another_spec(self) -> bool:
        """Whether the API server has another spec than the one that asks for the deletion of the objects.
        Raises KubeError; then it is not known, and nothing is deleted."""
        stored = Managed(self.parts.objects.get(resource_kind(TENANT_SOURCE), self.mr.key))
        return (stored.uid, stored.generation) != (self.mr.uid, self.mr.generation)

    def delete_one(self, writer: Writer, each: Existing) -> bool:
        """False: it may be refused for all. If it only changed meanwhile, the cache has it soon."""
        refused: Refused | None = None
        try:
            writer.delete(each)
        except Refused as error:
            refused = error
            _log.warning("cannot delete an object, trying again", name=each.name, error=str(error))
        self.parts.metrics.wrote(self.mr, Verb.DELETE, refused=refused is not None)
        return refused is None or not refused.of_all

    def hold(self, *, deletes: bool) -> None:
        """Have the finalizer if onDelete needs it, and only then."""
        if deletes == (FINALIZER in self.mr.finalizers):
            return
        others = [each for each in self.mr.finalizers if each != FINALIZER]
        finalizers = [*others, FINALIZER] if deletes else others
        self.mr = self.parts.writer.patch_metadata(self.mr, annotations={}, finalizers=finalizers)

    def release(self) -> None:
        others = [each for each in self.mr.finalizers if each != FINALIZER]
        self.parts.writer.patch_metadata(self.mr, annotations={}, finalizers=others)

    # Saying

    def invalid(self, message: str) -> Outcome:
        deletes = _deletes(self.mr.spec)
        if deletes and not self.has_followed():
            deletes = None
        kind = _kind(self.mr.spec)
        informer = self.parts.informers[kind.kind] if kind is not None else None
        counts = self.counts(kind, informer) if kind and informer and informer.synced else None
        if deletes and counts and counts.objects:
            message = f"{message}. {counts.objects} objects are deleted with the TenantSource"
        failure = Failure(SourceSyncedReason.INVALID_SPEC, message)
        self.memory.asked, self.memory.ended = (), None
        self.report(status.failed(failure, counts))
        if deletes is not None:
            # It may have objects from before, and may be deleted as it is. What is wrong is said before: this
            # may be refused.
            self.hold(deletes=deletes)
        return Outcome(Next.NEVER, failed=True)

    def has_followed(self) -> bool:
        """Whether this TenantSource has followed rows. The objects of an earlier one of its name are not for
        a spec that was never valid to delete.

        Others can write the status, too. A forged one makes a deletion delete only what its author asks for
        with onDelete, and could delete with any valid spec of the same name.
        """
        return FINALIZER in self.mr.finalizers or "rows" in self.mr.status

    def failed(self, failure: Failure, template: Compiled, informer: Informer) -> Outcome:
        self.parts.metrics.read(self.mr, "failed")
        _log.warning("cannot read the rows", reason=failure.reason.value, error=failure.message)
        self.tell(status.failed(failure, self.counts(template.kind, informer)))
        return Outcome(Next.AFTER, self.memory.next_read - self.parts.clock.now(), failed=True)

    def not_served(self, kind: Kind, informer: Informer) -> Outcome:
        if not informer.served or informer.forbidden:
            # What is said now is to be taken back.
            self.memory.quiet = None
            message = informer.problem or f"the cluster does not have the kind {kind.kind}"
            self.report(status.failed(Failure(SourceSyncedReason.WRITE_FAILED, message), None))
        return Outcome(Next.AFTER, _NOT_READY)

    def recount(self, counts: Counts) -> None:
        if self.memory.untold is not None:
            self.tell(self.memory.untold)
        self.report(status.recounted(counts))

    def tell(self, found: status.Report) -> None:
        """Say what a read found; if the API server does not take it, the next reconcile says it again."""
        self.memory.untold = found
        self.report(found)
        self.memory.untold = None

    def report(self, report: status.Report) -> None:
        self.mr = self.parts.writer.write_status(self.mr, report)

    # Facts

    def asked(self) -> tuple[object, ...]:
        annotations = self.mr.annotations
        return (
            self.mr.generation,
            annotations.get(names.RECONCILE_REQUESTED_AT),
            annotations.get(CONFIRM),
        )

    def world(self, spec: TenantSourceSpec, kind: Kind, informer: Informer, before: Before) -> World:
        mine = self.mine(kind, informer)
        confirm = self.mr.annotations.get(CONFIRM) or ""

        def other(name: str) -> Existing | None:
            stored = informer.cache.get(ObjectKey(self.mr.namespace, name))
            return None if stored is None or name in mine else Existing(kind, stored)

        now, attempts = self.parts.clock.now(), self.memory.attempts
        refused, last = attempts.waiting(now), attempts.refused
        return World(spec, mine, other, confirm, self.parts.now(), before, refused=refused, last=last)

    def mine(self, kind: Kind, informer: Informer) -> dict[str, Existing]:
        """The objects of the TenantSource, by name."""
        found = (Existing(kind, obj) for obj in self.stored(informer))
        return {each.name: each for each in found}

    def stored(self, informer: Informer) -> list[Mapping[str, Any]]:
        return informer.cache.by_index(BY_OWNER, f"{self.mr.namespace}/{owner_value(self.mr.name)}")

    def counts(self, kind: Kind, informer: Informer) -> Counts:
        # One after the other: fifty thousand at once cost the garbage collector more than all else here.
        stored = self.stored(informer)
        return Counts(len(stored), sum(Existing(kind, obj).live for obj in stored))

    def writer(self, kind: Kind, informer: Informer) -> Writer:
        return Writer(self.parts.objects, kind, informer.cache, self.mr.namespace, self.mr.name)


def _why(error: KubeError) -> str:
    """Without the server's text, which may have words of webhooks."""
    if isinstance(error, Forbidden):
        return f"this process may need the RBAC rule {error.operation.rule}"
    return f"the API server answers HTTP {error.code}" if error.code else "the API server does not answer"


def _key(action: Action) -> str:
    if action.row is not None:
        return action.row.key
    return action.existing.key if action.existing is not None else ""


def _is_settled(plan: Plan) -> bool:
    """Nothing follows from the same rows at a later time. What was removed within the last hour is on record,
    too: that hour passes only while reads are judged."""
    return not plan.waiting and plan.record.empty


def _deletes(spec: Mapping[str, Any]) -> bool | None:
    """Whether the objects are to go with the TenantSource; None if the spec has another value there."""
    asked = spec.get("onDelete", OnSourceDelete.ORPHAN.value)
    return {OnSourceDelete.DELETE.value: True, OnSourceDelete.ORPHAN.value: False}.get(str(asked))


def _kind(spec: Mapping[str, Any]) -> Kind | None:
    """The kind of the objects; None if the spec has no known one."""
    template = spec.get("template")
    asked = template.get("kind", TemplateKind.TENANT_CLAIM.value) if isinstance(template, Mapping) else None
    return next((kind for each, kind in KINDS.items() if each.value == asked), None)


def _check_removals(spec: TenantSourceSpec, *, removes: bool) -> None:
    if spec.when_gone is not WhenGone.ORPHAN and not removes:
        raise InvalidTemplate(_NO_REMOVALS)

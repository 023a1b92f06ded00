"""The external client of all kinds: observe, assess, plan, act, report. Each kind supplies its own parts.

                     ┌─ absent ──────────────▶ create
    observe ─ Get ───┤                 ┌─ ours ──▶ up to date, or update, or delete
                     └─ exists ─ owner ┤
                                       └─ not ours ──▶ AdoptionRefused; nothing is changed

    update   check ─▶ prove ownership ─▶ converge, again after a conflict ─▶ remember an update without effect
                └── refused ─▶ write the other parts of the change (docs/decisions/0027)
    delete   disable ─▶ delete at once; if AWS refuses that, poll until it is rolled out

What AWS accepts and does not show is repeated after pauses that grow to a minute (memory/pauses.py).

In a steady state, an observation is one Get, or no call where a list shows that nothing changed. A crash may
interrupt every method after any call: the next reconcile starts from the observed state, and recognizes by
its owner tag what an earlier attempt created.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

from apis.errors import InvalidInput
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.managed import Managed
from provider.cloudfront.adoption import owner_look
from provider.cloudfront.adoption.owner_look import Looked
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.disabling import Said
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.hooks import announcing, checking
from provider.cloudfront.aws.retries import before_creation, to_external_error
from provider.cloudfront.lifecycle import conditions
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN, ROLL_OUT_SECONDS, Action, Effects, Wait, run
from provider.cloudfront.lifecycle.assessment import Assessed, attempt, is_ineffective
from provider.cloudfront.lifecycle.report import Shown, offered
from provider.cloudfront.memory.schedules import DEEP_REQUESTS
from provider.cloudfront.ownership import judgement
from provider.cloudfront.safety import advice, guards, kept_names, name_keys
from provider.cloudfront.safety.creation_turns import CreationTurns
from provider.cloudfront.safety.dependencies import Dependencies
from provider.cloudfront.safety.kept_domains import Keeper
from provider.cloudfront.state import creating
from provider.cloudfront.state.applied import Asked, field_of
from provider.cloudfront.state.identity import noun
from provider.cloudfront.state.observed import Observed

__all__ = ["Kind", "Skeleton"]

_CONFLICT_TRIES: Final = 2
_GONE_ALREADY: Final = "already deleted in AWS"
_AGAIN: Final = 0.1
_DELETED_SECONDS: Final = 1.0
"""The first pause before the provider looks whether what it deleted is gone."""
_PROVEN_SECONDS: Final = 4.0
"""For how long after the owner tag was read what was disabled is deleted without another read. At the lowest
rate, the deletion then waits ten seconds."""
_LAG_SECONDS: Final = 30.0
"""For this time, AWS may show the state before a write."""

Wanted = TypeVar("Wanted", bound=Asked)
Wanted_co = TypeVar("Wanted_co", bound=Asked, covariant=True)
Seen = TypeVar("Seen", bound=Observed)
Seen_contra = TypeVar("Seen_contra", bound=Observed, contravariant=True)
State = TypeVar("State", bound=Assessed[Any, Any])


class Reads(Protocol[Wanted_co]):
    """Reads the desired state from a managed resource; raises InvalidInput."""

    def __call__(self, mr: Managed, *, installation: str, name: str) -> Wanted_co:
        """See desired.from_for_provider."""
        ...


class Removes(Protocol[Seen_contra]):
    """Plans a deletion; the plan is a single Wait if it has to wait."""

    def __call__(self, seen: Seen_contra, *, refused: bool, early: bool, said: Said) -> tuple[Action, ...]:
        """See tenant.plan.remove."""
        ...


@dataclass(frozen=True)
class Kind(Generic[Wanted, Seen]):
    """The parts of a kind that are plain functions."""

    get: Callable[[CloudFront], Callable[[str], Seen]]
    """The call that gets one, by name, id or ARN."""
    from_for_provider: Reads[Wanted]
    """Reads the desired state that the provider maintains."""
    at_creation: Reads[Wanted]
    """Reads the desired state at creation."""
    create: Callable[[Wanted], Action]
    """The action that creates it."""
    remove: Removes[Seen]
    """Plans its deletion."""
    absent: Callable[[], tuple[Condition, ...]]
    """The conditions before it exists."""
    log: Any
    """The structlog logger; users filter logs by its name."""


class Skeleton(ABC, Generic[Wanted, Seen, State]):
    """Implements edgetenants_runtime.external.ExternalClient. Each kind implements `_compare`, `_plan` and
    `_show`, and may override the other private methods that have a docstring."""

    def __init__(self, deps: Dependencies, kind: Kind[Wanted, Seen]) -> None:
        self._deps = deps
        self._account, self._cluster, self._policy = deps.account, deps.cluster, deps.policy
        self._kind = kind
        self._cloudfront, self._memory = deps.account.cloudfront, deps.account.memory
        self._get = kind.get(self._cloudfront)
        self._keeper = Keeper(
            deps.cluster.kept, self._cloudfront, self._memory, deps.account.installation, deps.account.id
        )
        self._turns = CreationTurns(deps.account, rehearsing=deps.policy.rehearsing)

    # Observe.

    def observe(self, mr: Managed) -> Observation:
        """Get the external resource by its external name, check its owner, and compare it with the spec.

        Raises:
            ExternalError: it is not ours, or AWS refused the call, or the spec is invalid.
        """
        guards.check_identity(mr, self._account, partial(self._owns, mr))
        if mr.deleted:
            self._memory.quotas.left(mr.uid)
        seen = self._look(mr)
        owned = self._own(mr, seen) if seen else None
        if owned is None:
            proof = self._memory.proofs.of(mr.uid)
            self._memory.forget(mr.uid)
            self._keeper.gone(mr)
            guards.check_vanished(mr, self._deps, proof)
            if not mr.deleted:
                return self._missing(mr)
            if seen is None:
                self._deleted_without(mr)
            return Observation(exists=False)
        self._memory.note_seen(mr.uid, owned.seen.id, owned.seen.arn, listed=self._is_listed)
        if mr.deleted:
            return self._leaving(mr, owned)
        self._keeper.saw(mr, owned.seen)
        return self._observation(mr, self._assessed(mr, owned))

    def _leaving(self, mr: Managed, owned: Looked[Seen]) -> Observation:
        """The observation of what is to be deleted. A deletion may be on hold for weeks, and what changes in
        AWS meanwhile is reported as ever."""
        there = owned.seen
        if not guards.is_held(mr, self._policy.frozen):
            return Observation(exists=True, conditions=conditions.removing(noun(mr), there), state=owned)
        staying = Observation(exists=True, conditions=conditions.staying(noun(mr), there), state=owned)
        try:
            state = self._assessed(mr, owned)
            now = self._observation(mr, state)
        except (ExternalError, NotYet) as error:
            # Neither an invalid spec nor a read that AWS refuses may stop the deletion.
            self._kind.log.info("cannot compare it with its spec", **_named(mr, there), error=str(error))
            return replace(staying, status=self._without_comparison(mr, there))
        but = self._follows(mr, there)
        left = {field_of(each.field) for each in state.todo.all} - {but}
        shown = tuple(conditions.left_alone(each, but) for each in now.conditions) if left else now.conditions
        status = {**now.status, **self._first_record(mr, now.status)}
        return replace(staying, conditions=shown, at_provider=now.at_provider, status=status)

    def _without_comparison(self, mr: Managed, there: Seen) -> Mapping[str, Any]:
        """The status of what cannot be compared with its whole spec and whose deletion is on hold."""
        return {}

    def _first_record(self, mr: Managed, status: Mapping[str, Any]) -> Mapping[str, Any]:
        """The record that replaces the one in `status` if the deletion is on hold and there was no record."""
        return {}

    def _follows(self, mr: Managed, there: Seen) -> str:
        """The field of the spec that the provider is about to write although the deletion is on hold."""
        return ""

    def _owns(self, mr: Managed, id_: str) -> bool:
        """Whether it owns what has that id, whatever its external name and status say."""
        return owner_look.owns(mr, lambda: self._get(id_), self._account, self._cluster)

    def _look(self, mr: Managed) -> Seen | None:
        if guards.leads_nowhere(mr):
            return None
        try:
            seen = self._read(mr)
        except AwsError as error:
            if not error.absent:
                raise self._explained(mr, error, f"get {noun(mr)} {mr.external_name}") from error
        else:
            if not self._is_listed:
                self._memory.vanished.exists(seen.id, name_keys.in_any_account(mr.kind, seen.name))
            return owner_look.with_known_tags(mr, seen)
        # It is gone, whatever follows: the retention time of its records starts now.
        self._keeper.gone(mr)
        guards.check_import(mr)
        guards.check_gone(mr, self._account)
        if mr.deleted:
            self._keeper.gone_as_wanted(mr)
        return None

    @property
    def _is_listed(self) -> bool:
        """Whether the last observation was confirmed by a list, and not by a Get."""
        return False

    def _read(self, mr: Managed) -> Seen:
        """The external resource with the external name. Raises AwsError."""
        return self._get(str(mr.external_name))

    def _own(self, mr: Managed, seen: Seen) -> Looked[Seen] | None:
        """The external resource, if it is ours; None if it stays in AWS after the deletion of `mr`."""
        return owner_look.look(mr, seen, self._account, self._cluster)

    def _missing(self, mr: Managed) -> Observation:
        seen = self._absent(mr)
        return replace(
            seen,
            conditions=(*seen.conditions, *guards.out_of_sync(mr, self._policy.frozen)),
            creation_record=creating.record(mr, self._account.id),
        )

    def _absent(self, mr: Managed) -> Observation:
        """The observation before it is created."""
        return Observation(exists=False, conditions=self._kind.absent())

    def _observation(self, mr: Managed, state: State) -> Observation:
        ineffective = is_ineffective(state, self._memory.attempts.last(mr.uid))
        shown = self._shown(mr, state, served=conditions.was_ready(mr), ineffective=ineffective)
        return Observation(
            exists=True,
            up_to_date=not state.differs or ineffective or bool(self._policy.frozen),
            diff=state.todo.all,
            drifted=self._drifted(mr, shown),
            conditions=shown.conditions,
            at_provider=shown.at_provider,
            status={**shown.status, **guards.unprotected(mr)},
            late_initialized=offered(mr, state, shown.late),
            connection_details=shown.connection_details,
            poll_after=self._next_look(mr, state, shown.next_look),
            state=state,
        )

    def _next_look(self, mr: Managed, state: State, planned: float | None) -> float | None:
        """Seconds until the next poll; None for the poll interval."""
        if planned is None or state.seen.deployed:
            if not state.differs:
                self._memory.roll_outs.forget(mr.uid)
            return planned
        shown = _shown(state.seen)
        return self._memory.roll_outs.pause(mr.uid, shown, planned, steady=ROLL_OUT_SECONDS)

    def _look_at_change(self, mr: Managed, seen: Observed) -> float:
        """Seconds until the next poll after a write to what was observed as `seen`."""
        shown = (mr.generation, *_shown(seen))
        return self._memory.roll_outs.pause(mr.uid, shown, LOOK_AGAIN, steady=_LAG_SECONDS)

    def _answered(self, there: Seen) -> None:
        """Called after a write that AWS answered with `there`."""

    def _followed(self, mr: Managed, there: Seen, seconds: float, *, gone: bool = False) -> float:
        """Seconds until the next poll of what AWS is still working on: more than `seconds` if the kind
        notices the end itself. `gone`: AWS has accepted its deletion."""
        return seconds

    def _drifted(self, mr: Managed, shown: Shown) -> str:
        """What someone else changed since the last reconcile, for an event."""
        return conditions.drifted(mr, shown.conditions)

    # Desired state.

    def _assessed(self, mr: Managed, looked: Looked[Seen]) -> State:
        seen = looked.seen
        asked = self._held(mr, self._asked(mr, self._kind.from_for_provider, seen.name), seen)
        due = self._deep_look_due(mr)
        state = self._assess(mr, asked, seen, deep=due)
        # The provider reads tags if it would write them from what it knows, and once a day.
        wanted = judgement.writes(mr) and (due or seen.tags is None or bool(state.todo.tags))
        if looked.fresh or not wanted:
            self._deep_look_done(mr, due)
            return state
        try:
            with checking() if due else nullcontext():
                tagged = replace(seen, tags=self._cloudfront.tags(seen.arn))
        except AwsError as error:
            # Tags matter less than the rest, so the failure is only logged. The update still writes the
            # desired tags from those that are known, once ownership is proven; else it would be lost.
            self._kind.log.warning("cannot read tags", **_named(mr, seen), error=str(error))
            # A missing permission rarely comes back within minutes.
            self._deep_look_done(mr, due and error.not_permitted)
            return state
        self._deep_look_done(mr, due)
        return self._assess_again(mr, state, owner_look.verified(mr, tagged, self._account, self._cluster))

    def _held(self, mr: Managed, asked: Wanted, seen: Seen) -> Wanted:
        """The desired state, adapted to the observed one. Raises ExternalError if it is not allowed."""
        return asked

    def _deep_look_due(self, mr: Managed) -> bool:
        """Whether this reconcile also reads what the Get does not show, such as tags."""
        due = self._memory.deep_checks.is_due(mr.uid)
        if due:
            self._memory.dns_turns.spent(DEEP_REQUESTS)
        return due

    def _deep_look_done(self, mr: Managed, due: bool) -> None:
        if due:
            self._memory.deep_checks.done(mr.uid)

    @abstractmethod
    def _compare(self, mr: Managed, asked: Wanted, seen: Seen) -> State:
        """Compare the spec, the last write and AWS."""

    def _assess(self, mr: Managed, asked: Wanted, seen: Seen, *, deep: bool) -> State:
        """Compare, after reading whatever else that needs."""
        return self._compare(mr, asked, seen)

    def _assess_again(self, mr: Managed, before: State, seen: Seen) -> State:
        """Compare again with a newer observation."""
        return self._compare(mr, before.asked, seen)

    @abstractmethod
    def _show(self, mr: Managed, state: State, *, served: bool, written: bool, ineffective: bool) -> Shown:
        """The report of its state; see tenant.report.show."""

    def _shown(
        self, mr: Managed, state: State, *, served: bool, written: bool = False, ineffective: bool = False
    ) -> Shown:
        shown = self._show(mr, state, served=served, written=written, ineffective=ineffective)
        if state.differs and not written:
            return shown
        return replace(shown, conditions=guards.with_contention(mr, shown.conditions, self._account))

    def _asked(self, mr: Managed, read: Reads[Wanted], name: str) -> Wanted:
        try:
            return read(mr, installation=self._account.installation, name=name)
        except InvalidInput as error:
            raise guards.invalid(str(error)) from error

    # Create.

    def create(self, mr: Managed, seen: Observation) -> Change:
        """Create it, with the owner tag.

        Raises:
            NotYet: AWS does not accept it yet, or it was created meanwhile.
            ExternalError: a check finds the spec wrong, its name is kept for another namespace, AWS refuses
                it, or it waits for room in the account.
        """
        guards.check_frozen(mr, self._policy.frozen)
        with before_creation():
            asked = self._asked(mr, self._kind.at_creation, str(mr.external_name))
            kept_names.check_creation(mr, self._account, self._cluster)
        with self._turns.turn(mr):
            return self._create_as_far_as_possible(mr, asked, seen)

    def _create_as_far_as_possible(self, mr: Managed, asked: Wanted, seen: Observation) -> Change:
        try:
            return self._create(mr, asked, seen)
        except (ExternalError, NotYet) as refusal:
            less = self._less_to_create(mr, asked, refusal) if refusal.made_nothing else None
            if less is None:
                raise self._in_time(mr, asked, None, refusal) from None
            change = self._create_less(mr, less[0], refusal, seen)
            return replace(change, message=f"{change.message}, without {less[1]}: {refusal.message}")

    def _create(self, mr: Managed, asked: Wanted, before: Observation) -> Change:
        with before_creation():
            asked, unchecked = self._check_creation(mr, asked)
        with announcing(partial(self._before_sending, mr, before)):
            effects: Effects[Seen] = run((self._kind.create(asked),), None, self._cloudfront)
        if effects.error:
            raise self._creation_failed(mr, asked, effects.error) from effects.error
        made = effects.there
        self._turns.made(mr)
        owner_look.made(mr, made, self._memory.proofs, rehearsing=self._policy.rehearsing)
        self._keeper.made(mr, made)
        shown = self._shown(mr, self._made(mr, asked, made), served=False, written=True)
        self._answered(made)
        seconds = self._followed(mr, made, LOOK_AGAIN)
        return _change(shown, f"{effects.message} ({made.id}){unchecked}", seconds)

    def _before_sending(self, mr: Managed, before: Observation) -> None:
        self._turns.check(mr)
        before.announce()

    def _create_less(
        self, mr: Managed, less: Wanted, refusal: ExternalError | NotYet, before: Observation
    ) -> Change:
        try:
            return self._create(mr, less, before)
        except (ExternalError, NotYet) as again:
            if again.made_nothing:
                raise self._in_time(mr, less, None, refusal) from again
            raise

    def _less_to_create(
        self, mr: Managed, asked: Wanted, refusal: ExternalError | NotYet
    ) -> tuple[Wanted, str] | None:
        """What to create instead after a refusal, and the omitted part for the event; None for nothing."""

    def _check_creation(self, mr: Managed, asked: Wanted) -> tuple[Wanted, str]:
        """What the first call creates, and the checks that were skipped, for the event. Raises ExternalError
        or NotYet if a check refuses it."""
        return asked, ""

    def _creation_failed(self, mr: Managed, asked: Wanted, error: AwsError) -> Exception:
        no_room = self._turns.refused(mr, error)
        if error.code == "EntityAlreadyExists":
            return self._made_meanwhile(mr)
        words, way_out = f"create {noun(mr)} {mr.external_name}", advice.correcting(mr, error)
        refused = self._creation_refused(mr, asked, error) or no_room
        return refused or to_external_error(error, words, serving=False, creating=True, advice=way_out)

    def _creation_refused(self, mr: Managed, asked: Wanted, error: AwsError) -> ExternalError | NotYet | None:
        """Why AWS refused a creation, if the kind knows more than the error says."""

    def _made_meanwhile(self, mr: Managed) -> NotYet:
        words = f"{noun(mr)} {mr.external_name} already exists; checking its owner tag"
        after = self._memory.unseen.next(mr.uid)
        return NotYet(words, after=after, made_nothing=self._is_anothers(mr))

    def _is_anothers(self, mr: Managed) -> bool:
        """Whether the one that AWS refuses to create again was certainly not created for this resource."""
        return False

    def _made(self, mr: Managed, asked: Wanted, seen: Seen) -> State:
        """Its state right after a creation with `asked`."""
        return self._compare(mr, self._asked(mr, self._kind.from_for_provider, str(mr.external_name)), seen)

    # Update.

    def update(self, mr: Managed, seen: Observation) -> Change:
        """Write the differences. After a conflict, get it again and retry once. If a part is refused, write
        the rest.

        Raises:
            ExternalError: a check or AWS refuses the change.
        """
        state: State = seen.state
        before = state.seen
        serving = _serves(seen.conditions)
        try:
            state, unchecked = self._check_change(mr, state, serving=serving)
        except (ExternalError, NotYet) as refusal:
            raise self._but_the_rest(mr, state, refusal) from None
        state = self._owned(mr, state, afresh=state.proven_afresh)
        self._before_writing(mr, state)
        effects = self._converge(mr, state)
        # With the answer: someone may delete the tenant in the console before the next reconcile.
        self._keeper.made(mr, effects.there)
        if effects.error:
            raise self._update_failed(mr, state, effects, effects.error, serving=serving) from effects.error
        after = self._after(mr, state, effects)
        self._memory.attempts.note(mr.uid, attempt(after))
        drift = "repaired drift: " if state.drift and not state.pending else ""
        if drift:
            self._memory.contentions.note(mr.uid)
        # `serving` is from this observation, not from the stored status: a disabled one does not serve yet.
        shown = self._shown(mr, after, served=serving, written=True)
        if effects.there.etag != before.etag:
            self._answered(effects.there)
        seconds = self._followed(mr, effects.there, self._look_at_change(mr, before))
        change = _change(shown, f"{drift}{effects.message}{unchecked}", seconds)
        return replace(change, drifted=guards.contended(mr, self._account) if drift else "")

    def _check_change(self, mr: Managed, state: State, *, serving: bool) -> tuple[State, str]:
        """The state with the findings of the checks, and the checks that were skipped, for the event. Raises
        ExternalError or NotYet if a check refuses the change."""
        return state, ""

    def _owned(self, mr: Managed, state: State, *, afresh: bool) -> State:
        if not self._memory.proofs.held(mr.uid, state.seen.id):
            self._keeper.before_taking(mr, state.seen)
        taking = partial(self._check_taking, mr, state.seen)
        seen = owner_look.before_writing(mr, state.seen, self._deps, afresh=afresh, taking=taking)
        return state if seen is state.seen else self._assess_again(mr, state, seen)

    def _check_taking(self, mr: Managed, seen: Seen) -> None:
        """Called before adopting what has no owner. Raises ExternalError or NotYet if that is not allowed."""
        kept_names.check_taking(mr, seen, self._account, self._cluster)

    def _before_writing(self, mr: Managed, state: State) -> None:
        """Called before changing what is ours. Raises ExternalError or NotYet if that is not allowed."""
        self._keeper.before_loss(mr, state.seen, state.lost)

    def _converge(self, mr: Managed, state: State) -> Effects[Seen]:
        for tries_left in reversed(range(_CONFLICT_TRIES)):
            effects: Effects[Seen] = run(self._plan(state), state.seen, self._cloudfront)
            if not effects.error:
                return effects
            self._wrote(mr, state, effects)
            if not effects.error.conflict or not tries_left:
                return effects
            if self._is_listed:
                # The list was old. The checks of the change were about the state before, so they begin again.
                words = f"{noun(mr)} {state.seen.name} changed in AWS since the last list; reading it again"
                raise NotYet(words, after=_AGAIN, quiet=True)
            state = self._look_again(mr, state)
        raise AssertionError("unreachable: the last try returns")

    @abstractmethod
    def _plan(self, state: State) -> tuple[Action, ...]:
        """The actions that lead to the desired state."""

    def _wrote(self, mr: Managed, state: State, effects: Effects[Seen]) -> None:
        """Remember the effects of a plan that failed, or that wrote only a part."""

    def _look_again(self, mr: Managed, before: State) -> State:
        """Get it again after a conflict: someone else changed it at the same moment."""
        self._memory.contentions.note(mr.uid)
        try:
            seen = self._get(before.seen.id)
        except AwsError as error:
            raise self._explained(mr, error, f"get {noun(mr)} {before.seen.name}") from error
        return self._assess_again(mr, before, replace(seen, tags=before.seen.tags))

    def _after(self, mr: Managed, before: State, effects: Effects[Seen]) -> State:
        """Its state right after an update."""
        return self._assess_again(mr, before, effects.there)

    def _update_failed(
        self, mr: Managed, state: State, effects: Effects[Seen], error: AwsError, *, serving: bool
    ) -> ExternalError | NotYet:
        what, way_out = f"update {noun(mr)} {state.seen.name}", advice.correcting(mr, error)
        refusal = self._change_refused(mr, state, effects, error, serving=serving)
        refusal = refusal or to_external_error(error, what, serving=serving, advice=way_out)
        if not error.about_request:
            return refusal
        return self._but_the_rest(mr, replace(state, seen=effects.there), refusal)

    def _change_refused(
        self, mr: Managed, state: State, effects: Effects[Seen], error: AwsError, *, serving: bool
    ) -> ExternalError | NotYet | None:
        """Why AWS refused a change, if the kind knows more than the error says."""

    # Update without the refused part.

    def _but_the_rest(
        self, mr: Managed, state: State, refusal: ExternalError | NotYet
    ) -> ExternalError | NotYet:
        """Write the other parts of a refused change, and return the refusal to report."""
        if not (state.marked or self._memory.proofs.held(mr.uid, state.seen.id)):
            # Do not adopt anything for a refused spec.
            return refusal
        try:
            state = self._owned(mr, state, afresh=False)
        except (ExternalError, NotYet):
            return refusal
        failed: AwsError | None = None
        for part in self._parts(mr, state):
            try:
                effects = self._written(mr, part)
            except (ExternalError, NotYet):
                # A check refuses this part too: try a smaller one.
                continue
            if effects and effects.error:
                failed = effects.error
            elif effects:
                return _refused_after(effects, refusal, self._look_at_change(mr, state.seen))
        if failed:
            return _refused_with(mr, failed, state.seen, refusal)
        return self._in_time(mr, state.todo.target, state.seen, refusal)

    def _in_time(
        self, mr: Managed, asked: Wanted, seen: Seen | None, refusal: ExternalError | NotYet
    ) -> ExternalError | NotYet:
        """The refusal, with a faster retry if visitors wait for the change."""
        if isinstance(refusal, ExternalError) and self._ends_soon(mr, asked, seen):
            return refusal.but(retry=Retry.backoff())
        return refusal

    def _ends_soon(self, mr: Managed, asked: Wanted, seen: Seen | None) -> bool:
        """The cause of the refusal, or part of it, will end within a minute or two."""
        return False

    def _parts(self, mr: Managed, state: State) -> Iterable[State]:
        """Parts of the change, the largest first, that AWS may accept while it refuses the whole."""
        return ()

    def _written(self, mr: Managed, part: State) -> Effects[Seen] | None:
        """Write a part of a change; None if AWS accepted it before without effect. `Effects.error` is set if
        AWS refuses it.

        Raises:
            ExternalError, NotYet: a check refuses it, or its domains cannot be recorded.
        """
        if self._memory.parts.last(mr.uid) == (part.todo.all, part.seen.etag):
            return None
        self._check_change(mr, part, serving=conditions.was_ready(mr))
        self._before_writing(mr, part)
        effects: Effects[Seen] = run(self._plan(part), part.seen, self._cloudfront)
        if effects.error:
            return effects
        self._wrote(mr, part, effects)
        self._memory.parts.note(mr.uid, (part.todo.all, effects.there.etag))
        return effects

    # Delete.

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """Disable it and delete it at once. If CloudFront refuses that until the roll-out, poll again.

        Raises:
            NotYet: the deletion waits for CloudFront, for a resource that uses this one, or for confirmation.
            ExternalError: AWS refuses the deletion.
        """
        guards.check_frozen(mr, self._policy.frozen)
        looked: Looked[Seen] = seen.state
        # First: the spec of what a backup brought back asks for nothing that anyone wants now.
        guards.check_restored(mr)
        try:
            guards.check_protection(mr)
        except NotYet as held:
            raise self._held_deletion(mr, looked, held) from None
        there = looked.seen
        self._check_unused(mr, looked)
        refusals = self._memory.refused_deletions
        refused, early = refusals.has(mr.uid, there.id, there.etag), not refusals.come_early(mr.kind)
        said = self._memory.accepted.of(mr.kind)
        actions = self._kind.remove(there, refused=refused, early=early, said=said)
        waits = next((each for each in actions if isinstance(each, Wait)), None)
        read_at = self._memory.clock.now()
        if not waits and not owner_look.before_deletion(mr, looked, self._account, self._cluster):
            return self._gone(mr, there, _GONE_ALREADY)
        self._keeper.before_loss(mr, there, there.domains)
        self._before_deletion(mr, there)
        if waits:
            raise self._waiting(mr, there, there, waits.reason)
        if there.enabled:
            # Note this before sending it: the answer may be lost.
            self._memory.disablings.note(mr.uid, there.id)
        # At a low rate each call waits: someone may hand it over meanwhile.
        is_proven = lambda: self._memory.clock.now() <= read_at + _PROVEN_SECONDS  # noqa: E731 - as above
        effects = run(actions, there, self._cloudfront, is_proven)
        self._memory.accepted.note(mr.kind, effects.said)
        if effects.error:
            return self._deletion_failed(mr, there, effects, effects.error)
        if effects.seen is not None:
            raise self._disabled(mr, there, effects)
        self._memory.deleted(mr.uid, there.id)
        self._turns.released(mr)
        self._keeper.deleted(mr, there)
        change = self._gone(mr, there, effects.message)
        return replace(
            change, requeue_after=self._followed(mr, there, change.requeue_after or 0.0, gone=True)
        )

    def _held_deletion(self, mr: Managed, looked: Looked[Seen], held: NotYet) -> NotYet:
        """The error while its deletion waits for a confirmation. May raise NotYet or ExternalError."""
        return held

    def _check_unused(self, mr: Managed, looked: Looked[Seen]) -> None:
        """Called before its deletion. Raises NotYet if something uses it."""

    def _before_deletion(self, mr: Managed, seen: Seen) -> None:
        """Called before what is ours is disabled or deleted. Raises NotYet or ExternalError if something has
        to happen first."""

    def _deleted_without(self, mr: Managed) -> None:
        """Called before a resource goes for which AWS has nothing. Raises NotYet or ExternalError if
        something has to happen first."""

    def _deletion_failed(self, mr: Managed, seen: Seen, effects: Effects[Seen], error: AwsError) -> Change:
        if error.absent:
            return self._gone(mr, seen, _GONE_ALREADY)
        there, story = effects.there, effects.message
        # A clear refusal of the disabling changed nothing; after a lost answer, it may have been disabled.
        refused = there.enabled and error.made_nothing
        begun = self._begun(mr) if seen.enabled and not refused else {}
        self._check_refused_deletion(mr, there, error)
        if error.code != "ResourceNotDisabled" and not error.conflict:
            what, still = f"delete {noun(mr)} {there.name}", conditions.removing(noun(mr), there)
            failed = to_external_error(error, what, serving=False, meanwhile=still)
            raise failed.but(status={**failed.status, **begun}) from error
        self._memory.refused_deletions.note(mr.uid, there.id, there.etag)
        if error.code == "ResourceNotDisabled" and not (there.enabled or there.deployed):
            self._memory.refused_deletions.note_early(mr.kind)
        if story:
            raise self._disabled(mr, seen, effects) from error
        raise self._waiting(mr, seen, there, self._awaiting(mr, there)).but(status=begun) from error

    def _disabled(self, mr: Managed, seen: Seen, effects: Effects[Seen]) -> NotYet:
        """The error after it was disabled for its deletion. It is no Change: no event may say that it is
        deleted."""
        self._answered(effects.there)
        words = f"{effects.message}; waiting for CloudFront before deleting it"
        return self._waiting(mr, seen, effects.there, words).but(status=self._begun(mr))

    def _gone(self, mr: Managed, seen: Seen, message: str) -> Change:
        """The change after AWS deleted it, or said that it does not exist. `seen`: as observed before."""
        seconds = self._memory.deletions.pause(mr.uid, _shown(seen), _DELETED_SECONDS)
        return Change(conditions=conditions.gone(noun(mr)), requeue_after=seconds, message=message)

    def _waiting(self, mr: Managed, seen: Seen, there: Seen, words: str) -> NotYet:
        """The error while its deletion waits. `seen`: as observed before; `there`: as it is now."""
        steady = _LAG_SECONDS if seen.deployed else ROLL_OUT_SECONDS
        seconds = self._memory.deletions.pause(mr.uid, _shown(seen), LOOK_AGAIN, steady=steady)
        after = self._followed(mr, there, seconds)
        return NotYet(words, after=after, conditions=conditions.removing(noun(mr), there))

    def _begun(self, mr: Managed) -> Mapping[str, Any]:
        """The status of what the provider has just disabled in order to delete it."""
        return {}

    def _check_refused_deletion(self, mr: Managed, seen: Seen, error: AwsError) -> None:
        """Called when AWS refused to disable or delete it. Raises if the kind knows why."""

    def _awaiting(self, mr: Managed, seen: Seen) -> str:
        """The message while its deletion waits for CloudFront."""
        return f"waiting for CloudFront before deleting {noun(mr)} {seen.name}"

    def _explained(self, mr: Managed, error: AwsError, what: str) -> ExternalError | NotYet:
        """Explain a failure that says nothing about the external resource: Ready stays True if it was."""
        return to_external_error(error, what, serving=conditions.was_ready(mr))


def _named(mr: Managed, seen: Observed) -> dict[str, str]:
    """The log key and value for its name."""
    return {noun(mr).replace(" ", "_"): seen.name}


def _shown(seen: Observed) -> tuple[Hashable, ...]:
    """What a Get shows of its progress."""
    return (seen.id, seen.etag, seen.enabled, seen.status)


def _serves(said: tuple[Condition, ...]) -> bool:
    return any(c.type == ConditionType.READY and c.status is ConditionStatus.TRUE for c in said)


def _refused_after(
    effects: Effects[Any], refusal: ExternalError | NotYet, seconds: float
) -> ExternalError | NotYet:
    """The refusal after a part was written. The next reconcile comes soon and reports the rest."""
    if isinstance(refusal, NotYet):
        words = f"{effects.message}. The rest of the change waits: {refusal.message}"
        return NotYet(words, after=min(refusal.after, seconds), conditions=refusal.conditions)
    words = f"{effects.message}. The rest of the change was refused: {refusal.message}"
    return ExternalError(words, conditions=refusal.conditions, retry=Retry.after(seconds))


def _refused_with(
    mr: Managed, failed: AwsError, seen: Observed, refusal: ExternalError | NotYet
) -> ExternalError | NotYet:
    """The refusal of a change whose other parts failed too, for another reason."""
    rest = to_external_error(failed, f"update {noun(mr)} {seen.name} with the other fields", serving=True)
    words = f"{_stable(refusal)}. The rest of the change also fails: {_stable(rest)}"
    ready = tuple(each.model_copy(update={"message": words}) for each in refusal.conditions)
    if isinstance(refusal, NotYet):
        return NotYet(words, after=refusal.after, conditions=ready)
    return ExternalError(words, conditions=ready, retry=Retry.backoff(), request_id=failed.request_id)


def _stable(error: ExternalError | NotYet) -> str:
    """The message without the request id, which differs each time."""
    return error.message.partition(" (request id: ")[0]


def _change(shown: Shown, message: str, seconds: float) -> Change:
    return Change(
        conditions=shown.conditions,
        at_provider=shown.at_provider,
        status=shown.status,
        connection_details=shown.connection_details,
        requeue_after=seconds,
        message=message,
    )

"""The external client of ConnectionGroup: as that of tenants (tenant.py), for a smaller thing.

    deletion   wait for its tenants (group/use.py) ──▶ disable ──▶ delete; the default group is let go instead

A group that has tenants is not even disabled: they would be served no more.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import structlog

from apis.errors import InvalidInput
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.managed import Managed
from provider.cloudfront.account import group_look
from provider.cloudfront.adoption import owner_look
from provider.cloudfront.adoption.owner_look import Looked
from provider.cloudfront.aws.errors import AwsError, before_creation, explain
from provider.cloudfront.group import plan as group_plan
from provider.cloudfront.group import report as group_report
from provider.cloudfront.group import use as group_use
from provider.cloudfront.group.actions import CreateGroup
from provider.cloudfront.group.plan import GroupState
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN, ActionFailed, Effects, Wait, run
from provider.cloudfront.lifecycle.assessment import attempt, is_ineffective
from provider.cloudfront.lifecycle.report import Shown, offered
from provider.cloudfront.ownership import judgement
from provider.cloudfront.safety import advice, guards, kept_names
from provider.cloudfront.safety.context import Context
from provider.cloudfront.safety.kept_domains import Keeper
from provider.cloudfront.state import group as group_state
from provider.cloudfront.state.group import Group, ObservedGroup
from provider.cloudfront.tenant import conditions

__all__ = ["GroupClient"]

_log = structlog.get_logger("provider.cloudfront.connectiongroup")

_CONFLICT_TRIES = 2
_IN_USE = frozenset({"CannotDeleteEntityWhileInUse", "ResourceInUse"})
_ITS_TENANTS = "for its tenants to be deleted or moved"


_Effects = Effects[ObservedGroup]
_Failed = ActionFailed[ObservedGroup]


class GroupClient:
    """Implements edgetenants_runtime.external.ExternalClient."""

    def __init__(self, context: Context) -> None:
        self._with = context
        self._cloudfront = context.cloudfront
        self._memory = context.memory
        self._keeper = Keeper(
            context.kept, context.cloudfront, context.memory, context.installation, context.account
        )

    # Observe.

    def observe(self, mr: Managed) -> Observation:
        """Get the group that the external name leads to, and see whether it is ours and as asked.

        Raises:
            ExternalError: it is not ours, or AWS refused the call, or the spec cannot be read.
        """
        guards.check_identity(mr, self._with)
        seen = self._get(mr)
        if seen is None:
            return self._absent(mr)
        # The default group is the account's, and CloudFront lets nobody delete it.
        owned = None if mr.deleted and seen.is_default else owner_look.look(mr, seen, self._with)
        if owned is None:
            return self._absent(mr)
        self._memory.note_seen(mr.uid, owned.seen.id)
        if mr.deleted:
            return Observation(exists=True, conditions=group_report.removing(owned.seen), state=owned)
        self._keeper.saw_group(mr, owned.seen)
        return self._observation(mr, self._assess(mr, owned))

    def _get(self, mr: Managed) -> ObservedGroup | None:
        if guards.leads_nowhere(mr):
            return None
        name = str(mr.external_name)
        try:
            seen = self._cloudfront.get_group(name)
        except AwsError as error:
            if not error.absent:
                raise self._explained(mr, error, f"get connection group {name}") from error
            # Whatever is made of that: the time of its records begins.
            self._keeper.gone(mr)
            guards.check_import(mr)
            guards.check_gone(mr, self._with)
            return None
        self._memory.note_group(seen.id, group_look.of(seen))
        return owner_look.with_known_tags(mr, seen)

    def _absent(self, mr: Managed) -> Observation:
        self._memory.forget(mr.uid)
        self._keeper.gone(mr)
        guards.check_vanished(mr, self._with)
        return Observation(exists=False, conditions=() if mr.deleted else group_report.absent())

    def _assess(self, mr: Managed, looked: Looked[ObservedGroup]) -> GroupState:
        seen = looked.seen
        asked = self._asked(mr, seen.name)
        if seen.is_default:
            guards.check_default_group(mr, disables=seen.enabled and asked.enabled is False)
        due = self._memory.deep_check_due(mr.uid)
        state = group_plan.assess(mr, asked, seen, self._with.drift_policy)
        wanted = due or seen.tags is None or bool(state.todo.tags)
        if looked.fresh or not (wanted and judgement.writes(mr)):
            return state
        try:
            tagged = replace(seen, tags=self._cloudfront.tags(seen.arn))
        except AwsError as error:
            # As for tenants: what the spec asks for is written by what is known of them.
            _log.warning("cannot read tags", connection_group=seen.name, error=str(error))
            return state
        owned = owner_look.verified(mr, tagged, self._with)
        return group_plan.assess(mr, asked, owned, self._with.drift_policy)

    def _asked(self, mr: Managed, name: str) -> Group:
        try:
            return group_state.held(mr, installation=self._with.installation, name=name)
        except InvalidInput as error:
            raise guards.invalid(str(error)) from error

    def _observation(self, mr: Managed, state: GroupState) -> Observation:
        ineffective = is_ineffective(state, self._memory.attempt(mr.uid))
        frozen = self._with.frozen
        served = conditions.was_ready(mr)
        shown = group_report.show(state, served=served, ineffective=ineffective, frozen=frozen)
        if not state.differs:
            shown = self._with_contention(mr, shown)
        if not group_use.disables(state):
            # Whoever once asked for that and took it back has the first look still before them.
            self._memory.unused(mr.uid, state.seen.id, used=True)
        return Observation(
            exists=True,
            up_to_date=not state.differs or ineffective or bool(frozen),
            diff=state.todo.all,
            drifted=conditions.drifted(mr, shown.conditions),
            conditions=shown.conditions,
            at_provider=shown.at_provider,
            status=shown.status,
            late_initialized=offered(mr, state, group_report.late(state)),
            connection_details=shown.connection_details,
            poll_after=None if state.seen.deployed else LOOK_AGAIN,
            state=state,
        )

    # Create and update.

    def create(self, mr: Managed, seen: Observation) -> Change:  # noqa: ARG002 - there is nothing to see yet
        """Create the group, with its owner among its tags.

        Raises:
            NotYet: it was made meanwhile.
            ExternalError: its name is kept for another namespace, or AWS refuses it.
        """
        guards.check_frozen(mr, self._with.frozen)
        name = str(mr.external_name)
        with before_creation():
            asked = self._asked_first(mr, name)
            kept_names.check_creation(mr, self._with)
        try:
            effects: _Effects = run((CreateGroup(asked),), None, self._cloudfront)
        except ActionFailed as failure:
            error = failure.cause
            if error.code == "EntityAlreadyExists":
                words = f"connection group {name} exists already; looking whose it is"
                raise NotYet(words, after=self._memory.unseen(mr.uid), made_nothing=False) from error
            what = f"create connection group {name}"
            way_out = advice.correcting(mr, error)
            raise explain(error, what, serving=False, creating=True, advice=way_out) from error
        owner_look.made(mr, effects.there, self._with)
        self._keeper.made(mr, effects.there)
        state = group_plan.assess(mr, self._asked(mr, name), effects.there, self._with.drift_policy)
        shown = group_report.show(state, served=False, written=True)
        return _change(shown, f"{effects.message} ({state.seen.id})")

    def _asked_first(self, mr: Managed, name: str) -> Group:
        try:
            return group_state.at_creation(mr, installation=self._with.installation, name=name)
        except InvalidInput as error:
            raise guards.invalid(str(error)) from error

    def update(self, mr: Managed, seen: Observation) -> Change:
        """Write what differs. A group that moved meanwhile is looked at again, once.

        Raises:
            ExternalError: the group cannot be so, or AWS refuses.
        """
        state: GroupState = seen.state
        ready = [c for c in seen.conditions if c.type == ConditionType.READY]
        serving = any(c.status is ConditionStatus.TRUE for c in ready)
        state = self._owned(mr, state)
        group_use.check_change(mr, state, self._with)
        try:
            effects = self._converge(mr, state)
        except (ActionFailed, AwsError) as failure:
            error = failure.cause if isinstance(failure, ActionFailed) else failure
            what = f"update connection group {state.seen.name}"
            raise explain(error, what, serving=serving, advice=advice.correcting(mr, error)) from error
        after = group_plan.assess(mr, state.asked, effects.there, self._with.drift_policy)
        self._memory.note_attempt(mr.uid, attempt(after))
        drift = "repaired drift: " if state.drift and not state.pending else ""
        if drift:
            self._memory.note_contention(mr.uid)
        shown = self._with_contention(mr, group_report.show(after, served=serving, written=True))
        change = _change(shown, f"{drift}{effects.message}")
        return replace(change, drifted=guards.contended(mr, self._with) if drift else "")

    def _with_contention(self, mr: Managed, shown: Shown) -> Shown:
        return replace(shown, conditions=guards.with_contention(mr, shown.conditions, self._with))

    def _owned(self, mr: Managed, state: GroupState) -> GroupState:
        if not self._memory.proofs.held(mr.uid, state.seen.id):
            self._keeper.before_taking(mr, state.seen)
        taking = partial(self._check_taking, mr, state.seen)
        seen = owner_look.before_writing(mr, state.seen, self._with, taking=taking)
        if seen is state.seen:
            return state
        return group_plan.assess(mr, state.asked, seen, self._with.drift_policy)

    def _check_taking(self, mr: Managed, group: ObservedGroup) -> None:
        kept_names.check_taking(mr, group, self._with)
        group_use.check_taking(mr, group, self._with)

    def _converge(self, mr: Managed, state: GroupState) -> _Effects:
        for tries_left in reversed(range(_CONFLICT_TRIES)):
            try:
                return run(group_plan.converge(state.todo, state.seen), state.seen, self._cloudfront)
            except ActionFailed as failure:
                if not failure.cause.conflict or not tries_left:
                    raise
                self._memory.note_contention(mr.uid)
                seen = replace(self._cloudfront.get_group(state.seen.id), tags=state.seen.tags)
                state = group_plan.assess(mr, state.asked, seen, self._with.drift_policy)
        raise AssertionError("unreachable: the last try returns or raises")

    # Delete.

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """Once it has no tenants, disable the group and delete it at once; where CloudFront refuses that
        until the group is rolled out, look again.

        Raises:
            NotYet: it waits for its tenants, for CloudFront, or for somebody to confirm.
            ExternalError: AWS refuses.
        """
        guards.check_frozen(mr, self._with.frozen)
        guards.check_protection(mr)
        looked: Looked[ObservedGroup] = seen.state
        group = looked.seen
        self._wait_for_tenants(mr, looked)
        refused = self._memory.refused(mr.uid, group.id, group.etag)
        actions = group_plan.remove(group, refused=refused, said=self._memory.said(mr.kind))
        if isinstance(actions[0], Wait):
            raise NotYet(actions[0].reason, after=actions[0].seconds, conditions=group_report.removing(group))
        if not owner_look.before_deletion(mr, looked, self._with):
            return _gone_already()
        if group.enabled:
            # Before it is sent: the answer may be lost.
            self._memory.note_disabled(mr.uid, group.id)
        try:
            effects = run(actions, group, self._cloudfront)
        except ActionFailed as failure:
            self._memory.note_said(mr.kind, failure.effects.said)
            return self._deletion_failed(mr, failure)
        self._memory.note_said(mr.kind, effects.said)
        self._memory.forget(mr.uid)
        self._memory.vanished.removed(group.id)
        self._keeper.deleted(mr, group)
        return Change(conditions=group_report.gone(), requeue_after=1.0, message=effects.message)

    def _wait_for_tenants(self, mr: Managed, looked: Looked[ObservedGroup]) -> None:
        group = looked.seen
        found = group_use.users(mr, group, self._with)
        group_use.check_known(mr, group, self._with, used=bool(found))
        if found:
            if self._disabled_here(mr, group):
                owner_look.before_deletion(mr, looked, self._with)
            self._enable_again(mr, group)
            raise group_use.waiting(group, f"{_ITS_TENANTS}: {found}", self._memory.used(mr.uid))

    def _enable_again(self, mr: Managed, group: ObservedGroup) -> None:
        """A tenant has turned up in a group that was disabled here: it is served again at once."""
        if not self._disabled_here(mr, group):
            return
        _log.warning("enabling again, as it has tenants", connection_group=group.name)
        try:
            run(group_plan.enable_again(group, self._memory.said(mr.kind)), group, self._cloudfront)
        except ActionFailed as failure:
            what, still = f"enable connection group {group.name} again", group_report.removing(group)
            raise explain(failure.cause, what, serving=False, meanwhile=still) from failure

    def _disabled_here(self, mr: Managed, group: ObservedGroup) -> bool:
        """It was enabled until its deletion began, by what this process did or the one before wrote down."""
        there = mr.at_provider.get("id") == group.id and mr.at_provider.get("enabled") is True
        return not group.enabled and (there or self._memory.disabled(mr.uid, group.id))

    def _deletion_failed(self, mr: Managed, failure: _Failed) -> Change:
        error, effects = failure.cause, failure.effects
        if error.absent:
            return _gone_already()
        group = effects.there
        if error.code in _IN_USE:
            self._memory.unused(mr.uid, group.id, used=True)
            self._enable_again(mr, group)
            raise group_use.waiting(group, _ITS_TENANTS, self._memory.used(mr.uid)) from error
        if error.code != "ResourceNotDisabled" and not error.conflict:
            what, still = f"delete connection group {group.name}", group_report.removing(group)
            raise explain(error, what, serving=False, meanwhile=still) from error
        self._memory.note_refusal(mr.uid, group.id, group.etag)
        if not effects.story:
            raise group_use.waiting(group, "for CloudFront before deleting it") from error
        # No Change, as of tenants.
        message = f"{effects.message}, waiting for CloudFront before deleting it"
        raise NotYet(message, after=LOOK_AGAIN, conditions=group_report.removing(group)) from error

    def _explained(self, mr: Managed, error: AwsError, what: str) -> ExternalError | NotYet:
        return explain(error, what, serving=conditions.was_ready(mr))


def _gone_already() -> Change:
    return Change(conditions=group_report.gone(), requeue_after=1.0, message="it was gone already")


def _change(shown: Shown, message: str) -> Change:
    return Change(
        conditions=shown.conditions,
        at_provider=shown.at_provider,
        status=shown.status,
        connection_details=shown.connection_details,
        requeue_after=LOOK_AGAIN,
        message=message,
    )

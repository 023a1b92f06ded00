"""The external client of DistributionTenant: look, assess, plan, apply, show.

                     ┌─ absent ──────────────▶ create
    observe ─ Get ───┤              ┌─ ours ──▶ as asked, or update, or delete
                     └─ there ─ own ┤
                                    └─ not ours ──▶ AdoptionRefused; nothing is touched

A look at a tenant in its steady state is one GetDistributionTenant. Every method may be cut off after any
call: the next look starts from what is there, and finds a tenant made by an earlier attempt by its owner tag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import structlog

from apis.drift import DriftPolicy
from apis.errors import InvalidInput
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.managed import Managed
from provider.cloudfront import (
    apply,
    assessment,
    conditions,
    desired,
    guards,
    identity,
    lateinit,
    ownership,
    plan,
    preflight,
    report,
)
from provider.cloudfront.apply import ActionFailed, Effects
from provider.cloudfront.assessment import Assessment
from provider.cloudfront.calls import CloudFront
from provider.cloudfront.errors import AwsError, explain
from provider.cloudfront.memory import Memory
from provider.cloudfront.observed import ObservedTenant
from provider.cloudfront.ownership import Ownership
from provider.cloudfront.report import Shown

__all__ = ["Context", "TenantClient"]

_log = structlog.get_logger("provider.cloudfront.tenant")

_CONFLICT_TRIES = 2


@dataclass(frozen=True)
class Context:
    """What one managed resource's client works with."""

    cloudfront: CloudFront
    memory: Memory
    installation: str
    """Of the provider; part of each tenant's owner."""
    account: str | None
    """Of the credentials; None where it may not be asked."""
    config: str = ""
    """The provider config, for messages."""
    frozen: str = ""
    """What forbids every write, in words; empty where nothing does."""
    drift_policy: DriftPolicy = DriftPolicy.ENFORCE
    """Of resources that say none."""
    peers: Callable[[Managed], Iterable[Managed]] = lambda _: ()
    """The other managed resources with the same external name."""


class TenantClient:
    """Implements edgetenants_runtime.external.ExternalClient."""

    def __init__(self, context: Context) -> None:
        self._with = context
        self._cloudfront = context.cloudfront
        self._memory = context.memory

    # Observe.

    def observe(self, mr: Managed) -> Observation:
        """Get the tenant that the external name leads to, and see whether it is ours and as asked.

        Raises:
            ExternalError: it is not ours, or AWS refused the call, or the spec cannot be read.
        """
        guards.check_identity(mr, self._with.account, self._with.config)
        seen = self._get(mr)
        if seen is None:
            return self._absent(mr)
        owned = self._owned(mr, seen)
        if owned is None:
            # Being deleted, and never ours: whoever owns it keeps it.
            return self._absent(mr)
        if mr.deleted:
            return Observation(exists=True, conditions=conditions.removing(owned), state=owned)
        return self._observation(mr, self._assess(mr, owned))

    def _get(self, mr: Managed) -> ObservedTenant | None:
        name = str(mr.external_name)
        try:
            seen = self._cloudfront.get_tenant(name)
        except AwsError as error:
            if not error.absent:
                raise self._explained(mr, error, f"get tenant {name}") from error
            guards.check_import(mr)
            return None
        if seen.id == mr.at_provider.get("id"):
            return replace(seen, tags=mr.at_provider.get("tags"))
        return seen

    def _absent(self, mr: Managed) -> Observation:
        self._memory.forget(mr.uid)
        return Observation(exists=False, conditions=() if mr.deleted else conditions.absent())

    def _observation(self, mr: Managed, state: Assessment) -> Observation:
        ineffective = assessment.is_ineffective(state, self._memory.attempt(mr.uid))
        shown = self._shown(mr, state, served=conditions.was_ready(mr), ineffective=ineffective)
        differs = bool(state.todo.all)
        return Observation(
            exists=True,
            up_to_date=not differs or ineffective or bool(self._with.frozen),
            diff=state.todo.all,
            conditions=shown.conditions,
            at_provider=shown.at_provider,
            status=shown.status,
            late_initialized=lateinit.offered(mr, state),
            connection_details=shown.connection_details,
            poll_after=None if state.seen.deployed else plan.LOOK_AGAIN,
            state=state,
        )

    # Whose it is.

    def _owned(self, mr: Managed, seen: ObservedTenant) -> ObservedTenant | None:
        """The tenant with its tags, when it is ours or is only looked at; None when it is not ours and is let
        go.

        Raises:
            ExternalError: it is not ours (AdoptionRefused), or its tags cannot be read.
        """
        if not ownership.writes(mr) or ownership.recorded(mr, seen):
            return seen
        tags = self._read_tags(mr, seen)
        owner = identity.owner_of(mr, self._with.installation, seen.name)
        verdict = ownership.judge(mr, seen, tags, owner)
        peers = self._with.peers(mr)
        if mr.deleted:
            ours = verdict is Ownership.OURS and ownership.rival(mr, seen, peers) is None
            return replace(seen, tags=tags) if ours else None
        if verdict in (Ownership.OURS, Ownership.GIVEN):
            guards.check_peers(mr, seen, peers)
            return replace(seen, tags=tags)
        raise guards.adoption_refused(seen, verdict, tags.get(identity.OWNER_TAG))

    def _read_tags(self, mr: Managed, seen: ObservedTenant) -> dict[str, str]:
        try:
            return self._cloudfront.tags(seen.arn)
        except AwsError as error:
            raise self._explained(mr, error, f"read tags of tenant {seen.name}") from error

    # What it should be.

    def _assess(self, mr: Managed, seen: ObservedTenant) -> Assessment:
        asked = self._asked(mr, seen.name)
        state = assessment.assess(mr, asked, seen, self._with.drift_policy)
        if not self._wants_fresh_tags(mr, state):
            return state
        try:
            fresh = replace(seen, tags=self._cloudfront.tags(seen.arn))
        except AwsError as error:
            # Tags matter less than the rest: told in the log, and tried again with the next change.
            _log.warning("cannot read tags", tenant=seen.name, error=str(error))
            return assessment.assess(mr, asked, replace(seen, tags=None), self._with.drift_policy)
        return assessment.assess(mr, asked, fresh, self._with.drift_policy)

    def _wants_fresh_tags(self, mr: Managed, state: Assessment) -> bool:
        """Tags are read when they would be written by what is known of them, and once a day."""
        if not ownership.writes(mr):
            return False
        due = self._memory.deep_check_due(mr.uid)
        # Read in this very look: the ownership asked for them.
        known = ownership.recorded(mr, state.seen)
        return known and (due or state.seen.tags is None or bool(state.todo.tags))

    def _asked(self, mr: Managed, name: str) -> desired.Tenant:
        try:
            return desired.held(mr, installation=self._with.installation, name=name)
        except InvalidInput as error:
            raise guards.invalid(str(error)) from error

    def _shown(
        self,
        mr: Managed,
        state: Assessment,
        *,
        served: bool = False,
        written: bool = False,
        ineffective: bool = False,
    ) -> Shown:
        return report.show(
            state,
            self._endpoint(mr, state.seen),
            served=served,
            written=written,
            ineffective=ineffective,
            frozen=bool(self._with.frozen),
        )

    def _endpoint(self, mr: Managed, seen: ObservedTenant) -> str | None:
        group = seen.connection_group_id
        if group is None:
            return None
        known = mr.at_provider.get("routingEndpoint")
        same = mr.at_provider.get("connectionGroupId") == group
        return self._memory.endpoint(group, self._read_endpoint) or (known if same else None)

    def _read_endpoint(self, group: str) -> str | None:
        try:
            return self._cloudfront.routing_endpoint(group)
        except AwsError as error:
            # The tenant is managed all the same; only the instructions for DNS lack their target.
            _log.warning("cannot read the routing endpoint", connection_group=group, error=str(error))
            return None

    # Create.

    def create(self, mr: Managed, seen: Observation) -> Change:  # noqa: ARG002 - there is nothing to see yet
        """Create the tenant, enabled unless the spec says otherwise, with its owner among its tags.

        Raises:
            NotYet: CloudFront cannot see yet that the domains lead to it, or the tenant was made meanwhile.
            ExternalError: the spec cannot work or AWS refuses it.
        """
        guards.check_frozen(mr, self._with.frozen)
        name = str(mr.external_name)
        asked = self._asked_first(mr, name)
        try:
            effects = apply.run(plan.create(asked), None, self._cloudfront)
        except ActionFailed as failure:
            raise self._creation_failed(asked, failure.cause) from failure
        tenant = _there(effects)
        state = assessment.assess(mr, self._asked(mr, name), tenant, self._with.drift_policy)
        shown = self._shown(mr, state, written=True)
        return _change(shown, plan.LOOK_AGAIN, f"{effects.message} ({tenant.id})")

    def _asked_first(self, mr: Managed, name: str) -> desired.Tenant:
        try:
            asked = desired.at_creation(mr, installation=self._with.installation, name=name)
        except InvalidInput as error:
            raise guards.invalid(str(error)) from error
        problems = preflight.problems(mr, asked)
        if problems:
            raise guards.invalid("; ".join(problems))
        return asked

    def _creation_failed(self, asked: desired.Tenant, error: AwsError) -> Exception:
        if error.code == "EntityAlreadyExists":
            words = f"tenant {asked.name} exists already; looking whose it is"
            return NotYet(words, after=1.0)
        if error.absent:
            return preflight.missing_parent(self._cloudfront, asked, error)
        return explain(error, f"create tenant {asked.name}", serving=False)

    # Update.

    def update(self, mr: Managed, seen: Observation) -> Change:
        """Write what differs. A tenant that moved meanwhile is looked at again, once.

        Raises:
            ExternalError: the tenant cannot be so, or AWS refuses.
        """
        state: Assessment = seen.state
        try:
            effects = self._converge(mr, state)
        except ActionFailed as failure:
            raise self._update_failed(seen, state, failure) from failure
        after = assessment.assess(mr, state.asked, _there(effects), self._with.drift_policy)
        self._memory.note_attempt(mr.uid, assessment.attempt(after))
        # Not by what was last written down: a tenant that was found disabled does not serve yet.
        shown = self._shown(mr, after, served=_serves(seen.conditions), written=True)
        drift = "repaired drift: " if state.drift and not state.pending else ""
        return _change(shown, plan.LOOK_AGAIN, drift + effects.message)

    def _converge(self, mr: Managed, state: Assessment) -> Effects:
        for tries_left in reversed(range(_CONFLICT_TRIES)):
            try:
                return apply.run(plan.converge(state.todo, state.seen), state.seen, self._cloudfront)
            except ActionFailed as failure:
                if not failure.cause.conflict or not tries_left:
                    raise
                state = self._look_again(mr, state)
        raise AssertionError("unreachable: the last try returns or raises")

    def _look_again(self, mr: Managed, before: Assessment) -> Assessment:
        try:
            seen = self._cloudfront.get_tenant(before.seen.id)
        except AwsError as error:
            raise self._explained(mr, error, f"get tenant {before.seen.name}") from error
        fresh = replace(seen, tags=before.seen.tags)
        return assessment.assess(mr, before.asked, fresh, self._with.drift_policy)

    def _update_failed(self, seen: Observation, state: Assessment, failure: ActionFailed) -> Exception:
        moved = {d.field for d in state.todo.fields} & {"distributionId", "connectionGroupId"}
        if failure.cause.absent and moved:
            return preflight.missing_parent(
                self._cloudfront, state.todo.target, failure.cause, serving=_serves(seen.conditions)
            )
        what = f"update tenant {state.seen.name}"
        return explain(failure.cause, what, serving=_serves(seen.conditions))

    # Delete.

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """Disable the tenant and delete it at once; where CloudFront refuses that until the tenant is rolled
        out, look again.

        Raises:
            NotYet: it waits for CloudFront, or for somebody to confirm.
            ExternalError: AWS refuses.
        """
        guards.check_frozen(mr, self._with.frozen)
        guards.check_protection(mr)
        tenant: ObservedTenant = seen.state
        refused = self._memory.refused(mr.uid, tenant.id, tenant.etag)
        try:
            effects = apply.run(plan.remove(tenant, refused=refused), tenant, self._cloudfront)
        except ActionFailed as failure:
            return self._deletion_failed(mr, failure)
        if effects.wait:
            raise NotYet(effects.wait.reason, after=effects.wait.seconds)
        self._memory.forget(mr.uid)
        return Change(conditions=conditions.gone(), requeue_after=1.0, message=effects.message)

    def _deletion_failed(self, mr: Managed, failure: ActionFailed) -> Change:
        error, effects = failure.cause, failure.effects
        if error.absent:
            return Change(conditions=conditions.gone(), requeue_after=1.0, message="it was gone already")
        tenant = _there(effects)
        if error.code != "ResourceNotDisabled" and not error.conflict:
            what = f"delete tenant {tenant.name}"
            raise self._explained(mr, error, what) from failure
        self._memory.note_refusal(mr.uid, tenant.id, tenant.etag)
        waiting = f"{effects.message or 'tenant ' + tenant.name}, waiting for CloudFront before deleting it"
        if not effects.story:
            raise NotYet(waiting, after=plan.LOOK_AGAIN, conditions=conditions.removing(tenant))
        return Change(conditions=conditions.removing(tenant), requeue_after=plan.LOOK_AGAIN, message=waiting)

    def _explained(self, mr: Managed, error: AwsError, what: str) -> ExternalError | NotYet:
        """For a failure that tells nothing of the tenant: Ready stays True where it was."""
        return explain(error, what, serving=conditions.was_ready(mr))


def _there(effects: Effects) -> ObservedTenant:
    if effects.tenant is None:
        raise AssertionError("the plan left no tenant")
    return effects.tenant


def _serves(said: tuple[Condition, ...]) -> bool:
    return any(c.type == ConditionType.READY and c.status is ConditionStatus.TRUE for c in said)


def _change(shown: Shown, requeue_after: float, message: str) -> Change:
    return Change(
        conditions=shown.conditions,
        at_provider=shown.at_provider,
        status=shown.status,
        connection_details=shown.connection_details,
        requeue_after=requeue_after,
        message=message,
    )

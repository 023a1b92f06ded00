"""The external client of DistributionTenant: look, assess, plan, apply, show.

                     ┌─ absent ──────────────▶ create
    observe ─ Get ───┤              ┌─ ours ──▶ as asked, or update, or delete
                     └─ there ─ own ┤
                                    └─ not ours ──▶ AdoptionRefused; nothing is touched

A look at a tenant in its steady state is one GetDistributionTenant; its certificate, its DNS and its tags are
looked at while it does not serve every domain, and once a day. Every method may be cut off after any
call: the next look starts from what is there, and finds a tenant made by an earlier attempt by its owner tag.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import structlog

from apis.errors import InvalidInput
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.managed import Managed
from provider.cloudfront.account import group_look
from provider.cloudfront.account.group_look import GroupLook
from provider.cloudfront.adoption import owner_look
from provider.cloudfront.adoption.owner_look import Looked
from provider.cloudfront.aws.errors import AwsError, before_creation, explain
from provider.cloudfront.certificate import conditions as certificate_conditions
from provider.cloudfront.certificate import look as certificate_look
from provider.cloudfront.certificate import requests as certificate_requests
from provider.cloudfront.checks import preflight
from provider.cloudfront.checks.refusals import Checks
from provider.cloudfront.domain import dns_instructions
from provider.cloudfront.domain.dns_look import DnsLook, Records
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN, ActionFailed, Effects, Wait, run
from provider.cloudfront.lifecycle.assessment import attempt, is_ineffective
from provider.cloudfront.lifecycle.report import Shown, offered
from provider.cloudfront.ownership import judgement
from provider.cloudfront.safety import advice, guards, kept_names
from provider.cloudfront.safety.context import Context
from provider.cloudfront.safety.kept_domains import Keeper
from provider.cloudfront.state import certificates, desired
from provider.cloudfront.state.certificates import Certificate
from provider.cloudfront.state.look_requested import is_requested
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.tenant import assessment, conditions, parts, plan, report
from provider.cloudfront.tenant.actions import CreateTenant, MoveDomain
from provider.cloudfront.tenant.assessment import Assessment
from provider.cloudfront.tenant.plan import Moves
from provider.cloudfront.tenant.report import Dns

__all__ = ["TenantClient"]

_log = structlog.get_logger("provider.cloudfront.tenant")

_CONFLICT_TRIES = 2
_NO_RECORDS: Final = Records()

_Effects = Effects[ObservedTenant]
_Failed = ActionFailed[ObservedTenant]


class TenantClient:
    """Implements edgetenants_runtime.external.ExternalClient."""

    def __init__(self, context: Context) -> None:
        self._with = context
        self._cloudfront = context.cloudfront
        self._memory = context.memory
        self._dns = DnsLook(context.cloudfront, context.memory)
        self._keeper = Keeper(
            context.kept, context.cloudfront, context.memory, context.installation, context.account
        )
        self._checks = Checks(
            context.cloudfront, context.memory, context.installation, context.everyone, self._keeper
        )

    # Observe.

    def observe(self, mr: Managed) -> Observation:
        """Get the tenant that the external name leads to, and see whether it is ours and as asked.

        Raises:
            ExternalError: it is not ours, or AWS refused the call, or the spec cannot be read.
        """
        guards.check_identity(mr, self._with)
        seen = self._get(mr)
        if seen is None:
            return self._absent(mr)
        owned = owner_look.look(mr, seen, self._with)
        if owned is None:
            return self._absent(mr)
        self._memory.note_seen(mr.uid, owned.seen.id)
        if mr.deleted:
            return Observation(exists=True, conditions=conditions.removing(owned.seen), state=owned)
        self._keeper.saw(mr, owned.seen)
        return self._observation(mr, self._assess(mr, owned))

    def _get(self, mr: Managed) -> ObservedTenant | None:
        if guards.leads_nowhere(mr):
            return None
        name = str(mr.external_name)
        try:
            seen = self._cloudfront.get_tenant(name)
        except AwsError as error:
            if not error.absent:
                raise self._explained(mr, error, f"get tenant {name}") from error
            # Whatever is made of that: the time of its records begins.
            self._keeper.gone(mr)
            guards.check_import(mr)
            guards.check_gone(mr, self._with)
            return None
        return owner_look.with_known_tags(mr, seen)

    def _absent(self, mr: Managed) -> Observation:
        self._memory.forget(mr.uid)
        self._keeper.gone(mr)
        guards.check_vanished(mr, self._with)
        if mr.deleted:
            return Observation(exists=False)
        # Where the domains must lead is said beforehand: CloudFront may refuse to create the tenant until
        # they do.
        asked = self._asked(mr, str(mr.external_name))
        group = self._dns.group(mr, asked.connection_group_id) if asked.domains else group_look.UNKNOWN
        request = asked.certificate_request
        return Observation(
            exists=False,
            conditions=(
                *conditions.absent(),
                *((certificate_conditions.requested(request),) if request else ()),
                conditions.dns(asked, _unseen(group)),
            ),
            status=report.instructions(asked.domains or (), Dns(group.endpoint)),
        )

    def _observation(self, mr: Managed, state: Assessment) -> Observation:
        ineffective = is_ineffective(state, self._memory.attempt(mr.uid))
        shown = self._shown(mr, state, served=conditions.was_ready(mr), ineffective=ineffective)
        return Observation(
            exists=True,
            up_to_date=not state.differs or ineffective or bool(self._with.frozen),
            diff=state.todo.all,
            drifted=". ".join(filter(None, (conditions.drifted(mr, shown.conditions), _led_away(mr, shown)))),
            conditions=shown.conditions,
            at_provider=shown.at_provider,
            status=shown.status,
            late_initialized=offered(mr, state, report.late(state)),
            connection_details=shown.connection_details,
            poll_after=plan.look_after(state.seen, state.certificate),
            state=state,
        )

    # What it should be.

    def _assess(self, mr: Managed, looked: Looked[ObservedTenant]) -> Assessment:
        seen = looked.seen
        asked = self._unless_disabled_here(self._asked(mr, seen.name), seen)
        deep = self._memory.deep_check_due(mr.uid) or is_requested(mr)
        certificate = self._look_at_certificate(mr, asked, seen, deep=deep)
        state = self._compare(mr, asked, seen, certificate)
        if looked.fresh or not self._wants_fresh_tags(mr, state, due=deep):
            return state
        try:
            tagged = replace(seen, tags=self._cloudfront.tags(seen.arn))
        except AwsError as error:
            # Tags matter less than the rest: told in the log. What the spec asks for is written by what is
            # known of them, or a change would be lost unseen, once it is proven whose the tenant is.
            _log.warning("cannot read tags", tenant=seen.name, error=str(error))
            return state
        return self._compare(mr, asked, owner_look.verified(mr, tagged, self._with), certificate)

    def _unless_disabled_here(self, asked: desired.Tenant, seen: ObservedTenant) -> desired.Tenant:
        """Where the spec leaves it open, a tenant is as it is; but not as it is for a deletion that ended, as
        its resource was applied again."""
        if asked.enabled is None and not seen.enabled and self._memory.disabled_by_any(seen.id):
            return replace(asked, enabled=True)
        return asked

    def _compare(
        self, mr: Managed, asked: desired.Tenant, seen: ObservedTenant, certificate: Certificate | None
    ) -> Assessment:
        wanted = asked.certificate_request is not None
        may_request = wanted and certificate_requests.may_request(mr, certificate, self._memory)
        return assessment.assess(
            mr,
            asked,
            seen,
            self._with.drift_policy,
            certificate,
            may_request=may_request,
            not_before=certificate_requests.too_often_until(mr, self._memory) if wanted else None,
        )

    def _look_at_certificate(
        self, mr: Managed, asked: desired.Tenant, seen: ObservedTenant, *, deep: bool
    ) -> Certificate | None:
        try:
            return certificate_look.look(mr, asked, seen, self._cloudfront, self._memory, deep=deep)
        except AwsError as error:
            raise self._explained(mr, error, f"look at the certificate of tenant {seen.name}") from error

    def _wants_fresh_tags(self, mr: Managed, state: Assessment, *, due: bool) -> bool:
        """Tags are read when they would be written by what is known of them, and once a day."""
        if not judgement.writes(mr):
            return False
        return due or state.seen.tags is None or bool(state.todo.tags)

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
        shown = report.show(
            state,
            self._where(mr, state.seen, moving=written or state.differs),
            served=served,
            written=written,
            ineffective=ineffective,
            frozen=self._with.frozen,
        )
        if state.differs and not written:
            return shown
        return replace(shown, conditions=guards.with_contention(mr, shown.conditions, self._with))

    def _where(self, mr: Managed, seen: ObservedTenant, *, moving: bool) -> Dns:
        records = self._dns.records(mr, seen, moving=moving)
        group = self._dns.group(mr, seen.connection_group_id)
        return Dns(group.endpoint, records.state, group, _unseen(group, records))

    # Create.

    def create(self, mr: Managed, seen: Observation) -> Change:  # noqa: ARG002 - there is nothing to see yet
        """Create the tenant, enabled unless the spec says otherwise, with its owner among its tags.

        Raises:
            NotYet: CloudFront cannot see yet that the domains lead to it, or the tenant was made meanwhile.
            ExternalError: the spec cannot work, its name is kept for another namespace, or AWS refuses it.
        """
        guards.check_frozen(mr, self._with.frozen)
        name = str(mr.external_name)
        with before_creation():
            asked = self._asked_first(mr, name)
            kept_names.check_creation(mr, self._with)
            passed = self._checks.creation(mr, asked)
        # Other tenants' domains are moved once there is something to move them to.
        asked = replace(asked, domains=(asked.domains or frozenset()) - passed.moves.sources.keys())
        try:
            effects: _Effects = run((CreateTenant(asked),), None, self._cloudfront)
        except ActionFailed as failure:
            raise self._creation_failed(mr, asked, failure.cause) from failure
        owner_look.made(mr, effects.there, self._with)
        self._keeper.made(mr, effects.there, effects.there.active_domains)
        request = asked.certificate_request
        certificate = certificates.requested(None, request) if request else None
        state = assessment.assess(
            mr, self._asked(mr, name), effects.there, self._with.drift_policy, certificate
        )
        shown = self._shown(mr, state, written=True)
        return _change(shown, LOOK_AGAIN, f"{effects.message} ({state.seen.id}){passed.unchecked}")

    def _asked_first(self, mr: Managed, name: str) -> desired.Tenant:
        try:
            return desired.at_creation(mr, installation=self._with.installation, name=name)
        except InvalidInput as error:
            raise guards.invalid(str(error)) from error

    def _creation_failed(self, mr: Managed, asked: desired.Tenant, error: AwsError) -> Exception:
        if error.code == "EntityAlreadyExists":
            return self._made_meanwhile(mr, asked)
        if error.code == "CNAMEAlreadyExists":
            taken = self._checks.taken(mr, asked, None, error, serving=False)
            if isinstance(taken, ExternalError):
                return taken.but(made_nothing=error.made_nothing)
            return taken or self._made_meanwhile(mr, asked)
        if error.absent:
            return preflight.missing_parent(asked, error).but(made_nothing=error.made_nothing)
        words, way_out = f"create tenant {asked.name}", advice.correcting(mr, error)
        return explain(error, words, serving=False, creating=True, advice=way_out)

    def _made_meanwhile(self, mr: Managed, asked: desired.Tenant) -> NotYet:
        words = f"tenant {asked.name} exists already; looking whose it is"
        return NotYet(words, after=self._memory.unseen(mr.uid), made_nothing=False)

    # Update.

    def update(self, mr: Managed, seen: Observation) -> Change:
        """Write what differs. A tenant that moved meanwhile is looked at again, once. Where a part cannot be
        written, the rest is.

        Raises:
            ExternalError: the tenant cannot be so, or AWS refuses.
        """
        state: Assessment = seen.state
        serving = _serves(seen.conditions)
        try:
            passed = self._checks.change(mr, state, serving=serving)
        except (ExternalError, NotYet) as refusal:
            raise self._but_the_rest(mr, state, refusal) from refusal
        state = self._owned(mr, state, afresh=bool(passed.moves.sources))
        self._keeper.before_loss(mr, state.seen, state.lost)
        try:
            effects = self._converge(mr, state, passed.moves)
        except ActionFailed as failure:
            error = self._update_failed(mr, state, failure, serving=serving)
            if failure.cause.about_request:
                left = replace(state, seen=failure.effects.seen or state.seen)
                error = self._but_the_rest(mr, left, error)
            raise error from failure
        after = self._after(mr, state, effects)
        self._memory.note_attempt(mr.uid, attempt(after))
        drift = "repaired drift: " if state.drift and not state.pending else ""
        if drift:
            self._memory.note_contention(mr.uid)
        # Not by what was last written down: a tenant that was found disabled does not serve yet.
        shown = self._shown(mr, after, served=serving, written=True)
        change = _change(shown, LOOK_AGAIN, f"{drift}{effects.message}{passed.unchecked}")
        return replace(change, drifted=guards.contended(mr, self._with) if drift else "")

    def _owned(self, mr: Managed, state: Assessment, *, afresh: bool) -> Assessment:
        if not self._memory.proofs.held(mr.uid, state.seen.id):
            self._keeper.before_taking(mr, state.seen, state.seen.domains)
        taking = partial(kept_names.check_taking, mr, state.seen, self._with)
        seen = owner_look.before_writing(mr, state.seen, self._with, afresh=afresh, taking=taking)
        return state if seen is state.seen else self._compare(mr, state.asked, seen, state.certificate)

    def _after(self, mr: Managed, before: Assessment, effects: _Effects) -> Assessment:
        certificate, request = before.certificate, before.asked.certificate_request
        if effects.requested and request:
            certificate = certificates.requested(certificate, request)
            self._note_request(mr, certificate.requests)
        not_before = certificate_requests.too_often_until(mr, self._memory) if request else None
        return assessment.assess(
            mr, before.asked, effects.there, self._with.drift_policy, certificate, not_before=not_before
        )

    def _converge(self, mr: Managed, state: Assessment, moves: Moves) -> _Effects:
        for tries_left in reversed(range(_CONFLICT_TRIES)):
            try:
                actions = plan.converge(
                    state.todo, state.seen, state.request, uncertain=state.uncertain, moves=moves
                )
                return run(actions, state.seen, self._cloudfront)
            except ActionFailed as failure:
                if failure.effects.requested:
                    # Whatever fails after it: AWS counts it.
                    self._note_request(mr, 1 + (state.certificate.requests if state.certificate else 0))
                if not failure.cause.conflict or not tries_left:
                    raise
                state = self._look_again(mr, state)
        raise AssertionError("unreachable: the last try returns or raises")

    def _note_request(self, mr: Managed, requests: int) -> None:
        self._memory.note_request(mr.uid, mr.generation, certificates.delay(requests))

    def _look_again(self, mr: Managed, before: Assessment) -> Assessment:
        self._memory.note_contention(mr.uid)
        try:
            seen = self._cloudfront.get_tenant(before.seen.id)
        except AwsError as error:
            raise self._explained(mr, error, f"get tenant {before.seen.name}") from error
        seen = replace(seen, tags=before.seen.tags)
        again = self._compare(mr, before.asked, seen, before.certificate)
        if again.request is None:
            return again
        # The request may have been what moved the tenant, its answer lost: each one sent may open another.
        certificate = self._look_at_certificate(mr, before.asked, seen, deep=False)
        return self._compare(mr, before.asked, seen, certificate)

    def _but_the_rest(
        self, mr: Managed, state: Assessment, refusal: ExternalError | NotYet
    ) -> ExternalError | NotYet:
        """The refusal of a change, once what else there is to it is made."""
        if not (state.marked or self._memory.proofs.held(mr.uid, state.seen.id)):
            # Nothing is taken over for a spec that is refused.
            return refusal
        try:
            state = self._owned(mr, state, afresh=False)
        except (ExternalError, NotYet):
            return refusal
        for part in parts.of(state.todo, state.seen):
            effects = self._made(mr, replace(state, todo=part, request=None))
            if effects is not None:
                return _refused_after(effects, refusal)
        return refusal

    def _made(self, mr: Managed, part: Assessment) -> _Effects | None:
        """A part of a change is written; None where it cannot be, or was taken without effect before."""
        if self._memory.part(mr.uid) == (part.todo.all, part.seen.etag):
            return None
        try:
            self._checks.change(mr, part, serving=conditions.was_ready(mr))
            self._keeper.before_loss(mr, part.seen, part.lost)
            actions = plan.converge(part.todo, part.seen, uncertain=part.uncertain)
            effects = run(actions, part.seen, self._cloudfront)
        except (ExternalError, NotYet, ActionFailed) as error:
            _log.info("a part of a refused change is refused, too", tenant=part.seen.name, error=str(error))
            return None
        self._memory.note_part(mr.uid, (part.todo.all, effects.there.etag))
        return effects

    def _update_failed(
        self, mr: Managed, state: Assessment, failure: _Failed, *, serving: bool
    ) -> ExternalError | NotYet:
        moved = {d.field for d in state.todo.fields} & {"distributionId", "connectionGroupId"}
        if failure.cause.absent and moved:
            return preflight.missing_parent(state.todo.target, failure.cause, serving=serving)
        if isinstance(failure.action, MoveDomain):
            return preflight.not_moved(mr, failure.action, failure.cause, serving=serving)
        if failure.cause.code == "CNAMEAlreadyExists":
            target, seen = state.todo.target, failure.effects.seen or state.seen
            taken = self._checks.taken(mr, target, seen, failure.cause, serving=serving)
            return taken or explain(failure.cause, f"update tenant {target.name}", serving=serving)
        way_out = advice.correcting(mr, failure.cause)
        return explain(failure.cause, f"update tenant {state.seen.name}", serving=serving, advice=way_out)

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
        looked: Looked[ObservedTenant] = seen.state
        tenant = looked.seen
        refused = self._memory.refused(mr.uid, tenant.id, tenant.etag)
        actions = plan.remove(tenant, refused=refused, said=self._memory.said(mr.kind))
        if not isinstance(actions[0], Wait) and not owner_look.before_deletion(mr, looked, self._with):
            return _gone_already()
        self._keeper.before_loss(mr, tenant, tenant.domains)
        if tenant.enabled:
            # Before it is sent: the answer may be lost.
            self._memory.note_disabled(mr.uid, tenant.id)
        try:
            effects = run(actions, tenant, self._cloudfront)
        except ActionFailed as failure:
            self._memory.note_said(mr.kind, failure.effects.said)
            return self._deletion_failed(mr, failure)
        self._memory.note_said(mr.kind, effects.said)
        if effects.wait:
            still = conditions.removing(tenant)
            raise NotYet(effects.wait.reason, after=effects.wait.seconds, conditions=still)
        self._memory.forget(mr.uid)
        self._memory.vanished.removed(tenant.id)
        self._keeper.deleted(mr, tenant)
        return Change(conditions=conditions.gone(), requeue_after=1.0, message=effects.message)

    def _deletion_failed(self, mr: Managed, failure: _Failed) -> Change:
        error, effects = failure.cause, failure.effects
        if error.absent:
            return _gone_already()
        tenant = effects.there
        if error.code != "ResourceNotDisabled" and not error.conflict:
            what, still = f"delete tenant {tenant.name}", conditions.removing(tenant)
            raise explain(error, what, serving=False, meanwhile=still) from failure
        self._memory.note_refusal(mr.uid, tenant.id, tenant.etag)
        # No Change, even where it was disabled just now: nobody shall read that it is deleted.
        waiting = f"{effects.message or 'tenant ' + tenant.name}, waiting for CloudFront before deleting it"
        raise NotYet(waiting, after=LOOK_AGAIN, conditions=conditions.removing(tenant))

    def _explained(self, mr: Managed, error: AwsError, what: str) -> ExternalError | NotYet:
        """For a failure that tells nothing of the tenant: Ready stays True where it was."""
        return explain(error, what, serving=conditions.was_ready(mr))


def _led_away(mr: Managed, shown: Shown) -> str:
    """Somebody changed the DNS of a domain that led here; it is told once."""
    lost = dns_instructions.lost(mr.status, shown.status)
    if not lost:
        return ""
    return (
        f"DNS does not lead {conditions.named(lost)} to CloudFront any more, so no visitor gets there. Make "
        "the records of status.dnsInstructions again"
    )


def _unseen(group: GroupLook, records: Records = _NO_RECORDS) -> str:
    """What may not be looked at of where the domains lead."""
    if group.refused and group.endpoint is None:
        return dns_instructions.nowhere(group.refused)
    return records.unseen


def _refused_after(effects: _Effects, refusal: ExternalError | NotYet) -> ExternalError | NotYet:
    """What is shown of the rest is seen by the next look, which comes soon."""
    if isinstance(refusal, NotYet):
        words = f"{effects.message}. The rest waits: {refusal.message}"
        return NotYet(words, after=min(refusal.after, LOOK_AGAIN), conditions=refusal.conditions)
    words = f"{effects.message}. The rest is refused: {refusal.message}"
    return ExternalError(words, conditions=refusal.conditions, retry=Retry.after(LOOK_AGAIN))


def _gone_already() -> Change:
    return Change(conditions=conditions.gone(), requeue_after=1.0, message="it was gone already")


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

"""The external client of DistributionTenant: the steps that the skeleton (skeleton.py) leaves to the kind.

The provider reads a tenant's certificate, DNS and tags while it does not serve every domain, and once a day.
Before it creates or updates a tenant, it checks for problems, and for domains to move from other tenants.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Final

import structlog

from apis.conditions import CertificateReason, TenantConditionType
from apis.conditions import TenantReadyReason as Reason
from apis.dns import DnsInstruction
from apis.drift import DriftPolicy
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.bounds import named
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import Change, FieldDiff, Observation
from edgetenants_runtime.managed import Managed
from provider.cloudfront.adoption import owner_look
from provider.cloudfront.adoption.owner_look import Looked
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.hooks import checking
from provider.cloudfront.aws.retries import to_external_error
from provider.cloudfront.certificate import conditions as certificate_conditions
from provider.cloudfront.certificate import request_limits
from provider.cloudfront.certificate.look import CertificateLook
from provider.cloudfront.checks import preflight
from provider.cloudfront.checks.refusals import Checks
from provider.cloudfront.clients import held_deletion
from provider.cloudfront.clients.held_deletion import HeldDeletion
from provider.cloudfront.clients.skeleton import Kind, Skeleton
from provider.cloudfront.dns import look as looks
from provider.cloudfront.dns.left import Holder, LeftRecords, first
from provider.cloudfront.dns.successors import Successors
from provider.cloudfront.dns.work import TenantRecords
from provider.cloudfront.domain import dns_instructions
from provider.cloudfront.domain.dns_look import DnsLook, unseen
from provider.cloudfront.domain.tenant_proofs import TenantProofs
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN, Action, Effects
from provider.cloudfront.lifecycle.conditions import was_ready
from provider.cloudfront.lifecycle.report import Shown
from provider.cloudfront.memory import group_look
from provider.cloudfront.ownership import judgement
from provider.cloudfront.safety.dependencies import Dependencies
from provider.cloudfront.state import certificates, desired, leaving, observed
from provider.cloudfront.state.certificates import Certificate, Request
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.identity import namespace_of
from provider.cloudfront.state.look_requested import is_requested
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.sweep.look import FOLLOWED, TenantLook
from provider.cloudfront.tenant import assessment, conditions, parts, plan, report, unset_settings
from provider.cloudfront.tenant.actions import CreateTenant, MoveDomain
from provider.cloudfront.tenant.assessment import Assessment
from provider.cloudfront.tenant.plan import NO_MOVES
from provider.cloudfront.tenant.report import Dns

__all__ = ["TenantClient"]

_KIND: Final = Kind[Tenant, ObservedTenant](
    get=lambda cloudfront: cloudfront.get_tenant,
    from_for_provider=desired.from_for_provider,
    at_creation=desired.at_creation,
    create=CreateTenant,
    remove=plan.remove,
    absent=conditions.absent,
    log=structlog.get_logger("provider.cloudfront.tenant"),
)


_OF_DOMAINS: Final = frozenset(
    {
        Reason.CERTIFICATE_SAN_MISMATCH,
        Reason.DOMAIN_CONFLICT,
        Reason.DOMAIN_VALIDATION_PENDING,
        Reason.INVALID_SPEC,
        Reason.QUOTA_EXCEEDED,
        Reason.VALIDATION_FAILED,
    }
)
"""Reasons of a refused creation that may succeed with fewer domains."""


class TenantClient(Skeleton[Tenant, ObservedTenant, Assessment]):
    """Implements edgetenants_runtime.external.ExternalClient."""

    def __init__(self, deps: Dependencies) -> None:
        super().__init__(deps, _KIND)
        memory = self._memory
        self._dns = DnsLook(
            self._cloudfront, memory.groups, memory.dns_turns, deps.account.config, deps.public
        )
        self._certificates = CertificateLook(
            self._cloudfront,
            memory.log_changes,
            memory.shared,
            memory.today,
            memory.issuances,
            deps.account.config,
        )
        self._checks = Checks(
            self._cloudfront,
            memory,
            deps.account.installation,
            deps.cluster.everyone,
            deps.cluster.hold,
            self._keeper,
            deps.account.id,
        )
        self._hold = HeldDeletion(deps)
        self._tenant = TenantLook(deps.account.swept, memory, deps.policy.poll_seconds)
        self._proofs: TenantProofs | None = None
        """As below."""
        self._records: TenantRecords | None = None
        """Of the resource that this client is for."""
        self._left: LeftRecords | None = None
        """As above."""
        self._others: Successors | None = None
        """As above."""
        self._only_records = False
        """The observed tenant is as desired, and its records are not."""

    # Observe.

    def observe(self, mr: Managed) -> Observation:
        """See Skeleton. No list decides anything: a tenant that differs from the spec is read first."""
        try:
            seen = super().observe(mr)
        finally:
            self._tenant.read_others()
        if not seen.up_to_date and not self._was_read(seen):
            self._tenant.afresh()
            seen = super().observe(mr)
        seen = self._with_records(mr, seen)
        if not isinstance(seen.state, Assessment) or seen.state.differs:
            return seen
        tenant = seen.state.seen
        certificate = _awaited(seen)
        if not tenant.deployed:
            every, longest = seen.poll_after or LOOK_AGAIN, _longest(mr, tenant)
            return replace(seen, watched_for=self._tenant.follow(mr, tenant, every, longest=longest))
        if not (certificate or _is_at_rest(seen)):
            return seen
        group = self._dns.group(mr, tenant.connection_group_id)
        return replace(seen, watched_for=self._tenant.watched_for(mr, tenant, group, certificate))

    def _with_records(self, mr: Managed, seen: Observation) -> Observation:
        """The observation with what is to be written of the tenant's DNS records."""
        if not isinstance(seen.state, Assessment) or mr.deleted or self._policy.frozen:
            return seen
        records, tenant = self._records_of(mr), seen.state.seen
        later = min(filter(None, (records.last.later, self._left_of(mr).again)), default=None)
        due = records.to_write(tenant.domains.keys(), tenant.active_domains) if judgement.updates(mr) else ()
        left = self._left_of(mr).free if judgement.updates(mr) and not records.access.frozen else set()
        self._only_records = bool(due or left) and seen.up_to_date
        if due or left:
            more = (FieldDiff(f"dns.{each}", "none", "records to CloudFront") for each in sorted(left))
            seen = replace(seen, up_to_date=False, diff=(*seen.diff, *records.diff(due), *more))
        if later is not None:
            seen = replace(seen, poll_after=min(later, seen.poll_after or later))
        return seen

    def _left_of(self, mr: Managed) -> LeftRecords:
        if self._left is None:
            self._left = LeftRecords(
                self._records_of(mr),
                partial(self._holder, mr),
                self._memory.clock.now,
                self._memory.left_behind,
            )
        return self._left

    def _proofs_of(self, mr: Managed) -> TenantProofs:
        if self._proofs is None:
            self._proofs = TenantProofs(mr, self._deps.proofs, self._account.installation, self._keeper.held)
        return self._proofs

    def _records_of(self, mr: Managed) -> TenantRecords:
        if self._records is None:
            self._records = TenantRecords(
                mr,
                self._deps.records,
                DriftPolicy(mr.spec.get("driftPolicy") or self._policy.drift_policy),
                succeeds=self._others_of(mr).takes_over,
            )
        return self._records

    def _others_of(self, mr: Managed) -> Successors:
        if self._others is None:
            self._others = Successors(mr, self._cluster.everyone)
        return self._others

    def _holder(self, mr: Managed, domain: str) -> Holder | None:
        """Who has a domain, as AWS says now; None if no tenant of the account has it."""
        try:
            tenant = self._cloudfront.tenant_of_domain(domain)
        except AwsError as error:
            if error.not_permitted:
                return Holder("the provider may not ask AWS whether another tenant")
            raise self._explained(mr, error, f"find who has {domain}") from error
        if tenant is None:
            return None
        there = self._others_of(mr).with_tenant(tenant.id)
        return Holder(f"{there.kind} {there.name}", tenant.id) if there else Holder("another tenant")

    def _was_read(self, seen: Observation) -> bool:
        """Whether an update may follow, which sends the ETag: this process has read what it changes. A new
        certificate may come without a new ETag."""
        found = self._tenant.confirmed
        return found is None or (found.whole and seen.state.asked.certificate_request is None)

    def _answered(self, there: ObservedTenant) -> None:
        self._tenant.wrote(there)

    def _followed(self, mr: Managed, there: ObservedTenant, seconds: float, *, gone: bool = False) -> float:
        if there.deployed and not gone:
            return seconds
        return self._tenant.follow(mr, there, seconds, gone=gone, longest=_longest(mr, there)) or seconds

    def _is_anothers(self, mr: Managed) -> bool:
        return self._tenant.exists(mr)

    @property
    def _is_listed(self) -> bool:
        return self._tenant.confirmed is not None

    def _read(self, mr: Managed) -> ObservedTenant:
        return self._tenant.get(mr, self._get, partial(self._seems_to_differ, mr))

    def _seems_to_differ(self, mr: Managed, seen: ObservedTenant) -> bool:
        """Whether a tenant differs from the spec, as far as is known without calls."""
        try:
            asked = self._held(mr, self._asked(mr, desired.from_for_provider, seen.name), seen)
        except ExternalError:
            return True
        known = certificates.known(mr.at_provider)
        return self._compare(mr, asked, owner_look.with_known_tags(mr, seen), known).differs

    def _absent(self, mr: Managed) -> Observation:
        # Report the DNS records before the creation: CloudFront may refuse to create the tenant until DNS
        # leads the domains to it.
        asked = self._asked(mr, desired.from_for_provider, str(mr.external_name))
        group = self._dns.group(mr, asked.connection_group_id) if asked.domains else group_look.UNKNOWN
        proofs = self._look_for_proofs(mr, asked.domains or frozenset(), deep=True)
        records = self._dns.of_absent(mr, self._wanted(mr, asked.domains or (), group.endpoint))
        where = Dns(
            group.endpoint,
            records.state,
            records.found,
            unseen=unseen(group),
            proofs=proofs,
            leaving=self._left_behind(mr, asked.domains or frozenset()),
        )
        dns = self._seen_by_dns(mr, where, asked.domains or ())
        return Observation(
            exists=False,
            conditions=(
                *conditions.absent(),
                *self._certificate_to_come(asked),
                dns.ready or conditions.dns(asked, dns.unseen),
            ),
            at_provider=observed.without_tenant(mr.at_provider),
            status=report.without_tenant(mr, asked.domains or (), dns),
        )

    def _look_for_proofs(
        self, mr: Managed, domains: frozenset[str], *, deep: bool
    ) -> tuple[DnsInstruction, ...]:
        """The records that prove the domains, where that is required."""
        proofs = self._proofs_of(mr)
        if judgement.writes(mr):
            proofs.look(domains, deep=deep)
        return proofs.instructions(domains)

    def _certificate_to_come(self, asked: Tenant) -> tuple[Condition, ...]:
        if asked.certificate_request is None:
            return ()
        if self._policy.frozen:
            return (conditions.frozen_certificate(self._policy.frozen),)
        return (certificate_conditions.requested(asked, asked.certificate_request),)

    def _drifted(self, mr: Managed, shown: Shown) -> str:
        told = (
            super()._drifted(mr, shown),
            _led_away(mr, shown),
            _proof_lost(mr, shown),
            _not_renewed(mr, shown),
        )
        return ". ".join(filter(None, told))

    def _next_look(self, mr: Managed, state: Assessment, planned: float | None) -> float | None:
        certificate = state.certificate
        if planned is None or not state.seen.deployed or not (certificate and certificate.pending):
            return super()._next_look(mr, state, planned)
        return self._certificates.pause(mr, certificate)

    # Desired state.

    def _held(self, mr: Managed, asked: Tenant, seen: ObservedTenant) -> Tenant:
        """If the spec does not set `enabled`, the tenant keeps its value. An exception is a tenant that the
        provider disabled for a deletion whose resource was then applied again: it is enabled."""
        if asked.enabled is None and not seen.enabled and self._memory.disablings.by_any(seen.id):
            return replace(asked, enabled=True)
        return asked

    def _deep_look_due(self, mr: Managed) -> bool:
        return super()._deep_look_due(mr) or is_requested(mr)

    def _assess(self, mr: Managed, asked: Tenant, seen: ObservedTenant, *, deep: bool) -> Assessment:
        state = self._compare(mr, asked, seen, self._look_at_certificate(mr, asked, seen, deep=deep))
        inherited = self._certificates.inherited(mr, seen, deep=deep)
        if judgement.writes(mr):
            self._proofs_of(mr).look(_own_domains(state), deep=deep)
        return replace(state, inherited=inherited, unproven=self._unproven(mr, state))

    def _unproven(self, mr: Managed, state: Assessment) -> tuple[str, ...]:
        """The domains that the tenant has and keeps, and that are to be proven and are not."""
        has = state.seen.domains.keys()
        return self._proofs_of(mr).lost(has & (state.asked.domains or has))

    def _assess_again(self, mr: Managed, before: Assessment, seen: ObservedTenant) -> Assessment:
        state = self._compare(mr, before.asked, seen, before.certificate)
        return replace(state, moves=before.moves, inherited=before.inherited, unproven=before.unproven)

    def _compare(
        self, mr: Managed, asked: Tenant, seen: ObservedTenant, certificate: Certificate | None = None
    ) -> Assessment:
        wanted = asked.certificate_request is not None
        may_request = wanted and request_limits.may_request(mr, certificate, self._memory.requests)
        return assessment.assess(
            mr,
            asked,
            seen,
            self._policy.drift_policy,
            certificate,
            may_request=may_request,
            not_before=request_limits.too_often_until(mr, self._memory.requests) if wanted else None,
        )

    def _look_at_certificate(
        self, mr: Managed, asked: Tenant, seen: ObservedTenant, *, deep: bool
    ) -> Certificate | None:
        try:
            with checking() if deep else nullcontext():
                known = certificates.known(mr.at_provider)
                changed = self._tenant.is_no_longer_pending(known.arn if known else None)
                return self._certificates.look(mr, asked, seen, deep=deep, changed=changed)
        except AwsError as error:
            raise self._explained(mr, error, f"get the certificate of tenant {seen.name}") from error

    def _show(
        self, mr: Managed, state: Assessment, *, served: bool, written: bool, ineffective: bool
    ) -> Shown:
        return report.show(
            state,
            self._where(mr, state, moving=written or state.differs),
            served=served,
            written=written,
            ineffective=ineffective,
            frozen=self._policy.frozen,
            may_update=judgement.updates(mr),
            unset=unset_settings.names(mr, state.seen),
        )

    def _where(self, mr: Managed, state: Assessment, *, moving: bool) -> Dns:
        seen = state.seen
        group = self._dns.group(mr, seen.connection_group_id)
        domains = state.asked.domains or seen.domains.keys()
        wanted = self._wanted(mr, domains, group.endpoint, seen.domains.keys())
        records = self._dns.records(mr, seen, wanted, moving=moving)
        proofs = self._proofs_of(mr).instructions(domains)
        # As long as it has them, its deletion and each update wait for their records.
        leaving = dns_instructions.stored_of(mr.status, seen.domains.keys() - set(domains))
        where = Dns(
            group.endpoint,
            records.state,
            records.found,
            group,
            " ".join(filter(None, (*self._led_here(mr, seen), unseen(group, records)))),
            proofs=proofs,
            leaving=(*leaving, *self._left_behind(mr, set(domains) | seen.domains.keys())),
        )
        return self._seen_by_dns(mr, where, domains, seen.domains.keys(), fresh=records.fresh)

    def _seen_by_dns(
        self,
        mr: Managed,
        where: Dns,
        domains: Iterable[str],
        has: Collection[str] = (),
        *,
        fresh: bool = False,
    ) -> Dns:
        """Add what the last look at the zones found, if the provider manages the records. `has` are the
        domains of the tenant. `fresh`: CloudFront has just said how it sees them."""
        records = self._records_of(mr)
        if not records.asked:
            return where
        look = records.last
        if fresh and where.endpoint:
            records.heard(where.state, where.endpoint)
            look = records.look(domains, where.endpoint, has)
        told = " ".join(filter(None, (self._left_of(mr).words(), where.unseen)))
        return replace(where, look=look, stored=mr.status, ready=records.condition(told))

    def _wanted(
        self, mr: Managed, domains: Iterable[str], endpoint: str | None, has: Collection[str] = ()
    ) -> tuple[DnsInstruction, ...]:
        """The records of domains. If the provider manages them, the zones say which domains are an apex."""
        if endpoint is None:
            return ()
        records, domains = self._records_of(mr), tuple(domains)
        if not records.asked:
            return dns_instructions.records(domains, endpoint)
        is_apex = looks.apexes(records.look(domains, endpoint, has), mr.status)
        return dns_instructions.records(domains, endpoint, is_apex=is_apex)

    def _led_here(self, mr: Managed, seen: ObservedTenant) -> Iterable[str]:
        """What the condition says of the tenant's domains whose records belong to other resources."""
        return first(self._memory.left_behind.of(namespace_of(mr), seen.id))

    def _left_behind(self, mr: Managed, own: Collection[str]) -> tuple[DnsInstruction, ...]:
        """The records that the resource made of other domains than its own, for the status."""
        left = self._left_of(mr)
        left.look(own)
        return dns_instructions.stored_of(mr.status, left.remembered)

    def _release_left(self, mr: Managed) -> None:
        """Remove the records of domains that no tenant has, whatever is refused of the resource's own ones: a
        refusal may last, and others could take these names meanwhile."""
        if self._policy.frozen:
            return
        try:
            self._left_of(mr).release()
        except ExternalError as error:
            _KIND.log.warning("cannot remove the DNS records of domains without a tenant", error=str(error))

    # Create.

    def create(self, mr: Managed, seen: Observation) -> Change:
        """See Skeleton."""
        self._release_left(mr)
        with _nothing_to_validate(seen, self._proofs_of(mr), self._records_of(mr), self._left_of(mr)):
            return super().create(mr, seen)

    def _check_creation(self, mr: Managed, asked: Tenant) -> tuple[Tenant, str]:
        passed = self._checks.creation(mr, asked, self._proofs_of(mr).check)
        # Domains of other tenants are moved once this tenant exists.
        own = (asked.domains or frozenset()) - passed.moves.sources.keys()
        self._lead(mr, replace(asked, domains=own), asked.certificate_request)
        return replace(asked, domains=own), passed.unchecked

    def _lead(
        self, mr: Managed, new: Tenant, request: Request | None, seen: ObservedTenant | None = None
    ) -> None:
        """Make the DNS records of new domains first, if CloudFront is to answer the validation of their
        certificate: it accepts them only once DNS leads them to it. Raises NotYet while it does not."""
        records = self._records_of(mr)
        if records.asked and new.domains and request and not request.self_hosted:
            endpoint = self._dns.group(mr, new.connection_group_id).endpoint
            records.before_serving(
                new.domains, endpoint, lambda domains: self._checks.check_free(mr, new, domains, seen)
            )

    def _creation_refused(self, mr: Managed, asked: Tenant, error: AwsError) -> ExternalError | NotYet | None:
        if error.code == "CNAMEAlreadyExists":
            taken = self._checks.taken(mr, asked, None, error, serving=False) or self._made_meanwhile(mr)
            return taken.but(made_nothing=error.made_nothing) if isinstance(taken, ExternalError) else taken
        if error.absent:
            return preflight.missing_parent(asked, error).but(made_nothing=error.made_nothing)
        return None

    def _less_to_create(
        self, mr: Managed, asked: Tenant, refusal: ExternalError | NotYet
    ) -> tuple[Tenant, str] | None:
        """Without the refused domains: they must not keep the tenant from serving the domains that it served
        before. Once the tenant exists, an update adds them, and only that is refused."""
        had = self._had(mr, asked) if _tells(refusal, _OF_DOMAINS) else frozenset()
        if not had:
            return None
        less = replace(asked, domains=had, certificate_request=_requesting(asked.certificate_request, had))
        return less, named(sorted((asked.domains or frozenset()) - had))

    def _had(self, mr: Managed, asked: Tenant) -> frozenset[str]:
        """The domains that this resource or its namespace served before and that no one else has now; none if
        that is all of them."""
        wanted = asked.domains or frozenset()
        had = self._keeper.held(mr, wanted) | (wanted & observed.domains_in(mr.at_provider))
        left = had - self._checks.had_by_others(mr, asked, had) if had else had
        return frozenset() if left == wanted else left

    def _ends_soon(self, mr: Managed, asked: Tenant, seen: ObservedTenant | None) -> bool:
        """A tenant of this namespace that has one of the domains is being deleted, for example after a change
        of isolation, and its deletion proceeds. Its status is not proof, but only the retry delay depends on
        it. After a deletion that was on hold, waiting.py wakes the resources that wait for its domains."""
        lacking = (asked.domains or frozenset()) - (seen.domains.keys() if seen else set())
        namespace = namespace_of(mr)
        going = (
            each for each in self._cluster.everyone() if each.deleted and namespace_of(each) == namespace
        )
        with_one = (each for each in going if lacking & observed.domains_in(each.at_provider))
        return any(leaving.deletes(each) and not leaving.held_back(mr, each) for each in with_one)

    def _made(self, mr: Managed, asked: Tenant, seen: ObservedTenant) -> Assessment:
        request = asked.certificate_request
        certificate = certificates.requested(None, request) if request else None
        self._memory.holders.changed(seen.domains)
        held = self._asked(mr, desired.from_for_provider, str(mr.external_name))
        return assessment.assess(mr, held, seen, self._policy.drift_policy, certificate)

    # Delete.

    def _before_deletion(self, mr: Managed, seen: ObservedTenant) -> None:
        self._records_of(mr).release(seen.domains)

    def _deleted_without(self, mr: Managed) -> None:
        # The records came first and the creation failed, or someone deleted the tenant in AWS.
        if not leaving.deletes(mr):
            return
        self._left_of(mr).release_at_end(map(str, mr.for_provider.get("domains") or ()))

    def _held_deletion(self, mr: Managed, looked: Looked[ObservedTenant], held: NotYet) -> NotYet:
        return self._hold.follow(mr, looked, held)

    def _follows(self, mr: Managed, there: ObservedTenant) -> str:
        return held_deletion.FIELD if self._hold.follows(mr, there) else ""

    def _first_record(self, mr: Managed, status: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._hold.first_record(mr, status)

    def _without_comparison(self, mr: Managed, there: ObservedTenant) -> Mapping[str, Any]:
        return self._hold.without_comparison(mr, there)

    def _begun(self, mr: Managed) -> Mapping[str, Any]:
        return self._hold.begun(mr)

    # Update.

    def update(self, mr: Managed, seen: Observation) -> Change:
        """See Skeleton. The DNS records are written once the tenant is as desired."""
        if self._only_records:
            return self._write_records(mr, seen)
        self._release_left(mr)
        with _nothing_to_validate(seen, self._proofs_of(mr), self._records_of(mr), self._left_of(mr)):
            return super().update(mr, seen)

    def _write_records(self, mr: Managed, seen: Observation) -> Change:
        # Only the owner of the tenant, as AWS has it, leads domains to it.
        state = self._owned(mr, seen.state, afresh=False)
        records, tenant = self._records_of(mr), state.seen
        due = records.to_write(tenant.domains.keys(), tenant.active_domains)
        message = records.write(due) if due else ""
        self._left_of(mr).release()
        shown = self._shown(mr, state, served=was_ready(mr))
        return Change(
            conditions=shown.conditions, status=shown.status, requeue_after=LOOK_AGAIN, message=message
        )

    def _check_change(self, mr: Managed, state: Assessment, *, serving: bool) -> tuple[Assessment, str]:
        passed = self._checks.change(mr, state, self._proofs_of(mr).check, serving=serving)
        target = state.todo.target
        added = (target.domains or frozenset()) - state.seen.domains.keys() - passed.moves.sources.keys()
        self._lead(
            mr, replace(target, domains=added), state.request or target.certificate_request, state.seen
        )
        return replace(state, moves=passed.moves), passed.unchecked

    def _check_taking(self, mr: Managed, seen: ObservedTenant) -> None:
        super()._check_taking(mr, seen)
        # Who adopts a tenant gets its domains, which are served meanwhile, as those that are moved.
        self._proofs_of(mr).check(seen.domains.keys(), seen.domains.keys())

    def _before_writing(self, mr: Managed, state: Assessment) -> None:
        super()._before_writing(mr, state)
        self._records_of(mr).release(state.lost)

    def _plan(self, state: Assessment) -> tuple[Action, ...]:
        return plan.converge(
            state.todo, state.seen, state.request, uncertain=state.uncertain, moves=state.moves
        )

    def _parts(self, mr: Managed, state: Assessment) -> Iterable[Assessment]:
        added = (state.todo.target.domains or frozenset()) - state.seen.domains.keys()
        others = self._checks.had_by_others(mr, state.todo.target, added, state.seen) if added else added
        others |= self._proofs_of(mr).unproven(added)
        # First all domains that no one else is known to have, then those that this namespace had before.
        adding = [added - others] if others else []
        adding.append(self._keeper.held(mr, added - others))
        for part in parts.of(state.todo, state.seen, adding):
            domains = part.target.domains or frozenset()
            request = _requesting(state.request, domains) if domains - state.seen.domains.keys() else None
            yield replace(state, todo=part, request=request, moves=NO_MOVES)

    def _wrote(self, mr: Managed, state: Assessment, effects: Effects[ObservedTenant]) -> None:
        self._tenant.moved(state.moves.sources)
        self._memory.holders.changed(set(effects.there.domains) ^ set(state.seen.domains))
        request = state.request or state.asked.certificate_request
        if effects.requested and request:
            # Note it whatever follows: AWS counts the request.
            self._note_request(mr, certificates.requested(state.certificate, request))

    def _note_request(self, mr: Managed, requested: Certificate) -> None:
        self._memory.requests.note(mr.uid, mr.generation, certificates.pause(requested))

    def _look_again(self, mr: Managed, before: Assessment) -> Assessment:
        again = super()._look_again(mr, before)
        if again.request is None:
            return again
        # The lost answer may have been the request's, which changed the tenant: do not request twice.
        certificate = self._look_at_certificate(mr, before.asked, again.seen, deep=False)
        return self._assess_again(mr, replace(before, certificate=certificate), again.seen)

    def _after(self, mr: Managed, before: Assessment, effects: Effects[ObservedTenant]) -> Assessment:
        certificate, request = before.certificate, before.asked.certificate_request
        self._tenant.moved(before.moves.sources)
        self._memory.holders.changed(set(effects.there.domains) ^ set(before.seen.domains))
        if effects.requested and request:
            certificate = certificates.requested(certificate, request)
            self._note_request(mr, certificate)
        not_before = request_limits.too_often_until(mr, self._memory.requests) if request else None
        state = assessment.assess(
            mr, before.asked, effects.there, self._policy.drift_policy, certificate, not_before=not_before
        )
        same = effects.there.distribution_id == before.seen.distribution_id
        inherited = before.inherited if same else None
        return replace(state, inherited=inherited, unproven=self._unproven(mr, state))

    def _change_refused(
        self,
        mr: Managed,
        state: Assessment,
        effects: Effects[ObservedTenant],
        error: AwsError,
        *,
        serving: bool,
    ) -> ExternalError | NotYet | None:
        target = state.todo.target
        moved = {d.field for d in state.todo.fields} & {"distributionId", "connectionGroupId"}
        if error.absent and moved:
            return preflight.missing_parent(target, error, serving=serving)
        if isinstance(effects.failed, MoveDomain):
            return preflight.not_moved(mr, effects.failed, error, serving=serving)
        if error.code == "CNAMEAlreadyExists":
            taken = self._checks.taken(mr, target, effects.there, error, serving=serving)
            return taken or to_external_error(error, f"update tenant {target.name}", serving=serving)
        return None


def _own_domains(state: Assessment) -> frozenset[str]:
    """The domains of the spec, and of the tenant in AWS."""
    return (state.asked.domains or frozenset()) | state.seen.domains.keys()


def _longest(mr: Managed, tenant: ObservedTenant) -> float:
    """Seconds for which the sweeps may follow a roll-out. A certificate may be issued meanwhile, and no list
    of tenants shows that."""
    attached = tenant.customizations.certificate_arn is not None
    waits = mr.for_provider.get("managedCertificateRequest") and not attached and not mr.deleted
    return certificates.LOOK_AT_CERTIFICATE if waits else FOLLOWED


def _awaited(seen: Observation) -> str | None:
    """The ARN of the pending certificate for which the tenant waits; None if there is none."""
    certificate = seen.state.certificate
    return certificate.arn if certificate and certificate.pending else None


def _is_at_rest(seen: Observation) -> bool:
    """Whether there is nothing to wait for."""
    if seen.poll_after is not None:
        return False
    ready = next((each for each in seen.conditions if each.type == ConditionType.READY), None)
    return ready is not None and (ready.status is ConditionStatus.TRUE or ready.reason == Reason.DISABLED)


def _tells(refusal: ExternalError | NotYet, reasons: Container[str]) -> bool:
    return any(each.type == ConditionType.READY and each.reason in reasons for each in refusal.conditions)


@contextmanager
def _nothing_to_validate(
    seen: Observation, proofs: TenantProofs, records: TenantRecords, left: LeftRecords
) -> Iterator[None]:
    """If the block raises a domain conflict, its status has no instructions for domains that the tenant does
    not have: the records would validate nothing while another tenant has the domain."""
    try:
        yield
    except ExternalError as refusal:
        if not _tells(refusal, {Reason.DOMAIN_CONFLICT}):
            raise
        state: Assessment | None = seen.state
        told, has = seen.status.get("dnsInstructions") or (), state.seen.domains if state else {}
        proven = proofs.keys(has)
        # The status remembers which records the provider made, also of domains that moved elsewhere.
        had = records.made | left.remembered
        kept = [
            each
            for each in told
            if dns_instructions.belongs(each, has, proven) or dns_instructions.belongs(each, had, ())
        ]
        later = (conditions.certificate_after_conflict(),) if _is_to_request(seen) else ()
        raise refusal.but(
            conditions=(*refusal.conditions, *later), status={"dnsInstructions": kept or None}
        ) from refusal


def _is_to_request(seen: Observation) -> bool:
    """Whether the spec requests a managed certificate that the provider has not requested yet."""
    state: Assessment | None = seen.state
    if state:
        return certificate_conditions.unrequested(state.asked, state.certificate)
    return any(each.type == TenantConditionType.CERTIFICATE_READY for each in seen.conditions)


def _requesting(request: Request | None, domains: frozenset[str]) -> Request | None:
    """The certificate request for fewer domains."""
    if request and request.primary_domain not in domains:
        return replace(request, primary_domain=None)
    return request


def _not_renewed(mr: Managed, shown: Shown) -> str:
    """The message about a certificate that AWS cannot renew; it appears once."""
    before = mr.condition(TenantConditionType.CERTIFICATE_READY)
    told = {each.type: each for each in shown.conditions}.get(TenantConditionType.CERTIFICATE_READY.value)
    if told is None or told.reason != CertificateReason.RENEWAL_BLOCKED:
        return ""
    return "" if before and before.reason == told.reason else told.message.rstrip(".")


def _proof_lost(mr: Managed, shown: Shown) -> str:
    """The message about TXT records that proved domains before and no longer do; it appears once."""
    lost = dns_instructions.lost_proofs(mr.status, shown.status)
    if not lost:
        return ""
    return (
        f"DNS no longer has the proofs {named(lost)}. The tenant keeps their domains. Create the records of "
        "status.dnsInstructions again"
    )


def _led_away(mr: Managed, shown: Shown) -> str:
    """The message about domains that DNS led to CloudFront before and no longer does; it appears once."""
    lost = dns_instructions.lost(mr.status, shown.status)
    if not lost:
        return ""
    return (
        f"DNS no longer leads {named(lost)} to CloudFront, so visitors do not get there. "
        "Create the records of status.dnsInstructions again"
    )

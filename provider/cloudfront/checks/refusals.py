"""Runs the checks of a reconcile, and turns their findings into the error that refuses a write."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import structlog

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.bounds import named
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.hooks import reads_only
from provider.cloudfront.aws.retries import not_ready, to_external_error
from provider.cloudfront.checks import preflight
from provider.cloudfront.checks.holders import Holders
from provider.cloudfront.checks.problems import Problem, Result
from provider.cloudfront.domain.moves import Mover
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.safety import advice, guards
from provider.cloudfront.safety.holds import Hold
from provider.cloudfront.safety.kept_domains import Keeper
from provider.cloudfront.state.desired import Tenant
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.tenant import plan
from provider.cloudfront.tenant.assessment import Assessment
from provider.cloudfront.tenant.plan import NO_MOVES, Moves

__all__ = ["Checks", "Passed", "Prove"]

_log = structlog.get_logger("provider.cloudfront.checks")

_READ_ON_SECONDS: Final = 10.0
"""Delay between reconciles, so that a resource with many ids does not use up the account's call rate."""
_MOST_LOOKED_FOR: Final = 10
"""For at most this many kept domains in a refusal, the provider asks AWS which tenant has them."""


class Prove(Protocol):
    """Checks that domains are proven; see TenantProofs.check."""

    def __call__(self, domains: Collection[str], moved: Collection[str], *, serving: bool) -> None:
        """Raises ExternalError or NotYet if one is not."""
        ...


def _no_proof(domains: Collection[str], moved: Collection[str], *, serving: bool) -> None:
    """Needs no proof."""


@dataclass(frozen=True)
class Passed:
    """No check refuses the write."""

    unchecked: str = ""
    """The skipped checks, for the event."""
    moves: Moves = NO_MOVES


@dataclass(frozen=True)
class Checks:
    """Runs the checks."""

    cloudfront: CloudFront
    memory: AccountMemory
    installation: str = ""
    everyone: Callable[[], Iterable[Managed]] = lambda: ()
    """All managed resources of the kind."""
    hold: Hold = lambda _: ""
    """Whether the provider may update the tenant of another resource."""
    keeper: Keeper | None = None
    """Knows which domains are kept for other namespaces."""
    account: str | None = None
    """The account of the credentials, for messages; None if it is unknown."""

    def creation(self, mr: Managed, asked: Tenant, prove: Prove = _no_proof) -> Passed:
        """Check a tenant before its creation. `prove` comes last: to prove a domain makes no sense while the
        tenant cannot have it.

        Raises:
            ExternalError: the spec has problems, a domain is not proven, or a check failed.
            NotYet: a check is not complete.
        """
        try:
            result = preflight.of_creation(
                asked,
                self._mover(mr),
                self.cloudfront,
                self.memory,
                account=self.account,
                rehearsed=reads_only(),
            )
        except AwsError as error:
            raise to_external_error(
                error, f"check tenant {asked.name} before creating it", serving=False
            ) from error
        passed = _passed(self._with_kept(mr, asked.name, result, asked.domains or ()), serving=False)
        if result.unread:
            # CloudFront does not create a tenant with a domain that another tenant still has.
            raise _reading_on(mr, serving=False)
        prove(asked.domains or frozenset(), passed.moves.sources.keys(), serving=False)
        return passed

    def change(self, mr: Managed, state: Assessment, prove: Prove = _no_proof, *, serving: bool) -> Passed:
        """Check the changes of the spec, and what may be someone else's now: missing domains and another
        connection group. Other drift needs no check: it is corrected to values that were valid before.
        `prove` is as in `creation`.

        Raises:
            ExternalError: the spec has problems, a domain is not proven, or a check failed.
            NotYet: a check is not complete.
        """
        target = state.todo.target
        fields = {d.field for d in state.todo.fields}
        # Only status tells drift from changes of the spec, and others may write status.
        changed = fields & {"connectionGroupId", *(d.field for d in state.pending)}
        added = (target.domains or frozenset()) - set(state.seen.domains)
        if added:
            changed.add("domains")
        if not changed or plan.only_attaches(state.todo):
            return Passed()
        try:
            result = preflight.of_update(
                target,
                state.seen,
                changed,
                self._mover(mr),
                self.cloudfront,
                self.memory,
                account=self.account,
                rehearsed=reads_only(),
            )
        except AwsError as error:
            raise to_external_error(
                error, f"check the update of tenant {target.name}", serving=serving
            ) from error
        # If more domains have to be moved first, the update adds no domain yet.
        added = frozenset() if result.unfinished else added
        passed = _passed(self._with_kept(mr, target.name, result, added), serving=serving)
        if result.unread and not result.moves:
            raise _reading_on(mr, serving=serving)
        moved = passed.moves.sources.keys()
        prove(added | moved, moved, serving=serving)
        return passed

    def _with_kept(self, mr: Managed, name: str, result: Result, domains: Iterable[str]) -> Result:
        """The result with the problems of domains that are kept for another namespace. Domains to move are
        exempt: AWS confirms the tenant that has them."""
        if self.keeper is None:
            return result
        asked = frozenset(domains) - result.moves.keys()
        refusals = self.keeper.refusals(mr, asked)
        if not refusals:
            return result
        holders = self._holders(mr)
        kept = self._kept(holders, name, refusals)
        others = sorted(asked - refusals.keys())[: max(0, _MOST_LOOKED_FOR - len(refusals))]
        # CloudFront will not be asked, so it cannot refuse the other domains.
        had = (problem for domain in others for problem in self._served(holders, name, domain))
        # A domain that the checks refused already may be kept for another namespace, too.
        return replace(result, problems=tuple(dict.fromkeys((*result.problems, *kept, *had))))

    def _kept(self, holders: Holders, name: str, refusals: Mapping[str, str]) -> Iterator[Problem]:
        """The problems of kept domains. If a tenant has the domain now, the message describes that tenant."""
        for number, (domain, words) in enumerate(refusals.items()):
            served = self._served(holders, name, domain) if number < _MOST_LOOKED_FOR else ()
            yield from served or (Problem(Reason.DOMAIN_CONFLICT, words),)

    def _served(self, holders: Holders, name: str, domain: str) -> tuple[Problem, ...]:
        try:
            return tuple(holders.conflicts(name, (domain,), None))
        except AwsError as error:
            _log.warning("cannot find who has a domain", tenant=name, error=str(error))
            return ()

    def taken(
        self, mr: Managed, asked: Tenant, seen: ObservedTenant | None, error: AwsError, *, serving: bool
    ) -> ExternalError | NotYet | None:
        """The error that says who has the refused domains; None if the tenant has them itself.

        Args:
            mr: the managed resource.
            asked: the tenant that CloudFront refused.
            seen: the observed tenant; None before its creation.
            error: the refusal.
            serving: the tenant still serves.
        """
        what = f"{'update' if seen else 'create'} tenant {asked.name}"
        holders = self._holders(mr)
        added = (asked.domains or frozenset()) - set(seen.domains if seen else ())
        holders.forget_sources()
        try:
            own = seen.id if seen else None
            problems = tuple(holders.conflicts(asked.name, added, own, _inherited(asked)))
        except AwsError as failed:
            _log.warning("cannot find who has a domain", tenant=asked.name, error=str(failed))
            searched = f"; the search for it failed: {failed}"
            return _unnamed(error, sorted(added), searched, serving=serving)
        if problems:
            more = "; other domains may be taken too" if holders.unfinished else ""
            words = Result(problems).message + more
            return guards.invalid(words, Reason.DOMAIN_CONFLICT, serving=serving)
        if holders.ours:
            return None
        if holders.unfinished or holders.moves:
            return _look_on(error, what, holders, serving=serving)
        searched = _unchecked(holders.permitted.denied) or "; no tenant of this account has it"
        return _unnamed(error, sorted(added), searched, serving=serving)

    def had_by_others(
        self, mr: Managed, asked: Tenant, domains: Iterable[str], seen: ObservedTenant | None = None
    ) -> frozenset[str]:
        """The domains of a refused creation or update that another tenant or distribution has, or that are
        kept for another namespace, as far as a few calls can find. The search for domains that this namespace
        had ignores earlier answers: a tenant of its own that had one may be gone since."""
        domains = sorted(domains)
        self.memory.holders.changed(self.keeper.held(mr, domains) if self.keeper else ())
        try:
            kept = self.keeper.refusals(mr, domains).keys() if self.keeper else set()
        except NotYet as error:
            _log.warning(
                "cannot read which namespace a domain is kept for", tenant=asked.name, error=str(error)
            )
            kept = set()
        holders = self._holders(mr)
        own, parent = (seen.id, None) if seen else (None, _inherited(asked))
        try:
            found = {d for d in domains if tuple(holders.conflicts(asked.name, (d,), own, parent))}
        except AwsError as error:
            _log.warning("cannot find who has a domain", tenant=asked.name, error=str(error))
            found = set()
        return frozenset(found | kept)

    def check_free(
        self, mr: Managed, asked: Tenant, domains: Iterable[str], seen: ObservedTenant | None = None
    ) -> None:
        """Check that no other tenant or distribution has one of these domains, as AWS says now.

        Raises:
            ExternalError: one has; or AWS does not say it.
            NotYet: AWS does not say it yet.
        """
        domains = sorted(domains)
        holders = self._holders(mr)
        own, parent = (seen.id, None) if seen else (None, _inherited(asked))
        self.memory.holders.changed(domains)
        try:
            problems = [each for d in domains for each in holders.conflicts(asked.name, (d,), own, parent)]
        except AwsError as error:
            what = f"find who has the domains of tenant {asked.name}"
            raise to_external_error(error, what, serving=seen is not None) from error
        if problems:
            raise guards.invalid(
                Result(tuple(problems)).message, Reason.DOMAIN_CONFLICT, serving=seen is not None
            )

    def _holders(self, mr: Managed) -> Holders:
        return Holders(self.cloudfront, self.memory.holders, self.memory.log_changes, self._mover(mr))

    def _mover(self, mr: Managed) -> Mover:
        return Mover(mr, self.installation, self.everyone, self.hold)


def _passed(result: Result, *, serving: bool) -> Passed:
    if result.problems:
        raise guards.invalid(result.message, result.reason, serving=serving)
    moves = Moves(result.moves, covered_later=result.covered_later, more=result.unfinished)
    if result.unchecked:
        _log.warning("checks skipped for lack of permission", operations=result.unchecked)
    return Passed(_unchecked(result.unchecked), moves)


def _reading_on(mr: Managed, *, serving: bool) -> NotYet:
    words = advice.sources(mr)
    conditions = () if serving else (not_ready(Reason.DOMAIN_CONFLICT, words),)
    return NotYet(words, after=_READ_ON_SECONDS, conditions=conditions)


def _unchecked(operations: Iterable[str]) -> str:
    told = ", ".join(operations)
    return f"; checks skipped for lack of permission: {told}" if told else ""


def _inherited(asked: Tenant) -> str | None:
    """The distribution whose certificate lets CloudFront report conflicts in other accounts; None if the
    tenant gets a certificate of its own."""
    own = asked.attached or asked.customizations.certificate_arn or asked.certificate_request
    return None if own else asked.distribution_id


def _unnamed(error: AwsError, domains: Sequence[str], searched: str, *, serving: bool) -> ExternalError:
    """The error if the search finds no owner of a refused domain; `searched` describes the search."""
    which = f"one of {named(domains)}" if len(domains) > 1 else named(domains)
    find = " To find out which domain it is, add one at a time." if len(domains) > 1 else ""
    words = (
        f"spec.forProvider.domains: a distribution or tenant has {which}, and AWS does not say which one"
        f"{searched}. Ask its owner to release the domain in AWS, or remove the domain here.{find} "
        f"AWS: {error.code}: {error.words}"
    )
    conditions = () if serving else (not_ready(Reason.DOMAIN_CONFLICT, words),)
    return ExternalError(words, conditions=conditions, retry=Retry.poll(), request_id=error.request_id)


def _look_on(error: AwsError, what: str, holders: Holders, *, serving: bool) -> ExternalError:
    taking = ", ".join(sorted(holders.moves))
    then = (
        f"{taking} must be moved first; the provider retries"
        if taking
        else "searching for who has the domains"
    )
    words = f"{what}: {error.code}: {error.words}; {then}"
    conditions = () if serving else (not_ready(Reason.DOMAIN_CONFLICT, words),)
    return ExternalError(words, conditions=conditions, retry=Retry.backoff(), request_id=error.request_id)

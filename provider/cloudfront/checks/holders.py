"""Finds who has the domains of a tenant: another tenant of the account, or someone elsewhere.

CloudFront decides whether a tenant gets a domain, at the creation or the update: checking each of a hundred
domains before takes more calls than a reconcile has time for. The provider only

    reads the tenants that domains are taken from   before the write, with one call each
    searches for the domains of a refusal           after it, to report who has which

It keeps the answers until all are known, over several reconciles. Each reconcile makes only a few calls,
whatever the resource asks for, as all resources share the account's call rate and the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import structlog

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime import deadline
from edgetenants_runtime.errors import ExternalError
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.domain_calls import Conflict
from provider.cloudfront.aws.errors import AwsError, ErrorClass
from provider.cloudfront.checks.problems import Permitted, Problem
from provider.cloudfront.domain.moves import TAKE_ANNOTATION, Mover, taken_from, unreadable
from provider.cloudfront.memory.domain_holders import DomainHolders
from provider.cloudfront.memory.log_changes import LogChanges
from provider.cloudfront.ownership import disclosure
from provider.cloudfront.state.identity import OWNER_TAG
from provider.cloudfront.state.observed import ObservedTenant, account_of

__all__ = ["Holders"]

_log = structlog.get_logger("provider.cloudfront.holders")

_FIELD: Final = "spec.forProvider.domains"
_READS_OF_SOURCES: Final = 10
"""The most source tenants that one reconcile reads."""
_SEARCHES: Final = 20
"""The most domains of a refusal that one reconcile searches for."""
_MOVES_AT_ONCE: Final = 20
"""The most domains that one reconcile moves: each is one call. Moved domains stay moved."""
_MOVING_SECONDS: Final = 30.0
"""The time of a reconcile that is reserved for moves."""
_TOLD: Final = 10
"""The most conflicts that one message lists. The search continues when these are resolved."""
_READ: Final = "GetDistributionTenant"
_LATER: Final = frozenset({ErrorClass.WAIT, ErrorClass.THROTTLED})


class _EnoughError(Exception):
    """This reconcile has used up its calls. It is no AwsError: other workers that need the same answer make
    their own call."""


@dataclass
class Holders:
    """The search for one managed resource in one reconcile."""

    cloudfront: CloudFront
    known: DomainHolders
    """The results of earlier searches."""
    log_changes: LogChanges
    mover: Mover
    permitted: Permitted = field(default_factory=Permitted)
    moves: dict[str, str] = field(default_factory=dict)
    """The domains that may be taken from other tenants, each with a description of its tenant."""
    unfinished: bool = False
    """There was no time for more domains, or there were too many findings."""
    unread: bool = False
    """The next reconcile has to read more of the tenants that domains are taken from."""
    ours: bool = False
    """The search found the tenant's own name: it was created meanwhile."""
    _read: set[str] = field(default_factory=set)
    """The source tenants that this reconcile read."""
    _searched: int = 0
    """The number of domains that this reconcile searched for."""

    def sources(self, domains: Collection[str], tenant: str | None) -> Iterator[Problem]:
        """Find the domains that the resource may take. `tenant` is the receiving tenant; None before its
        creation. Then older answers suffice: the creation omits these domains, and they are moved later."""
        if words := unreadable(self.mover.mr):
            yield Problem(Reason.VALIDATION_FAILED, f"metadata.annotations[{TAKE_ANNOTATION}]: {words}")
            return
        ids = taken_from(self.mover.mr)
        others, wanted = sorted(ids - {tenant}), set(domains)
        yield from self._among(others, wanted, fresh=tenant is not None)
        if tenant and wanted and not self.unfinished:
            yield from self._among(self._worth_another_look(others, always=True), wanted, fresh=True)
        elif tenant is None and not self.unfinished:
            # All answers are known. The next reconcile reads some of the old ones again.
            self._worth_another_look(others, always=False)
        if tenant and len(self.moves) > _MOVES_AT_ONCE:
            self.moves = dict(sorted(self.moves.items())[:_MOVES_AT_ONCE])
            self.unfinished = True

    def _among(self, ids: list[str], wanted: set[str], *, fresh: bool) -> Iterator[Problem]:
        for id_ in ids:
            if not wanted:
                return
            if fresh and self.moves and self._enough_moves():
                self.unfinished = True
                return
            try:
                source = self._source(id_, wanted, fresh=fresh)
            except _EnoughError:
                # Without permission, a later reconcile cannot read them either: they are a skipped check.
                self.unfinished = self.unread = _READ not in self.permitted.denied
                return
            held = sorted(wanted & set(source.domains)) if source else []
            if source and held:
                wanted.difference_update(held)
                yield from self._held(held, source, self._known_owner(source.arn))

    def _worth_another_look(self, ids: list[str], *, always: bool) -> list[str]:
        """Choose tenants with old answers to read again, as many as this reconcile may still read, and forget
        those answers. `always`: after them also tenants with recent answers."""
        known = [id_ for id_ in ids if id_ not in self._read and self.known.last(("tenant", id_))]
        old = [id_ for id_ in known if self.known.is_old(("tenant", id_))]
        others = [id_ for id_ in known if id_ not in old] if always else []
        looked_at = [*old, *others][: _READS_OF_SOURCES - len(self._read)]
        for id_ in looked_at:
            self.known.forget(("tenant", id_))
        return looked_at

    def _enough_moves(self) -> bool:
        return len(self.moves) >= _MOVES_AT_ONCE or deadline.remaining() < _MOVING_SECONDS

    def _source(self, id_: str, wanted: set[str], *, fresh: bool) -> ObservedTenant | None:
        """`fresh`: its domains are moved at once, for which an older answer does not suffice."""
        what, read = ("tenant", id_), partial(self._get, id_)
        last: ObservedTenant | None = self.known.last(what)
        if last is not None and (not fresh or wanted.isdisjoint(last.domains)):
            # An answer of any age: reading all of these again first would leave no calls for the others.
            return last
        _, source = self.permitted.ask(lambda: self.known.get(what, read, free=lambda seen: seen is None))
        if fresh and id_ not in self._read and source and not wanted.isdisjoint(source.domains):
            known, source = self.permitted.ask(read)
            if known:
                self.known.note(what, source, free=source is None)
        return source

    def _get(self, id_: str) -> ObservedTenant | None:
        if len(self._read) >= _READS_OF_SOURCES:
            raise _EnoughError
        self._read.add(id_)
        try:
            source = self.cloudfront.get_tenant(id_)
        except AwsError as error:
            if error.absent:
                return None
            raise
        self.known.forget(("owner", source.arn))
        return source

    def forget_sources(self) -> None:
        """Forget the source tenants after CloudFront refused a domain: their domains may have changed. Known
        missing ids are not read again: AWS assigns ids, and no one can create a tenant with that id."""
        for id_ in taken_from(self.mover.mr):
            if self.known.last(("tenant", id_)) is not None:
                self.known.forget(("tenant", id_))

    def conflicts(
        self, name: str, domains: Iterable[str], tenant: str | None, parent: str | None = None
    ) -> Iterator[Problem]:
        """The problems of domains that someone else has, as far as they can be found now. CloudFront reports
        conflicts in other accounts through `tenant`, our own tenant, or before its creation through `parent`,
        the distribution whose certificate it will have."""
        wanted = sorted(domains)
        found = False
        for problem in self._each(wanted, partial(self._here, name, tenant)):
            found = True
            yield problem
        covering = tenant or parent
        if covering is not None and not (found or self.moves or self.unfinished):
            yield from self._each(wanted, partial(self._elsewhere, covering))

    def _each(self, domains: list[str], find: Callable[[str], Iterator[Problem]]) -> Iterator[Problem]:
        told = 0
        for domain in domains:
            if told >= _TOLD:
                self.unfinished = True
                return
            try:
                found = tuple(find(domain))
            except AwsError as error:
                if error.verdict.class_ not in _LATER:
                    raise
                self.unfinished = True
                return
            except (ExternalError, _EnoughError):
                # Out of time or calls: report what is known, and keep it for the next reconcile.
                self.unfinished = True
                return
            told += len(found)
            yield from found

    def _here(self, name: str, tenant: str | None, domain: str) -> Iterator[Problem]:
        searched, holder = self._searched, self._holder(domain)
        if holder and tenant is None and holder.name == name and searched == self._searched:
            # It may be a former tenant of that name, which is gone.
            self.known.changed([domain])
            holder = self._holder(domain)
        if holder is None or (tenant is not None and holder.id == tenant):
            return
        if tenant is None and holder.name == name:
            self.ours = True
            return
        # The domain may not have been visible yet when this tenant was read as a source.
        self.known.forget(("tenant", holder.id))
        yield from self._held([domain], holder, self._owner(holder.arn, fresh=False))

    def _holder(self, domain: str) -> ObservedTenant | None:
        read = partial(self._of_domain, domain)
        return self.permitted.ask(
            lambda: self.known.get(("domain", domain), read, free=lambda found: found is None)
        )[1]

    def _of_domain(self, domain: str) -> ObservedTenant | None:
        self._search()
        holder = self.cloudfront.tenant_of_domain(domain)
        # The memory keeps thousands of them, so drop the members that no one uses.
        return holder and replace(holder, domains={}, parameters={})

    def _search(self) -> None:
        if self._searched >= _SEARCHES:
            raise _EnoughError
        self._searched += 1

    def _held(self, domains: list[str], holder: ObservedTenant, owner: str | None) -> Iterator[Problem]:
        refusal = self.mover.refusal(holder, owner)
        mr, installation = self.mover.mr, self.mover.installation
        if not refusal:
            self.moves |= dict.fromkeys(domains, disclosure.source(mr, installation, holder, owner))
            return
        for domain in domains:
            whose = {"account": account_of(holder.arn), "owner": owner}
            self._note(domain, tenant=holder.name, tenant_id=holder.id, **whose)
            words = f"{domain} is served by {disclosure.holder(mr, installation, holder, owner)}. {refusal}"
            yield Problem(Reason.DOMAIN_CONFLICT, f"{_FIELD}: {words}")

    def _note(self, domain: str, **found: str | None) -> None:
        """Log for the platform team what the message may not name."""
        if self.log_changes.is_new(self.mover.mr.uid, f"domain {domain}", tuple(found.items())):
            _log.warning("a domain is served by another tenant", domain=domain, **found)

    def _owner(self, arn: str, *, fresh: bool) -> str | None:
        def look() -> str:
            # Not None, which means that no answer is known.
            return self.cloudfront.tags(arn).get(OWNER_TAG) or ""

        def kept() -> str:
            return self.known.get(("owner", arn), look, free=lambda _: False)

        return self.permitted.ask(look if fresh else kept)[1] or None

    def _known_owner(self, arn: str) -> str | None:
        """The owner as of the last read of the tenant: _get forgets it, so that it is read again too."""
        last: str | None = self.known.last(("owner", arn))
        return self._owner(arn, fresh=False) if last is None else last or None

    def _elsewhere(self, covering: str, domain: str) -> Iterator[Problem]:
        def look() -> tuple[Conflict, ...]:
            return tuple(
                each
                for each in self._conflicts(domain, covering)
                if each.domain == domain and each.id != covering
            )

        _, found = self.permitted.ask(
            lambda: self.known.get(("elsewhere", covering, domain), look, free=lambda found: not found)
        )
        for conflict in found or ():
            yield Problem(Reason.DOMAIN_CONFLICT, self._in_the_way(conflict))

    def _conflicts(self, domain: str, covering: str) -> tuple[Conflict, ...]:
        self._search()
        try:
            return self.cloudfront.conflicts(domain, covering)
        except AwsError as error:
            if error.code != "InvalidArgument" and not error.absent:
                raise
            # No certificate of ours covers the domain, so CloudFront does not report conflicts.
            return ()

    def _in_the_way(self, conflict: Conflict) -> str:
        who = f"{conflict.kind} {conflict.id} of account {conflict.account}"
        if conflict.kind == "distribution-tenant" and "*" not in conflict.account:
            # A tenant of this account, which CloudFront does not mask; its owner is unknown here.
            self._note(conflict.domain, tenant_id=conflict.id)
            who = f"another tenant of this account. {disclosure.HIDDEN}"
        return f"{_FIELD}: {conflict.domain} is served by {who}. Release the domain there, or remove it here"

"""Who has the domains that a tenant is to have: another tenant of the account, or somebody elsewhere.

Whether a domain can be had is CloudFront's to say, at the creation or the update: to ask for each of a
hundred takes more calls than a reconcile has time for. Only

    the tenants that domains are to be taken from   are looked at before, one call for each
    the domains of a refusal                        are looked for afterwards, to say who has which

and what was found is kept until all is known, over several reconciles: each makes a few calls only, whatever
the resource says, as all resources share the account's rate and the workers.
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
from provider.cloudfront.account.memory import Memory
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.domain_calls import Conflict
from provider.cloudfront.aws.errors import AwsError, ErrorClass
from provider.cloudfront.checks.problems import Permitted, Problem
from provider.cloudfront.domain.moves import TAKE_ANNOTATION, Mover, taken_from
from provider.cloudfront.ownership import disclosure
from provider.cloudfront.state.identity import OWNER_TAG
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["Holders"]

_log = structlog.get_logger("provider.cloudfront.holders")

_FIELD: Final = "spec.forProvider.domains"
_MOST_SOURCES: Final = 200
"""Twice as many as a tenant may have domains."""
_LONGEST_ID: Final = 128
_READS_OF_SOURCES: Final = 10
"""Tenants that domains are taken from, which one reconcile reads."""
_SEARCHES: Final = 20
"""Domains of a refusal that one reconcile looks for."""
_MOVES_AT_ONCE: Final = 20
"""Domains that are moved in one reconcile: each is a call, and those that are moved stay so."""
_MOVING_SECONDS: Final = 30.0
"""Of a reconcile, to be left for moves."""
_TOLD: Final = 10
"""Domains of others that one message names. The next are looked for when these are settled."""
_READ: Final = "GetDistributionTenant"
_LATER: Final = frozenset({ErrorClass.WAIT, ErrorClass.THROTTLED})


class _EnoughError(Exception):
    """This reconcile has made its calls. No AwsError: other workers that want the same ask for themselves."""


@dataclass
class Holders:
    """For one managed resource, in one reconcile."""

    cloudfront: CloudFront
    memory: Memory
    mover: Mover
    permitted: Permitted = field(default_factory=Permitted)
    moves: dict[str, str] = field(default_factory=dict)
    """The domains that may be taken from other tenants, with these as they may be named."""
    unfinished: bool = False
    """There was no time for the others, or too much was found."""
    unread: bool = False
    """Some of the tenants that domains are to be taken from are left to the next reconcile."""
    ours: bool = False
    """The tenant's own name was met: it was made meanwhile."""
    _read: set[str] = field(default_factory=set)
    """Tenants that were read to take domains from."""
    _searched: int = 0
    """Domains that were looked for."""

    def sources(self, domains: Collection[str], tenant: str | None) -> Iterator[Problem]:
        """Find the domains that the resource may take. `tenant` is the one that receives; None before its
        creation, where what was found a while ago does: it is left out of the creation, and moved later."""
        ids = taken_from(self.mover.mr)
        if len(ids) > _MOST_SOURCES:
            words = f"expected at most {_MOST_SOURCES} ids, got {len(ids)}"
            yield Problem(Reason.VALIDATION_FAILED, f"metadata.annotations[{TAKE_ANNOTATION}]: {words}")
            return
        if long := next((each for each in sorted(ids) if len(each) > _LONGEST_ID), ""):
            words = f"expected ids of at most {_LONGEST_ID} characters, got one of {len(long)}"
            yield Problem(Reason.VALIDATION_FAILED, f"metadata.annotations[{TAKE_ANNOTATION}]: {words}")
            return
        others, wanted = sorted(ids - {tenant}), set(domains)
        yield from self._among(others, wanted, fresh=tenant is not None)
        if tenant and wanted and not self.unfinished:
            yield from self._among(self._worth_another_look(others, always=True), wanted, fresh=True)
        elif tenant is None and not self.unfinished:
            # All are known: of those that were read a while ago the next reconcile reads some.
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
                # Those that may not be read now may not be read later: they are told of as not checked.
                self.unfinished = self.unread = _READ not in self.permitted.denied
                return
            held = sorted(wanted & set(source.domains)) if source else []
            if source and held:
                wanted.difference_update(held)
                owner = self._owner(source.arn, fresh=True) if fresh else self._known_owner(source.arn)
                yield from self._held(held, source, owner)

    def _worth_another_look(self, ids: list[str], *, always: bool) -> list[str]:
        """Tenants that were read a while ago, the oldest answers before others, as far as this reconcile may
        still read; they are asked for anew. `always`: others, too."""
        known = [id_ for id_ in ids if id_ not in self._read and self.memory.last_holder(("tenant", id_))]
        old = [id_ for id_ in known if self.memory.is_old_holder(("tenant", id_))]
        others = [id_ for id_ in known if id_ not in old] if always else []
        looked_at = [*old, *others][: _READS_OF_SOURCES - len(self._read)]
        for id_ in looked_at:
            self.memory.forget_holder(("tenant", id_))
        return looked_at

    def _enough_moves(self) -> bool:
        return len(self.moves) >= _MOVES_AT_ONCE or deadline.remaining() < _MOVING_SECONDS

    def _source(self, id_: str, wanted: set[str], *, fresh: bool) -> ObservedTenant | None:
        """`fresh`: its domains are moved at once, for which what was found a while ago does not do."""
        what, read = ("tenant", id_), partial(self._get, id_)
        last: ObservedTenant | None = self.memory.last_holder(what)
        if last is not None and (not fresh or wanted.isdisjoint(last.domains)):
            # However old: where all were read again first, those that are left would never be.
            return last
        _, source = self.permitted.ask(lambda: self.memory.holder(what, read, free=lambda seen: seen is None))
        if fresh and id_ not in self._read and source and not wanted.isdisjoint(source.domains):
            known, source = self.permitted.ask(read)
            if known:
                self.memory.note_holder(what, source, free=source is None)
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
        self.memory.forget_holder(("owner", source.arn))
        return source

    def forget_sources(self) -> None:
        """CloudFront refused a domain: what the tenants have that domains are taken from may have changed. An
        id that does not exist is not asked for again: AWS makes ids up, and nobody chooses one."""
        for id_ in taken_from(self.mover.mr):
            if self.memory.last_holder(("tenant", id_)) is not None:
                self.memory.forget_holder(("tenant", id_))

    def conflicts(
        self, name: str, domains: Iterable[str], tenant: str | None, parent: str | None = None
    ) -> Iterator[Problem]:
        """Say who else has which domain, as far as can be found now. `tenant` is our own, by which other
        accounts' are found too; before there is one, by `parent`: the distribution whose certificate it will
        have."""
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
                # Time is over, or the calls are. What is known is told, and kept for the next.
                self.unfinished = True
                return
            told += len(found)
            yield from found

    def _here(self, name: str, tenant: str | None, domain: str) -> Iterator[Problem]:
        _, holder = self.permitted.ask(
            lambda: self.memory.holder(
                ("domain", domain), partial(self._of_domain, domain), free=lambda found: found is None
            )
        )
        if holder is None or (tenant is not None and holder.id == tenant):
            return
        if tenant is None and holder.name == name:
            self.ours = True
            return
        # It may not have shown yet when it was read as one that domains are taken from.
        self.memory.forget_holder(("tenant", holder.id))
        yield from self._held([domain], holder, self._owner(holder.arn, fresh=False))

    def _of_domain(self, domain: str) -> ObservedTenant | None:
        self._search()
        holder = self.cloudfront.tenant_of_domain(domain)
        # Thousands are kept: without what nobody asks for.
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
            self._note(domain, tenant=holder.name, tenant_id=holder.id, owner=owner)
            words = f"{domain} is served by {disclosure.holder(mr, installation, holder, owner)}. {refusal}"
            yield Problem(Reason.DOMAIN_CONFLICT, f"{_FIELD}: {words}")

    def _note(self, domain: str, **found: str | None) -> None:
        """Tell those who run the provider what the message may not name."""
        if self.memory.is_news(self.mover.mr.uid, f"domain {domain}", tuple(found.items())):
            _log.warning("a domain is served by another tenant", domain=domain, **found)

    def _owner(self, arn: str, *, fresh: bool) -> str | None:
        def look() -> str:
            # Not None, which would be nothing that is known.
            return self.cloudfront.tags(arn).get(OWNER_TAG) or ""

        def kept() -> str:
            return self.memory.holder(("owner", arn), look, free=lambda _: False)

        return self.permitted.ask(look if fresh else kept)[1] or None

    def _known_owner(self, arn: str) -> str | None:
        """As old as what is known of the tenant: asked anew each time one is read."""
        last: str | None = self.memory.last_holder(("owner", arn))
        return self._owner(arn, fresh=False) if last is None else last or None

    def _elsewhere(self, covering: str, domain: str) -> Iterator[Problem]:
        def look() -> tuple[Conflict, ...]:
            return tuple(
                each
                for each in self._conflicts(domain, covering)
                if each.domain == domain and each.id != covering
            )

        _, found = self.permitted.ask(
            lambda: self.memory.holder(("elsewhere", covering, domain), look, free=lambda found: not found)
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
            # No certificate of ours covers it, so CloudFront does not tell.
            return ()

    def _in_the_way(self, conflict: Conflict) -> str:
        who = f"{conflict.kind} {conflict.id} of account {conflict.account}"
        if conflict.kind == "distribution-tenant" and "*" not in conflict.account:
            # One of this account, which CloudFront does not mask; whose it is, is not known here.
            self._note(conflict.domain, tenant_id=conflict.id)
            who = f"another tenant of this account. {disclosure.HIDDEN}"
        return f"{_FIELD}: {conflict.domain} is served by {who}. Release it there, or remove it here"

"""The records that a resource made of domains that it does not have any more.

    domain moved to another tenant ─▶ its receiver takes the records over ─▶ done
    receiver does not manage them  ─▶ they stay while a tenant has the domain, then they go
    no tenant has the domain       ─▶ after a second look, they go
    the resource is deleted        ─▶ its deletion waits for one of these, or for a confirmation

A record that leads to CloudFront without a tenant lets others take the domain, and a live domain without its
record is dark. So the resource that made a record remembers it in its status, and looks at it at a low pace.
The status is a memory: the mark in the zone says whose the record is, and AWS which tenant has the domain.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from apis.conditions import DnsReason
from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.bounds import cut, named
from edgetenants_runtime.errors import ExternalError, NotYet
from provider.cloudfront.aws.retries import not_ready
from provider.cloudfront.dns import conditions
from provider.cloudfront.dns.work import TenantRecords, passes
from provider.cloudfront.domain import dns_instructions
from provider.cloudfront.memory.record_tickets import LeftBehind, Watch
from provider.dns import ownership
from provider.dns.errors import DnsError
from provider.dns.records import Zone
from provider.dns.store import Change, marked

__all__ = ["Holder", "LeftRecords"]

_log = structlog.get_logger("provider.cloudfront.leftrecords")

_PACE: Final = 600.0
"""Seconds between two looks at records that stay."""
_SOON: Final = 60.0
"""The same while something may end soon: a deletion waits for them, no tenant has the domain, or the service
failed. A domain may be without a tenant for a moment while a user moves it on."""
_AT_ONCE: Final = 20
"""Looks of one reconcile: each may ask AWS who has the domain."""
_NEXT: Final = 1.0
_DIGITS: Final = 10
_TOLD: Final = 5
"""Domains of which a message tells more than their number."""
_LONGEST: Final = 4096
"""Characters of what a condition says of all these records."""


@dataclass(frozen=True)
class Holder:
    """The tenant that has a domain."""

    words: str
    """A part of a sentence, without names of other namespaces."""
    tenant: str = ""
    """Its id, if it belongs to a resource of the namespace."""


@dataclass
class LeftRecords:
    """Those of one resource, for one reconcile."""

    records: TenantRecords
    holder: Callable[[str], Holder | None]
    """Returns who has a domain, as AWS says now; None if no tenant of the account has it. Raises NotYet or
    ExternalError."""
    now: Callable[[], float]
    behind: LeftBehind = field(default_factory=LeftBehind)
    found: dict[str, Watch] = field(default_factory=dict)
    """What is known of each; of the last look."""
    free: set[str] = field(default_factory=set)
    """Those that this reconcile found to lead to no tenant."""
    _looks: int = 0

    @property
    def remembered(self) -> frozenset[str]:
        """The domains whose records stay in the status."""
        return frozenset(self.found)

    @property
    def again(self) -> float | None:
        """Seconds until the second look at a domain without a tenant; None if there is none."""
        waits = [_SOON for each in self.found.values() if each.free_since is not None]
        return min(waits, default=None)

    def look(self, own: Collection[str]) -> None:
        """Look at those whose turn has come. A failure stops nothing.

        Args:
            own: the domains of the spec, and of the tenant in AWS.
        """
        self.found = {}
        if self.records.access.problem or not self.records.asked:
            self.found = {each: Watch(self.now()) for each in self._made(own)} if self.records.asked else {}
            return
        for domain in sorted(self._candidates(own)):
            try:
                watch = self._watch(domain)
            except (ExternalError, NotYet) as error:
                _log.info("cannot find which tenant has a domain", domain=domain, error=str(error))
                watch = self._note(domain, Watch(self.now(), free_since=None))
            if watch is not None:
                self.found[domain] = watch

    def words(self) -> str:
        """What DNSReady says of them; "" if all is in order."""
        told = [_told(domain, each) for domain, each in sorted(self.found.items()) if each.holder]
        failed = [each.problem for _, each in sorted(self.found.items()) if each.problem]
        advice = [conditions.HAND_OVER] if told else []
        return cut(" ".join((*_first(told), *advice, *_first(failed))), _LONGEST)

    def release(self) -> None:
        """Remove the records that `look` found to be free, but those of a domain that a tenant has by now.

        Raises:
            NotYet: they are not gone yet.
            ExternalError: they cannot be removed.
        """
        if not self.records.access.frozen:
            self.records.release([each for each in sorted(self.free) if self._may_go(each)], only_own=True)

    def release_at_end(self, listed: Iterable[str]) -> None:
        """Remove the records that this resource made, as it goes and AWS has no tenant of it. Those of a
        domain that another tenant has stay: without them, its visitors would not find it.

        Args:
            listed: the domains of the spec. Any resource may list a domain of another one.

        Raises:
            NotYet: they are not gone yet, or lead to another tenant and no user has confirmed that they stay.
            ExternalError: they cannot be removed.
        """
        if not self.records.asked:
            return
        listed = frozenset(listed)
        if self.records.access.problem:
            # One that cannot be used stops nothing unless records were made: the tenant may never have been.
            if left := sorted(self._made(())):
                raise self.records.kept(left, self.records.access.problem)
            return
        self.found = {}
        for domain in sorted(self._candidates(()) | listed):
            if self.records.succeeds(domain) or self._is_gone(domain):
                continue
            watch = self._watch(domain, sure=domain in listed)
            if watch is None:
                continue
            if watch.problem:
                raise self.records.kept([domain], watch.problem)
            self.found[domain] = watch
        self.records.release(sorted(self.free), only_own=True)
        if self._looks >= _AT_ONCE:
            raise NotYet("looking at the DNS records of more domains", after=_NEXT)
        self._check_free()
        self._check_held()

    def _check_free(self) -> None:
        waits = [each for each, watch in self.found.items() if not watch.holder and each not in self.free]
        if waits:
            words = (
                f"no tenant has {named(waits)}; the provider looks again, and then removes the DNS records"
            )
            raise NotYet(words, after=_SOON)

    def _check_held(self) -> None:
        held = {domain: each for domain, each in self.found.items() if each.holder}
        if not held:
            return
        token = _token(held)
        if self.records.mr.annotations.get(conditions.CONFIRM) == token:
            _log.warning("DNS records stay, as confirmed", domains=sorted(held))
            for domain in held:
                self._over(domain)
            return
        words = cut(
            f"{' '.join(_first([_told(*each) for each in sorted(held.items())]))} The deletion of this "
            "resource waits: without it, the records would stay when no tenant has the domains any more, "
            f"and others could take these names. {conditions.HAND_OVER} Or replace or delete the records in "
            f"their zone. To leave them as they are, set the annotation {conditions.CONFIRM} to {token}",
            _LONGEST,
        )
        told = conditions.condition(DnsReason.DNS_ERROR, words)
        raise NotYet(words, after=_SOON, conditions=(not_ready(Reason.DELETION_HELD, words), told))

    def _candidates(self, own: Collection[str]) -> frozenset[str]:
        known = marked(self.records.access.store, self.records.access.owner)
        return self._made(own) | frozenset(each for each in known.difference(own) if not self._is_gone(each))

    def _made(self, own: Collection[str]) -> frozenset[str]:
        made = dns_instructions.made(self.records.mr.status).difference(own)
        return frozenset(each for each in made if not self._is_gone(each))

    def _is_gone(self, domain: str) -> bool:
        return self.records.access.tickets.is_gone(self.records.mr.uid, domain)

    def _watch(self, domain: str, *, sure: bool = False) -> Watch | None:
        """What is known of a domain's records; None if none of this resource are left. `sure`: one look
        without a tenant is enough."""
        before = self.records.access.tickets.watched(self.records.mr.uid, domain)
        if before is not None and not self._is_due(before):
            return before
        if self._looks >= _AT_ONCE:
            return before or Watch(self.now())
        self._looks += 1
        try:
            work = self.records.removal(domain, only_own=True, again=True)
        except (DnsError, ValueError) as error:
            return self._failed(domain, error)
        if not work:
            self._over(domain)
            return None
        return self._settled(domain, *work[0], before, sure=sure)

    def _is_due(self, watch: Watch) -> bool:
        is_steady = watch.holder and not self.records.mr.deleted
        return self.now() >= watch.at + (_PACE if is_steady else _SOON)

    def _failed(self, domain: str, error: DnsError | ValueError) -> Watch:
        if isinstance(error, DnsError) and passes(error):
            if self.records.mr.deleted:
                raise self.records.not_released([domain], error)
            sooner = max(0.0, _SOON - error.after) if error.after is not None else 0.0
            return self._note(domain, Watch(self.now() - sooner))
        words = f"The records of {domain}, which this resource made, are not known: {str(error).rstrip('.')}."
        return self._note(domain, Watch(self.now(), problem=words))

    def _settled(self, domain: str, zone: Zone, change: Change, before: Watch | None, *, sure: bool) -> Watch:
        now = self.now()
        if not _leads(domain, change):
            self.free.add(domain)
            return self._note(domain, Watch(now, zone.name))
        if self.records.succeeds(domain):
            return self._note(domain, Watch(now, zone.name))
        holder = self.holder(domain)
        if holder is not None:
            watch = Watch(now, zone.name, holder.words)
            if holder.tenant:
                words = _led_here(domain, zone.name, self.records.mr.name)
                self.behind.note(self.records.mr.uid, domain, holder.tenant, words)
            return self._note(domain, watch)
        since = before.free_since if before else None
        if sure or (since is not None and now >= since + _SOON):
            self.free.add(domain)
        return self._note(domain, Watch(now, zone.name, free_since=now if since is None else since))

    def _note(self, domain: str, watch: Watch) -> Watch:
        self.records.access.tickets.watch(self.records.mr.uid, domain, watch)
        if not watch.holder:
            self.behind.drop(self.records.mr.uid, domain)
        return watch

    def _over(self, domain: str) -> None:
        self.behind.drop(self.records.mr.uid, domain)
        self.records.access.tickets.gone(self.records.mr.uid, domain)

    def _may_go(self, domain: str) -> bool:
        known = self.found.get(domain)
        return known is None or known.free_since is None or self.holder(domain) is None


def _leads(domain: str, change: Change) -> bool:
    """Whether something leads to CloudFront, and not only the mark is left."""
    return any(each.name != ownership.mark_name(domain) for each in change.deletes)


def _told(domain: str, watch: Watch) -> str:
    return (
        f"The DNS records of {domain} in zone {watch.zone} belong to this resource, and {watch.holder} has "
        "the domain."
    )


def _led_here(domain: str, zone: str, maker: str) -> str:
    return (
        f"The DNS records of {domain} in zone {zone} belong to DistributionTenant {maker}, which removes "
        "them once no tenant has the domain. To take them over, set spec.forProvider.dns as it is there."
    )


def _first(told: list[str]) -> list[str]:
    more = len(told) - _TOLD
    return [*told[:_TOLD], f"The same holds for {more} more domains."] if more > 0 else told


def _token(held: Mapping[str, Watch]) -> str:
    """Of exactly these records: if there are others later, it is another one."""
    text = "\n".join(f"{domain} {each.zone}" for domain, each in sorted(held.items()))
    return f"leave-records-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"

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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import structlog

from apis.conditions import DnsReason
from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.bounds import cut, named
from edgetenants_runtime.clock import Stopwatch
from edgetenants_runtime.errors import ExternalError, NotYet
from provider.cloudfront.aws.retries import not_ready
from provider.cloudfront.dns import conditions
from provider.cloudfront.dns.work import TenantRecords, passes
from provider.cloudfront.domain import dns_instructions
from provider.cloudfront.memory.record_tickets import LeftBehind, Watch
from provider.cloudfront.state.identity import namespace_of
from provider.dns import ownership
from provider.dns.errors import DnsError, Failure, Unreachable
from provider.dns.records import Zone
from provider.dns.server_pace import waiting
from provider.dns.store import Change, marked

__all__ = ["Holder", "LeftRecords", "first"]

_log = structlog.get_logger("provider.cloudfront.leftrecords")

_PACE: Final = 600.0
"""Seconds between two looks at records that stay."""
_SOON: Final = 60.0
"""The same while something may end soon: a deletion waits for them, no tenant has the domain, or the service
failed. A domain may be without a tenant for a moment while a user moves it on."""
_AT_ONCE: Final = 20
"""Looks of one reconcile: each may ask AWS who has the domain."""
_SECONDS: Final = 5.0
"""After which a reconcile makes no further look; real time, as services are slow in real time."""
_NEXT: Final = 1.0
"""Seconds until a deletion looks at more domains."""
_MORE: Final = 5.0
"""The same for a resource that stays: twenty looks in five seconds are four a second, and a thousand domains
have their turn well within `_PACE`."""
_STOPPING: Final = (Failure.LATER, Failure.UNCERTAIN)
"""Failures after which the next request would wait as long."""
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
    _spent: float = 0.0
    """Seconds of these looks."""
    _more: bool = False
    """The last pass left domains whose turn has come."""
    _late: ExternalError | NotYet | None = None
    """Why the last pass stopped, or what it did not find out."""
    _stopped: bool = False
    """A service is busy or does not answer, so that further looks of this reconcile would only wait."""

    @property
    def remembered(self) -> frozenset[str]:
        """The domains whose records stay in the status."""
        return frozenset(self.found)

    @property
    def again(self) -> float | None:
        """Seconds until a look that cannot wait for the next poll: at domains whose turn has come, or the
        second one at a domain without a tenant; None if there is none."""
        if self._more:
            return _SOON if self._stopped else _MORE
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
            self.behind.keep(self.records.mr.uid, self.found)
            return
        with waiting(self.records.patience):
            self._pass(self._candidates(own))

    def words(self) -> str:
        """What DNSReady says of them; "" if all is in order."""
        told = [_told(domain, each) for domain, each in sorted(self.found.items()) if each.holder]
        failed = [each.problem for _, each in sorted(self.found.items()) if each.problem]
        advice = [conditions.HAND_OVER] if told else []
        return cut(" ".join((*first(told), *advice, *first(failed))), _LONGEST)

    def release(self) -> None:
        """Remove the records that `look` found to be free, but those of a domain that a tenant has by now.

        Raises:
            NotYet: they are not gone yet.
            ExternalError: they cannot be removed.
        """
        if not self.records.access.frozen:
            self._release()

    def _release(self) -> None:
        self.free = {each for each in self.free if self._may_go(each)}
        self.records.release(sorted(self.free), only_own=True)

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
            self.behind.keep(self.records.mr.uid, ())
            return
        listed = frozenset(listed)
        if self.records.access.problem:
            # One that cannot be used stops nothing unless records were made: the tenant may never have been.
            if left := sorted(self._made(())):
                raise self.records.kept(left, self.records.access.problem)
            return
        # Those that an earlier reconcile removed: name servers may still answer with their records.
        removed = {each for each in self._mentioned(listed) if self._is_gone(each) and self._is_open(each)}
        there = (each for each in self._candidates(()) | listed if not self._is_gone(each))
        with waiting(self.records.patience):
            self._pass((each for each in there if not self.records.succeeds(each)), listed)
        self._release()
        self._check_known()
        self._check_free()
        self.records.until_gone(removed)
        self._check_held()

    def _pass(self, domains: Iterable[str], listed: Collection[str] = ()) -> None:
        """Look at those whose turn has come; first at those that had none for the longest time, so that each
        has its turn also if there are more than one reconcile looks at."""
        self.found, self._more, self._late = {}, False, None
        known = {each: self.records.access.tickets.watched(self.records.mr.uid, each) for each in domains}
        for domain, before in sorted(known.items(), key=_turn):
            watch = self._watch(domain, before, is_listed=domain in listed)
            if watch is not None:
                self.found[domain] = watch
        self.behind.keep(self.records.mr.uid, {each for each, watch in self.found.items() if watch.holder})

    def _check_known(self) -> None:
        """Raise unless it is known of all records whom they lead to. A look that failed takes nothing back of
        what one found before, since the deletion began."""
        if not all(each.at_end for each in self.found.values()):
            raise self._late or NotYet("looking at the DNS records of more domains", after=_NEXT)
        for domain, each in sorted(self.found.items()):
            if each.problem:
                raise self.records.kept([domain], each.problem)

    def _check_free(self) -> None:
        waits = [each for each, watch in self.found.items() if not watch.holder and each not in self.free]
        if waits:
            words = (
                f"no tenant has {named(waits)}; the provider looks again, and then removes the DNS records"
            )
            raise NotYet(words, after=_MORE if self._more and not self._stopped else _SOON)

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
            f"{' '.join(first([_told(*each) for each in sorted(held.items())]))} The deletion of this "
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

    def _mentioned(self, listed: Collection[str]) -> frozenset[str]:
        """The domains whose records this resource may have made, as its spec and its status say."""
        return dns_instructions.made(self.records.mr.status).union(listed)

    def _is_gone(self, domain: str) -> bool:
        return self.records.access.tickets.is_gone(self.records.mr.uid, domain)

    def _is_open(self, domain: str) -> bool:
        return self.records.access.tickets.of(self.records.mr.uid, domain) is not None

    def _watch(self, domain: str, before: Watch | None, *, is_listed: bool) -> Watch | None:
        """What is known of a domain's records; None if none of this resource are left."""
        if before is not None and not self._is_due(before):
            return before
        if self._stopped or self._looks >= _AT_ONCE or self._spent >= _SECONDS:
            self._more = True
            return before or Watch(self.now())
        self._looks += 1
        watch = Stopwatch()
        try:
            return self._looked(domain, before, is_listed=is_listed)
        except (DnsError, ValueError) as error:
            if not isinstance(error, DnsError) or not passes(error):
                return self._lasting(domain, error)
            self._stopped |= isinstance(error, Unreachable) or error.failure in _STOPPING
            late = self.records.not_released([domain], error)
            return self._failed(domain, before, late, error.after)
        except (ExternalError, NotYet) as error:
            _log.info("cannot find which tenant has a domain", domain=domain, error=str(error))
            self._stopped = True
            return self._failed(domain, before, error, None)
        finally:
            self._spent += watch.elapsed()

    def _looked(self, domain: str, before: Watch | None, *, is_listed: bool) -> Watch | None:
        work = self.records.removal(domain, only_own=True, again=True)
        if not work:
            self._over(domain)
            return None
        # One look without a tenant is enough for a domain that no other tenant was seen to have.
        seen = before is not None and (before.holder or before.free_since is not None)
        return self._settled(domain, *work[0], before, sure=is_listed and not seen)

    def _is_due(self, watch: Watch) -> bool:
        if self.records.mr.deleted and not watch.at_end:
            return True
        is_steady = watch.holder and not self.records.mr.deleted
        return self.now() >= watch.last + (_PACE if is_steady else _SOON)

    def _failed(
        self, domain: str, before: Watch | None, late: ExternalError | NotYet, after: float | None
    ) -> Watch:
        """It says nothing of the records: what was found before stays."""
        self._late = self._late or late
        tried = self.now() - (max(0.0, _SOON - after) if after is not None else 0.0)
        watch = replace(before, tried=tried) if before else Watch(tried)
        self.records.access.tickets.watch(self.records.mr.uid, domain, watch)
        return watch

    def _lasting(self, domain: str, error: DnsError | ValueError) -> Watch:
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
            self._tell(domain, zone, holder)
            return self._note(domain, watch)
        # A look of long ago says nothing: a user may have moved the domain on and on since.
        since = before.free_since if before and now - before.at <= _PACE else None
        if sure or (since is not None and now >= since + _SOON):
            self.free.add(domain)
        return self._note(domain, Watch(now, zone.name, free_since=now if since is None else since))

    def _tell(self, domain: str, zone: Zone, holder: Holder) -> None:
        """Let the tenant's resource say so, too; the one that had the domain before says it no more."""
        mr = self.records.mr
        if not holder.tenant:
            self.behind.drop(mr.uid, domain)
            return
        words = _led_here(domain, zone.name, mr.name)
        self.behind.note(mr.uid, domain, namespace_of(mr), holder.tenant, words)

    def _note(self, domain: str, watch: Watch) -> Watch:
        watch = replace(watch, at_end=self.records.mr.deleted)
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


def _turn(known: tuple[str, Watch | None]) -> tuple[float, str]:
    domain, watch = known
    return (watch.last if watch else float("-inf"), domain)


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


def first(told: Sequence[str]) -> list[str]:
    """Return some messages, and how many others there are."""
    more = len(told) - _TOLD
    return [*told[:_TOLD], f"The same holds for {more} more domains."] if more > 0 else list(told)


def _token(held: Mapping[str, Watch]) -> str:
    """Of exactly these records: if there are others later, it is another one."""
    text = "\n".join(f"{domain} {each.zone}" for domain, each in sorted(held.items()))
    return f"leave-records-{hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]}"

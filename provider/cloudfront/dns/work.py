"""Writes and removes the records of one tenant, for one reconcile.

    create    preflight ─▶ records of names that nothing answers for ─▶ served ─▶ tenant
              only where CloudFront itself answers the validation of the certificate; otherwise records last
    update    records of removed domains go first, those of new ones as above
    at rest   records that are missing or wrong are written, under the drift policy
    delete    records go ─▶ no name server answers with them ─▶ tenant

A record that leads to CloudFront without a tenant for its domain would let others take the domain. So the
record always goes before the domain does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import wraps
from typing import Concatenate, Final, ParamSpec, TypeVar

import structlog

from apis.conditions import DnsReason
from apis.dns import DnsInstruction, RecordPurpose, RecordState, RecordType
from apis.drift import DriftPolicy
from edgetenants_runtime import leading
from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.bounds import named
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront.dns import conditions
from provider.cloudfront.dns import look as looks
from provider.cloudfront.dns.access import RecordsAccess
from provider.cloudfront.dns.look import DomainLook, Look, leads_to_cloudfront, until_served
from provider.cloudfront.domain import dns_instructions
from provider.cloudfront.domain.dns_instructions import CHALLENGE, State
from provider.dns import plan
from provider.dns.errors import DnsError, Failure, Unreachable
from provider.dns.plan import Wanted, gave_nothing
from provider.dns.records import RecordSet, Zone
from provider.dns.server_pace import Patience, waiting
from provider.dns.store import (
    Change,
    RecordStore,
    Written,
    is_deleted,
    marked,
    remembers,
    write_all,
)

__all__ = ["TenantRecords", "passes"]

_log = structlog.get_logger("provider.cloudfront.dnsrecords")

_AGAIN: Final = 1.0
_SERVED_AGAIN: Final = 5.0
_HELD: Final = 60.0
_FAILED_AGAIN: Final = 30.0
_IF_IT_LASTS: Final = (
    "If this lasts, correct the cause; or remove spec.forProvider.dns of this resource, and the records stay"
)
_AT_ONCE: Final = 20
"""Domains whose records one reconcile makes before the tenant: for each it asks AWS who has it."""


_P = ParamSpec("_P")
_R = TypeVar("_R")


def _patient(
    method: Callable[Concatenate[TenantRecords, _P], _R],
) -> Callable[Concatenate[TenantRecords, _P], _R]:
    """Have all that waits for a turn at a server wait as long as is left to the reconcile."""

    @wraps(method)
    def patient(self: TenantRecords, /, *how: _P.args, **more: _P.kwargs) -> _R:
        with waiting(self.patience):
            return method(self, *how, **more)

    return patient


@dataclass
class TenantRecords:
    """The records of one tenant. Its methods do nothing if the spec asks for none."""

    mr: Managed
    access: RecordsAccess
    drift_policy: DriftPolicy
    succeeds: Callable[[str], bool]
    """Whether another resource, which stays, takes over the records of a domain."""
    last: Look = looks.NOTHING
    """The last look of this reconcile."""
    endpoint: str = ""
    has: Collection[str] = ()
    """Of the last look."""
    failed: str = ""
    """Why the last write failed."""
    patience: Patience = field(default_factory=Patience)
    """Of this reconcile."""

    @property
    def made(self) -> frozenset[str]:
        """The domains for which this resource made records: as the last look says, or as the stored status
        says where the zone could not be read."""
        unseen = {each.domain for each in self.last.domains.values() if each.step is None}
        return self.last.made | (dns_instructions.made(self.mr.status) & unseen)

    @property
    def asked(self) -> bool:
        """The spec asks for records."""
        return self.access.asked

    @_patient
    def look(self, domains: Iterable[str], endpoint: str | None, has: Collection[str] = ()) -> Look:
        """Look at the records of domains that are to lead to a routing endpoint; None: it is not known.
        `has` are those that the tenant has in AWS: their records move with them from other namespaces."""
        if not self.asked or self.access.store is None or endpoint is None:
            return self.last
        confirmation = self.mr.annotations.get(conditions.CONFIRM, "")
        self.last = looks.look(self.access, self.mr.uid, domains, endpoint, confirmation, has)
        self.endpoint, self.has = endpoint, has
        return self.last

    def heard(self, told: State, endpoint: str) -> None:
        """CloudFront has just said how it sees the records of the last look at that routing endpoint."""
        doubts = (RecordState.MISSING, RecordState.WRONG)
        for domain, found in self.last.domains.items():
            if not found.in_place:
                continue
            type_ = RecordType.ALIAS if found.is_apex else RecordType.CNAME
            routing = DnsInstruction(type=type_, name=domain, value=endpoint, purpose=RecordPurpose.ROUTING)
            state = told(routing)
            if state in doubts:
                self.access.tickets.doubt(self.mr.uid, domain, state)
            elif state is RecordState.PRESENT:
                self.access.tickets.trust(self.mr.uid, domain)

    def condition(self, unseen: str = "") -> Condition:
        """Return DNSReady as of the last look."""
        if self.access.problem:
            return conditions.of_problem(self.access)
        return conditions.dns_ready(self.access, self.last, self.failed, unseen)

    # At rest.

    def to_write(self, has: Collection[str], active: Collection[str]) -> tuple[DomainLook, ...]:
        """Return what is to be written for a tenant.

        Args:
            has: its domains in AWS.
            active: those that CloudFront serves.
        """
        if self.access.frozen:
            return ()
        due = (each for each in self.last.domains.values() if each.is_due and each.domain in has)
        return tuple(each for each in due if self._may_write(each, active))

    def diff(self, due: Iterable[DomainLook]) -> tuple[FieldDiff, ...]:
        """Return what differs, for the log."""
        return tuple(
            FieldDiff(f"dns.{each.domain}", "records to CloudFront", _there(each) or "none") for each in due
        )

    @_patient
    def write(self, due: Iterable[DomainLook]) -> str:
        """Write records; return what was done, for the event. Where something has come in the way since the
        last look, nothing is written, and the next reconcile shows it.

        Raises:
            ExternalError, NotYet: nothing was written.
        """
        due = self._still_due(list(due))
        work = [(each.zone, each.step.change) for each in due if each.zone and each.step and each.step.change]
        written, failures = self._write(work)
        if not written and failures:
            raise self._failure(failures)
        self.failed = _why(failures)
        return f"wrote the DNS records of {named(written)}" if written else ""

    def _still_due(self, due: list[DomainLook]) -> list[DomainLook]:
        """Those that are due after another look, where a record is made for the first time and the last look
        may be some minutes old: what a change expects does not name the wildcards above a domain."""
        first = {each.domain: each for each in due if each.step and not each.step.corrects}
        if not first or not remembers(self.access.store):
            return due
        confirmation = self.mr.annotations.get(conditions.CONFIRM, "")
        # A confirmation is for all domains for which something else answers.
        asking = {each.domain for each in self.last.domains.values() if _takes(each)}
        look = looks.look(
            self.access,
            self.mr.uid,
            first.keys() | asking,
            self.endpoint,
            confirmation,
            self.has,
            again=True,
        )
        # What answers for a domain was weighed before: whether the tenant serves it, or a user confirms it.
        same = {
            domain: now
            for domain, now in look.domains.items()
            if domain in first and now.is_due and now.answers == first[domain].answers
        }
        return [
            same.get(each.domain, each) for each in due if each.domain in same or each.domain not in first
        ]

    def _may_write(self, found: DomainLook, active: Collection[str]) -> bool:
        step = found.step
        if step is None:
            return False
        if step.corrects:
            ours = all(map(leads_to_cloudfront, step.there))
            return (ours and bool(step.there)) or self.drift_policy is DriftPolicy.ENFORCE
        # Today's visitors must not end at a tenant that does not serve.
        return not _takes(found) or self.last.confirmed or found.domain in active

    # In the order of the tenant's own changes.

    def before_serving(
        self,
        domains: Collection[str],
        endpoint: str | None,
        check_free: Callable[[Collection[str]], None],
    ) -> None:
        """Make the records of domains that CloudFront accepts only once DNS leads them to it, and wait until
        they are served. Only names for which nothing answers today, or whose change a user has confirmed.

        Args:
            domains: the domains.
            endpoint: the routing endpoint; None if it is not known.
            check_free: raises if another tenant has one of some domains, as AWS says now: the record would
                take the name from it in DNS.

        Raises:
            NotYet: the records are not served yet.
        """
        if not self.asked or self.access.store is None or self.access.frozen or not endpoint:
            return
        look = self.look(domains, endpoint)
        each_look = look.domains.values()
        if look.later is not None and not all(each.is_as_wanted or each.is_due for each in each_look):
            raise self._waits("the zones of the domains are being read", look.later)
        due = [each for each in each_look if each.is_due and self._is_free(each)][:_AT_ONCE]
        if due:
            check_free([each.domain for each in due])
            story = self.write(due) or "other records have come in the way of the domains"
            raise self._waits(f"{story}; waiting until every name server has them", _SERVED_AGAIN)
        slow = [each.domain for each in each_look if each.is_as_wanted and not each.served]
        if slow:
            words = f"the DNS records of {named(slow)} are not on every name server yet"
            raise self._waits(words, _SERVED_AGAIN)

    @_patient
    def release(self, domains: Iterable[str], *, only_own: bool = False) -> None:
        """Remove the records of domains that the tenant is about to lose, and wait until no name server
        answers with them. Nothing is removed that another resource takes over, or that leads elsewhere.

        Args:
            domains: the domains.
            only_own: leave records that another resource of the namespace made.

        Raises:
            NotYet: they are not gone yet.
            ExternalError: they cannot be removed.
        """
        if not self.asked:
            return
        leaving = sorted(each for each in domains if not self.succeeds(each))
        if self.access.is_nowhere:
            # Nothing says where the records of the others would be, if there are any.
            leaving = [each for each in leaving if each in dns_instructions.made(self.mr.status)]
        if not leaving:
            return
        if self.access.problem:
            raise self.kept(leaving, self.access.problem)
        try:
            work = [each for domain in leaving for each in self.removal(domain, only_own=only_own)]
        except (DnsError, ValueError) as error:
            raise self.not_released(leaving, error) from error
        if work and self.access.frozen:
            raise self.kept([change.domain for _, change in work], self.access.frozen)
        if work:
            written, failures = self._write(work)
            if failures:
                raise self.not_released(leaving, next(iter(failures.values())))
            _log.info("removed DNS records", tenant=self.mr.external_name, domains=written)
            raise NotYet(_gone_soon(written), after=_SERVED_AGAIN)
        self.until_gone(leaving)

    @_patient
    def until_gone(self, domains: Iterable[str]) -> None:
        """Wait until no name server answers with the records of domains, which this process removed.

        Raises:
            NotYet: one may still do.
        """
        silent: dict[Zone, str] = {}
        leaving = sorted(domains)
        served = (until_served(self.access, self.mr.uid, each, silent) for each in leaving)
        if slow := [each for each, later in zip(leaving, served, strict=True) if later is not None]:
            why = max(silent.values(), default="")
            words = _gone_soon(slow, why)
            told = (conditions.condition(DnsReason.DNS_PROPAGATING, words),) if why else ()
            raise NotYet(words, after=_SERVED_AGAIN, conditions=told)

    def removal(
        self, domain: str, *, only_own: bool = False, again: bool = False
    ) -> list[tuple[Zone, Change]]:
        """Return what removes the records of a domain, which this resource or its namespace made; nothing if
        there are none, and then they count as gone. `again`: what a store remembers does not count, as
        another process may have changed them.

        Raises:
            DnsError: it is not known whether there are any.
            ValueError: the zone has what cannot be read.
        """
        store = self.access.store
        if store is None:
            return []
        zone = store.zone_of(domain)
        if zone is None:
            self._check_without_zone(store, domain)
            return []
        # Any record at these names that leads to CloudFront: it may have been an apex before.
        names = Wanted(
            domain,
            (RecordSet(domain, "CNAME", ()), RecordSet(f"{CHALLENGE}.{domain}", "TXT", ())),
        )
        try:
            asked = names.names
        except ValueError:
            # Its mark would be too long, so the provider never made a record.
            return []
        gone = self.access.tickets.is_gone(self.mr.uid, domain)
        # What was read before may be from before the records: another provider config, or a process that had
        # this resource meanwhile, may have made them.
        for fresh in (True,) if again else (False,) if gone else (False, True):
            found = store.read(zone, asked, fresh=fresh)
            change = plan.release(
                names,
                found,
                self.access.owner,
                leads_to_cloudfront,
                only_own=only_own,
                gave=gave_nothing if only_own else self.access.gave,
            )
            if change:
                return [(zone, change)]
        self.access.tickets.gone(self.mr.uid, domain)
        return []

    def _check_without_zone(self, store: RecordStore, domain: str) -> None:
        """Raise DnsError if the records of a domain may still lead to CloudFront, although its zone is not
        found: a provider config may name another server or other zones than when they were made. The status
        is no proof, but here it only makes the deletion wait."""
        if self.access.tickets.is_gone(self.mr.uid, domain) or is_deleted(store, domain):
            return
        if domain in marked(store, self.access.owner) or domain in dns_instructions.made(self.mr.status):
            raise DnsError(
                Failure.REFUSED,
                f"the provider made records of {domain}, and {self.access.config} has no zone that contains "
                "it any more. Name the DNS server and the zone there again; or, if no DNS server answers "
                "with these records any more, go on without their removal",
            )

    def _is_free(self, found: DomainLook) -> bool:
        """Nothing answers for it today, or a user has confirmed the change."""
        step = found.step
        corrects = step is not None and step.corrects
        return self.last.confirmed or corrects or not _takes(found)

    def _write(self, work: Iterable[tuple[Zone, Change]]) -> tuple[list[str], dict[str, DnsError]]:
        """Write changes, those of a zone together; return the domains that were written, and the failures."""
        store = self.access.store
        assert store is not None  # noqa: S101 - the caller has checked it
        leading.check("the change of DNS records")
        by_zone: dict[Zone, list[Change]] = {}
        for zone, change in work:
            by_zone.setdefault(zone, []).append(change)
        written, failures = [], {}
        for zone, changes in by_zone.items():
            for change, result in zip(changes, write_all(store, zone, changes), strict=True):
                if isinstance(result, Written):
                    self.access.tickets.note(self.mr.uid, change.domain, zone, result)
                    if not change.creates:
                        self.access.tickets.gone(self.mr.uid, change.domain)
                    written.append(change.domain)
                else:
                    failures[change.domain] = result
                    if result.ticket:
                        self.access.tickets.note(self.mr.uid, change.domain, zone, Written(result.ticket))
        return sorted(written), failures

    def _failure(self, failures: dict[str, DnsError]) -> ExternalError | NotYet:
        self.failed = _why(failures)
        first = next(iter(failures.values()))
        words = f"DNS records of {named(sorted(failures))}: {self._told(first)}"
        if all(passes(each) for each in failures.values()):
            self.failed = ""
            return NotYet(words, after=first.after or _AGAIN, conditions=(self.condition(),))
        retry = Retry.poll() if first.failure is Failure.NOT_PERMITTED else Retry.backoff()
        return ExternalError(words, conditions=(self.condition(),), retry=retry)

    def not_released(self, domains: list[str], error: DnsError | ValueError) -> ExternalError | NotYet:
        """Return the error for records that cannot be removed, and so keep their resource or its domains."""
        if isinstance(error, DnsError) and passes(error):
            words = f"the DNS records of {named(domains)} are to be removed first: {self._told(error)}"
            # A moment is worth no condition; a service that does not answer may keep the resource for long.
            if error.failure is Failure.CHANGED or error.after:
                return NotYet(words, after=error.after or _AGAIN, conditions=self._lasting(error, words))
            told = f"{words.rstrip('.')}. {_IF_IT_LASTS}"
            condition = conditions.condition(DnsReason.DNS_ERROR, told)
            return NotYet(told, after=_FAILED_AGAIN, conditions=(condition,))
        return self.kept(domains, str(error))

    def _lasting(self, error: DnsError, words: str) -> tuple[Condition, ...]:
        told = f"{words.rstrip('.')}. {_IF_IT_LASTS}"
        lasts = isinstance(error, Unreachable)
        return (conditions.condition(DnsReason.DNS_ERROR, told),) if lasts else ()

    def _told(self, error: DnsError) -> str:
        if not isinstance(error, Unreachable):
            return str(error)
        # Its own words differ between a request and the pause after it, and would be written at each attempt.
        _log.warning("DNS service does not answer", config=self.access.config, error=str(error))
        return f"the DNS service of {self.access.config} does not answer. {conditions.IF_UNREACHABLE}"

    def kept(self, domains: list[str], why: str) -> ExternalError:
        """As `not_released`, until someone acts; `why` says what is wrong."""
        words = (
            f"the DNS records of {named(domains)} cannot be removed: {why.rstrip('.')}. The tenant keeps "
            "these domains meanwhile, as others could take them while the records lead to CloudFront. "
            "Correct the cause; or remove spec.forProvider.dns of this resource, and the records stay"
        )
        return ExternalError(
            words,
            conditions=(conditions.condition(DnsReason.DNS_ERROR, words),),
            retry=Retry.after(_HELD),
        )

    def _waits(self, words: str, after: float) -> NotYet:
        return NotYet(words, after=after, conditions=(self.condition(),))


def _takes(found: DomainLook) -> bool:
    """Whether its records replace what answers for a domain today."""
    return bool(found.answers or (found.step and found.step.there))


def passes(error: DnsError) -> bool:
    """Whether the next try may succeed although nothing else happens."""
    return error.failure in (Failure.CHANGED, Failure.LATER, Failure.NO_ZONE, Failure.UNCERTAIN)


def _why(failures: dict[str, DnsError]) -> str:
    lasting = {domain: each for domain, each in failures.items() if not passes(each)}
    if not lasting:
        return ""
    first = next(iter(lasting.values()))
    return f"The records of {named(sorted(lasting))} cannot be written: {first}"


def _there(found: DomainLook) -> str:
    return ", ".join(map(str, found.step.there)) if found.step else ""


def _gone_soon(domains: list[str], silent: str = "") -> str:
    words = f"the DNS records of {named(domains)} are removed; waiting until no name server answers with them"
    return f"{words}: {silent.rstrip('.')}. {conditions.IF_SILENT}" if silent else words

"""The proofs of the domains of one tenant: looks for them, and lets no unproven domain in."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog

from apis.conditions import TenantReadyReason as Reason
from apis.dns import DnsInstruction, RecordPurpose, RecordState
from edgetenants_runtime.api.conditions import Condition
from edgetenants_runtime.bounds import named
from edgetenants_runtime.clock import Clock, SystemClock
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.retries import not_ready
from provider.cloudfront.domain import dns_instructions, proof
from provider.cloudfront.domain.lookup_turns import LookupTurns, NoTurn
from provider.cloudfront.domain.proof import Rules
from provider.cloudfront.domain.text_lookup import LookupFailed, TextLookup, Texts
from provider.cloudfront.memory.proof_answers import ProofAnswers, Standing, Verdict
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS
from provider.cloudfront.state.identity import namespace_of
from provider.cloudfront.state.look_requested import is_requested

__all__ = ["DomainProofs", "TenantProofs"]

_log = structlog.get_logger("provider.cloudfront.domainproofs")

_OF_A_WRITE: Final = 300.0
"""Seconds for which a proof that was seen lets a domain in."""
_LONGEST_PASS: Final = 3600.0
"""While the looks for the other domains of a write go on: so many seconds."""
_LOOKUP_SECONDS: Final = 3.0
_BUDGET_SECONDS: Final = 6.0
"""For the look-ups of one reconcile; its worker can do nothing else meanwhile."""
_MOST_LOOKUPS: Final = 40
"""In one reconcile."""
_MOST_SILENT: Final = 2
"""Names without a reply that end the look-ups of one reconcile."""
_TIMES_IN_AN_INTERVAL: Final = 4
"""In how many parts of the check interval a forgotten proof has its time; a resource at rest is reconciled in
each."""
_GOING_ON: Final = 1.0
_SOONEST: Final = 5.0
_MOST_NAMED: Final = 5
_LONGEST_WHY: Final = 200


def _no_lookup(name: str, seconds: float) -> Texts:
    raise LookupFailed(f"no resolver is configured to look up {name} in {seconds:.0f} seconds")


class DomainProofs:
    """What all tenants share. Thread-safe."""

    def __init__(
        self,
        clock: Clock | None = None,
        lookup: TextLookup = _no_lookup,
        rules: Rules | None = None,
        check_seconds: float = DEEP_CHECK_SECONDS,
    ) -> None:
        """`check_seconds` is the longest interval between looks for the proof of a domain that is served."""
        self.clock = clock or SystemClock()
        self.lookup = lookup
        self.rules = rules or Rules()
        self.check_seconds = check_seconds
        self.answers = ProofAnswers(self.clock)
        self.turns = LookupTurns(self.clock)
        self._started = self.clock.now()

    def ask(self, namespace: str, name: str) -> Texts:
        """Look up the TXT records of a name for a tenant of the namespace.

        Raises:
            LookupFailed: there was no answer.
            NoTurn: the name was not looked up.
        """
        with self.turns.turn(namespace):
            return self.lookup(name, _LOOKUP_SECONDS)

    def is_stored_due(self, uid: str, domain: str) -> bool:
        """Whether it is time to look for a proof of which only the status says that it was there. After a
        restart, each has its time within the interval, so that not all are looked for at once. So have those
        that were forgotten because there are too many."""
        share = zlib.crc32(f"{uid}/{domain}".encode()) / 2**32
        since = self.clock.now() - self._started - share * self.check_seconds
        return since >= 0 and since % self.check_seconds < self.check_seconds / _TIMES_IN_AN_INTERVAL


@dataclass
class TenantProofs:
    """The proofs of one tenant, for one reconcile."""

    mr: Managed
    proofs: DomainProofs
    installation: str
    held: Callable[[Managed, Iterable[str]], frozenset[str]] = lambda *_: frozenset()
    """Those of some domains that are kept for the namespace, as a tenant of it served them."""
    _looked: set[str] = field(default_factory=set)
    """Domains that were looked up in this reconcile."""
    _end: float | None = None
    """When its look-ups end, on the clock; None before the first one."""
    _silent: int = 0
    """Names that got no reply in this reconcile."""
    _held_up: NoTurn | None = None
    """Why its look-ups ended, if others come first."""

    @property
    def _namespace(self) -> str:
        return namespace_of(self.mr)

    def to_prove(self, domains: Iterable[str]) -> frozenset[str]:
        """Return the domains that need a proof."""
        return proof.to_prove(self.mr, domains, self.proofs.rules)

    def look(self, domains: Iterable[str], *, deep: bool = False) -> None:
        """Look for the proofs of domains where that is due.

        Args:
            domains: all domains of the tenant.
            deep: this reconcile also does what is otherwise done less often.
        """
        states = dns_instructions.proofs(self.mr.status)
        asked = is_requested(self.mr)

        def is_due(domain: str) -> bool:
            if asked and self._looked_at(domain) <= self.proofs.clock.now() - _SOONEST:
                return True
            if self._verdict(domain).standing is Standing.UNKNOWN:
                told = states.get(self._key(domain), RecordState.UNKNOWN)
                return (
                    deep or told is not RecordState.PRESENT or self.proofs.is_stored_due(self.mr.uid, domain)
                )
            return self._due_in(domain, self.proofs.check_seconds) <= 0

        self._ask(filter(is_due, self.to_prove(domains)), unproven_first=asked)

    def check(self, domains: Collection[str], moved: Collection[str] = (), *, serving: bool = False) -> None:
        """Check that the tenant may have new domains.

        Args:
            domains: those that it does not have yet. One that is kept for the namespace needs no proof: its
                tenant may be gone, and no one else may have it.
            moved: those that another tenant has. They need a proof also if they are kept: they are served
                meanwhile.
            serving: the tenant still serves.

        Raises:
            NotYet: DNS was not asked for all of them yet.
            ExternalError: one has no proof, or DNS gives no answer.
        """
        needed = sorted(self.unproven(domains, moved))
        if not needed:
            return
        failed = [each for each in needed if self._verdict(each).standing is Standing.FAILED]
        lacking = [each for each in needed if self._is_lacking(each)]
        waiting = [each for each in needed if each not in failed and each not in lacking]
        if waiting and not failed:
            raise self._going_on(serving=serving)
        words = _refusal(lacking, failed, self._verdict)
        again = min(self._due_in(each, _OF_A_WRITE) for each in (*lacking, *failed))
        if self._held_up:
            again = max(again, self._held_up.after)
        conditions = _conditions(words, serving=serving)
        raise ExternalError(words, conditions=conditions, retry=Retry.after(max(_SOONEST, again)))

    def _going_on(self, *, serving: bool) -> NotYet:
        # Not the names that are left: the condition must not change each second.
        words, after = "looking for the TXT records that prove spec.forProvider.domains", _GOING_ON
        if self._held_up:
            words, after = f"{words}; {self._held_up}", max(after, self._held_up.after)
        return NotYet(words, after=after, conditions=_conditions(words, serving=serving))

    def unproven(self, domains: Collection[str], moved: Collection[str] = ()) -> frozenset[str]:
        """Return the new domains that the tenant may not have now; the arguments are as in `check`. Looks for
        their proofs where that is due."""
        needed = self.to_prove(domains)
        if not needed:
            return frozenset()
        needed -= self.held(self.mr, needed) - frozenset(moved)
        since = self._proofs_count_since(needed)
        self._ask(each for each in needed if self._is_due_for_a_write(each, since))
        since = self._proofs_count_since(needed)
        return frozenset(each for each in needed if not self._is_proven(each, since))

    def _proofs_count_since(self, domains: Iterable[str]) -> float:
        """When the last pass over the domains began, on the clock: proofs that were seen one after the other,
        without a pause in which one becomes too old. Without this, a set of domains whose DNS is slow would
        never be proven as a whole."""
        now = since = self.proofs.clock.now()
        seen = (self._looked_at(each) for each in domains if self._verdict(each).standing is Standing.PROVEN)
        for at in sorted(seen, reverse=True):
            if since - at >= _OF_A_WRITE or now - at >= _LONGEST_PASS:
                return since
            since = at
        return since

    def _is_due_for_a_write(self, domain: str, since: float) -> bool:
        if self._verdict(domain).standing is Standing.PROVEN:
            return not self._is_proven(domain, since)
        return self._due_in(domain, _OF_A_WRITE) <= 0

    def lost(self, domains: Iterable[str]) -> tuple[str, ...]:
        """Return those of the domains that a tenant has whose proof is required and not there. Without an
        answer from DNS, the last one counts."""
        states = dns_instructions.proofs(self.mr.status)

        def is_lost(domain: str) -> bool:
            if self._verdict(domain).standing in (Standing.FAILED, Standing.UNKNOWN):
                return states.get(self._key(domain)) in (RecordState.MISSING, RecordState.WRONG)
            return self._verdict(domain).is_refusal

        return tuple(sorted(filter(is_lost, self.to_prove(domains))))

    def instructions(self, domains: Iterable[str]) -> tuple[DnsInstruction, ...]:
        """Return the records of the proofs."""
        states = dns_instructions.proofs(self.mr.status)
        made = (
            proof.instruction(
                self.installation,
                self._namespace,
                domain,
                self._verdict(domain),
                states.get(self._key(domain), RecordState.UNKNOWN),
            )
            for domain in sorted(self.to_prove(domains))
        )
        return tuple(each for each in made if each is not None)

    def keys(self, domains: Iterable[str]) -> frozenset[tuple[str, str]]:
        """Return name and value of the record of each domain."""
        return frozenset(map(self._key, domains))

    def _is_proven(self, domain: str, since: float) -> bool:
        """Whether the proof was seen, and not too long ago for a write."""
        return self._verdict(domain).standing is Standing.PROVEN and self._looked_at(domain) >= since

    def _is_lacking(self, domain: str) -> bool:
        return self._verdict(domain).is_refusal or not proof.fits(domain)

    def _looked_at(self, domain: str) -> float:
        found = self.proofs.answers.looked_at(self._namespace, domain)
        return -math.inf if found is None else found

    def _verdict(self, domain: str) -> Verdict:
        return self.proofs.answers.of(self._namespace, domain)

    def _due_in(self, domain: str, longest: float) -> float:
        if not proof.fits(domain):
            return longest
        return self.proofs.answers.due_in(self._namespace, domain, longest)

    def _key(self, domain: str) -> tuple[str, str]:
        return proof.name(domain), proof.value(self.installation, self._namespace, domain)

    def _ask(self, domains: Iterable[str], *, unproven_first: bool = False) -> None:
        """Look some domains up, until the time of this reconcile is over. The second name that gets no reply
        ends it: the resolvers may be down, and others wait for this worker."""
        if self._end is None:
            self._end = self.proofs.clock.now() + _BUDGET_SECONDS

        def turn(domain: str) -> tuple[bool, bool, float, str]:
            # A dead name server must not keep a proof away that comes later.
            verdict = self._verdict(domain)
            later = unproven_first and verdict.standing is Standing.PROVEN
            return verdict.silent, later, self._looked_at(domain), domain

        for domain in sorted((each for each in domains if proof.fits(each)), key=turn):
            over = len(self._looked) >= _MOST_LOOKUPS or self.proofs.clock.now() >= self._end
            if over or self._silent >= _MOST_SILENT or self._held_up:
                return
            if domain not in self._looked:
                self._ask_for(domain)

    def _ask_for(self, domain: str) -> None:
        name, wanted = self._key(domain)
        try:
            verdict = proof.judged(self.proofs.ask(self._namespace, name), wanted)
        except NoTurn as why:
            # What DNS said last still counts.
            self._held_up = why
            return
        except LookupFailed as error:
            verdict = Verdict(Standing.FAILED, proof.readable(str(error), _LONGEST_WHY), silent=error.silent)
            _log.info("cannot look for the proof of a domain", name=name, error=verdict.found)
            self._silent += error.silent
        self._looked.add(domain)
        self.proofs.answers.note(self._namespace, domain, verdict)


def _conditions(words: str, *, serving: bool) -> tuple[Condition, ...]:
    return () if serving else (not_ready(Reason.DOMAIN_VALIDATION_PENDING, words),)


def _refusal(lacking: Collection[str], failed: Collection[str], verdict: Callable[[str], Verdict]) -> str:
    missing = named([each for each in lacking if proof.fits(each)], _MOST_NAMED)
    long = named([each for each in lacking if not proof.fits(each)], _MOST_NAMED)
    unclear = named(list(failed), _MOST_NAMED)
    told = []
    if missing:
        told.append(
            f"spec.forProvider.domains: {missing}: DNS does not have the TXT record that proves that its "
            "owner agrees to be served for this namespace. Create the records of status.dnsInstructions with "
            f"purpose {RecordPurpose.PROOF.value}, beside any others there. The provider looks again within "
            "five minutes"
        )
    if long:
        told.append(
            f"spec.forProvider.domains: {long}: too long to be proven: DNS does not allow the name of the "
            "TXT record. Remove it, or use a shorter name"
        )
    if unclear:
        told.append(
            f"spec.forProvider.domains: {unclear}: the provider cannot look for the TXT record of "
            f"status.dnsInstructions that proves the domain: {verdict(min(failed)).found}. It tries again "
            "within five minutes"
        )
    return "; ".join(told)

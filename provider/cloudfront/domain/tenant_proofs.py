"""The proofs of the domains of one tenant: looks for them, and lets no unproven domain in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog

from apis.conditions import TenantReadyReason as Reason
from apis.dns import DnsInstruction, RecordPurpose, RecordState
from edgetenants_runtime.bounds import named
from edgetenants_runtime.clock import Clock, SystemClock
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.retries import not_ready
from provider.cloudfront.domain import dns_instructions, proof
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
_LOOKUP_SECONDS: Final = 3.0
_BUDGET_SECONDS: Final = 6.0
"""For the look-ups of one reconcile; its worker can do nothing else meanwhile."""
_MOST_LOOKUPS: Final = 40
"""In one reconcile."""
_MOST_SILENT: Final = 5
_DOWN_SECONDS: Final = 10.0
"""How often one look-up tries whether the resolvers reply again, after that many in a row got no reply."""
_GOING_ON: Final = 1.0
_SOONEST: Final = 5.0
_MOST_NAMED: Final = 5


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
        self._lock = threading.Lock()
        self._silent = 0
        """How many look-ups in a row got no reply."""
        self._next = 0.0
        """If these are too many: when the next one may try."""

    def ask(self, name: str) -> Texts:
        """Look up the TXT records of a name. While the resolvers do not reply, one worker tries for all: they
        must not all wait for a time-out.

        Raises:
            LookupFailed: there was no answer.
        """
        with self._lock:
            if self._silent >= _MOST_SILENT:
                if self.clock.now() < self._next:
                    raise LookupFailed("no resolver replied in time", silent=True)
                self._next = self.clock.now() + _DOWN_SECONDS
        try:
            found = self.lookup(name, _LOOKUP_SECONDS)
        except LookupFailed as error:
            self._replied(silent=error.silent)
            raise
        self._replied(silent=False)
        return found

    def _replied(self, *, silent: bool) -> None:
        with self._lock:
            self._silent = self._silent + 1 if silent else 0
            self._next = self.clock.now() + _DOWN_SECONDS


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
            if asked:
                return domain not in self._looked
            if self._verdict(domain).standing is Standing.UNKNOWN:
                # After a restart, what was there need not be looked for at once.
                told = states.get(self._key(domain), RecordState.UNKNOWN)
                return deep or told is not RecordState.PRESENT
            return self._due_in(domain, self.proofs.check_seconds) <= 0

        self._ask(filter(is_due, self.to_prove(domains)))

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
        waiting = [each for each in needed if not (self._verdict(each).is_refusal or each in failed)]
        if waiting and not failed:
            words = f"looking for the TXT records that prove {named(waiting, _MOST_NAMED)}"
            raise NotYet(words, after=_GOING_ON)
        lacking = [each for each in needed if each not in waiting]
        words = _refusal(lacking, failed, self._verdict)
        conditions = () if serving else (not_ready(Reason.DOMAIN_VALIDATION_PENDING, words),)
        again = min(self._due_in(each, _OF_A_WRITE) for each in lacking)
        raise ExternalError(words, conditions=conditions, retry=Retry.after(max(_SOONEST, again)))

    def unproven(self, domains: Collection[str], moved: Collection[str] = ()) -> frozenset[str]:
        """Return the new domains that the tenant may not have now; the arguments are as in `check`. Looks for
        their proofs where that is due."""
        needed = self.to_prove(domains)
        if not needed:
            return frozenset()
        needed -= self.held(self.mr, needed) - frozenset(moved)
        self._ask(each for each in needed if self._due_in(each, _OF_A_WRITE) <= 0)
        return frozenset(each for each in needed if not self._is_proven(each))

    def lost(self, domains: Iterable[str]) -> tuple[str, ...]:
        """Return those of the domains that a tenant has whose proof is required and not there. Without an
        answer from DNS, the last one counts."""
        states = dns_instructions.proofs(self.mr.status)

        def is_lost(domain: str) -> bool:
            if self._verdict(domain).standing is Standing.FAILED:
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

    def _is_proven(self, domain: str) -> bool:
        """Whether the proof was seen, and not too long ago for a write."""
        proven = self._verdict(domain).standing is Standing.PROVEN
        return proven and self._due_in(domain, _OF_A_WRITE) > 0

    def _verdict(self, domain: str) -> Verdict:
        return self.proofs.answers.of(self._namespace, domain)

    def _due_in(self, domain: str, longest: float) -> float:
        return self.proofs.answers.due_in(self._namespace, domain, longest)

    def _key(self, domain: str) -> tuple[str, str]:
        return proof.name(domain), proof.value(self.installation, self._namespace, domain)

    def _ask(self, domains: Iterable[str]) -> None:
        """Look some domains up, until the time of this reconcile is over. A name that gets no reply ends it:
        the resolvers may be down, and others wait for this worker."""
        if self._end is None:
            self._end = self.proofs.clock.now() + _BUDGET_SECONDS
        # First those that were never looked up: one that gets no reply must not keep them away.
        order = sorted(domains, key=lambda each: (self._verdict(each).standing is not Standing.UNKNOWN, each))
        for domain in order:
            if len(self._looked) >= _MOST_LOOKUPS or self.proofs.clock.now() >= self._end:
                return
            self._looked.add(domain)
            self._ask_for(domain)

    def _ask_for(self, domain: str) -> None:
        name, wanted = self._key(domain)
        try:
            verdict = proof.judged(self.proofs.ask(name), wanted)
        except LookupFailed as error:
            verdict = Verdict(Standing.FAILED, str(error))
            _log.info("cannot look for the proof of a domain", name=name, error=str(error))
            if error.silent:
                self._end = 0.0
        self.proofs.answers.note(self._namespace, domain, verdict)


def _refusal(domains: Collection[str], failed: Collection[str], verdict: Callable[[str], Verdict]) -> str:
    lacking = named([each for each in domains if each not in failed], _MOST_NAMED)
    words = (
        f"spec.forProvider.domains: {lacking}: DNS does not have the TXT record that proves that its "
        "owner agrees to be served for this namespace. Create the records of status.dnsInstructions with "
        f"purpose {RecordPurpose.PROOF.value}, beside any others there. The provider looks again within five "
        "minutes"
    )
    if not failed:
        return words
    unclear = (
        f"spec.forProvider.domains: {named(list(failed), _MOST_NAMED)}: the provider cannot look for the TXT "
        f"record of status.dnsInstructions that proves the domain: {verdict(min(failed)).found}. It tries "
        "again within five minutes"
    )
    return f"{words}; {unclear}" if lacking else unclear

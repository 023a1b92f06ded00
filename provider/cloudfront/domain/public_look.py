"""Looks at the records of tenants' domains in public DNS.

CloudFront says whether a domain leads to it. Public DNS says what is there instead, and why a certificate
authority may refuse the domain. A look that fails says nothing about the records: CloudFront's answer counts.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from apis.dns import DnsInstruction, RecordPurpose, RecordState
from apis.errors import visible
from edgetenants_runtime.bounds import cut
from edgetenants_runtime.clock import Clock, SystemClock
from provider.cloudfront.domain.dns_instructions import CAA, DNSSEC, Found, Key, State, key_of
from provider.cloudfront.domain.lookup_turns import LookupTurns, NoTurn
from provider.cloudfront.domain.text_lookup import LookupFailed
from provider.dns.public import Answer, Lookup, Outcome
from provider.dns.public.caa import Caa, climb
from provider.dns.public.verdicts import Seen, look

__all__ = ["OFF", "Findings", "Judged", "PublicDns", "both", "found_in"]

_log = structlog.get_logger("provider.cloudfront.publiclook")

_WAITING_SECONDS: Final = 300.0
_MOST_WAITING: Final = 50_000
_BUDGET_SECONDS: Final = 6.0
"""Of real time, for one tenant; its worker can do nothing else meanwhile."""
_LAST_SECONDS: Final = 3.0
"""The last record has so much more time; one lookup may exceed that."""
_SILENT_SECONDS: Final = 1.0
"""A look that takes longer and finds nothing out got no reply."""
_MOST_FAILED: Final = 2
"""Records about which nothing was found out, that end the look at one tenant."""
_LONGEST_FOUND: Final = 1024

Findings = Mapping[Key, "Judged"]


@dataclass(frozen=True)
class Judged:
    """What a look says about one record."""

    state: RecordState
    found: str | None = None
    """What is there instead."""
    also: str | None = None
    """What else is wrong: rejected signatures, or CAA."""
    keeps_caa: bool = False
    """The CAA records could not be read: what was known of them stays."""


class PublicDns:
    """What all tenants share. Thread-safe."""

    def __init__(
        self, lookup: Lookup | None = None, clock: Clock | None = None, real: Clock | None = None
    ) -> None:
        """`lookup`: None: public DNS is not asked. `clock` says when to look again; `real` is real time,
        because the network is real."""
        self._lookup, self._clock = lookup, real or SystemClock()
        self._turns = LookupTurns(self._clock)
        self._lock = threading.Lock()
        self._now = (clock or self._clock).now
        self._looked: OrderedDict[str, float] = OrderedDict()
        """By uid: when the records of an absent tenant were looked for."""

    @property
    def is_off(self) -> bool:
        """Whether public DNS is not asked."""
        return self._lookup is None

    def is_due(self, uid: str, *, at_once: bool = False) -> bool:
        """Whether to look for the records of a tenant that does not exist yet: every five minutes. `at_once`:
        a user asks for it."""
        now = self._now()
        with self._lock:
            before = self._looked.get(uid)
            if before is not None and now < before + _WAITING_SECONDS and not at_once:
                return False
            self._looked.pop(uid, None)
            self._looked[uid] = now
            if len(self._looked) > _MOST_WAITING:
                self._looked.popitem(last=False)
            return True

    def look(self, namespace: str, records: Sequence[DnsInstruction], *, caa: bool = False) -> Findings:
        """Look for the records of one tenant, until its time is over. Those about which nothing was found
        out are not in the answer.

        Args:
            namespace: of the tenant; the looks of one namespace do not delay those of others.
            records: with their last known states. Those that are not present come first.
            caa: also whether CAA records forbid Amazon's certificate authority.
        """
        if self._lookup is None or not records:
            return {}
        end = self._clock.now() + _BUDGET_SECONDS
        once = _Once(self._lookup, self._clock, end + _LAST_SECONDS)
        found: dict[Key, Judged] = {}
        failed = 0
        for record in self._in_turn(records):
            if self._clock.now() >= end or failed >= _MOST_FAILED:
                break
            try:
                found[key_of(record)] = self._look_at(namespace, once, record, caa=caa)
            except LookupFailed as error:
                failed += 1
                _log.debug("cannot look for a record in DNS", name=record.name, error=str(error))
            except NoTurn:
                break
        return found

    def _in_turn(self, records: Sequence[DnsInstruction]) -> list[DnsInstruction]:
        """Start at another one each time: the time may not be enough for all."""
        start = int(self._clock.now()) % len(records)
        turned = (*records[start:], *records[:start])
        return sorted(turned, key=lambda record: record.state is RecordState.PRESENT)

    def _look_at(self, namespace: str, lookup: Lookup, record: DnsInstruction, *, caa: bool) -> Judged:
        began = self._clock.now()
        with self._turns.turn(namespace):
            finding = look(lookup, record.type.value, record.name, record.value)
            if finding.seen is Seen.UNKNOWN and not finding.found and not finding.bogus:
                silent = self._clock.now() - began >= _SILENT_SECONDS
                raise LookupFailed(finding.why, silent=silent)
            rules = Caa(allowed=True)
            if caa and record.purpose is RecordPurpose.ROUTING:
                rules = climb(lookup, record.name)
        bogus = f"{DNSSEC}resolvers reject the signatures of the zone" if finding.bogus else ""
        also = f'{CAA}{rules.forbids}; add 0 issue "amazon.com"' if rules.forbids else ""
        return Judged(
            RecordState(finding.seen.value),
            _text(*finding.found),
            _text(bogus, also),
            keeps_caa=bool(rules.why),
        )


OFF: Final = PublicDns()
"""Public DNS is not asked."""


@dataclass(frozen=True)
class _Once:
    """Asks each question once, as the records of a tenant share their zone and their target; and none after
    the time is over: the name of one record may need many questions."""

    lookup: Lookup
    clock: Clock
    end: float
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)

    def ask(self, name: str, kind: str) -> Answer:
        """See Lookup."""
        known = self.answers.get((name, kind))
        if known is not None:
            return known
        if self.clock.now() >= self.end:
            return Answer(Outcome.FAILED, name, kind, why="the time for a look is over")
        self.answers[name, kind] = self.lookup.ask(name, kind)
        return self.answers[name, kind]


def both(findings: Findings, told: State, *, fresh: bool = True) -> State:
    """Return the states of the records. One that either CloudFront or public DNS has seen is present: each of
    them may have an old answer. Otherwise public DNS counts, as far as it was seen.

    Args:
        findings: of public DNS.
        told: of CloudFront, or the stored states.
        fresh: CloudFront has just told them. Stored ones may be public DNS's own, so they count last.
    """

    def state(record: DnsInstruction) -> RecordState:
        own, says = findings.get(key_of(record)), told(record)
        if own is None or own.state is RecordState.UNKNOWN:
            return says
        return says if fresh and says is RecordState.PRESENT else own.state

    return state


def found_in(findings: Findings, before: Found, state: State) -> Found:
    """Return what is wrong with the records; `before` is what was known of those that were not seen now."""

    def found(record: DnsInstruction) -> str | None:
        own, known = findings.get(key_of(record)), before(record)
        is_there = state(record) is RecordState.PRESENT
        if own is None:
            return None if is_there else known
        there = None if is_there else own.found
        if known and _only_addresses(there):
            # Names may have other addresses at each look. The status is not written for that.
            there = _addresses(known) or there
        caa = "".join((known or "").partition(CAA)[1:]) if own.keeps_caa else ""
        return cut("; ".join(filter(None, (there, own.also, caa))), _LONGEST_FOUND) or None

    return found


def _addresses(found: str) -> str:
    """The addresses at the beginning of a text."""
    return "; ".join(itertools.takewhile(_is_address, found.split("; ")))


def _is_address(part: str) -> bool:
    return part.startswith(("A ", "AAAA "))


def _only_addresses(found: str | None) -> bool:
    return bool(found) and all(map(_is_address, str(found).split("; ")))


def _text(*parts: str) -> str | None:
    return cut(visible("; ".join(filter(None, parts))), _LONGEST_FOUND) or None

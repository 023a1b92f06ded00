"""Looks through the records of kept domains once in a while, and ends those whose time is over.

Only the process that leads does, once everything has been read. What it cannot tell changes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import structlog

from apis import kinds
from apis.domains import normalise
from edgetenants_runtime.api.model import Scope
from edgetenants_runtime.clock import Stopwatch, utc_now
from edgetenants_runtime.kube.errors import KubeError, NotServed, TooLarge
from edgetenants_runtime.managed import Managed, ResourceKind
from provider.cloudfront.safety.name_keys import is_name
from provider.records import life
from provider.records.config_maps import Change, DomainRecords, Entries, config_map
from provider.records.life import Record, Use
from provider.records.use import Looks, Uses

__all__ = ["CLAIMS", "Claims", "Rounds"]

_log = structlog.get_logger("provider.domainrounds")

CLAIMS: Final = ResourceKind(
    kinds.PLATFORM_GROUP,
    kinds.VERSION,
    kinds.TENANT_CLAIM.kind,
    kinds.TENANT_CLAIM.plural,
    namespaced=kinds.TENANT_CLAIM.scope is Scope.NAMESPACED,
)
"""The same for both versions of Crossplane: in v1 it is the claim, in v2 the composite itself."""
_ROUND_SECONDS: Final = 10.0
_LONGEST_PAUSE: Final = 60.0
_LONGEST_RETRY: Final = 30.0
_SHARE: Final = 0.05
"""Of real time that rounds may take, where there are very many records."""
_ALLOWED_SECONDS: Final = 600.0
_MOST_NAMESPACES: Final = 50
"""In which claims are listed in one round."""
_NONE_REACHED: Final = -1
_UNSERVED: Final = 3
"""Answers in a row that the kind is not served, after which it is taken for that: a server that has just
started knows no kinds."""


class Lister(Protocol):
    """What is asked of the API server."""

    def select(self, kind: ResourceKind, namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """The objects of a namespace; raises KubeError."""
        ...

    def allowed(self, verb: str, kind: ResourceKind) -> bool:
        """RBAC permits it; raises KubeError."""
        ...


class Claims:
    """Which domains the TenantClaims of a namespace list, where the provider may read them."""

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self._asked: Stopwatch | None = None
        self._allowed = False
        self._unserved = 0

    def listed(self, namespace: str) -> frozenset[str] | None:
        """The domains, as CloudFront stores them; None where that cannot be told."""
        if not namespace or namespace == life.UNREADABLE:
            return None
        try:
            if not self._may():
                return None
            found = self._lister.select(CLAIMS, namespace, {})
        except NotServed:
            self._unserved += 1
            return frozenset() if self._unserved >= _UNSERVED else None
        except KubeError as error:
            _log.warning("cannot read claims, so no domain is released", error=str(error))
            return None
        self._unserved = 0
        return frozenset(itertools.chain.from_iterable(map(_domains, found)))

    def _may(self) -> bool:
        # Asked, and not tried: the right is optional, and a refusal each minute would raise an alarm.
        if self._asked is None or self._asked.elapsed() >= _ALLOWED_SECONDS:
            self._allowed = self._lister.allowed("list", CLAIMS)
            self._asked = Stopwatch()
        return self._allowed


def _ended(becomes: Mapping[str, Record | None]) -> Mapping[str, Record | None]:
    return {domain: None for domain, record in becomes.items() if record is None}


def _domains(claim: Mapping[str, Any]) -> Iterable[str]:
    for domain in (claim.get("spec") or {}).get("domains") or ():
        try:
            yield normalise(str(domain))
        except ValueError:
            # No name that could be anybody's.
            continue


class Rounds:
    """Brings the records to what is."""

    def __init__(  # noqa: PLR0913 - what they work with, by name
        self,
        records: DomainRecords,
        looks: Looks,
        claims: Claims,
        *,
        keep: timedelta,
        everyone: Callable[[], Iterable[Managed]],
        everything_read: Callable[[], bool],
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """`keep` is for how long a domain is kept that nobody holds; `everyone` has the managed resources of
        both API trees, as soon as `everything_read`."""
        self._records, self._looks, self._claims = records, looks, claims
        self._keep, self._everyone, self._everything_read = keep, everyone, everything_read
        self._now = now
        self._asked_last = ""
        self._failures = 0
        self._problem = ""
        self._reached = _NONE_REACHED
        self._unwritten: dict[int, dict[str, tuple[Record, Record]]] = {}
        """By ConfigMap and domain: what is stored, and what it became."""

    def round(self) -> float:
        """Do one; real seconds until the next."""
        took = Stopwatch()
        try:
            self._records.load()
            if self._everything_read():
                self._judge_all()
        except KubeError as error:
            return self._failed(error)
        self._failures, self._problem = 0, ""
        return min(max(_ROUND_SECONDS, took.elapsed() / _SHARE), _LONGEST_PAUSE)

    def _failed(self, error: KubeError) -> float:
        if str(error) != self._problem:
            _log.warning("cannot look after kept domains, backing off", error=str(error))
        self._problem = str(error)
        self._failures += 1
        # Soon at first: without the records nothing is created.
        return min(_LONGEST_RETRY, 2.0 ** (min(self._failures, 30) - 1))

    def _judge_all(self) -> None:
        shards = self._records.entries()
        everything = {domain: record for entries in shards.values() for domain, record in entries.items()}
        kept = {(record.namespace, domain) for domain, record in everything.items()}
        uses = self._looks.uses(self._everyone(), kept)
        claimed = self._claimed(everything, uses)
        too_many = life.superfluous(everything)

        def judged(entries: Entries) -> dict[str, Record | None]:
            # What was recorded meanwhile is known of another moment.
            known = {d: r for d, r in entries.items() if everything.get(d) == r}
            known |= self._remembered(known)
            return {d: self._judged(d, r, uses, claimed, too_many) for d, r in known.items()}

        for shard in self._in_turn(shards):
            self._reached = shard
            self._bring(shard, judged)
        self._reached = _NONE_REACHED

    def _in_turn(self, shards: Iterable[int]) -> list[int]:
        """Those behind the one at which the last round ended come first: one ConfigMap that cannot be written
        holds up no other."""
        return sorted(shards, key=lambda shard: (shard <= self._reached, shard))

    def _bring(self, shard: int, judged: Change) -> None:
        try:
            self._records.change(shard, judged)
            self._unwritten.pop(shard, None)
        except TooLarge as error:
            # To note since when a domain is not held takes room: it is remembered, and what ends makes room.
            if shard not in self._unwritten:
                _log.warning("a ConfigMap of records is full", config_map=config_map(shard), error=str(error))
            known = self._records.entries().get(shard, {})
            becomes = judged(known)
            self._unwritten[shard] = {d: (known[d], each) for d, each in becomes.items() if each is not None}
            self._records.change(shard, lambda entries: _ended(judged(entries)))

    def _remembered(self, known: Entries) -> Entries:
        """The records among these that became something else, which could not be written."""
        pairs = ((d, pair) for of_one in self._unwritten.values() for d, pair in of_one.items())
        return {d: becomes for d, (was, becomes) in pairs if known.get(d) == was}

    def _judged(
        self,
        domain: str,
        record: Record,
        uses: Uses,
        claimed: Mapping[str, frozenset[str]],
        too_many: frozenset[str],
    ) -> Record | None:
        listed: bool | None = uses.is_listed(record.namespace, domain)
        # A claim lists domains; its names are those of its resources.
        if not listed and not is_name(domain):
            known = claimed.get(record.namespace)
            listed = None if known is None else domain in known
            if listed:
                self._looks.note_listed(record.namespace, domain)
        pair = (record.namespace, domain)
        use = Use(
            held=uses.is_held(*pair),
            listed=listed,
            given_up=pair in uses.given_up,
            deleted=pair in uses.deleted,
            unseen=uses.is_unseen(*pair),
        )
        becomes = life.judge(record, use, self._now(), self._keep)
        return None if domain in too_many and becomes and becomes.not_held_since else becomes

    def _claimed(self, everything: Entries, uses: Uses) -> dict[str, frozenset[str]]:
        """What the claims list, of the namespaces for which that matters; of a few more in each round."""
        asked = sorted(
            {
                record.namespace
                for domain, record in everything.items()
                if uses.is_held(record.namespace, domain) is False
                and not is_name(domain)
                and not uses.is_listed(record.namespace, domain)
            }
        )
        later = [namespace for namespace in asked if namespace > self._asked_last]
        turn = [*later, *(n for n in asked if n <= self._asked_last)][:_MOST_NAMESPACES]
        self._asked_last = turn[-1] if turn else ""
        found = {namespace: self._claims.listed(namespace) for namespace in turn}
        return {namespace: domains for namespace, domains in found.items() if domains is not None}

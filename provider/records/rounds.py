"""Periodically checks the records of kept domains, and ends those whose time is over.

Only the leader does this, after it has read everything. What it cannot determine changes nothing. With
shards, each process does it: a domain that a resource of another process lists is undetermined here. No two
processes count the same seconds, as each drops its count when another one has changed the record.
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
from provider.records.counts import Counts, to_store
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
"""The kind is the same for both versions of Crossplane: the claim in v1, the composite resource in v2."""
_ROUND_SECONDS: Final = 10.0
_LONGEST_PAUSE: Final = 60.0
_LONGEST_RETRY: Final = 30.0
_SHARE: Final = 0.05
"""Maximum share of real time that rounds may take, if there are very many records."""
_ALLOWED_SECONDS: Final = 600.0
_MOST_NAMESPACES: Final = 50
"""Maximum number of namespaces whose claims one round lists."""
_SHARED_SECONDS: Final = 900.0
"""The count up to which a domain that a tenant has, and no resource lists, is left to another process."""
_NONE_REACHED: Final = -1
_UNSERVED: Final = 60
"""Consecutive rounds, of at least ten seconds each, in which the kind is not served before the provider
believes it: a server that has just started serves no kinds yet, and an XRD may be established again."""


class Lister(Protocol):
    """What rounds need of the API server."""

    def select(self, kind: ResourceKind, namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the objects of a namespace; raises KubeError."""
        ...

    def allowed(self, verb: str, kind: ResourceKind) -> bool:
        """Whether RBAC permits it; raises KubeError."""
        ...


class Claims:
    """The domains that the TenantClaims of a namespace list, if the provider may read them."""

    def __init__(self, lister: Lister) -> None:
        self._lister = lister
        self._asked: Stopwatch | None = None
        self._allowed = False
        self._unserved = 0
        self._served: bool | None = None
        """Whether the kind was served in this round; None before the first answer."""

    def begin_round(self) -> None:
        """The answers from now on are of another moment."""
        if self._served is not None:
            self._unserved = 0 if self._served else self._unserved + 1
        self._served = None

    def listed(self, namespace: str) -> frozenset[str] | None:
        """Return the domains as CloudFront stores them; None if they cannot be read."""
        if not namespace or namespace == life.UNREADABLE:
            return None
        try:
            if not self._may():
                return None
            found = self._lister.select(CLAIMS, namespace, {})
        except NotServed:
            self._served = bool(self._served)
            return frozenset() if self._unserved >= _UNSERVED and not self._served else None
        except KubeError as error:
            _log.warning("cannot read claims, so no domain is released", error=str(error))
            return None
        self._served = True
        return frozenset(itertools.chain.from_iterable(map(_domains, found)))

    def _may(self) -> bool:
        # Ask for the permission first: it is optional, and a refused request each minute would raise alarms.
        if self._asked is None or self._asked.elapsed() >= _ALLOWED_SECONDS:
            self._allowed = self._lister.allowed("list", CLAIMS)
            self._asked = Stopwatch()
        return self._allowed


def _is_counted_elsewhere(record: Record, use: Use) -> bool:
    """Whether a tenant has the domain, and another process counts because no resource lists it. They would
    write in turn in each round."""
    unlisted = use.held and not use.listed and not record.deleted and not use.deleted
    return bool(unlisted and record.not_held_since and record.not_held_seconds < _SHARED_SECONDS)


def _all(mr: Managed) -> bool:
    del mr
    return True


def _ended(becomes: Mapping[str, Record | None]) -> Mapping[str, Record | None]:
    return {domain: None for domain, record in becomes.items() if record is None}


def _domains(claim: Mapping[str, Any]) -> Iterable[str]:
    for domain in (claim.get("spec") or {}).get("domains") or ():
        try:
            yield normalise(str(domain))
        except ValueError:
            # Not a valid domain, so no tenant can have it.
            continue


class Rounds:
    """Updates the records to match the observed state."""

    def __init__(  # noqa: PLR0913 - what they work with, by name
        self,
        records: DomainRecords,
        looks: Looks,
        claims: Claims,
        *,
        keep: timedelta,
        everyone: Callable[[], Iterable[Managed]],
        everything_read: Callable[[], bool],
        mine: Callable[[Managed], bool] | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        """`mine` returns whether this process observes a resource; None: it observes all.

        `keep` is how long a domain that no tenant holds is kept; `everyone` returns the managed resources
        of both API trees, which are complete once `everything_read` returns True. The clock of `looks`
        measures; the wall clock `now` is only noted."""
        self._records, self._looks, self._claims = records, looks, claims
        self._keep, self._everyone, self._everything_read = keep, everyone, everything_read
        self._mine, self._now = mine, now
        self._asked_last = ""
        self._failures = 0
        self._problem = ""
        self._reached = _NONE_REACHED
        self._counts = Counts(shared=mine is not None)
        self._full: set[int] = set()
        """The ConfigMaps that were too large at the last write."""

    def round(self) -> float:
        """Do one round; return the real seconds until the next."""
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
            _log.warning("cannot update the records of kept domains, backing off", error=str(error))
        self._problem = str(error)
        self._failures += 1
        # Soon at first: without the records nothing is created.
        return min(_LONGEST_RETRY, 2.0 ** (min(self._failures, 30) - 1))

    def _judge_all(self) -> None:
        shards = self._records.entries()
        everything = {domain: record for entries in shards.values() for domain, record in entries.items()}
        kept = {(record.namespace, domain) for domain, record in everything.items()}
        uses = self._looks.uses(self._everyone(), kept, self._mine or _all)
        becomes = self._all_judged(everything, uses)

        def judged(entries: Entries) -> dict[str, Record | None]:
            # Skip records that changed in the meantime: `everything` is older.
            known = {d: r for d, r in entries.items() if everything.get(d) == r}
            return to_store(known, {domain: becomes[domain] for domain in known})

        for shard in self._in_turn(shards):
            self._reached = shard
            self._bring(shard, judged)
        self._reached = _NONE_REACHED

    def _in_turn(self, shards: Iterable[int]) -> list[int]:
        """Start after the ConfigMap at which the last round ended: one that cannot be written does not block
        the others."""
        return sorted(shards, key=lambda shard: (shard <= self._reached, shard))

    def _bring(self, shard: int, judged: Change) -> None:
        try:
            self._records.change(shard, judged)
            self._full.discard(shard)
        except TooLarge as error:
            # Storing since when a domain is not held takes room. It is remembered; end records to free room.
            if shard not in self._full:
                _log.warning("a ConfigMap of records is full", config_map=config_map(shard), error=str(error))
            self._full.add(shard)
            self._records.change(shard, lambda entries: _ended(judged(entries)))

    def _all_judged(self, everything: Entries, uses: Uses) -> dict[str, Record | None]:
        """Return the new state of each record. Judge each once in a round, so that no time counts twice."""
        claimed, too_many = self._claimed(everything, uses), life.superfluous(everything)
        self._counts.keep_only(everything.keys())
        becomes: dict[str, Record | None] = {}
        for domain, record in everything.items():
            use = self._use(domain, record, uses, claimed)
            after = self._judged(domain, record, use, uses.at)
            becomes[domain] = None if domain in too_many and after and after.not_held_since else after
        return becomes

    def _judged(self, domain: str, record: Record, use: Use, at: float) -> Record | None:
        if self._mine and _is_counted_elsewhere(record, use):
            return record
        latest, passed = self._counts.latest(domain, record), self._counts.passed(domain, record, at)
        after = life.next_record(latest, use, passed, self._now(), self._keep)
        if after is not None:
            self._counts.note(domain, record, after, at if use.held is False else None)
        # The count of one that ends stays, in case it cannot be written.
        return after

    def _use(self, domain: str, record: Record, uses: Uses, claimed: Mapping[str, frozenset[str]]) -> Use:
        """Return how the namespace of the record uses the domain; note what its claims list."""
        listed: bool | None = uses.is_listed(record.namespace, domain)
        # A claim lists only domains; its resources list the names.
        if not listed and not is_name(domain):
            known = claimed.get(record.namespace)
            listed = None if known is None else domain in known
            if listed:
                self._looks.note_listed(record.namespace, domain)
        pair = (record.namespace, domain)
        return Use(
            held=uses.is_held(*pair),
            listed=listed,
            given_up=pair in uses.given_up,
            deleted=pair in uses.deleted,
            unseen=uses.is_unseen(*pair),
        )

    def _claimed(self, everything: Entries, uses: Uses) -> dict[str, frozenset[str]]:
        """Return what claims list in the namespaces where it matters; each round covers a few of them."""
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
        self._claims.begin_round()
        found = {namespace: self._claims.listed(namespace) for namespace in turn}
        return {namespace: domains for namespace, domains in found.items() if domains is not None}

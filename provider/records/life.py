"""The lifecycle of the record that keeps a domain for a namespace (pure).

    held ──no longer found──▶ not held since … ──found again──▶ held
                               │
                               ├── given up, and nothing in the namespace lists it ──▶ ended
                               └── seen not held for --keep-domains ─────────────────▶ ended

Only time counts in which rounds of a running provider saw the domain not held, by their own clock. A wall
clock decides nothing, as it may be wrong for a moment (see counts).

Uncertainty changes nothing. It is uncertain whether a domain is held while the provider puts the recreation
of its tenant on hold, or while a managed resource exists that the provider cannot reconcile. A domain is
given up when the provider observes that a tenant no longer has it. The provider never sees a tenant that is
left in AWS without its domains, so no other namespace gets them immediately.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from edgetenants_runtime.clock import parse_rfc3339, rfc3339

__all__ = [
    "LONGEST_KEPT",
    "MOST_NOT_HELD",
    "MOST_OF_ONE",
    "SHARDS",
    "UNREADABLE",
    "Record",
    "Use",
    "data_key",
    "differs_only_in_count",
    "domain_of",
    "next_record",
    "shard_of",
    "size",
    "superfluous",
]

LONGEST_KEPT: Final = 365 * 24 * 3600
"""The maximum of --keep-domains in seconds. The provider stores no greater count."""
SHARDS: Final = 64
"""The number of ConfigMaps that share the records: one has at most 1 MiB, some 10,000 domains of usual
length. Never change it, because a domain must be found where it was stored."""
MOST_NOT_HELD: Final = 1000
"""The maximum number of kept domains that one namespace does not hold. A namespace that keeps creating and
deleting claims uses up its own limit, not the room of others."""
MOST_OF_ONE: Final = 128 * 1024
"""The maximum number of bytes of one namespace in one ConfigMap, so that no namespace fills it up. Evenly
spread, these are some 100,000 domains; the provider does not keep those beyond."""
UNREADABLE: Final = "?"
"""Stands for the namespace of an unreadable record; not a valid name of a namespace."""
_UNLISTED_SECONDS: Final = 10.0
"""How long a domain that nothing lists must not have been held: a resource that is being replaced is briefly
gone."""
_WILDCARD: Final = "*."
_WILDCARD_KEY: Final = "_."
"""The key of a ConfigMap may not contain an asterisk, and a domain does not contain an underscore."""


@dataclass(frozen=True)
class Record:
    """Which namespace has a domain."""

    namespace: str
    not_held_since: datetime | None = None
    """None while a tenant of the namespace has the domain. It is for administrators and the order of
    `superfluous`, and comes from a wall clock, so it ends nothing."""
    deleted: bool = False
    """The provider itself deleted the tenant that last had it."""
    not_held_seconds: float = 0.0
    """How long providers have seen it not held since then."""

    def as_stored(self) -> Record:
        """Return the record as it is after it was stored and read again: with whole seconds."""
        since = self.not_held_since
        return replace(
            self,
            not_held_since=since and since.replace(microsecond=0),
            not_held_seconds=float(int(self.not_held_seconds)),
        )

    def to_value(self) -> str:
        """Return the stored form."""
        since = self.not_held_since
        told: dict[str, Any] = {"namespace": self.namespace}
        told |= {"notHeldSince": rfc3339(since)} if since else {}
        told |= {"notHeldSeconds": int(self.not_held_seconds)} if self.not_held_seconds >= 1 else {}
        told |= {"deleted": True} if self.deleted else {}
        return json.dumps(told)

    @classmethod
    def of_value(cls, value: str) -> Record:
        """Parse the stored form. An unreadable record belongs to no namespace, and gives the domain to
        none."""
        try:
            told: Any = json.loads(value)
            since = told.get("notHeldSince")
            # A time that can be parsed but not formatted would stop every round.
            not_held_since = parse_rfc3339(rfc3339(parse_rfc3339(since))) if since else None
            seconds = _seconds(told.get("notHeldSeconds")) if since else 0.0
            return cls(str(told["namespace"]), not_held_since, told.get("deleted") is True, seconds)
        except (ValueError, OverflowError, KeyError, TypeError, AttributeError):
            return cls(UNREADABLE)


def _seconds(stored: object) -> float:
    """Return a stored count. An earlier version stored none, and what no version stores counts as none: the
    time begins again, and nothing ends early."""
    if isinstance(stored, bool) or not isinstance(stored, int | float):
        return 0.0
    # NaN is not between them either.
    return float(int(stored)) if 0 <= stored <= LONGEST_KEPT else 0.0


@dataclass(frozen=True)
class Use:
    """How a namespace uses a domain, as far as it is known."""

    held: bool | None
    """Whether a tenant of the namespace has the domain; None if not all relevant resources were observed."""
    listed: bool | None
    """Whether a managed resource or a claim of the namespace lists the domain; None if unknown."""
    given_up: bool = False
    """Since this process started, it observed that a tenant of the namespace no longer has the domain."""
    deleted: bool = False
    """This process deleted the tenant that last had it."""
    unseen: bool = False
    """A managed resource of the namespace lists the domain and was not observed for long: it is paused, or is
    refused before the observation."""


def next_record(record: Record, use: Use, passed: float, now: datetime, keep: timedelta) -> Record | None:
    """Return the new state of the record; None if it ends. Uncertainty changes nothing.

    Args:
        record: its state after the last round.
        use: how its namespace uses the domain.
        passed: the seconds since the last round, if that saw the domain not held; otherwise 0.
        now: the wall clock, which is only noted.
        keep: how long the domain is kept while it is not held.
    """
    if record.namespace == UNREADABLE:
        # Only an administrator can tell whose it was.
        return record
    if use.held:
        # Not if the deletion is later than the observation, which may be of another, paused resource.
        return replace(record, not_held_since=None, not_held_seconds=0.0, deleted=use.deleted)
    if use.deleted:
        record = replace(record, deleted=True)
    if use.held is None or _was_held(record, use):
        return record
    if record.not_held_since is None:
        record, passed = replace(record, not_held_since=now, not_held_seconds=0.0), 0.0
    idle = record.not_held_seconds + passed
    given_up = use.given_up and use.listed is False
    if idle >= keep.total_seconds() or (given_up and idle >= _UNLISTED_SECONDS):
        return None
    return replace(record, not_held_seconds=idle)


def differs_only_in_count(before: Record, after: Record) -> bool:
    """Whether nothing but the count of seconds has changed."""
    return replace(before, not_held_seconds=after.not_held_seconds) == after


def _was_held(record: Record, use: Use) -> bool:
    """Whether a tenant held it when last known, and the resource that lists it cannot be observed. Once the
    time runs, it continues: listing a domain does not keep it."""
    return use.unseen and record.not_held_since is None and not record.deleted


def superfluous(records: Mapping[str, Record], most: int = MOST_NOT_HELD) -> frozenset[str]:
    """Return the domains beyond each namespace's limit of those it does not hold: those not held for longest.
    The counts come first. A wrong `not_held_since` reorders only what began within one write of the counts,
    and only domains of one namespace."""
    idle: dict[str, list[tuple[float, datetime, str]]] = {}
    for domain, record in records.items():
        if since := record.not_held_since:
            idle.setdefault(record.namespace, []).append((-record.not_held_seconds, since, domain))
    return frozenset(each[-1] for of_one in idle.values() for each in _first(of_one, len(of_one) - most))


def _first(idle: Iterable[tuple[float, datetime, str]], count: int) -> list[tuple[float, datetime, str]]:
    return sorted(idle)[: max(0, count)]


def shard_of(domain: str) -> int:
    """Return the number of the ConfigMap with a domain's record, which is the same in every process."""
    return hashlib.sha256(domain.encode()).digest()[0] % SHARDS


def size(domain: str, record: Record) -> int:
    """Return the stored size of a record in bytes."""
    return len(data_key(domain).encode()) + len(record.to_value().encode())


def data_key(domain: str) -> str:
    """Return the key of a domain in its ConfigMap.

    >>> data_key("*.example.com")
    '_.example.com'
    """
    return _WILDCARD_KEY + domain[2:] if domain.startswith(_WILDCARD) else domain


def domain_of(key: str) -> str:
    """Return the domain of a key.

    >>> domain_of("_.example.com")
    '*.example.com'
    """
    return _WILDCARD + key[2:] if key.startswith(_WILDCARD_KEY) else key

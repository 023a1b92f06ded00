"""The life of the record that a domain is kept for a namespace (pure).

    held ──not found any more──▶ not held since … ──found again──▶ held
                                  │
                                  ├── given up, and nobody in the namespace lists it ──▶ ended
                                  └── --keep-domains have passed ──────────────────────▶ ended

What is uncertain changes nothing: while the provider itself holds the recreation of a tenant, that it is not
held is not certain, nor is it of a resource that is there and cannot be looked at. A domain is given up when
a look finds that a tenant has it no longer. A tenant that was left in AWS was never seen without its domains,
so nobody else gets them at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from edgetenants_runtime.clock import parse_rfc3339, rfc3339

__all__ = [
    "MOST_NOT_HELD",
    "MOST_OF_ONE",
    "SHARDS",
    "UNREADABLE",
    "Record",
    "Use",
    "data_key",
    "domain_of",
    "judge",
    "shard_of",
    "size",
    "superfluous",
]

SHARDS: Final = 64
"""ConfigMaps over which the records are spread: one may have 1 MiB, some 10,000 domains of usual length.
Never changed, as a domain must be found where it was put."""
MOST_NOT_HELD: Final = 1000
"""Domains that one namespace has kept and does not hold. Whoever makes and deletes claims all day uses up
their own, and no room of others."""
MOST_OF_ONE: Final = 128 * 1024
"""Bytes that one namespace has kept in one ConfigMap, so that nobody fills one up. Evenly spread, these are
some 100,000 domains; those beyond are not kept."""
UNREADABLE: Final = "?"
"""Stands for the namespace of a record that somebody spoilt; no namespace is called so."""
_UNLISTED: Final = timedelta(seconds=10)
"""For so long nobody must have listed a domain: a resource that is replaced is gone for a moment."""
_WILDCARD: Final = "*."
_WILDCARD_KEY: Final = "_."
"""As a key of a ConfigMap takes no asterisk, and a domain has no underscore."""


@dataclass(frozen=True)
class Record:
    """Who has a domain."""

    namespace: str
    not_held_since: datetime | None = None
    """None while a tenant of the namespace has it."""
    deleted: bool = False
    """The provider itself deleted the tenant that had it last."""

    def to_value(self) -> str:
        """As it is stored."""
        since = self.not_held_since
        told: dict[str, Any] = {"namespace": self.namespace}
        told |= {"notHeldSince": rfc3339(since)} if since else {}
        told |= {"deleted": True} if self.deleted else {}
        return json.dumps(told)

    @classmethod
    def of_value(cls, value: str) -> Record:
        """Read what is stored. A record that cannot be read is one of nobody: it gives the domain to none."""
        try:
            told: Any = json.loads(value)
            since = told.get("notHeldSince")
            # A moment that can be read and not be written would stop every round.
            not_held_since = parse_rfc3339(since).astimezone(UTC) if since else None
            return cls(str(told["namespace"]), not_held_since, told.get("deleted") is True)
        except (ValueError, OverflowError, KeyError, TypeError, AttributeError):
            return cls(UNREADABLE)


@dataclass(frozen=True)
class Use:
    """What is known of a namespace's use of a domain."""

    held: bool | None
    """A tenant of it has the domain; None where not all that could tell have been looked at."""
    listed: bool | None
    """A managed resource or a claim of it lists the domain; None where that cannot be told."""
    given_up: bool = False
    """A tenant of it was seen to have the domain no longer, since this process started."""
    deleted: bool = False
    """This process deleted the tenant that had it last."""
    unseen: bool = False
    """A managed resource of it lists the domain, and has not been looked at for long: it is paused, or is
    refused before the look."""


def judge(record: Record, use: Use, now: datetime, keep: timedelta) -> Record | None:
    """What the record becomes; None when it ends. What is uncertain changes nothing."""
    if use.held:
        return replace(record, not_held_since=None, deleted=False)
    if use.deleted:
        record = replace(record, deleted=True)
    if use.held is None or _was_held(record, use):
        return record
    since = min(record.not_held_since or now, now)
    idle = now - since
    if idle >= keep or (use.given_up and use.listed is False and idle >= _UNLISTED):
        return None
    return replace(record, not_held_since=since)


def _was_held(record: Record, use: Use) -> bool:
    """A tenant had it when anybody could tell last, and whoever lists it cannot be looked at. Once the time
    runs it runs on: to list a domain keeps nothing."""
    return use.unseen and record.not_held_since is None and not record.deleted


def superfluous(records: Mapping[str, Record], most: int = MOST_NOT_HELD) -> frozenset[str]:
    """The domains beyond what each namespace may have without holding them: the oldest."""
    idle: dict[str, list[tuple[datetime, str]]] = {}
    for domain, record in records.items():
        if record.not_held_since is not None:
            idle.setdefault(record.namespace, []).append((record.not_held_since, domain))
    return frozenset(domain for of_one in idle.values() for _, domain in _oldest(of_one, len(of_one) - most))


def _oldest(idle: Iterable[tuple[datetime, str]], count: int) -> list[tuple[datetime, str]]:
    return sorted(idle)[: max(0, count)]


def shard_of(domain: str) -> int:
    """The number of the ConfigMap that has a domain's record: the same in every process."""
    return hashlib.sha256(domain.encode()).digest()[0] % SHARDS


def size(domain: str, record: Record) -> int:
    """Bytes of a record, as it is stored."""
    return len(data_key(domain).encode()) + len(record.to_value().encode())


def data_key(domain: str) -> str:
    """The key of a domain in its ConfigMap.

    >>> data_key("*.example.com")
    '_.example.com'
    """
    return _WILDCARD_KEY + domain[2:] if domain.startswith(_WILDCARD) else domain


def domain_of(key: str) -> str:
    """The domain of a key.

    >>> domain_of("_.example.com")
    '*.example.com'
    """
    return _WILDCARD + key[2:] if key.startswith(_WILDCARD_KEY) else key

"""Accepted changes of DNS records that not all name servers answer with yet, what CloudFront said of domains
since, and the records of domains that moved to other tenants."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeVar

from apis.dns import RecordState
from provider.dns.records import Zone
from provider.dns.store import Written

__all__ = ["LeftBehind", "RecordTickets", "Watch"]

_MOST: Final = 50_000
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True)
class Watch:
    """What a look found of the records that a resource made of a domain that it does not have any more."""

    at: float
    """When it was, by the clock of the process; of an attempt that found nothing if there was no other."""
    zone: str = ""
    holder: str = ""
    """The tenant that has the domain, as a part of a sentence; "" if none has it, or that is not known."""
    free_since: float | None = None
    """The first look in a row that found no tenant with the domain; None if the last one found one."""
    problem: str = ""
    """Why the records are not known, if that lasts."""
    at_end: bool = False
    """It was made, and found this, after the deletion of the resource began."""
    tried: float = float("-inf")
    """When a later attempt failed, which says nothing of the records."""

    @property
    def last(self) -> float:
        """The last look or attempt."""
        return max(self.at, self.tried)


class RecordTickets:
    """The changes of one provider config, by resource and domain. Thread-safe. After a restart, all changes
    count as served, as a service takes about a minute, and CloudFront's doubts come back with its next
    check."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[str, str], tuple[Zone, Written]] = OrderedDict()
        self._doubts: OrderedDict[tuple[str, str], RecordState] = OrderedDict()
        self._gone: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._watched: OrderedDict[tuple[str, str], Watch] = OrderedDict()

    def note(self, uid: str, domain: str, zone: Zone, written: Written) -> None:
        """A change of a domain's records was accepted."""
        with self._lock:
            self._gone.pop((uid, domain), None)
            self._open[uid, domain] = (zone, written)
            self._open.move_to_end((uid, domain))
            while len(self._open) > _MOST:
                self._open.popitem(last=False)

    def of(self, uid: str, domain: str) -> tuple[Zone, Written] | None:
        """Return the last change that is not known to be served; None if there is none."""
        with self._lock:
            return self._open.get((uid, domain))

    def served(self, uid: str, domain: str) -> None:
        """All name servers answer with the change."""
        with self._lock:
            self._open.pop((uid, domain), None)

    def gone(self, uid: str, domain: str) -> None:
        """This process removed a domain's records, or has just read that there are none."""
        with self._lock:
            self._watched.pop((uid, domain), None)
            self._gone[uid, domain] = None
            while len(self._gone) > _MOST:
                self._gone.popitem(last=False)

    def wanted(self, uid: str, domain: str) -> None:
        """The domain is to have records: those of another process may come."""
        with self._lock:
            self._watched.pop((uid, domain), None)
            self._gone.pop((uid, domain), None)

    def is_gone(self, uid: str, domain: str) -> bool:
        """Whether `gone` was called since the domain was wanted or changed last."""
        with self._lock:
            return (uid, domain) in self._gone

    def doubt(self, uid: str, domain: str, state: RecordState) -> None:
        """CloudFront does not see a domain's records, although its zone has them."""
        with self._lock:
            self._doubts[uid, domain] = state
            while len(self._doubts) > _MOST:
                self._doubts.popitem(last=False)

    def trust(self, uid: str, domain: str) -> None:
        """CloudFront sees them."""
        with self._lock:
            self._doubts.pop((uid, domain), None)

    def doubted(self, uid: str, domain: str) -> RecordState | None:
        """Return as what CloudFront sees a domain's records, if not as its zone has them."""
        with self._lock:
            return self._doubts.get((uid, domain))

    def watch(self, uid: str, domain: str, watch: Watch) -> None:
        """A look at records that a resource left behind found this. After a restart, it looks again."""
        with self._lock:
            self._watched.pop((uid, domain), None)
            self._watched[uid, domain] = watch
            while len(self._watched) > _MOST:
                self._watched.popitem(last=False)

    def watched(self, uid: str, domain: str) -> Watch | None:
        """Return what the last look found; None if there was none."""
        with self._lock:
            return self._watched.get((uid, domain))


class LeftBehind:
    """Which records lead to a tenant that does not manage them, for the messages of its resource.
    Thread-safe. Each process knows what its own resources found."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: OrderedDict[tuple[str, str], tuple[tuple[str, str], str]] = OrderedDict()
        """By uid of the resource that made them, and domain: its namespace with the id of the tenant, and
        the message."""
        self._by_tenant: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self._by_uid: dict[str, set[str]] = {}

    def note(self, uid: str, domain: str, namespace: str, tenant: str, words: str) -> None:
        """A resource of a namespace left the records of a domain behind, and a tenant of its namespace has
        the domain. That it is of its namespace may be forged."""
        with self._lock:
            self._drop((uid, domain))
            self._of[uid, domain] = ((namespace, tenant), words)
            self._by_tenant.setdefault((namespace, tenant), set()).add((uid, domain))
            self._by_uid.setdefault(uid, set()).add(domain)
            while len(self._of) > _MOST:
                self._drop(next(iter(self._of)))

    def drop(self, uid: str, domain: str) -> None:
        """That is over."""
        with self._lock:
            self._drop((uid, domain))

    def keep(self, uid: str, domains: Collection[str]) -> None:
        """That is over for all other domains of a resource."""
        with self._lock:
            for domain in self._by_uid.get(uid, set()).difference(domains):
                self._drop((uid, domain))

    def of(self, namespace: str, tenant: str) -> tuple[str, ...]:
        """Return the messages about a tenant of a namespace, sorted. A message names resources, so that no
        other namespace gets it."""
        with self._lock:
            return tuple(sorted(self._of[each][1] for each in self._by_tenant.get((namespace, tenant), ())))

    def _drop(self, key: tuple[str, str]) -> None:
        tenant, _ = self._of.pop(key, (("", ""), ""))
        _discard(self._by_tenant, tenant, key)
        _discard(self._by_uid, *key)


def _discard(sets: dict[_K, set[_V]], key: _K, value: _V) -> None:
    """Without leaving an empty set."""
    there = sets.get(key, set())
    there.discard(value)
    if not there:
        sets.pop(key, None)

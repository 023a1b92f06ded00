"""Which namespaces hold and which list domains and names: from the observations of this process, and from the
existing managed resources (pure except for what it remembers)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.clock import Clock
from edgetenants_runtime.managed import Managed
from provider.cloudfront.safety import name_keys
from provider.cloudfront.state.identity import namespace_of

__all__ = ["Looks", "Uses", "listed_by"]

_LOOK_SECONDS: Final = 24 * 3600.0
"""How long an observation proves that a domain is held. For this long after the start, the domains of managed
resources that were never observed count as unknown."""
_POLLS: Final = 3.0
_UNLISTED_SECONDS: Final = 10.0
"""How long nothing in the namespace must list a domain before it counts as given up: a list that is edited
often, or a resource that is replaced, may lack it between two rounds."""


@dataclass(frozen=True)
class _Look:
    namespace: str
    active: frozenset[str]
    at: float

    @property
    def holds(self) -> frozenset[tuple[str, str]]:
        return frozenset((self.namespace, domain) for domain in self.active)


class Looks:
    """The last observation of each managed resource's tenant. Thread-safe."""

    def __init__(self, clock: Clock, poll_seconds: float) -> None:
        self._clock = clock
        self._lasts = max(_LOOK_SECONDS, _POLLS * poll_seconds)
        self._lock = threading.Lock()
        self._looks: dict[str, _Look] = {}
        self._given_up: set[tuple[str, str]] = set()
        self._unlisted: dict[tuple[str, str], float] = {}
        """By domain that was given up: since when nothing lists it."""
        self._deleted: dict[tuple[str, str], float] = {}
        self._on_hold: dict[str, float] = {}
        self._since: float | None = None

    def note(self, mr: Managed, active: frozenset[str]) -> None:
        """Note an observation of a tenant with these active domains and its name."""
        look = _Look(namespace_of(mr), active, self._clock.now())
        with self._lock:
            before = self._looks.get(mr.uid)
            self._looks[mr.uid] = look
            if before is not None:
                self._given_up |= before.holds - look.holds
            if self._unlisted:
                self._note_listed({(look.namespace, domain) for domain in listed_by(mr)})
            if active:
                self._on_hold.pop(mr.uid, None)

    def note_listed(self, namespace: str, domain: str) -> None:
        """Note that a claim of the namespace lists the domain."""
        with self._lock:
            self._note_listed({(namespace, domain)})

    def _note_listed(self, listed: Collection[tuple[str, str]]) -> None:
        """Call under the lock, with names that lack their account."""
        for pair in tuple(self._unlisted):
            if _without_account(pair) in listed:
                del self._unlisted[pair]

    def note_deleted(self, mr: Managed, names: frozenset[str] = frozenset()) -> frozenset[tuple[str, str]]:
        """Note that this process deleted the tenant with these names; return what it had, also by the last
        observation. A tenant created for a resource that was deleted meanwhile was never observed."""
        with self._lock:
            look = self._looks.get(mr.uid)
            had = look.holds if look is not None else frozenset()
            had |= {(namespace_of(mr), name) for name in names}
            self._deleted |= dict.fromkeys(had, self._clock.now())
        return had

    def note_hold(self, mr: Managed) -> None:
        """Note that its tenant is gone and its recreation is on hold. Until the tenant exists again, and for
        a day after the last such note, it is unknown whether its domains are held."""
        with self._lock:
            self._on_hold[mr.uid] = self._clock.now()

    def begin_again(self) -> None:
        """This process works on further resources: those that it has not observed count as unknown again."""
        with self._lock:
            self._since = None

    def uses(
        self,
        everyone: Iterable[Managed],
        kept: Iterable[tuple[str, str]] = (),
        mine: Callable[[Managed], bool] = lambda _: True,
    ) -> Uses:
        """Return what is known now. Forget the observations of deleted resources, and the domains that were
        given up except those that are `kept` for a namespace. What is not `mine` is observed by another
        process."""
        now = self._clock.now()
        with self._lock:
            if self._since is None:
                self._since = now
            looks, waited = dict(self._looks), now - self._since
            on_hold = {uid for uid, at in self._on_hold.items() if now - at < self._lasts}
            # Also held by deleted resources: their tenants may be left in AWS.
            held = {pair for look in looks.values() for pair in look.holds}
            self._given_up.intersection_update(kept)
            self._given_up -= held
            self._forget_deleted(frozenset(kept), looks.values())
            uses = Uses(deleted=frozenset(self._deleted), at=now)
        uids = set()
        for mr in everyone:
            uids.add(mr.uid)
            look, namespace = looks.get(mr.uid), namespace_of(mr)
            listed = {(namespace, domain) for domain in listed_by(mr)}
            uses.listed |= listed
            if not mine(mr):
                uses.unlooked |= listed
                continue
            if mr.uid in on_hold or (look is None and waited < self._lasts):
                uses.unlooked |= listed
            if look is None:
                uses.unseen |= listed
            elif now - look.at < self._lasts:
                uses.held |= {(namespace, domain) for domain in look.active}
            else:
                uses.unseen |= {_without_account((namespace, domain)) for domain in look.active}
        with self._lock:
            uses.given_up, uses.lost = self._left_unlisted(uses.listed), frozenset(self._given_up)
            for uid in looks.keys() - uids:
                self._looks.pop(uid, None)
            self._on_hold = {uid: at for uid, at in self._on_hold.items() if uid in uids}
        return uses

    def _left_unlisted(self, listed: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
        """Call under the lock: return what was given up and has not been listed for a while."""
        now = self._clock.now()
        unlisted = (pair for pair in self._given_up if _without_account(pair) not in listed)
        self._unlisted = {pair: self._unlisted.get(pair, now) for pair in unlisted}
        return frozenset(pair for pair, at in self._unlisted.items() if now - at >= _UNLISTED_SECONDS)

    def _forget_deleted(self, kept: frozenset[tuple[str, str]], looks: Iterable[_Look]) -> None:
        """Forget deletions of which nothing is kept, and those of domains that a later observation found
        again. An earlier observation may be of another resource with the same tenant."""
        found: dict[tuple[str, str], float] = {}
        for look in looks:
            for pair in look.holds & self._deleted.keys():
                found[pair] = max(look.at, found.get(pair, look.at))
        self._deleted = {
            pair: at for pair, at in self._deleted.items() if pair in kept and found.get(pair, at) <= at
        }


def _without_account(pair: tuple[str, str]) -> tuple[str, str]:
    namespace, name = pair
    return namespace, name_keys.without_account(name)


class Uses:
    """Pairs of a namespace and a domain, by use."""

    def __init__(
        self,
        given_up: frozenset[tuple[str, str]] = frozenset(),
        deleted: frozenset[tuple[str, str]] = frozenset(),
        at: float = 0.0,
    ) -> None:
        self.at = at
        """When this was known, by the clock of Looks."""
        self.given_up = given_up
        """A tenant was observed to no longer have it, and nothing has listed it for a while."""
        self.deleted = deleted
        """This process deleted the tenant that had it."""
        self.held: set[tuple[str, str]] = set()
        """A tenant has it, active."""
        self.listed: set[tuple[str, str]] = set()
        """A managed resource lists it, even one that is being deleted."""
        self.unlooked: set[tuple[str, str]] = set()
        """Listed by a resource that was not observed yet, that another process observes, or whose recreation
        is on hold."""
        self.unseen: set[tuple[str, str]] = set()
        """Listed by a resource that was not observed for long, or never."""
        self.lost: frozenset[tuple[str, str]] = frozenset()
        """A tenant was observed to no longer have it."""

    def is_held(self, namespace: str, domain: str) -> bool | None:
        """Return life.Use.held."""
        if (namespace, domain) in self.held:
            return True
        return None if _without_account((namespace, domain)) in self.unlooked else False

    def is_unseen(self, namespace: str, domain: str) -> bool:
        """Return life.Use.unseen. A domain that an observation found to be gone is not unseen, even if
        another resource lists it."""
        listed = _without_account((namespace, domain)) in self.unseen
        return listed and (namespace, domain) not in self.lost

    def is_listed(self, namespace: str, domain: str) -> bool:
        """Whether a managed resource lists it; a name in any account."""
        return _without_account((namespace, domain)) in self.listed


def listed_by(mr: Managed) -> frozenset[str]:
    """Return the domains in the spec of a managed resource, and the key of its external name."""
    both = (mr.for_provider.get("domains") or (), mr.init_provider.get("domains") or ())
    domains = frozenset(str(domain).lower() for domains in both for domain in domains)
    return domains | {name_keys.listed_by(mr)}

"""Puts recreation on hold when many tenants are gone at once: an accident, until the platform team confirms.

The account may have been emptied or restored to an old state, or the endpoint may be wrong. Recreating
thousands of tenants would be a second accident, because others may have their domains by now. Connection
groups count like tenants: a recreated group has another endpoint, and DNS points to the old one.

    known tenant is gone ─▶ wait a poll interval ─▶ few are gone ─▶ recreate
                                                └─▶ many are gone ─▶ hold until the provider config confirms

The provider stores nothing of this: a new process counts again before it creates anything, and comes to the
same result. So it has to believe what status says existed, and anyone who may write status can invent that.
What this process has proven to belong to a resource, by its owner tag, counts for all namespaces: any
resource may observe a tenant, and refer to another one afterwards. What is not proven counts in its own
namespace; for other namespaces, each namespace with a recorded name that is gone counts as one
(safety/kept_names.py). So the provider notices an accident that affects many namespaces, even after a
restart, and no namespace can block the others with tenants that never existed.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from edgetenants_runtime.clock import Clock
from edgetenants_runtime.managed import Managed
from provider.cloudfront.state.observed import account_of

__all__ = ["Census", "Gone", "Vanished", "Verdict", "decide", "limit", "take_census"]

_FEW: Final = 5
_SHARE: Final = 0.02
_REMOVED: Final = 10_000
"""Maximum number of deleted external resources to remember."""
_MOST_POLLS: Final = 10
"""Poll intervals after which the provider stops waiting for others that it does not observe, such as paused
ones."""


class Verdict(Enum):
    """What the provider may do about a tenant that is gone."""

    MAKE = "it is recreated"
    WAIT = "others are checked first"
    HELD = "too many are gone"


@dataclass(frozen=True)
class Gone:
    """A known tenant or connection group that no longer exists."""

    id: str
    config: str
    """The provider config with which the provider looked for it."""
    namespace: str
    """The namespace of the managed resource, or of its claim."""
    proven: bool
    """This process had proven that it belonged to the managed resource."""
    recorded: bool
    """Some process had proven it, as far as is known: its name is recorded for that namespace, or the
    provider records no names."""
    since: float
    """When the provider first noticed its absence, on the injected clock."""


@dataclass(frozen=True)
class Census:
    """The managed resources whose tenants and connection groups the provider would recreate."""

    known: int
    """How many of their tenants and connection groups are in the account."""
    uids: frozenset[str]
    """The uids of all of them."""
    taken: float
    """The time of the census, on the injected clock."""


def limit(known: int) -> int:
    """Return how many of this number of tenants may be gone at once."""
    return max(_FEW, int(known * _SHARE))


def decide(gone: int, known: int, looked_at: int, *, waited: float) -> Verdict:
    """Decide what to do about a tenant that is gone (pure).

    Args:
        gone: number of the account's tenants that are gone.
        known: number of the account's tenants that were known.
        looked_at: number of tenants observed in the last poll interval. If AWS's rate does not allow the
            provider to observe all of them, these stand for the others.
        waited: poll intervals since the provider found this one gone.
    """
    if gone > limit(known):
        return Verdict.HELD
    if known <= _FEW:
        return Verdict.MAKE
    if waited < 1:
        return Verdict.WAIT
    if gone > limit(min(known, looked_at)):
        return Verdict.HELD
    # No existing tenant was observed recently: a provider that is behind has not reached the others yet.
    unseen = looked_at <= gone < known
    return Verdict.WAIT if unseen and waited < _MOST_POLLS else Verdict.MAKE


def take_census(recreated: Iterable[Managed], account: str | None, now: float) -> Census:
    """Count the tenants and connection groups that these managed resources had in an account."""
    ids: set[str] = set()
    uids: set[str] = set()
    for mr in recreated:
        uids.add(mr.uid)
        if mr.at_provider.get("id") and account_of(mr.at_provider.get("arn") or "") == account:
            ids.add(mr.at_provider["id"])
    return Census(len(ids), frozenset(uids), now)


class Vanished:
    """The tenants and connection groups of one account that are gone. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._gone: dict[str, Gone] = {}
        self._proven: dict[str, str] = {}
        self._cleared: dict[str, str] = {}
        self._removed: OrderedDict[str, None] = OrderedDict()
        self._looks: OrderedDict[str, float] = OrderedDict()

    def now(self) -> float:
        """Return the time on the injected clock, for a census."""
        return self._clock.now()

    def is_there(self, uid: str, id_: str, *, proven: bool) -> None:
        """Note that the tenant of a managed resource exists. `proven`: its owner tag names that resource."""
        with self._lock:
            self._looked(uid)
            self._drop(uid)
            if proven:
                self._proven[uid] = id_

    def removed(self, id_: str) -> None:
        """Note that the provider itself deleted the tenant: its absence is no accident for any resource."""
        with self._lock:
            self._removed[id_] = None
            while len(self._removed) > _REMOVED:
                self._removed.popitem(last=False)
            for uid in [uid for uid, gone in self._gone.items() if gone.id == id_]:
                del self._gone[uid]

    def was_removed(self, id_: str) -> bool:
        """Whether this process recently deleted it."""
        with self._lock:
            return id_ in self._removed

    def forget(self, uid: str) -> None:
        """Forget a resource that no longer wants its tenant, or would not recreate it."""
        with self._lock:
            self._looks.pop(uid, None)
            self._proven.pop(uid, None)
            self._drop(uid)

    def let_go(self, uid: str) -> None:
        """Forget a resource that was not observed for long, unless its tenant is gone, which still counts."""
        with self._lock:
            if uid not in self._gone:
                for known in (self._looks, self._proven, self._cleared):
                    known.pop(uid, None)

    def found_gone(
        self, uid: str, id_: str, config: str, namespace: str = "", *, recorded: bool = True
    ) -> None:
        """Note that the tenant of a managed resource does not exist. `recorded`: see Gone."""
        with self._lock:
            self._looked(uid)
            if id_ in self._removed:
                return
            known = self._gone.get(uid)
            if self._cleared.get(uid) != id_ and (known is None or known.id != id_):
                self._cleared.pop(uid, None)
                proven = self._proven.get(uid) == id_
                self._gone[uid] = Gone(id_, config, namespace, proven, recorded, self._clock.now())

    def verdict(self, uid: str, census: Census, seconds: float) -> Verdict:
        """Return what the provider may do about one that is gone. `seconds` is the poll interval."""
        with self._lock:
            self._keep(census)
            gone = self._gone.get(uid)
            if gone is None:
                return Verdict.MAKE
            now = self._clock.now()
            while self._looks and next(iter(self._looks.values())) < now - seconds:
                self._looks.popitem(last=False)
            waited = (now - gone.since) / seconds
            counted = self._counted(gone.namespace)
            verdict = decide(counted, census.known, len(self._looks), waited=waited)
            if verdict is Verdict.MAKE:
                self._clear(uid)
            return verdict

    def _counted(self, namespace: str) -> int:
        """Return the number of those that are gone, as far as they count for a namespace."""
        believed = [gone for gone in self._gone.values() if gone.proven or gone.namespace == namespace]
        others = {gone.namespace for gone in self._gone.values() if gone.recorded and not gone.proven}
        return len(believed) + len(others - {namespace})

    def _keep(self, census: Census) -> None:
        """Forget those whose resource was deleted or no longer recreates its tenant, without observing it."""
        for uid, gone in list(self._gone.items()):
            if uid not in census.uids and gone.since < census.taken:
                del self._gone[uid]

    def confirms(self, config: str, token: str) -> bool:
        """Whether a token names one that is gone under this provider config. It may be another one than
        `token` names now: if the provider finds more of them gone, an earlier confirmation stays valid."""
        with self._lock:
            return any(_token(gone.id) == token for gone in self._gone.values() if gone.config == config)

    def token(self, config: str) -> str:
        """Return the token that confirms the recreation of what is gone under this provider config. It
        depends on these tenants, so an old token does not confirm a later accident; it is the same in every
        process."""
        with self._lock:
            first = min(gone.id for gone in self._gone.values() if gone.config == config)
        return _token(first)

    def confirm(self, config: str) -> None:
        """Permit the recreation of all that is gone under this provider config."""
        with self._lock:
            for uid in [uid for uid, gone in self._gone.items() if gone.config == config]:
                self._clear(uid)

    def _looked(self, uid: str) -> None:
        self._looks[uid] = self._clock.now()
        self._looks.move_to_end(uid)

    def _clear(self, uid: str) -> None:
        self._cleared[uid] = self._gone.pop(uid).id

    def _drop(self, uid: str) -> None:
        self._gone.pop(uid, None)
        self._cleared.pop(uid, None)


def _token(id_: str) -> str:
    return hashlib.sha256(id_.encode()).hexdigest()[:8]

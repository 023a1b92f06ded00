"""Many tenants that are gone at once: an accident, until somebody says that it is none.

Somebody emptied the account, restored an old state of it, or the endpoint leads elsewhere. To make thousands
of tenants anew would be the second accident, as others may have their domains by now. Connection groups count
like tenants: one that is made anew has another endpoint, and DNS leads to the old one.

    known tenant is gone ─▶ wait a poll interval ─▶ few were ─▶ made anew
                                                └─▶ many were ─▶ held until the provider config confirms

Nothing of it is stored: a new process counts anew before it makes anything, and comes to the same end. So it
has to believe what status says was there, which whoever may write status can make up. What this process has
proven to be a resource's own, by its owner tag, counts for everybody: anybody may look at a tenant, and be
led elsewhere afterwards. What is not proven counts in its own namespace, and for others as one for each
namespace of which a name that is gone is recorded (safety/kept_names.py). An accident that met many
namespaces is noticed, also after a restart, and nobody holds up the others with what never was.
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

__all__ = ["Census", "Gone", "Vanished", "Verdict", "judge", "limit", "take_census"]

_FEW: Final = 5
_SHARE: Final = 0.02
_REMOVED: Final = 10_000
"""External resources that are remembered after their deletion."""
_PATIENCE: Final = 10
"""Poll intervals after which others that were not looked at, as they are paused, are not waited for."""


class Verdict(Enum):
    """What may be done about a tenant that is gone."""

    MAKE = "it is made anew"
    WAIT = "others are looked at first"
    HELD = "too many are gone"


@dataclass(frozen=True)
class Gone:
    """A tenant or connection group that was known, and is not there."""

    id: str
    config: str
    """The provider config by which it was looked for."""
    namespace: str
    """Of the managed resource, or of the claim that it is for."""
    proven: bool
    """This process had proven that it was the managed resource's own."""
    recorded: bool
    """A process had, as far as is known: its name is recorded for that namespace, or names are not."""
    since: float
    """When its absence was first seen, on the injected clock."""


@dataclass(frozen=True)
class Census:
    """The managed resources whose tenants and connection groups would be made anew."""

    known: int
    """How many of these one account had."""
    uids: frozenset[str]
    """All of them."""
    taken: float
    """When, on the injected clock."""


def limit(known: int) -> int:
    """How many of so many tenants may be gone at once."""
    return max(_FEW, int(known * _SHARE))


def judge(gone: int, known: int, looked_at: int, *, waited: float) -> Verdict:
    """Decide (pure).

    Args:
        gone: tenants of the account that are gone.
        known: tenants of the account that were known.
        looked_at: those that were looked at in the last poll interval. Where AWS's rate does not allow for
            all of them, they stand for the others.
        waited: how many poll intervals have passed since this one was found gone.
    """
    if gone > limit(known):
        return Verdict.HELD
    if known <= _FEW:
        return Verdict.MAKE
    if waited < 1:
        return Verdict.WAIT
    if gone > limit(min(known, looked_at)):
        return Verdict.HELD
    # None that is there was seen lately: a provider that is behind has not come to the others yet.
    unseen = looked_at <= gone < known
    return Verdict.WAIT if unseen and waited < _PATIENCE else Verdict.MAKE


def take_census(recreated: Iterable[Managed], account: str | None, now: float) -> Census:
    """Count the tenants and connection groups of an account that these managed resources had."""
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

    def is_there(self, uid: str, id_: str, *, proven: bool) -> None:
        """The tenant of that managed resource was seen. `proven`: its owner tag says that it is its own."""
        with self._lock:
            self._looked(uid)
            self._drop(uid)
            if proven:
                self._proven[uid] = id_

    def removed(self, id_: str) -> None:
        """The provider deleted it itself: whoever still looks for it has lost nothing by accident."""
        with self._lock:
            self._removed[id_] = None
            while len(self._removed) > _REMOVED:
                self._removed.popitem(last=False)
            for uid in [uid for uid, gone in self._gone.items() if gone.id == id_]:
                del self._gone[uid]

    def was_removed(self, id_: str) -> bool:
        """This process deleted it, lately."""
        with self._lock:
            return id_ in self._removed

    def forget(self, uid: str) -> None:
        """Nobody wants it any more, or would make it anew."""
        with self._lock:
            self._looks.pop(uid, None)
            self._proven.pop(uid, None)
            self._drop(uid)

    def let_go(self, uid: str) -> None:
        """It was not looked at for long. One that is gone counts on."""
        with self._lock:
            if uid not in self._gone:
                for known in (self._looks, self._proven, self._cleared):
                    known.pop(uid, None)

    def found_gone(
        self, uid: str, id_: str, config: str, namespace: str = "", *, recorded: bool = True
    ) -> None:
        """The tenant of that managed resource is not there. `recorded`: see Gone."""
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
        """What may be done about one that is gone. `seconds` is the poll interval."""
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
            verdict = judge(counted, census.known, len(self._looks), waited=waited)
            if verdict is Verdict.MAKE:
                self._clear(uid)
            return verdict

    def _counted(self, namespace: str) -> int:
        """Those that are gone, as far as they count for a namespace."""
        believed = [gone for gone in self._gone.values() if gone.proven or gone.namespace == namespace]
        others = {gone.namespace for gone in self._gone.values() if gone.recorded and not gone.proven}
        return len(believed) + len(others - {namespace})

    def _keep(self, census: Census) -> None:
        """Let go of those whose resource went, or came to leave things as they are, without another look."""
        for uid, gone in list(self._gone.items()):
            if uid not in census.uids and gone.since < census.taken:
                del self._gone[uid]

    def confirms(self, config: str, token: str) -> bool:
        """Whether a token names one that is gone by this provider config. Not only the one that `token`
        names now: others that are found gone meanwhile take nothing from what somebody confirmed."""
        with self._lock:
            return any(_token(gone.id) == token for gone in self._gone.values() if gone.config == config)

    def token(self, config: str) -> str:
        """Confirms that what is gone by this provider config may be made anew. It names these tenants, so
        that one left standing confirms nothing later; in another process it is the same."""
        with self._lock:
            first = min(gone.id for gone in self._gone.values() if gone.config == config)
        return _token(first)

    def confirm(self, config: str) -> None:
        """All that is gone by this provider config may be made anew."""
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

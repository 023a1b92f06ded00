"""Puts recreation on hold when many tenants are gone at once: an accident, until the platform team confirms.

The account may have been emptied or restored to an old state, or the endpoint may be wrong. Recreating
thousands of tenants would be a second accident, because others may have their domains by now. Connection
groups count like tenants: a recreated group has another endpoint, and DNS points to the old one.

    known tenant is gone ─▶ wait a poll interval ─▶ few are gone ─▶ recreate
                                                └─▶ many are gone ─▶ hold until the provider config confirms

The provider stores nothing of this: a new process counts again before it creates anything, and comes to the
same result. So it has to believe what status says existed, and anyone who may write status can invent that.
A loss counts for other namespaces only if it is what an honest one is:

    this process saw the tenant, and its owner tag      each counts for all namespaces
    was proven until AWS no longer found it
    a record has the external name that AWS did not     each namespace counts as one for the others
    find (safety/kept_names.py)
    only status says that it existed                    each counts in its own namespace

The limit counts in the same way: tenants of which only a status knows raise that of their own namespace.

So the provider notices an accident that affects many namespaces, even after a restart, and no namespace can
block the others with tenants that never existed. A loss ends when AWS shows the tenant to any resource, and
when its resource refers to another one. It counts for an hour after the last look that did not find it: its
user may have paused the resource.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from edgetenants_runtime.clock import Clock, utc_now
from edgetenants_runtime.managed import Managed
from provider.cloudfront.state.identity import namespace_of
from provider.cloudfront.state.observed import account_of

__all__ = ["Census", "Gone", "Loss", "Vanished", "Verdict", "decide", "limit", "take_census"]

_FEW: Final = 5
_SHARE: Final = 0.02
_REMOVED: Final = 10_000
"""Maximum number of deleted external resources to remember."""
_MOST_POLLS: Final = 10
"""Poll intervals after which the provider stops waiting for others that it does not observe, such as paused
ones."""
_COUNTS_SECONDS: Final = 3600.0
"""How long a loss counts after the last look that did not find it. The provider looks each minute, or as
often as AWS's rate allows."""


class Verdict(Enum):
    """What the provider may do about a tenant that is gone."""

    MAKE = "it is recreated"
    WAIT = "others are checked first"
    HELD = "too many are gone"


@dataclass(frozen=True)
class Loss:
    """A known tenant or connection group that AWS did not find."""

    id: str
    """Of status, so its user chooses it, unless `proven`."""
    name: str
    """The external name that AWS did not find, by its key in safety/name_keys.py."""
    config: str
    """The provider config with which the provider looked for it."""
    namespace: str
    """The namespace of the managed resource, or of its claim."""
    proven: bool
    """Until this look, this process had a proof that it belonged to the managed resource."""
    recorded: bool
    """Some process had proven it, as far as is known: its name is recorded for that namespace, or the
    provider records no names."""

    @property
    def counts_for_others(self) -> bool:
        """It is more than what a status says."""
        return self.proven or self.recorded


@dataclass(frozen=True)
class Gone:
    """A loss that counts."""

    loss: Loss
    since: float
    """When the provider first noticed its absence, on the injected clock."""
    looked: float
    """When the provider last noticed it."""
    seen: bool
    """This process saw it before."""

    @property
    def id(self) -> str:
        """The id of what is gone."""
        return self.loss.id


@dataclass(frozen=True)
class _Annotation:
    """The annotation of a provider config that confirms a recreation."""

    token: str
    until: float
    """The latest start of a loss that it means."""
    older: bool
    """It was there when this process first looked, so it does not mean what this process saw."""

    def means(self, gone: Gone) -> bool:
        return gone.since <= self.until and not (self.older and gone.seen)


@dataclass(frozen=True)
class Census:
    """The managed resources whose tenants and connection groups the provider would recreate."""

    known: int
    """How many of their tenants and connection groups are in the account, as their status says."""
    vouched: int
    """Of these, how many more than a status vouches for."""
    by_status: Mapping[str, int]
    """How many only a status says there are, by namespace."""
    uids: frozenset[str]
    """The uids of all of them."""
    taken: float
    """The time of the census, on the injected clock."""

    def believed(self, namespace: str) -> int:
        """Return how many count for a namespace: each invents some for itself only."""
        return self.vouched + self.by_status.get(namespace, 0)


def limit(known: int) -> int:
    """Return how many of this number of tenants may be gone at once."""
    return max(_FEW, int(known * _SHARE))


def decide(
    gone: int, known: int, looked_at: int, *, believed: int, waited: float, missing: int = 0
) -> Verdict:
    """Decide what to do about a tenant that is gone (pure).

    Args:
        gone: number of the account's tenants that are gone.
        known: number of the account's tenants that were known.
        looked_at: number of tenants observed in the last poll interval. If AWS's rate does not allow the
            provider to observe all of them, these stand for the others.
        believed: of those that were known, how many count for the namespace of this one.
        waited: poll intervals since the provider found this one gone.
        missing: number of others that a list lately showed no more, and that the provider has not read since.
    """
    if gone > limit(believed):
        return Verdict.HELD
    if gone + missing > limit(believed):
        # A list is no proof, but each of them is read as soon as AWS's rate allows it.
        return Verdict.WAIT
    if known <= _FEW:
        return Verdict.MAKE
    if waited < 1:
        return Verdict.WAIT
    if gone > limit(min(believed, looked_at)):
        return Verdict.HELD
    # No existing tenant was observed recently: a provider that is behind has not reached the others yet.
    unseen = looked_at <= gone < believed
    return Verdict.WAIT if unseen and waited < _MOST_POLLS else Verdict.MAKE


def take_census(
    recreated: Iterable[Managed], account: str | None, now: float, vouched: Callable[[Managed], str]
) -> Census:
    """Count the tenants and connection groups that these managed resources had in an account.

    `vouched` returns the name or id that more than the status of a resource vouches for; "" if there is none.
    """
    ids: set[str] = set()
    uids: set[str] = set()
    known: set[str] = set()
    by_status: dict[str, set[str]] = {}
    for mr in recreated:
        uids.add(mr.uid)
        id_ = mr.at_provider.get("id")
        if id_ and account_of(mr.at_provider.get("arn") or "") == account:
            ids.add(id_)
            if name := vouched(mr):
                known.add(name)
            else:
                by_status.setdefault(namespace_of(mr), set()).add(id_)
    told = {namespace: len(each) for namespace, each in by_status.items()}
    return Census(len(ids), len(known), told, frozenset(uids), now)


class Vanished:
    """The tenants and connection groups of one account that are gone. Thread-safe."""

    def __init__(self, clock: Clock, today: Callable[[], datetime] = utc_now) -> None:
        """`today` is the wall clock: each day has other tokens."""
        self._clock, self._today = clock, today
        self._began = clock.now()
        self._lock = threading.Lock()
        self._annotated: dict[str, _Annotation] = {}
        """By provider config. An annotation stays where it is: a later loss that has the same token does not
        confirm again."""
        self._gone: dict[str, Gone] = {}
        self._missed: dict[str, float] = {}
        """When a census first lacked the resource of one that is gone."""
        self._whose: dict[tuple[str, str], set[str]] = {}
        """The uids for each id and name of what is gone."""
        self._seen: dict[str, str] = {}
        """The id that each managed resource was last seen to have. It proves nothing without a proof of its
        owner; a proof from a creation says nothing of a tenant that AWS does not show yet."""
        self._cleared: dict[str, str] = {}
        self._removed: OrderedDict[str, None] = OrderedDict()
        self._looks: OrderedDict[str, float] = OrderedDict()
        self._lost = float("-inf")
        """When the last loss began."""

    def now(self) -> float:
        """Return the time on the injected clock, for a census."""
        return self._clock.now()

    def is_there(self, uid: str, id_: str) -> None:
        """Note that the tenant of a managed resource exists."""
        with self._lock:
            self._looked(uid)
            self._drop(uid)
            self._seen[uid] = id_

    def is_listed(self, uid: str, id_: str) -> None:
        """Note that a list shows the tenant of a managed resource: no observation, as lists lag behind."""
        with self._lock:
            if uid not in self._gone:
                self._seen[uid] = id_

    def is_deciding(self, seconds: float) -> bool:
        """Whether one that counts for all namespaces was found gone lately, so that the others are to be
        observed. `seconds` is the poll interval."""
        with self._lock:
            since = self._clock.now() - _MOST_POLLS * seconds
            # Each reconcile asks, and thousands may have been gone for hours.
            return self._lost > since and any(
                gone.loss.counts_for_others and gone.since > since for gone in self._gone.values()
            )

    def exists(self, id_: str, name: str) -> None:
        """Note that AWS has a tenant with that id and that name (see Loss), for any resource.

        It is not lost, even if a status says so. A record of the name tells of no loss either; but a tenant
        that was proven to be lost stays lost if another one has its name now.
        """
        with self._lock:
            for uid in self._uids("id", id_):
                self._take(uid)
            for uid in self._uids("name", name):
                if not self._gone[uid].loss.proven:
                    self._take(uid)

    def removed(self, id_: str) -> None:
        """Note that the provider itself deleted the tenant: its absence is no accident for any resource."""
        with self._lock:
            self._removed[id_] = None
            while len(self._removed) > _REMOVED:
                self._removed.popitem(last=False)
            for uid in self._uids("id", id_):
                self._take(uid)

    def was_removed(self, id_: str) -> bool:
        """Whether this process recently deleted it."""
        with self._lock:
            return id_ in self._removed

    def forget(self, uid: str) -> None:
        """Forget a resource that no longer wants its tenant, or would not recreate it."""
        with self._lock:
            self._looks.pop(uid, None)
            self._seen.pop(uid, None)
            self._drop(uid)

    def let_go(self, uid: str) -> None:
        """Forget a resource that was not observed for long, unless its tenant is gone, which still counts."""
        with self._lock:
            if uid not in self._gone:
                for known in (self._looks, self._seen, self._cleared):
                    known.pop(uid, None)

    def found_gone(self, uid: str, loss: Loss) -> None:
        """Note that the tenant of a managed resource does not exist."""
        with self._lock:
            known = self._gone.get(uid)
            if loss.counts_for_others or (known and known.loss.counts_for_others):
                # Others that only a status says there were stand for none that exist.
                self._looked(uid)
            if loss.id in self._removed or self._cleared.get(uid) == loss.id:
                return
            self._cleared.pop(uid, None)
            now = self._clock.now()
            seen = self._seen.get(uid) == loss.id
            proven, since = loss.proven and seen, now
            if known is not None and (known.id, known.loss.name) == (loss.id, loss.name):
                # The first look ended the proof.
                proven = proven or known.loss.proven
                # After a long time without looks, the others may be gone too: they are checked first.
                since = known.since if self._counts(known) else now
            self._lost = max(self._lost, since)
            self._put(uid, Gone(replace(loss, proven=proven), since, now, seen))

    def verdict(self, uid: str, census: Census, seconds: float, missing: int = 0) -> Verdict:
        """Return what the provider may do about one that is gone. `seconds` is the poll interval, `missing`
        is as in `decide`."""
        with self._lock:
            if uid in self._gone and uid not in census.uids:
                # It was taken while the cache was being filled: after a restore of etcd, it is empty for a
                # moment.
                return Verdict.WAIT
            self._keep(census)
            gone = self._gone.get(uid)
            if gone is None:
                return Verdict.MAKE
            now = self._clock.now()
            while self._looks and next(iter(self._looks.values())) < now - seconds:
                self._looks.popitem(last=False)
            waited = (now - gone.since) / seconds
            counted = self._counted(gone.loss.namespace)
            believed = census.believed(gone.loss.namespace)
            verdict = decide(
                counted, census.known, len(self._looks), believed=believed, waited=waited, missing=missing
            )
            if verdict is Verdict.MAKE:
                self._clear(uid)
            return verdict

    def _counted(self, namespace: str) -> int:
        """Return the number of those that are gone, as far as they count for a namespace."""
        losses = [gone.loss for gone in self._gone.values() if self._counts(gone)]
        # Several resources may have had one tenant.
        believed = {loss.id for loss in losses if loss.proven or loss.namespace == namespace}
        others = {loss.namespace for loss in losses if loss.recorded and not loss.proven}
        return len(believed) + len(others - {namespace})

    def _counts(self, gone: Gone) -> bool:
        return self._clock.now() < gone.looked + _COUNTS_SECONDS

    def _keep(self, census: Census) -> None:
        """Forget those whose resource was deleted or no longer recreates its tenant, without observing it.
        One census may lack a resource that exists, while the cache is being filled."""
        for uid, gone in list(self._gone.items()):
            if uid in census.uids:
                self._missed.pop(uid, None)
            elif gone.since < census.taken and self._missed.setdefault(uid, census.taken) < census.taken:
                self._take(uid)

    def confirm(self, config: str, token: str, uid: str) -> bool:
        """Permit the recreation of what is gone under this provider config, if the token names it; return
        whether that includes what this resource has lost.

        The token may name another one than `token` returns now: if the provider finds more of them gone, an
        earlier confirmation stays valid. A loss that counts for one namespace only confirms only that one's.
        """
        with self._lock:
            annotation = self._annotation(config, token)
            asks = self._gone.get(uid)
            namespace = asks.loss.namespace if asks else None
            under = {each: gone for each, gone in self._gone.items() if gone.loss.config == config}
            if annotation.older:
                under = {each: gone for each, gone in under.items() if not gone.seen}
            meant = [gone for gone in under.values() if token and annotation.means(gone)]
            named = [gone for gone in meant if token in self._tokens(gone.loss)]
            if any(gone.loss.counts_for_others for gone in named):
                permitted = list(under)
            else:
                of_one = namespace if any(gone.loss.namespace == namespace for gone in named) else None
                permitted = [each for each, gone in under.items() if gone.loss.namespace == of_one]
            for each in permitted:
                self._clear(each)
            return uid in permitted

    def token(self, config: str, asks: Loss) -> str:
        """Return the token that confirms the recreation of what is gone under this provider config, such as
        `asks`. It is the same in every process, and depends on the tenants of that namespace and on the day.

        A user who may write a status may choose an id, so the users of one namespace change the token that
        this namespace is shown, and no other one. Each token confirms the same; see `confirm`. A token that
        the annotation already had before the loss is not shown: to set it again would change nothing."""
        with self._lock:
            # Another resource may have found the one that asks since.
            under = [gone.loss for gone in self._gone.values() if gone.loss.config == config]
            known = [loss for loss in under if loss.counts_for_others and loss.namespace == asks.namespace]
            first = min(known or [asks], key=lambda loss: (loss.id, loss.name))
            annotation = self._annotated.get(config)
            unmeant = annotation and not all(annotation.means(gone) for gone in self._losses(first))
            spent = annotation.token if annotation and unmeant else ""
        return next(token for token in self._tokens(first) if token != spent)

    def _annotation(self, config: str, token: str) -> _Annotation:
        """Return what the annotation of a provider config means. A new process finds again in its first hour
        what was meant before it; an annotation that it meets later is not from then."""
        known = self._annotated.get(config)
        if known is None or known.token != token:
            first_hour = self._began + _COUNTS_SECONDS
            until = first_hour if known is None else max(self._clock.now(), first_hour)
            self._annotated[config] = known = _Annotation(token, until, older=known is None)
        return known

    def _losses(self, loss: Loss) -> Iterator[Gone]:
        return (self._gone[uid] for uid in self._uids("id", loss.id) if self._gone[uid].loss == loss)

    def _tokens(self, loss: Loss) -> tuple[str, ...]:
        """Return the tokens that name a loss, those of today first."""
        return tuple(_token(loss, f"{day}{again}") for day in self._days() for again in ("", " again"))

    def _days(self) -> tuple[str, str]:
        """Today, and the day before, whose tokens are still valid."""
        now = self._today()
        return f"{now:%Y-%m-%d}", f"{now - timedelta(days=1):%Y-%m-%d}"

    def _looked(self, uid: str) -> None:
        self._looks[uid] = self._clock.now()
        self._looks.move_to_end(uid)

    def _clear(self, uid: str) -> None:
        self._cleared[uid] = self._gone[uid].id
        self._take(uid)

    def _drop(self, uid: str) -> None:
        self._take(uid)
        self._cleared.pop(uid, None)

    def _put(self, uid: str, gone: Gone) -> None:
        self._take(uid)
        self._gone[uid] = gone
        for key in _keys(gone.loss):
            self._whose.setdefault(key, set()).add(uid)

    def _take(self, uid: str) -> None:
        gone = self._gone.pop(uid, None)
        self._missed.pop(uid, None)
        for key in _keys(gone.loss) if gone is not None else ():
            self._whose[key].discard(uid)
            if not self._whose[key]:
                del self._whose[key]

    def _uids(self, what: str, value: str) -> tuple[str, ...]:
        """Return the resources whose losses have that id or name."""
        return tuple(self._whose.get((what, value), ()))


def _keys(loss: Loss) -> tuple[tuple[str, str], ...]:
    return ("id", loss.id), ("name", loss.name)


def _token(loss: Loss, day: str) -> str:
    return hashlib.sha256(f"{day} {loss.id} {loss.name}".encode()).hexdigest()[:8]

"""What the lists of an account show: whether a tenant changed since it was read.

A list shows of each tenant its ETag, status and domains, but neither parameters nor tags. So a row of a list
never replaces a Get. It confirms one:

    row agrees with the last Get, or with the record in status ──▶ no call
    row differs, or is missing, or too old                     ──▶ Get

A row counts only if its page was requested after the last write of this provider to the tenant, and after a
Get that did not find it. Whatever a list lacks or shows wrongly costs a Get, and nothing is decided by it.

What AWS answers to a write counts as a Get. A row with the same ETag then shows how the roll-out goes on.

Resources that are at rest or wait for a roll-out are watched (watching.py): a sweep reconciles those whose
row changed or is missing. When the last complete list is too old, all of them are reconciled, and polled one
by one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import inf, nextafter
from typing import Final

from apis.providerconfig import TenantLists
from edgetenants_runtime.clock import Clock
from provider.cloudfront.aws.list_calls import GroupRow
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS
from provider.cloudfront.memory.writes import Writes
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.sweep.watching import Follower, Motion, Watch, Watchers

__all__ = ["Confirmed", "Inventory", "Remembered", "agree"]

_LONGEST_PERIOD: Final = 5.0
"""Intervals from the beginning of a sweep to that of the next one, at most."""
_FIRST_SECONDS: Final = 60.0
"""How long resources wait for the first sweep of a process."""
_MISSING_SECONDS: Final = 3600.0
"""How long a tenant that was watched and that lists show no more counts as missing, if no one reads it."""
_MOST_ABSENT: Final = 20_000
_MOST_LEFT: Final = 10_000
_CERTIFICATE_SECONDS: Final = 900.0
"""For this long after a resource last asked for them, pending certificates are listed."""
_SPACED: Final = 10.0
"""Seconds between two lists that a resource in motion wants, at least. The first one comes sooner."""
_FIRST: Final = 5.0
"""Seconds after which the first one comes, at least."""
_OVERDUE: Final = 30.0
"""The resource is polled if a list that it wants does not come for so many seconds, or three times as long as
the last list took."""
_SAMPLE: Final = 200
"""How many other tenants are read when one is gone. If two percent of ten thousand were gone, too, four of
these would be."""


@dataclass(frozen=True)
class Confirmed:
    """A tenant that a list confirms."""

    seen: ObservedTenant
    whole: bool
    """This process has read it: AWS answered a Get or a write with this ETag. False: the record in status
    completes it."""


Remembered = Callable[[ObservedTenant], ObservedTenant | None]
"""Completes a row from the record in status; None if the record is not of the same state."""


@dataclass(frozen=True)
class _Row:
    seen: ObservedTenant
    """As in the list: without parameters."""
    asked: float
    """When its page was requested."""


@dataclass(frozen=True)
class _Got:
    seen: ObservedTenant
    asked: float


class Inventory:
    """The tenants of an account, as one caller may list them. Thread-safe. All times are on one clock."""

    def __init__(
        self,
        clock: Clock,
        writes: Writes,
        interval: float,
        *,
        longest: float = DEEP_CHECK_SECONDS,
        removed: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`interval` is the shortest time between two sweeps, in seconds. Lists may confirm the same Get, or
        the record in status, for `longest` seconds. `removed` returns whether this process deleted the tenant
        with that id."""
        self._removed = removed
        self._confirmed_seconds = longest
        self._clock, self._writes, self._interval = clock, writes, interval
        self._lock = threading.Lock()
        self._rows: dict[str, _Row] = {}
        self._ids: dict[str, str] = {}
        """Ids by name."""
        self._got: OrderedDict[str, _Got] = OrderedDict()
        """The one that was noted first is first."""
        self._absent: OrderedDict[str, float] = OrderedDict()
        """By name: when a Get was sent that did not find it. A list may show it for a while."""
        self._existing: OrderedDict[str, None] = OrderedDict()
        """Names that AWS refused to create as they exist; a list may not show them yet."""
        self._missing: dict[str, float] = {}
        """By name of a tenant that was watched and that lists show no more: since when."""
        self._generations: dict[str, int] = {}
        """By id of a tenant that this process has not read: the generation of its resource at the first look.
        Its status says nothing of later ones."""
        self._watchers = Watchers()
        self._pages = 0
        """Of the list of all tenants; 0 if unknown."""
        self._groups: Mapping[str, GroupRow] = {}
        """What the list shows of each connection group, by id."""
        self._pending: frozenset[str] | None = None
        """The ARNs of pending certificates; None if they are not listed."""
        self._left: OrderedDict[str, None] = OrderedDict()
        """The ARNs of certificates that were listed as pending and are no longer."""
        self._certificates_wanted = float("-inf")
        """When a resource last waited for one."""
        self._period = interval
        self._took = 0.0
        """Seconds that the last complete sweep took."""
        self._swept = float("-inf")
        """When the last complete sweep began."""
        self._opened = clock.now()
        self._failed = False
        """The last sweep did not succeed."""
        self._unused = False
        """Lists are not worth their calls."""
        self._refused = False
        """The caller may not list the tenants."""
        self._doubted = float("-inf")

    @property
    def age(self) -> float:
        """Seconds since the last complete sweep began; inf before the first one."""
        with self._lock:
            return self._clock.now() - self._swept

    @property
    def is_awaited(self) -> bool:
        """Whether the first sweep is still to come, and soon."""
        with self._lock:
            waiting = self._clock.now() < self._opened + _FIRST_SECONDS
            return waiting and not self._failed and self._swept == float("-inf")

    @property
    def watched(self) -> tuple[Follower, ...]:
        """The resources that the sweeps watch."""
        with self._lock:
            return tuple(self._watchers)

    @property
    def missing(self) -> int:
        """How many tenants were watched, are shown by lists no more, and were not read since."""
        with self._lock:
            since = self._clock.now() - _MISSING_SECONDS
            return sum(at > since for at in self._missing.values())

    @property
    def period(self) -> float:
        """Seconds from the beginning of a sweep to that of the next one. A sweep that AWS's rate makes long
        leaves half of the time to other calls."""
        with self._lock:
            return self._period

    @property
    def wanted(self) -> float:
        """When the next list is wanted by resources in motion; inf if none is."""
        with self._lock:
            return self._watchers.wanted()

    @property
    def lists(self) -> TenantLists | None:
        """How changes of these tenants are noticed; None before the first list."""
        with self._lock:
            if self._refused:
                return TenantLists.NOT_PERMITTED
            if self._swept == float("-inf"):
                return TenantLists.UNUSED if self._unused else TenantLists.LATE if self._failed else None
            return TenantLists.LATE if self._is_late() else TenantLists.CURRENT

    @property
    def wants_certificates(self) -> bool:
        """Whether resources wait for pending certificates."""
        with self._lock:
            return self._clock.now() < self._certificates_wanted + _CERTIFICATE_SECONDS

    @property
    def certificates_are_listed(self) -> bool:
        """Whether the last list of pending certificates succeeded."""
        with self._lock:
            return self._pending is not None

    # For the resources.

    def confirmed(self, name: str, generation: int, share: float, remembered: Remembered) -> Confirmed | None:
        """Return a tenant without a call, if a list confirms what is known of it; None: get it.

        Args:
            name: its name in CloudFront.
            generation: that of its managed resource.
            share: a fixed number in (0, 1] for each resource, to spread what is due once a day.
            remembered: completes a row, if this process has not read the tenant yet.
        """
        with self._lock:
            row = self._row(name)
            if row is None or not self._counts(row) or not row.seen.deployed:
                # The end of a roll-out counts at once, and a list may be a minute old.
                return None
            now, got = self._clock.now(), self._got.get(row.seen.id)
            if got is not None:
                seen = self._as_listed(row, got)
                fresh = now < got.asked + self._confirmed_seconds
                return Confirmed(seen, whole=True) if fresh and seen else None
            first = self._generations.setdefault(row.seen.id, generation)
            if now >= self._opened + share * self._confirmed_seconds or first != generation:
                return None
        seen = remembered(row.seen)
        return Confirmed(seen, whole=False) if seen else None

    def lacks(self, name: str) -> bool:
        """Whether a recent list of all tenants has none with this name, or with this id."""
        with self._lock:
            known = name in self._ids or name in self._rows or name in self._existing
            return not (known or self._is_late())

    def exists(self, name: str) -> None:
        """Note that AWS refused to create a tenant of this name, as there is one."""
        with self._lock:
            self._existing[name] = None
            self._existing.move_to_end(name)
            while len(self._existing) > _MOST_ABSENT:
                self._existing.popitem(last=False)

    def moved(self, domains: Container[str]) -> None:
        """Note that these domains were moved between tenants: what was read of the others is outdated."""
        with self._lock:
            for id_ in [
                id_ for id_, got in self._got.items() if any(each in domains for each in got.seen.domains)
            ]:
                del self._got[id_]

    def has_gone(self, id_: str, name: str) -> bool:
        """Whether a recent list of all tenants lacks the one with this id, and has none with this name. The
        list was requested after the last write of this process to it, such as its deletion."""
        with self._lock:
            shown = id_ in self._rows or name in self._ids or name in self._rows
            return not (shown or self._is_late()) and self._swept > self._writes.last(id_)

    def got(self, seen: ObservedTenant, asked: float) -> None:
        """Note what a Get returned that was sent at `asked`."""
        with self._lock:
            self._absent.pop(seen.name, None)
            self._missing.pop(seen.name, None)
            last = self._got.get(seen.id)
            if not self._is_idle() and (last is None or last.asked <= asked):
                self._got[seen.id] = _Got(seen, asked)
                self._got.move_to_end(seen.id)
                self._generations.pop(seen.id, None)
            # Lists may fail for weeks, and then nothing else shows what is gone.
            old = asked - self._confirmed_seconds
            while self._got and next(iter(self._got.values())).asked < old:
                self._got.popitem(last=False)

    def wrote(self, seen: ObservedTenant) -> None:
        """Note what AWS answered to the last write of this process."""
        # No list and no Get from before the write counts any more, and this answer must.
        self.got(seen, max(self._clock.now(), nextafter(self._writes.last(seen.id), inf)))

    def is_no_longer_pending(self, arn: str | None) -> bool:
        """Whether a certificate was listed as pending and is not any more, or cannot be listed now."""
        with self._lock:
            return arn in self._left

    def absent(self, name: str, asked: float) -> None:
        """Note that a Get that was sent at `asked` did not find a tenant with this name."""
        with self._lock:
            self._missing.pop(name, None)
            self._existing.pop(name, None)
            self._absent[name] = asked
            self._absent.move_to_end(name)
            while len(self._absent) > _MOST_ABSENT:
                self._absent.popitem(last=False)

    def watch(
        self,
        follower: Follower,
        seen: ObservedTenant,
        seconds: float,
        *,
        group_disabled: bool = False,
        certificate: str | None = None,
    ) -> bool:
        """Have a resource reconciled when the lists show that its tenant, its connection group, or the
        pending certificate with that ARN changed, for that many seconds. The tenant was observed as `seen`,
        and its group as `group_disabled`. False: the lists do not show their present states, so the resource
        has to be polled."""
        with self._lock:
            if certificate is not None:
                self._certificates_wanted = self._clock.now()
                if certificate not in (self._pending or ()):
                    return False
            row, group = self._rows.get(seen.id), seen.connection_group_id
            if row is None or not self._counts(row) or not agree(row.seen, seen) or self._is_late():
                return False
            if group is not None and not self._shows(group, disabled=group_disabled):
                return False
            until = self._clock.now() + seconds
            self._watchers.add(follower, Watch(seen.id, group, until, certificate=certificate))
            return True

    def follow(
        self, follower: Follower, seen: ObservedTenant, seconds: float, every: float, *, gone: bool = False
    ) -> float | None:
        """Have a resource reconciled when a list shows that CloudFront has done more since AWS answered
        `seen`, or after that many seconds. Returns in how many seconds it wants the next list; None: a Get
        costs less than a list, or the lists show another state, so the resource has to be polled.

        Args:
            follower: the resource.
            seen: what AWS answered last.
            seconds: after which the runtime reconciles it.
            every: seconds between two lists.
            gone: it waits until no list shows the tenant.
        """
        with self._lock:
            now, row = self._clock.now(), self._rows.get(seen.id)
            moving = self._watchers.moves(follower, now)
            if not 0 < self._pages <= moving or self._failed or self._is_late():
                return None
            if not gone and not self._may_show(row, seen):
                return None
            first = max(every, _FIRST)
            motion = Motion(seen, max(every, _SPACED), now + first, gone)
            # The runtime reconciles it in time, if no list does.
            self._watchers.add(follower, Watch(seen.id, None, now + 2 * seconds, motion))
            return first

    def unwatch(self, follower: Follower) -> None:
        """A resource is being reconciled, or exists no more."""
        with self._lock:
            self._watchers.reconciles(follower)

    def doubt(self) -> list[Follower]:
        """A tenant is gone, perhaps with many others. Returns some watched resources whose tenants are to be
        read, once in an interval: the ones that were not watched for longest."""
        with self._lock:
            now = self._clock.now()
            if now < self._doubted + self._interval:
                return []
            self._doubted = now
            found = list(islice(self._watchers, _SAMPLE))
            for follower in found:
                self._watchers.drop(follower)
            return found

    # For the sweeps.

    def page(self, rows: Iterable[ObservedTenant], asked: float) -> list[Follower]:
        """Take in a page that was requested at `asked`. Returns the resources to reconcile."""
        with self._lock:
            return [each for row in rows for each in self._take_in(_Row(row, asked))]

    def groups(self, shown: Mapping[str, GroupRow]) -> tuple[frozenset[str], list[Follower]]:
        """Take in what the list shows of all connection groups, by id; empty if they cannot be listed.
        Returns the ids of those that changed, and the resources to reconcile."""
        with self._lock:
            before, self._groups = self._groups, shown
            # No resource of one that was not listed before is watched.
            changed = frozenset(id_ for id_, each in before.items() if shown.get(id_) != each)
            woken = self._watchers.wake(lambda watch: watch.group in changed) if changed else []
            return changed, woken

    def certificates(self, pending: frozenset[str] | None) -> list[Follower]:
        """Take in the ARNs of all pending certificates; None if they cannot be listed. Returns the resources
        to reconcile."""
        with self._lock:
            for arn in sorted((self._pending or frozenset()) - (pending or frozenset())):
                self._left[arn] = None
            for arn in pending or ():
                self._left.pop(arn, None)
            while len(self._left) > _MOST_LEFT:
                self._left.popitem(last=False)
            self._pending = pending
            waiting = pending or frozenset()
            return self._watchers.wake(
                lambda watch: bool(watch.certificate) and watch.certificate not in waiting
            )

    def complete(self, began: float, pages: int = 1) -> list[Follower]:
        """Note that all pages of tenants of a sweep that began then were read. Returns the resources whose
        tenants the list lacks."""
        with self._lock:
            now = self._clock.now()
            self._swept, self._pages = began, pages
            self._failed = self._refused = self._unused = False
            longest, self._took = _LONGEST_PERIOD * self._interval, now - began
            self._period = min(longest, max(self._interval, 2 * (now - began)))
            for row in [row for row in self._rows.values() if row.asked < began]:
                self._forget(row.seen, now)
            for name in [name for name, at in self._missing.items() if at <= now - _MISSING_SECONDS]:
                del self._missing[name]
            for id_ in [id_ for id_, got in self._got.items() if id_ not in self._rows and got.asked < began]:
                del self._got[id_]
            for id_ in self._generations.keys() - self._rows.keys():
                del self._generations[id_]
            # They were reconciled meanwhile, or exist no more.
            self._watchers.wake(lambda watch: watch.until < now)
            self._watchers.listed(began)
            lacking = self._watchers.wake(lambda watch: self._is_lacking(watch, began))
            return lacking + self._watchers.few(pages)

    def failed(self, *, refused: bool = False) -> None:
        """Note that a sweep did not succeed, or that AWS `refused` it."""
        with self._lock:
            self._failed, self._refused = True, refused

    def overdue(self) -> list[Follower]:
        """Return the resources that have to be polled from now on: those in motion for which a list does not
        come, and all if the last list is too old."""
        with self._lock:
            if self._is_late():
                return self._watchers.wake(lambda _: True)
            return self._watchers.wake(self._waits)

    def close(self) -> list[Follower]:
        """Forget all lists, as no more sweeps come for now. Returns all watched resources."""
        with self._lock:
            self._failed, self._refused, self._unused = True, False, True
            self._swept, self._period = float("-inf"), self._interval
            for known in (self._rows, self._ids, self._got, self._generations, self._absent, self._missing):
                known.clear()
            self._groups, self._pages, self._pending = {}, 0, None
            return self._watchers.wake(lambda _: True)

    # Under the lock.

    def _row(self, name: str) -> _Row | None:
        if name in self._rows:
            # It is the id of a tenant too, and AWS may mean that one.
            return None
        row = self._rows.get(self._ids.get(name, ""))
        return None if name in self._absent else row

    def _counts(self, row: _Row) -> bool:
        recent = self._clock.now() - row.asked <= self._longest
        return recent and row.asked > self._writes.last(row.seen.id)

    def _as_listed(self, row: _Row, got: _Got) -> ObservedTenant | None:
        """What was read, if the row shows the same, or the end of its roll-out."""
        if got.asked <= self._writes.last(got.seen.id):
            return None
        if agree(row.seen, got.seen):
            return got.seen
        ended = row.seen.deployed and not got.seen.deployed and row.asked > got.asked
        if not (ended and _version(row.seen) == _version(got.seen)):
            return None
        return replace(got.seen, status=row.seen.status, domains=row.seen.domains)

    def _shows(self, group: str, *, disabled: bool) -> bool:
        """Whether the list shows that group, in that state. It may lag behind, or lead."""
        shown = self._groups.get(group)
        return shown is not None and shown.enabled is not disabled

    @property
    def _longest(self) -> float:
        """Seconds after which a list is too old: one sweep may fail once."""
        return self._period + self._interval

    def _is_late(self) -> bool:
        return self._clock.now() - self._swept > self._longest

    def _is_idle(self) -> bool:
        """There is no list, and none is about to come."""
        return self._failed and self._swept == float("-inf")

    def _take_in(self, row: _Row) -> list[Follower]:
        id_ = row.seen.id
        last = self._rows.get(id_)
        if last is not None and last.asked > row.asked:
            return []
        self._rows[id_] = row
        self._ids[row.seen.name] = id_
        self._missing.pop(row.seen.name, None)
        changed = last is not None and not agree(row.seen, last.seen)
        woken = [each for each, watch in self._watchers.of(id_) if self._is_news(row, watch, changed=changed)]
        for follower in woken:
            self._watchers.reconciles(follower)
        return woken

    def _is_news(self, row: _Row, watch: Watch, *, changed: bool) -> bool:
        """Whether a row shows what a resource waits for. `changed`: the last row showed something else."""
        if watch.motion is None:
            return changed
        # A list that still shows a deleted tenant lags behind.
        return self._counts(row) and (watch.motion.gone or not agree(row.seen, watch.motion.seen))

    def _may_show(self, row: _Row | None, seen: ObservedTenant) -> bool:
        """Whether lists may show how a tenant goes on from here: the last one does not lag behind."""
        if row is None:
            return self._swept <= self._writes.last(seen.id)
        return not self._counts(row) or agree(row.seen, seen)

    def _is_lacking(self, watch: Watch, began: float) -> bool:
        """Whether the list that began then lacks a tenant, and not only because it is too old for it."""
        return watch.id not in self._rows and began > self._writes.last(watch.id)

    def _waits(self, watch: Watch) -> bool:
        """Whether the list that a resource in motion wants does not come."""
        late = self._clock.now() - max(_OVERDUE, 3 * self._took)
        return watch.motion is not None and (self._failed or watch.motion.due < late)

    def _forget(self, seen: ObservedTenant, now: float) -> None:
        del self._rows[seen.id]
        if self._watchers.of(seen.id) and not self._removed(seen.id):
            self._missing[seen.name] = now
        if self._ids.get(seen.name) == seen.id:
            # Otherwise, a new tenant has the name.
            del self._ids[seen.name]


def agree(row: ObservedTenant, seen: ObservedTenant) -> bool:
    """Whether a row shows the state that was observed. The ETag stands for what the row lacks; it is a
    counter that begins again for each tenant, so it counts with the id only. A roll-out changes the status
    and the domains without it."""
    return _shown(row) == _shown(seen)


def _shown(seen: ObservedTenant) -> tuple[object, ...]:
    return (*_version(seen), seen.status, dict(seen.domains))


def _version(seen: ObservedTenant) -> tuple[object, ...]:
    """What a roll-out does not change."""
    parents = (seen.distribution_id, seen.connection_group_id)
    return (seen.id, seen.etag, *parents, seen.enabled, frozenset(seen.domains))

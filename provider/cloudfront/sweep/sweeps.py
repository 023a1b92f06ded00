"""Sweeps all accounts, each as often as its inventory says.

One sweep serves all provider configs whose credentials are of one caller. It costs a call for each page of
the account's tenants and connection groups, so it needs at least as many managed resources that use these
configs: a team with one tenant in a large account gets that tenant instead. The same applies where AWS
refuses the lists, or where the account's rate makes a sweep too long.

    enough resources ── all pages (listing.py) ──▶ complete ──▶ what changed is reconciled
                    └── an error, or too long ───▶ failed ────▶ tried again, ever later

While resources wait for CloudFront, such as for the end of a roll-out, the tenants are listed more often, as
long as that costs less than a Get for each of these resources (inventory.py).

The sweeps have their own threads, so they wait for no worker. Their requests have the priority of drift: a
page replaces the polls of many tenants, and changes leave a tenth of the account's rate to it at least. A
throttled list does not keep its thread, and namespaces take turns at the threads. Besides, whatever becomes
of the sweeps, a watchdog has all tenants polled whose last list is too old.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

import structlog

from edgetenants_runtime.clock import Clock, pause
from edgetenants_runtime.managed import ProviderConfigKey
from edgetenants_runtime.queueing import urgency
from edgetenants_runtime.queueing.queue import Priority, WorkQueue
from edgetenants_runtime.queueing.urgency import Urgency
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.aws.hooks import checking
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.state.observed import ObservedTenant
from provider.cloudfront.sweep.inventory import Inventory
from provider.cloudfront.sweep.listing import Listing, Lists
from provider.cloudfront.sweep.watching import Follower

__all__ = ["Sweeps", "Swept", "Tally", "Wake"]

_log = structlog.get_logger("provider.cloudfront.sweep")

_THREADS: Final = 4
_LARGE_PAGE: Final = 1000
"""Rows to ask for. AWS does not publish its maximum: it may return fewer, or refuse, and then it decides."""
_LONGEST: Final = 2.5
"""Intervals that a sweep may take."""
_LEARN_SECONDS: Final = 3600.0
"""After this, the provider tries again whether an account has become small enough."""
_FIRST_RETRY: Final = 0.25
"""Intervals until a sweep that failed is tried again; they double. So one failure makes no list too old."""
_LONGEST_RETRY: Final = 600.0
_WATCHED: Final = 0.25
_WATCHED_SECONDS: Final = 15.0
"""Intervals between two looks of the watchdog, and seconds at most."""
_OF_GROUPS: Final = 0.9
"""Intervals after which a list of tenants is followed by one of the connection groups."""
_COUNTED_SECONDS: Final = 3600.0
"""How often the certificates of an account are counted; each thousand takes a call."""
_COUNT_VALID: Final = 3.5 * _COUNTED_SECONDS
_THROTTLED_SECONDS: Final = 2.0
"""Until a throttled list goes on, if AWS and the account's pace do not say when."""


class Wake(Protocol):
    """Reconciles resources."""

    def __call__(self, followers: Iterable[Follower], *, changed: bool) -> None:
        """`changed`: a list shows that their tenants changed. Otherwise, they are polled from now on."""
        ...


class Tally(Protocol):
    """Measures sweeps."""

    def page(self, account: str) -> None:
        """A page is requested."""
        ...

    def swept(self, account: str, outcome: str, seconds: float, tenants: int | None) -> None:
        """A sweep ended, as complete or failed, after seconds of the injected clock. `tenants` is the number
        of those that it saw; None if it did not see all."""
        ...


@dataclass(frozen=True)
class Swept:
    """What the lists of a caller show, for the resources of its provider configs."""

    inventory: Inventory
    _wake: Wake
    _list_within: Callable[[float], None]

    def follow(
        self, follower: Follower, seen: ObservedTenant, seconds: float, every: float, *, gone: bool = False
    ) -> bool:
        """Have a resource reconciled when a list shows that CloudFront has done more; see Inventory.follow.
        False: it has to be polled."""
        within = self.inventory.follow(follower, seen, seconds, every, gone=gone)
        if within is not None:
            self._list_within(within)
        return within is not None

    def doubt(self) -> None:
        """A tenant is gone: have some others read, as many may be gone."""
        self._wake(self.inventory.doubt(), changed=True)


@dataclass
class _Caller:
    """One caller in one account."""

    account: str
    inventory: Inventory
    memory: AccountMemory
    configs: dict[str, ProviderConfigKey] = field(default_factory=dict)
    """By uid."""
    lists: dict[str, Lists] = field(default_factory=dict)
    """The calls with the credentials of each config, by uid; the first one makes them."""
    size: int | None = _LARGE_PAGE
    pages: int = 0
    """Of the last sweep with connection groups, at least; 0 if unknown."""
    group_pages: int = 0
    """Those of connection groups."""
    groups_listed: float = float("-inf")
    """When the last sweep with connection groups began."""
    certificates_counted: float = float("-inf")
    """When they were counted last, or could not be."""
    learned: float = 0.0
    resting_until: float = float("-inf")
    """A list that takes long is followed by a pause as long."""
    due: float = 0.0
    """When the next round is due."""
    failures: int = 0
    listing: Listing | None = None
    """The sweep that goes on."""


class _TooLarge(Exception):  # noqa: N818 - says what was found
    """The account has more pages than there are resources."""


class Sweeps:
    """The sweeps of this process. Thread-safe. All times are on the injected clock."""

    def __init__(
        self,
        clock: Clock,
        interval: float,
        *,
        users: Callable[[ProviderConfigKey], int],
        wake: Wake,
        tally: Tally | None = None,
        threads: int = _THREADS,
    ) -> None:
        """`interval` is the shortest time between two sweeps in seconds. `users` returns how many managed
        resources use a provider config. Without `threads`, the caller calls `round` and `check`."""
        self._clock, self._interval = clock, interval
        self._users, self._wake, self._tally = users, wake, tally
        self._lock = threading.Lock()
        self._callers: dict[Hashable, _Caller] = {}
        self._threads = threads
        rng = random.Random()  # noqa: S311 - for delays
        self._queue: WorkQueue[Hashable] = WorkQueue(clock, rng, share=self._home, workers=threads)
        self._started = False

    def open(
        self,
        caller: Hashable,
        config: ProviderConfigKey,
        uid: str,
        *,
        account: str,
        memory: AccountMemory,
        lists: Lists,
    ) -> Swept:
        """Return what the lists show, for a provider config whose credentials are of that caller. `uid` is
        that of the config, and `lists` makes the calls with its credentials."""
        with self._lock:
            left = self._leave(uid, but=caller)
            known = self._callers.get(caller)
            new = known is None or known.memory is not memory
            if known is None or new:
                left += [known] if known else []
                inventory = Inventory(
                    self._clock,
                    memory.writes,
                    self._interval,
                    longest=memory.deep_checks.seconds,
                    removed=memory.vanished.was_removed,
                )
                known = self._callers[caller] = _Caller(account, inventory, memory, due=self._clock.now())
            known.configs[uid] = config
            known.lists[uid] = lists
            if not config.namespace:
                # A team's config may have a low rate.
                known.lists = {uid: lists, **known.lists}
            self._start()
        self._close(left)
        if new:
            self._queue.add(caller)
        return Swept(known.inventory, self._wake, partial(self._list_within, caller))

    def due(self) -> float:
        """Return when the next round is due, on the injected clock; inf if there is none."""
        return min((each.due for each in self._all()), default=float("inf"))

    def leave(self, uid: str) -> None:
        """Forget a provider config."""
        with self._lock:
            left = self._leave(uid)
        self._close(left)

    def ages(self) -> Mapping[str, float]:
        """For each account, the seconds since its last complete sweep began; the longest of several callers.
        Accounts without sweeps are not among them."""
        found: dict[str, float] = {}
        for each in self._all():
            age = each.inventory.age
            if age < float("inf"):
                found[each.account] = max(age, found.get(each.account, 0.0))
        return found

    def round(self, caller: Hashable) -> float:
        """Sweep, or go on with a sweep, if it is worth it. Returns the seconds until the next round."""
        with self._lock:
            known = self._callers.get(caller)
        if known is None:
            return self._interval
        known.due = float("inf")
        seconds = self._interval
        try:
            if self._is_worth_it(known):
                with urgency.within(Urgency(Priority.DRIFT)):
                    seconds = self._sweep(known)
            else:
                self._end(known)
        except BaseException as error:  # noqa: BLE001 - no exception may stop the sweeps, not even SystemExit
            _log.exception("a sweep raised an exception, continuing with the next", account=known.account)
            seconds = self._failed(known, repr(error))
        known.due = min(known.due, self._clock.now() + seconds)
        return max(0.0, known.due - self._clock.now())

    def check(self) -> None:
        """Have the resources polled whose last list is too old: its sweep may hang, or wait for a thread."""
        for each in self._all():
            self._wake(each.inventory.overdue(), changed=False)

    # Threads.

    def _start(self) -> None:
        if self._started or not self._threads:
            return
        self._started = True
        for number in range(self._threads):
            threading.Thread(target=self._work, name=f"sweep {number + 1}", daemon=True).start()
        threading.Thread(target=self._watch, name="sweep watchdog", daemon=True).start()

    def _work(self) -> None:
        while (caller := self._queue.get()) is not None:
            seconds = self._interval
            try:
                seconds = self.round(caller)
            except Exception:  # noqa: BLE001 - as above
                _log.exception("a sweep cannot end")
            finally:
                self._queue.done(caller)
            with self._lock:
                used = caller in self._callers
            if used:
                self._queue.add_after(caller, seconds)

    def _watch(self) -> None:
        while True:
            pause(self._clock, min(_WATCHED * self._interval, _WATCHED_SECONDS))
            try:
                self.check()
            except Exception:  # noqa: BLE001 - the watchdog must go on
                _log.exception("cannot check how old the lists are")

    def _list_within(self, caller: Hashable, seconds: float) -> None:
        """Resources in motion want a list of tenants within that time."""
        with self._lock:
            known, now = self._callers.get(caller), self._clock.now()
            due = max(now + seconds, known.resting_until if known else now)
            if known is None or known.due <= due or known.listing is not None:
                return
            known.due = due
        self._queue.add_after(caller, due - now)

    def _home(self, caller: Hashable) -> Hashable:
        """The namespace of a caller's configs; "" if one of them is cluster-scoped."""
        with self._lock:
            known = self._callers.get(caller)
            return min((each.namespace for each in known.configs.values()), default="") if known else ""

    def _all(self) -> list[_Caller]:
        with self._lock:
            return list(self._callers.values())

    def _leave(self, uid: str, but: Hashable = None) -> list[_Caller]:
        """Call under the lock: forget the config, and return the callers that no config uses any more."""
        left = []
        for caller, each in list(self._callers.items()):
            if caller == but or each.configs.pop(uid, None) is None:
                continue
            each.lists.pop(uid, None)
            if not each.configs:
                left.append(self._callers.pop(caller))
        return left

    def _close(self, left: Iterable[_Caller]) -> None:
        for each in left:
            self._wake(each.inventory.close(), changed=False)

    # One sweep.

    def _is_worth_it(self, known: _Caller) -> bool:
        users = self._number_of_users(known)
        if self._clock.now() >= known.learned + _LEARN_SECONDS and known.inventory.age == float("inf"):
            known.pages = 0
        return users > 0 and users >= known.pages

    def _number_of_users(self, known: _Caller) -> int:
        with self._lock:
            configs = set(known.configs.values())
        return sum(map(self._users, configs))

    def _sweep(self, known: _Caller) -> float:
        listing = known.listing or self._listing(known)
        known.listing = None
        try:
            while not listing.is_complete:
                self._turn(known, listing)
        except _TooLarge:
            self._end(known)
            return self._interval
        except AwsError as error:
            if (error.throttled or error.code == PAUSED) and not self._is_too_long(listing):
                known.listing = listing
                self._wake(known.inventory.overdue(), changed=False)
                return min(max(error.after or _THROTTLED_SECONDS, 0.1), self._interval)
            return self._refused(known, error)
        self._completed(known, listing)
        now = self._clock.now()
        # A list that takes long leaves half of the time to other calls.
        known.resting_until = 2 * now - listing.began
        wanted = max(known.inventory.wanted, known.resting_until)
        return max(0.0, min(listing.began + known.inventory.period, wanted) - now)

    def _listing(self, known: _Caller) -> Listing:
        now = self._clock.now()
        with_groups = now >= known.groups_listed + _OF_GROUPS * self._interval
        return Listing(now, with_groups, with_certificates=with_groups and known.inventory.wants_certificates)

    def _turn(self, known: _Caller, listing: Listing) -> None:
        """Read one page."""
        if self._is_too_long(listing):
            words = f"the list took more than {_LONGEST * self._interval:.0f} s"
            raise AwsError("ListDistributionTenants", "Timeout", words)
        lists, asked, first = self._lists(known), self._clock.now(), not listing.marker
        if self._tally is not None:
            self._tally.page(known.account)
        try:
            if listing.has_groups:
                self._read_certificates(known, listing, lists)
            elif listing.has_tenants:
                self._read_groups(known, listing, lists)
            else:
                rows = known.memory.rows.of(listing.next_tenants(lists, known.size))
                self._wake(known.inventory.page(rows, asked), changed=True)
        except AwsError as error:
            if error.code != "InvalidArgument" or known.size is None or not first:
                raise
            known.size = None
            return
        self._learn(known, listing)

    def _read_groups(self, known: _Caller, listing: Listing, lists: Lists) -> None:
        try:
            listing.next_groups(lists, known.size)
        except AwsError as error:
            if not error.not_permitted:
                raise
            # Tenants in a group that cannot be listed are polled.
            listing.end_without_groups()
        if not listing.has_groups:
            return
        changed, followers = known.inventory.groups(listing.groups)
        for group in changed:
            known.memory.groups.changed(group)
        self._wake(followers, changed=True)

    def _read_certificates(self, known: _Caller, listing: Listing, lists: Lists) -> None:
        try:
            listing.next_certificates(lists)
        except AwsError as error:
            # The tenants are listed all the same; those with a pending certificate are polled.
            log = _log.info if known.inventory.certificates_are_listed else _log.debug
            log("cannot list pending certificates", account=known.account, error=str(error))
            listing.is_complete = True
            self._wake(known.inventory.certificates(None), changed=False)
            return
        if listing.is_complete:
            self._wake(known.inventory.certificates(frozenset(listing.pending)), changed=True)

    def _learn(self, known: _Caller, listing: Listing) -> None:
        more = not (listing.has_groups or listing.is_complete)
        groups = listing.group_pages if listing.with_groups else known.group_pages
        pages = listing.tenant_pages + groups
        known.pages = max(known.pages, pages + 1) if more else pages
        known.learned = self._clock.now()
        if known.pages > self._number_of_users(known):
            raise _TooLarge

    def _completed(self, known: _Caller, listing: Listing) -> None:
        self._wake(known.inventory.complete(listing.began, listing.tenant_pages), changed=True)
        if listing.with_groups:
            known.groups_listed, known.group_pages = listing.began, listing.group_pages
        if known.failures:
            _log.info("tenants can be listed again", account=known.account)
        known.failures = 0
        # An account with tenants has a default group, so no group means that they may not be listed.
        quotas, groups = known.memory.quotas, len(listing.groups) or None
        quotas.counted(listing.tenants, groups, known.inventory.period, began=listing.began)
        self._count_certificates(known)
        self._count(known, "complete", listing.began, listing.tenants)

    def _count_certificates(self, known: _Caller) -> None:
        """For the quota of ACM. They are many only where tenants are, and no one waits for their number."""
        now = self._clock.now()
        if now < known.certificates_counted + _COUNTED_SECONDS:
            return
        known.certificates_counted = now
        try:
            with checking():
                number = self._lists(known).number_of_certificates()
        except AwsError as error:
            _log.debug("cannot count certificates", account=known.account, error=str(error))
            return
        known.memory.quotas.counted_certificates(number, _COUNT_VALID)

    def _refused(self, known: _Caller, error: AwsError) -> float:
        if not known.failures:
            _log.warning(
                "cannot list the tenants of the account, so each of them is polled; allow "
                "cloudfront:ListDistributionTenants and cloudfront:ListConnectionGroups"
                if error.not_permitted
                else "cannot list the tenants of the account; if that lasts, each of them is polled",
                account=known.account,
                error=str(error),
            )
        return self._failed(known, str(error), refused=error.not_permitted)

    def _failed(self, known: _Caller, error: str, *, refused: bool = False) -> float:
        known.failures += 1
        known.listing = None
        self._use_others(known)
        known.inventory.failed(refused=refused)
        self.check()
        self._count(known, "failed", self._clock.now(), None)
        seconds = self._interval * _FIRST_RETRY * 2.0 ** min(known.failures - 1, 20)
        _log.debug("a sweep failed", account=known.account, error=error, again=seconds)
        return min(_LONGEST_RETRY, seconds)

    def _end(self, known: _Caller) -> None:
        """The lists are not worth their calls."""
        known.listing = None
        self._wake(known.inventory.close(), changed=False)

    def _use_others(self, known: _Caller) -> None:
        """The next sweep uses the credentials of another config: those of this one may have expired."""
        with self._lock:
            uid = next(iter(known.lists), None)
            if uid is not None:
                known.lists[uid] = known.lists.pop(uid)

    def _lists(self, known: _Caller) -> Lists:
        with self._lock:
            lists = next(iter(known.lists.values()), None)
        if lists is None:
            raise AwsError("ListDistributionTenants", PAUSED, "no provider config uses these credentials now")
        return lists

    def _is_too_long(self, listing: Listing) -> bool:
        return self._clock.now() > listing.began + _LONGEST * self._interval

    def _count(self, known: _Caller, outcome: str, began: float, tenants: int | None) -> None:
        if self._tally is not None:
            self._tally.swept(known.account, outcome, self._clock.now() - began, tenants)

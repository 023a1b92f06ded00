"""Sweeps all accounts, each as often as its inventory says.

One sweep serves all provider configs whose credentials are of one caller. It costs a call for each page of
the account's tenants, so it needs at least as many managed resources that use these configs: a team with one
tenant in a large account gets that tenant instead. The same applies where AWS refuses the lists.

    enough resources ── all pages, then the connection groups ──▶ complete ──▶ what changed is reconciled
                    └── an error, or pages that do not end ─────▶ failed ────▶ later all are polled

The sweeps have their own threads, so they never wait for a worker, and one account never waits for another
whose endpoint does not answer, unless several are silent.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

import structlog

from edgetenants_runtime.clock import Clock, pause
from edgetenants_runtime.managed import ProviderConfigKey
from edgetenants_runtime.queueing.queue import WorkQueue
from provider.cloudfront.aws.errors import ENDLESS, PAUSED, AwsError
from provider.cloudfront.aws.list_calls import GroupPage, Page
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.sweep.inventory import Follower, Inventory

__all__ = ["Lists", "Sweeps", "Tally", "Wake"]

_log = structlog.get_logger("provider.cloudfront.sweep")

_THREADS: Final = 4
_LARGE_PAGE: Final = 1000
"""Rows to ask for. AWS does not publish its maximum: it may return fewer, or refuse, and then it decides."""
_MOST_PAGES: Final = 10_000
_LEARN_SECONDS: Final = 3600.0
"""After this, the provider tries again whether an account has become small enough."""
_LONGEST_RETRY: Final = 600.0
"""Seconds until the next sweep after several that failed."""
_TRIES: Final = 8
"""How often a page is requested while AWS throttles the list."""
_LONGEST_PAUSE: Final = 60.0


_P = TypeVar("_P", Page, GroupPage)


class Wake(Protocol):
    """Reconciles resources."""

    def __call__(self, followers: Iterable[Follower], *, changed: bool) -> None:
        """`changed`: a list shows that their tenants changed. Otherwise, they are polled from now on."""
        ...


class Lists(Protocol):
    """The calls of a sweep; each may raise AwsError."""

    def page_of_tenants(self, marker: str = "", size: int | None = None) -> Page:
        """See ListCalls."""
        ...

    def page_of_groups(self, marker: str = "", size: int | None = None) -> GroupPage:
        """See ListCalls."""
        ...


class Tally(Protocol):
    """Measures sweeps."""

    def swept(self, account: str, outcome: str, seconds: float, tenants: int | None) -> None:
        """A sweep ended, as complete or failed, after seconds of the injected clock. `tenants` is the number
        of those that it saw; None if it did not see all."""
        ...


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
    """Of the last sweep, at least; 0 if unknown."""
    learned: float = 0.0
    failures: int = 0


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
        resources use a provider config."""
        self._clock, self._interval = clock, interval
        self._users, self._wake, self._tally = users, wake, tally
        self._lock = threading.Lock()
        self._callers: dict[Hashable, _Caller] = {}
        self._queue: WorkQueue[Hashable] = WorkQueue(clock, random.Random())  # noqa: S311 - for delays
        self._threads = threads
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
    ) -> Inventory:
        """Return the inventory for a provider config, whose credentials are of that caller. `uid` is that of
        the config, and `lists` makes the calls with its credentials."""
        with self._lock:
            self._leave(uid, but=caller)
            known = self._callers.get(caller)
            new = known is None or known.memory is not memory
            if known is None or new:
                inventory = Inventory(self._clock, memory.writes, self._interval)
                known = self._callers[caller] = _Caller(account, inventory, memory)
            known.configs[uid] = config
            known.lists[uid] = lists
            if not config.namespace:
                # A team's config may have a low rate.
                known.lists = {uid: lists, **known.lists}
            self._start()
        if new:
            self._queue.add(caller)
        return known.inventory

    def leave(self, uid: str) -> None:
        """Forget a provider config."""
        with self._lock:
            self._leave(uid)

    def ages(self) -> Mapping[str, float]:
        """For each account, the seconds since its last complete sweep began; the longest of several callers.
        Accounts without sweeps are not among them."""
        with self._lock:
            callers = list(self._callers.values())
        found: dict[str, float] = {}
        for each in callers:
            age = each.inventory.age
            if age < float("inf"):
                found[each.account] = max(age, found.get(each.account, 0.0))
        return found

    def round(self, caller: Hashable) -> float:
        """Sweep once, if it is worth it. Returns the seconds until the next round."""
        with self._lock:
            known = self._callers.get(caller)
            number = len(known.configs) if known else 0
        if known is None or not number:
            return self._interval
        try:
            if self._is_worth_it(known):
                return self._sweep(known)
            self._wake(known.inventory.close(), changed=False)
        except BaseException:  # noqa: BLE001 - no exception may stop the sweeps, not even SystemExit
            _log.exception("a sweep raised an exception, continuing with the next", account=known.account)
            self._wake(known.inventory.failed(), changed=False)
        return self._interval

    # Threads.

    def _start(self) -> None:
        if self._started:
            return
        self._started = True
        for number in range(self._threads):
            threading.Thread(target=self._work, name=f"sweep {number + 1}", daemon=True).start()

    def _work(self) -> None:
        while (caller := self._queue.get()) is not None:
            try:
                seconds = self.round(caller)
            finally:
                self._queue.done(caller)
            if self._is_used(caller):
                self._queue.add_after(caller, seconds)

    def _is_used(self, caller: Hashable) -> bool:
        """Whether a provider config uses it. If none does, forget it."""
        with self._lock:
            known = self._callers.get(caller)
            if known is None or known.configs:
                return known is not None
            del self._callers[caller]
        known.inventory.close()
        return False

    def _leave(self, uid: str, but: Hashable = None) -> None:
        for caller, each in self._callers.items():
            if caller != but:
                each.configs.pop(uid, None)
                each.lists.pop(uid, None)

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
        began, inventory = self._clock.now(), known.inventory
        try:
            tenants = self._tenants(known)
            self._groups(known)
        except _TooLarge:
            self._wake(inventory.close(), changed=False)
            return self._interval
        except AwsError as error:
            return self._failed(known, began, error)
        self._wake(inventory.complete(began), changed=True)
        known.memory.vanished.shown(each.uid for each in inventory.watched)
        if known.failures:
            _log.info("tenants can be listed again", account=known.account)
        known.failures = 0
        self._count(known, "complete", began, tenants)
        return max(0.0, began + inventory.period - self._clock.now())

    def _failed(self, known: _Caller, began: float, error: AwsError) -> float:
        if not known.failures:
            _log.warning(
                "cannot list the tenants of the account, so each of them is polled; allow "
                "cloudfront:ListDistributionTenants and cloudfront:ListConnectionGroups"
                if error.not_permitted
                else "cannot list the tenants of the account; each of them is polled until that succeeds",
                account=known.account,
                error=str(error),
            )
        known.failures += 1
        self._use_others(known)
        self._wake(known.inventory.failed(), changed=False)
        self._count(known, "failed", began, None)
        return float(min(_LONGEST_RETRY, self._interval * 2.0 ** min(known.failures - 1, 10)))

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

    def _tenants(self, known: _Caller) -> int:
        """Read all pages of tenants; return the number of tenants."""
        lists, marker, passed, tenants = self._lists(known), "", set[str](), 0
        while True:
            asked = self._clock.now()
            page = self._page(known, marker, lists.page_of_tenants)
            self._wake(known.inventory.page(page.tenants, asked), changed=True)
            passed.add(marker)
            tenants += len(page.tenants)
            marker = page.marker
            self._learn(known, len(passed), more=bool(marker))
            if not marker:
                return tenants
            _check_ends("ListDistributionTenants", marker, passed)

    def _learn(self, known: _Caller, pages: int, *, more: bool) -> None:
        known.pages = pages if not more else max(known.pages, pages + 1)
        known.learned = self._clock.now()
        if more and known.pages > self._number_of_users(known):
            raise _TooLarge

    def _groups(self, known: _Caller) -> None:
        try:
            shown = self._all_groups(known)
        except AwsError as error:
            if not error.not_permitted:
                raise
            # Tenants in a group that cannot be listed are polled.
            shown = {}
        changed, followers = known.inventory.groups(shown)
        for group in changed:
            known.memory.groups.forget(group)
        self._wake(followers, changed=True)

    def _all_groups(self, known: _Caller) -> dict[str, Hashable]:
        lists, marker, passed, shown = self._lists(known), "", set[str](), dict[str, Hashable]()
        while True:
            page = self._page(known, marker, lists.page_of_groups)
            shown |= page.groups
            passed.add(marker)
            marker = page.marker
            if not marker:
                return shown
            _check_ends("ListConnectionGroups", marker, passed)

    def _page(self, known: _Caller, marker: str, read: Callable[[str, int | None], _P]) -> _P:
        """Request a page. While AWS throttles the list, wait and try again; a page size that AWS refuses is
        left to AWS."""
        for tries_left in reversed(range(_TRIES)):
            try:
                return read(marker, known.size)
            except AwsError as error:
                if error.code == "InvalidArgument" and known.size is not None:
                    known.size = None
                    continue
                if not tries_left or not (error.throttled or error.code == PAUSED):
                    raise
                pause(self._clock, min(error.after or 1.0, _LONGEST_PAUSE))
        raise AssertionError("unreachable: the last try returns or raises")

    def _count(self, known: _Caller, outcome: str, began: float, tenants: int | None) -> None:
        if self._tally is not None:
            self._tally.swept(known.account, outcome, self._clock.now() - began, tenants)


def _check_ends(operation: str, marker: str, passed: set[str]) -> None:
    """Raises AwsError if the pages lead back or do not end: what the others show is unknown."""
    if marker in passed or len(passed) >= _MOST_PAGES:
        raise AwsError(operation, ENDLESS, "the pages of the list do not end")

"""The quotas of one account, for its creations, deletions and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.clock import Clock
from edgetenants_runtime.managed import ProviderConfigKey
from provider.cloudfront.quota.allowances import Allowances
from provider.cloudfront.quota.limits import NAMED, Quota
from provider.cloudfront.quota.line import Line
from provider.cloudfront.quota.use import Use
from provider.cloudfront.quota.waiting import Answer, Waiting

__all__ = ["Quotas", "Reading", "Wake"]

_VALID: Final = 10.0
"""Sweep intervals after which the number of the last complete list is too old."""

_ASKED_SECONDS: Final = 3600.0
"""After this, a config may have a warning although no number has changed; see Allowances.warn."""

Wake = Callable[[Iterable[Waiting]], None]
"""Reconciles resources that wait for room."""


@dataclass(frozen=True)
class Reading:
    """A quota, for metrics."""

    quota: Quota
    used: int | None
    """None if it is unknown."""
    allowed: int
    waiting: int | None
    """None if no creations wait for it."""


class Quotas:
    """The quotas of one account. Thread-safe. It holds no lock while it wakes resources."""

    def __init__(self, clock: Clock, wake: Wake | None = None) -> None:
        """Without `wake`, resources that wait for room try by their own back-off only."""
        self._wake: Wake = wake or (lambda _: None)
        self._lines = {quota: Line(clock) for quota in (Quota.TENANTS, Quota.GROUPS)}
        self._certificates = Use(clock)
        self.allowances = Allowances(clock)
        self._clock = clock
        self._asked: dict[str, tuple[tuple[int | None, ...], float]] = {}
        """By the uid of a provider config: the numbers for which it had its warnings, and until when that
        counts. What configs say has not changed since."""

    # For the creations.

    def ask(self, quota: Quota, who: Waiting) -> Answer:
        """See Line.ask."""
        answer, woken = self._lines[quota].ask(who, self.allowances.of_account(quota))
        self._call(woken)
        return answer

    def still(self, quota: Quota, who: Waiting) -> Answer:
        """See Line.still."""
        return self._lines[quota].still(who, self.allowances.of_account(quota))

    def refused(self, quota: Quota, who: Waiting, words: str) -> Answer:
        """See Line.refused."""
        answer, woken = self._lines[quota].refused(who, words, self.allowances.of_account(quota))
        self._call(woken)
        return answer

    def undecided(self, quota: Quota, who: Waiting, *, maybe_made: bool, after: float = 0.0) -> None:
        """See Line.undecided."""
        self._call(self._lines[quota].undecided(who, maybe_made=maybe_made, after=after))

    def made(self, quota: Quota, who: Waiting) -> None:
        """See Line.made."""
        self._call(self._lines[quota].made(who, self.allowances.of_account(quota)))

    def done(self, quota: Quota, uid: str) -> None:
        """See Line.done."""
        self._call(self._lines[quota].done(uid, self.allowances.of_account(quota)))

    def left(self, uid: str) -> None:
        """See Line.left."""
        for line in self._lines.values():
            self._call(line.left(uid))

    # What makes room.

    def released(self, quota: Quota) -> None:
        """This provider deleted one."""
        self._call(self._lines[quota].may_have_room(deleted=1))

    def counted(
        self, tenants: int, groups: int | None, interval: float, *, began: float | None = None
    ) -> None:
        """Note what a complete list of the account shows, when it `began` (None: now), and the seconds until
        the next one. `groups`: None if they may not be listed."""
        for quota, number in ((Quota.TENANTS, tenants), (Quota.GROUPS, groups)):
            self._call(self._lines[quota].counted(number, _VALID * interval, began))

    def counted_certificates(self, number: int, valid: float) -> None:
        """Note how many certificates a list shows, which counts for `valid` seconds."""
        self._certificates.note(number, valid)

    def allow(self, uid: str, key: ProviderConfigKey, says: Mapping[Quota, int]) -> None:
        """Note what a provider config says of the quotas."""
        raised = self.allowances.allow(uid, key, says)
        self._asked = {}
        for quota in raised & self._lines.keys():
            self._call(self._lines[quota].may_have_room())

    def forget_config(self, uid: str) -> None:
        """See Allowances.forget."""
        self.allowances.forget(uid)
        self._asked = {}

    # Reports.

    def readings(self) -> Iterator[Reading]:
        """Each quota, for metrics."""
        for quota in Quota:
            waiting = self._lines[quota].waiting if quota in self._lines else None
            yield Reading(quota, self._used(quota), self.allowances.of_account(quota).number, waiting)

    def warnings(self, uid: str) -> list[str]:
        """The warnings that the provider config with this uid has now, as messages. Each reconcile asks, and
        the answer takes a look at all configs of the account."""
        # What configs say may change meanwhile, and then this answer is noted in vain.
        asked, used, now = self._asked, tuple(self._used(quota) for quota in Quota), self._clock.now()
        before, until = asked.get(uid, ((), 0.0))
        if before == used and now < until:
            return []
        asked[uid] = (used, now + _ASKED_SECONDS)
        return list(self._warnings(uid))

    def _warnings(self, uid: str) -> Iterator[str]:
        for quota in Quota:
            used = self._used(quota)
            allowed = self.allowances.warn(uid, quota, used)
            if allowed is None:
                continue
            whose = "AWS's default" if allowed.is_default else "what spec.quotas says"
            yield (
                f"The AWS account has {used} of {allowed.number} {NAMED[quota]} ({whose}). Request an "
                "increase in Service Quotas before AWS refuses new ones, or delete what is not needed"
            )

    def _used(self, quota: Quota) -> int | None:
        line = self._lines.get(quota)
        return line.used if line else self._certificates.number

    def _call(self, woken: list[Waiting]) -> None:
        if woken:
            self._wake(woken)

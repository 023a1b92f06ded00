"""What the provider remembers between reconciles, for all managed resources of one AWS account.

Nothing here is needed for correctness: a process that starts with an empty memory makes a few more calls, and
proves ownership again before it writes (ownership/proofs.py).
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

from edgetenants_runtime.clock import Clock, utc_now
from provider.cloudfront.account.answers import Answers
from provider.cloudfront.account.group_look import UNKNOWN, GroupLook
from provider.cloudfront.account.vanishing import Vanished
from provider.cloudfront.aws.disabling import Said
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.aws.pace import DEFAULT_RATE
from provider.cloudfront.ownership.proofs import OwnerProofs

__all__ = ["DEEP_CHECK_SECONDS", "Attempt", "Memory"]

DEEP_CHECK_SECONDS: Final = 24 * 3600.0
"""The interval between checks of what a tenant's own description does not show, such as its tags."""
_DNS_SECONDS: Final = 600.0
"""The interval between DNS checks of a served tenant, if there are few tenants."""
_DNS_SHARE: Final = 0.1
"""The share of the rate for these checks; most of the rate is for polls."""
_GROUP_SECONDS: Final = 60.0
_DEFAULT_GROUP_SECONDS: Final = 3600.0
"""How long it is known which group is the account's default one; it is stored under the name ""."""
_ROLL_OUT_SECONDS: Final = 5.0
_SECOND_LOOK_SECONDS: Final = 15.0
_SHARED_SECONDS: Final = 60.0
_MOST_TOLD: Final = 10_000
"""Maximum number of logged facts to remember; a repeated log line is harmless."""
_REQUESTS: Final = 10
"""Maximum number of certificate requests to remember for a resource."""
_IDLE_SECONDS: Final = 7 * 24 * 3600.0
"""A resource that was not observed for this long is forgotten: one that leaves its tenant in AWS is not
observed when it is deleted."""
_FIRST_LOOK_AT_TENANTS: Final = 5.0
_FIRST_LOOK: Final = 1.0
_LONGEST_LOOK: Final = 60.0
_HELD_SECONDS: Final = 300.0
"""How long the provider believes that a domain is taken: owners release domains."""
_FREE_SECONDS: Final = 1800.0
"""How long it believes that no tenant of the account has a domain: longer, because it may have to check
thousands at a few per second. Only messages use this: CloudFront decides at each try whether a domain is
free."""
_PROOF_SECONDS: Final = 600.0
_CONTENTION_SECONDS: Final = 600.0
_CONTENTIONS: Final = 3
"""This many foreign writes within that time are no accident."""

T = TypeVar("T")


@dataclass(frozen=True)
class Attempt:
    """An update after which a difference remained."""

    asked: str
    """A digest of the desired state."""
    left: tuple[tuple[str, str, str], ...]
    """The fields that still differed, with both values."""
    etag: str
    """The tenant's ETag after the update."""
    count: int


class Memory:
    """The memory of one account. Thread-safe."""

    def __init__(
        self,
        clock: Clock,
        *,
        second_look: float = _SECOND_LOOK_SECONDS,
        today: Callable[[], datetime] = utc_now,
        rate: Callable[[], float] = lambda: DEFAULT_RATE,
    ) -> None:
        """`rate` returns the permitted requests per second to CloudFront."""
        self._clock = clock
        self._rate = rate
        self.today = today
        self.vanished = Vanished(clock)
        self._second_look = second_look
        self.proofs = OwnerProofs(clock)
        self._lock = threading.Lock()
        self._groups = Answers(clock)
        self._shared = Answers(clock)
        self._holders = Answers(clock)
        self._deep_checks: dict[str, float] = {}
        self._attempts: dict[str, Attempt] = {}
        self._parts: dict[str, Hashable] = {}
        self._refusals: dict[str, tuple[str, str]] = {}
        self._waits: dict[str, tuple[Hashable, int, float]] = {}
        self._verified: dict[str, float] = {}
        self._dns_turns: dict[str, float] = {}
        self._last_dns_turn = float("-inf")
        self._told: dict[tuple[str, str], Hashable] = {}
        self._unseen: dict[str, int] = {}
        self._seen: OrderedDict[str, float] = OrderedDict()
        self._requests: dict[str, tuple[int, float]] = {}
        self._requested_at: dict[str, tuple[tuple[float, datetime], ...]] = {}
        self._unused: dict[str, tuple[str, float]] = {}
        self._missed: dict[str, tuple[str, float]] = {}
        self._used: dict[str, int] = {}
        self._disabled: dict[str, str] = {}
        self._said: dict[str, Said] = {}
        self._contentions: dict[str, list[float]] = {}
        self._proofs: dict[str, tuple[Hashable, bool, float]] = {}

    def group(self, group: str, read: Callable[[str, GroupLook], GroupLook]) -> GroupLook:
        """Return a connection group that many tenants share. Read it once a minute for all of them, and every
        five seconds while it is being deployed. `read` gets the previous state and decides what of it still
        holds."""
        before: GroupLook = self._groups.last(group) or UNKNOWN
        try:
            return self._groups.get(group, lambda: read(group, before), lambda look: _look_lasts(group, look))
        except AwsError:
            # Another worker's call hangs.
            return before

    def note_group(self, group: str, look: GroupLook) -> None:
        """Note the state of a connection group, which may come from another call."""
        self._groups.note(group, look, _look_lasts(group, look))

    def shared(self, what: str, read: Callable[[], T]) -> T:
        """Return what many resources need at the same time, read once a minute. None is not cached.

        Raises:
            AwsError: it cannot be read, or another worker's call for it hangs.
        """
        return self._shared.get(what, read, lambda answer: 0.0 if answer is None else _SHARED_SECONDS)

    def lasting(self, what: str, read: Callable[[], T], lasts: Callable[[T], float]) -> T:
        """Return what many resources share, read again after as many seconds as `lasts` says.

        Raises:
            AwsError: it cannot be read, or another worker's call for it hangs.
        """
        return self._shared.get(what, read, lasts)

    def last_shared(self, what: str) -> Any | None:
        """Return the last answer to `lasting`, however old; None if there is none."""
        return self._shared.last(what)

    def holder(self, what: Hashable, read: Callable[[], T], *, free: Callable[[T], bool]) -> T:
        """Return who has a domain, or which domains a tenant has. It is cached for several reconciles,
        because one may be too short to check all, but not forever, because owners release domains.

        Raises:
            AwsError: it cannot be read, or another worker's call for it hangs.
        """
        return self._holders.get(what, read, lambda found: _FREE_SECONDS if free(found) else _HELD_SECONDS)

    def note_holder(self, what: Hashable, found: object, *, free: bool) -> None:
        """Note the result of a fresh check."""
        self._holders.note(what, found, _FREE_SECONDS if free else _HELD_SECONDS)

    def last_holder(self, what: Hashable) -> Any | None:
        """Return the last result, however old; None if there is none, or if no one has the domain."""
        return self._holders.last(what)

    def is_old_holder(self, what: Hashable) -> bool:
        """Whether the last result must be checked again."""
        return self._holders.is_old(what)

    def forget_holder(self, what: Hashable) -> None:
        """Forget a result that is no longer true."""
        self._holders.forget(what)

    def unused(self, uid: str, id_: str, *, used: bool) -> float:
        """Return the seconds until the provider believes that a connection group has no tenants. A list may
        lag behind a new tenant, so the provider checks again after a pause. `used` starts over."""
        with self._lock:
            if used:
                self._unused.pop(uid, None)
                return self._second_look
            return self._to_second_look(self._unused, uid, id_)

    def gone(self, uid: str, id_: str) -> float:
        """Return the seconds until the provider believes that a missing external resource, which is to be
        deleted, is gone. A single response may come from a replica that lags behind, or from an endpoint that
        is not AWS's. See `unused`."""
        with self._lock:
            return self._to_second_look(self._missed, uid, id_)

    def _to_second_look(self, looks: dict[str, tuple[str, float]], uid: str, id_: str) -> float:
        """Call under the lock. `looks` has the time of the first observation of each."""
        now = self._clock.now()
        of, since = looks.get(uid, (id_, now))
        since = since if of == id_ else now
        looks[uid] = (id_, since)
        return max(0.0, since + self._second_look - now)

    def used(self, uid: str) -> float:
        """Return the seconds to the next check of a connection group that waits for its tenants to go, which
        may take forever. They double each time, or a few such groups would use up the account's rate."""
        with self._lock:
            times = self._used[uid] = self._used.get(uid, 0) + 1
        return float(min(_FIRST_LOOK_AT_TENANTS * 2.0 ** min(times - 1, 30), _LONGEST_LOOK))

    def note_disabled(self, uid: str, id_: str) -> None:
        """Note that this process disables a connection group in order to delete it."""
        with self._lock:
            self._disabled[uid] = id_

    def disabled_by_any(self, id_: str) -> bool:
        """Whether this process disabled it for the deletion of a resource, which may be gone by now."""
        with self._lock:
            return id_ in self._disabled.values()

    def disabled(self, uid: str, id_: str) -> bool:
        """Whether this process disabled it for this resource, or tried to."""
        with self._lock:
            return self._disabled.get(uid) == id_

    def said(self, kind: str) -> Said:
        """Return which fields the last update contained with which AWS accepted disabling this kind."""
        with self._lock:
            return self._said.get(kind, Said.NOTHING)

    def note_said(self, kind: str, said: Said | None) -> None:
        """Note that AWS accepted such an update; None if the provider sent none."""
        with self._lock:
            if said is not None:
                self._said[kind] = said

    def waited(self, uid: str, what: Hashable, generation: int, seconds: float) -> bool:
        """Whether this much time has passed since this process first met `what`; True immediately after a
        change of the spec."""
        with self._lock:
            now = self._clock.now()
            met, of, until = self._waits.get(uid, (None, generation, now))
            if met != what:
                until = now + seconds
            elif of != generation:
                until = now
            self._waits[uid] = (what, generation, until)
            return now >= until

    def note_request(self, uid: str, generation: int, seconds: float) -> None:
        """Note a certificate request. For this many seconds, a missing certificate is no reason for another
        request, unless the spec changes."""
        now = self._clock.now()
        with self._lock:
            self._requests[uid] = (generation, now + seconds)
            moments = (*self._requested_at.get(uid, ()), (now, self.today()))
            self._requested_at[uid] = moments[-_REQUESTS:]

    def too_often_until(self, uid: str, most: int, seconds: float) -> datetime | None:
        """Return the time before which this process makes no further certificate request, because it made
        `most` requests within `seconds`; it is the same each time. None if it made fewer. `most` is at most
        10."""
        with self._lock:
            since = self._clock.now() - seconds
            lately = [told for at, told in self._requested_at.get(uid, ()) if at > since]
        return lately[-most] + timedelta(seconds=seconds) if len(lately) >= most else None

    def requested_lately(self, uid: str, generation: int) -> bool:
        """Whether this process recently requested a certificate."""
        with self._lock:
            of, until = self._requests.get(uid, (generation, float("-inf")))
            return of == generation and self._clock.now() < until

    def verification_due(self, uid: str, every: float, *, never: bool) -> bool:
        """Whether to check the DNS of a tenant now: immediately if it was never checked, otherwise at this
        interval, spread evenly after a restart."""
        now = self._clock.now()
        with self._lock:
            last = self._verified.get(uid)
            if last is None and not never:
                last = self._verified[uid] = now - (1 - _share(uid)) * every
            if last is not None and now < last + every:
                return False
            self._verified[uid] = now
            return True

    def dns_look_due(self, uid: str, longest: float, *, never: bool) -> bool:
        """Whether to check the DNS of a served tenant: immediately if it was never checked, and at the latest
        after `longest`. Otherwise every ten minutes, or less often, in turns, if there are so many tenants
        that the checks would take more than a tenth of the rate."""
        now, between = self._clock.now(), 1 / (_DNS_SHARE * self._rate())
        with self._lock:
            turn = self._dns_turns.get(uid)
            if turn is None and not never:
                # A restart costs nothing.
                self._verified.setdefault(uid, now)
                self._dns_turns[uid] = self._dns_turn(now + _share(uid) * _DNS_SECONDS, between)
                return False
            if turn is not None and now < min(turn, self._verified.get(uid, now) + longest):
                return False
            self._verified[uid] = now
            self._dns_turns[uid] = self._dns_turn(now + _DNS_SECONDS, between)
            return True

    def _dns_turn(self, earliest: float, between: float) -> float:
        self._last_dns_turn = max(earliest, self._last_dns_turn + between)
        return self._last_dns_turn

    def deep_check_due(self, uid: str) -> bool:
        """Whether a deep check is due: every `DEEP_CHECK_SECONDS` for each resource, spread evenly, but not
        at the first reconcile, so a restart costs nothing."""
        now = self._clock.now()
        with self._lock:
            due = self._deep_checks.setdefault(uid, now + _share(uid) * DEEP_CHECK_SECONDS)
            if now < due:
                return False
            self._deep_checks[uid] = now + DEEP_CHECK_SECONDS
            return True

    def is_news(self, uid: str, topic: str, what: Hashable) -> bool:
        """Whether this process last logged something else on a topic: the log has one line per change."""
        with self._lock:
            if len(self._told) >= _MOST_TOLD:
                self._told.clear()
            before = self._told.get((uid, topic))
            self._told[uid, topic] = what
            return before != what

    def attempt(self, uid: str) -> Attempt | None:
        """Return the last update after which a difference remained."""
        with self._lock:
            return self._attempts.get(uid)

    def note_attempt(self, uid: str, attempt: Attempt | None) -> None:
        """Remember an update after which a difference remained; None if none did."""
        with self._lock:
            if attempt is None:
                self._attempts.pop(uid, None)
                return
            before = self._attempts.get(uid)
            same = before is not None and (before.asked, before.left) == (attempt.asked, attempt.left)
            count = before.count + 1 if before and same else 1
            self._attempts[uid] = Attempt(attempt.asked, attempt.left, attempt.etag, count)

    def part(self, uid: str) -> Hashable:
        """Return the last applied part of a refused change, and the tenant's version after it."""
        with self._lock:
            return self._parts.get(uid)

    def note_part(self, uid: str, part: Hashable) -> None:
        """Remember the last applied part of a refused change."""
        with self._lock:
            self._parts[uid] = part

    def note_refusal(self, uid: str, id_: str, etag: str) -> None:
        """Note that AWS refused to delete this version."""
        with self._lock:
            self._refusals[uid] = (id_, etag)

    def refused(self, uid: str, id_: str, etag: str) -> bool:
        """Whether AWS refused to delete this version."""
        with self._lock:
            return self._refusals.get(uid) == (id_, etag)

    def note_contention(self, uid: str) -> None:
        """Note that another client wrote to the external resource: at the same time, or against the desired
        state."""
        with self._lock:
            self._contentions[uid] = [*self._contentions.get(uid, ()), self._clock.now()][-_CONTENTIONS:]

    def contended(self, uid: str) -> bool:
        """Whether this happened so often that it is no accident."""
        with self._lock:
            times = self._contentions.get(uid, ())
            return len(times) == _CONTENTIONS and times[0] > self._clock.now() - _CONTENTION_SECONDS

    def now(self) -> float:
        """Return the time on the injected clock."""
        return self._clock.now()

    def note_seen(self, uid: str, id_: str) -> None:
        """Note that the external resource exists."""
        self.vanished.is_there(uid, id_, proven=self.proofs.held(uid, id_))
        now = self._clock.now()
        with self._lock:
            self._unseen.pop(uid, None)
            self._missed.pop(uid, None)
            self._seen[uid] = now
            self._seen.move_to_end(uid)
            idle = list(itertools.takewhile(lambda each: self._seen[each] < now - _IDLE_SECONDS, self._seen))
        for each in idle:
            self.vanished.let_go(each)
            self.forget(each)

    def unseen(self, uid: str) -> float:
        """Return the seconds to the next check for an object that AWS says exists but does not return; they
        double each time."""
        with self._lock:
            times = self._unseen[uid] = self._unseen.get(uid, 0) + 1
        return float(min(_FIRST_LOOK * 2.0 ** min(times - 1, 30), _LONGEST_LOOK))

    def let_go(self, uid: str) -> None:
        """Forget a resource whose external resource is no longer wanted."""
        self.vanished.forget(uid)
        with self._lock:
            self._unseen.pop(uid, None)

    def note_proof(self, uid: str, what: Hashable, *, proven: bool) -> None:
        """Note that the tags of a tenant prove, or do not prove, that it belongs to this resource."""
        with self._lock:
            self._proofs[uid] = (what, proven, self._clock.now() + _PROOF_SECONDS)

    def proof(self, uid: str, what: Hashable) -> bool | None:
        """Return the result if the same was recently checked; None if not."""
        with self._lock:
            asked, proven, until = self._proofs.get(uid, (None, False, 0.0))
            return proven if asked == what and self._clock.now() < until else None

    @property
    def _by_uid(self) -> tuple[dict[str, Any], ...]:
        return (
            self._deep_checks,
            self._attempts,
            self._parts,
            self._refusals,
            self._waits,
            self._verified,
            self._dns_turns,
            self._requests,
            self._requested_at,
            self._unused,
            self._missed,
            self._used,
            self._disabled,
            self._proofs,
            self._contentions,
            self._seen,
        )

    def forget(self, uid: str) -> None:
        """Forget a resource whose external resource is gone."""
        self.proofs.drop(uid)
        with self._lock:
            for remembered in self._by_uid:
                remembered.pop(uid, None)


def _look_lasts(group: str, look: GroupLook) -> float:
    if not group and look.id:
        return _DEFAULT_GROUP_SECONDS
    return _ROLL_OUT_SECONDS if look.rolling_out else _GROUP_SECONDS


def _share(uid: str) -> float:
    """Return a fixed share in (0, 1] for each resource."""
    return (int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4], "big") + 1) / 2**32

"""What is remembered between two looks, for all managed resources of one AWS account.

Nothing here is needed for correctness: a process that starts with an empty memory makes a few calls more.
What was proven of ownership it proves again before it writes (ownership/proofs.py).
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
"""Between two looks at what a tenant's own description does not show, such as its tags."""
_DNS_SECONDS: Final = 600.0
"""Between two looks at the DNS of a tenant that is served, where there are few."""
_DNS_SHARE: Final = 0.1
"""Of the pace, for these looks; most of it is for the polls."""
_GROUP_SECONDS: Final = 60.0
_DEFAULT_GROUP_SECONDS: Final = 3600.0
"""Which group is the account's default one, under the name ""."""
_ROLL_OUT_SECONDS: Final = 5.0
_SECOND_LOOK_SECONDS: Final = 15.0
_SHARED_SECONDS: Final = 60.0
_MOST_TOLD: Final = 10_000
"""Things of which it is known that the log has them; a log line too many is no harm."""
_REQUESTS: Final = 10
"""Moments that are remembered of a resource's requests for certificates."""
_IDLE_SECONDS: Final = 7 * 24 * 3600.0
"""After so long without a look, a resource is forgotten: one that leaves its tenant is not looked at when it
is deleted."""
_FIRST_LOOK_AT_TENANTS: Final = 5.0
_FIRST_LOOK: Final = 1.0
_LONGEST_LOOK: Final = 60.0
_HELD_SECONDS: Final = 300.0
"""That somebody has a domain is believed for so long: people release them."""
_FREE_SECONDS: Final = 1800.0
"""That nobody of the account has one: longer, as thousands may have to be asked for at a few a second. Only
messages are made of it: whether a domain can be had, CloudFront says at each try."""
_PROOF_SECONDS: Final = 600.0
_CONTENTION_SECONDS: Final = 600.0
_CONTENTIONS: Final = 3
"""So many times within that time are no accident any more."""

T = TypeVar("T")


@dataclass(frozen=True)
class Attempt:
    """An update that left a difference."""

    asked: str
    """Digest of what was asked."""
    left: tuple[tuple[str, str, str], ...]
    """The fields that still differed, with both values."""
    etag: str
    """Of the tenant after the update."""
    count: int


class Memory:
    """Thread-safe."""

    def __init__(
        self,
        clock: Clock,
        *,
        second_look: float = _SECOND_LOOK_SECONDS,
        today: Callable[[], datetime] = utc_now,
        rate: Callable[[], float] = lambda: DEFAULT_RATE,
    ) -> None:
        """`rate` is how many requests a second may be made to CloudFront."""
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
        """A connection group that many tenants share, looked at once a minute for all of them, and every five
        seconds while it is rolled out. `read` is given the look before, and says what of it still holds."""
        before: GroupLook = self._groups.last(group) or UNKNOWN
        try:
            return self._groups.get(group, lambda: read(group, before), lambda look: _look_lasts(group, look))
        except AwsError:
            # Another worker's call hangs.
            return before

    def note_group(self, group: str, look: GroupLook) -> None:
        """A connection group was looked at, maybe by the way."""
        self._groups.note(group, look, _look_lasts(group, look))

    def shared(self, what: str, read: Callable[[], T]) -> T:
        """What many resources ask at the same time, read once a minute; what is not there is not kept.

        Raises:
            AwsError: it cannot be read, or another worker's call for it hangs.
        """
        return self._shared.get(what, read, lambda answer: 0.0 if answer is None else _SHARED_SECONDS)

    def holder(self, what: Hashable, read: Callable[[], T], *, free: Callable[[T], bool]) -> T:
        """Who has a domain, or which domains somebody has: kept over several reconciles, as one may not
        suffice to ask for all, and not for ever, as people release domains.

        Raises:
            AwsError: it cannot be read, or another worker's call for it hangs.
        """
        return self._holders.get(what, read, lambda found: _FREE_SECONDS if free(found) else _HELD_SECONDS)

    def note_holder(self, what: Hashable, found: object, *, free: bool) -> None:
        """It was asked anew, as an old answer did not do."""
        self._holders.note(what, found, _FREE_SECONDS if free else _HELD_SECONDS)

    def last_holder(self, what: Hashable) -> Any | None:
        """What was found last, however long ago; None where nobody, or nothing was found."""
        return self._holders.last(what)

    def is_old_holder(self, what: Hashable) -> bool:
        """What was found last is due to be asked anew."""
        return self._holders.is_old(what)

    def forget_holder(self, what: Hashable) -> None:
        """What was found is not so any more."""
        self._holders.forget(what)

    def unused(self, uid: str, id_: str, *, used: bool) -> float:
        """Seconds until a connection group that is seen without tenants is believed to have none: a list may
        lag behind a new tenant, so that a second look is taken after a pause. Who is used begins anew."""
        with self._lock:
            if used:
                self._unused.pop(uid, None)
                return self._second_look
            return self._to_second_look(self._unused, uid, id_)

    def gone(self, uid: str, id_: str) -> float:
        """Seconds until what is to be deleted and is not found is believed to be gone: one answer may be a
        replica's that lags behind, or an endpoint's that is not AWS's. As for `unused`."""
        with self._lock:
            return self._to_second_look(self._missed, uid, id_)

    def _to_second_look(self, looks: dict[str, tuple[str, float]], uid: str, id_: str) -> float:
        """Under the lock. `looks` has the first of each."""
        now = self._clock.now()
        of, since = looks.get(uid, (id_, now))
        since = since if of == id_ else now
        looks[uid] = (id_, since)
        return max(0.0, since + self._second_look - now)

    def used(self, uid: str) -> float:
        """Seconds to the next look at a connection group that waits for its tenants, which may be for ever:
        doubled each time, or a few such groups would use up the account's rate."""
        with self._lock:
            times = self._used[uid] = self._used.get(uid, 0) + 1
        return float(min(_FIRST_LOOK_AT_TENANTS * 2.0 ** min(times - 1, 30), _LONGEST_LOOK))

    def note_disabled(self, uid: str, id_: str) -> None:
        """This process disables a connection group so as to delete it."""
        with self._lock:
            self._disabled[uid] = id_

    def disabled_by_any(self, id_: str) -> bool:
        """This process disabled it for the deletion of some resource, which may be gone by now."""
        with self._lock:
            return id_ in self._disabled.values()

    def disabled(self, uid: str, id_: str) -> bool:
        """This process disabled it, or tried to."""
        with self._lock:
            return self._disabled.get(uid) == id_

    def said(self, kind: str) -> Said:
        """What AWS was told when it last took a disabling of that kind."""
        with self._lock:
            return self._said.get(kind, Said.NOTHING)

    def note_said(self, kind: str, said: Said | None) -> None:
        """AWS took a disabling that said so much; None where there was none."""
        with self._lock:
            if said is not None:
                self._said[kind] = said

    def waited(self, uid: str, what: Hashable, generation: int, seconds: float) -> bool:
        """Whether so much time has passed since `what` was first met, by this process; at once when somebody
        has changed the spec since."""
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
        """A certificate was asked for. Until so many seconds have passed, nothing to be seen of it is no
        reason to ask again, unless somebody changes the spec."""
        now = self._clock.now()
        with self._lock:
            self._requests[uid] = (generation, now + seconds)
            moments = (*self._requested_at.get(uid, ()), (now, self.today()))
            self._requested_at[uid] = moments[-_REQUESTS:]

    def too_often_until(self, uid: str, most: int, seconds: float) -> datetime | None:
        """This process asked for a certificate so often within so many seconds, and does not do it again
        before that time of day: the same one at each look. None where it was less often; `most` is at most
        10."""
        with self._lock:
            since = self._clock.now() - seconds
            lately = [told for at, told in self._requested_at.get(uid, ()) if at > since]
        return lately[-most] + timedelta(seconds=seconds) if len(lately) >= most else None

    def requested_lately(self, uid: str, generation: int) -> bool:
        """Whether a certificate was asked for not long ago, by this process."""
        with self._lock:
            of, until = self._requests.get(uid, (generation, float("-inf")))
            return of == generation and self._clock.now() < until

    def verification_due(self, uid: str, every: float, *, never: bool) -> bool:
        """Whether to look at the DNS of a tenant now: at once where nobody ever did, else so often, spread
        evenly after a restart."""
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
        """Whether to look at the DNS of a tenant that is served: at once where nobody ever did, at the latest
        after `longest`. Else every ten minutes, or less often where there are so many that it would take more
        than a tenth of the pace: each has its turn."""
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
        """Once in `DEEP_CHECK_SECONDS` for each resource, spread evenly; not at the first look, so that a
        restart costs nothing."""
        now = self._clock.now()
        with self._lock:
            due = self._deep_checks.setdefault(uid, now + _share(uid) * DEEP_CHECK_SECONDS)
            if now < due:
                return False
            self._deep_checks[uid] = now + DEEP_CHECK_SECONDS
            return True

    def is_news(self, uid: str, topic: str, what: Hashable) -> bool:
        """Whether this process has last told something else of a topic: a log has a line for each change."""
        with self._lock:
            if len(self._told) >= _MOST_TOLD:
                self._told.clear()
            before = self._told.get((uid, topic))
            self._told[uid, topic] = what
            return before != what

    def attempt(self, uid: str) -> Attempt | None:
        """The last update that left a difference."""
        with self._lock:
            return self._attempts.get(uid)

    def note_attempt(self, uid: str, attempt: Attempt | None) -> None:
        """Remember an update that left a difference; None when it left none."""
        with self._lock:
            if attempt is None:
                self._attempts.pop(uid, None)
                return
            before = self._attempts.get(uid)
            same = before is not None and (before.asked, before.left) == (attempt.asked, attempt.left)
            count = before.count + 1 if before and same else 1
            self._attempts[uid] = Attempt(attempt.asked, attempt.left, attempt.etag, count)

    def part(self, uid: str) -> Hashable:
        """The part of a refused change that was made last, and the version of the tenant after it."""
        with self._lock:
            return self._parts.get(uid)

    def note_part(self, uid: str, part: Hashable) -> None:
        """Remember it."""
        with self._lock:
            self._parts[uid] = part

    def note_refusal(self, uid: str, id_: str, etag: str) -> None:
        """The deletion of this version was refused."""
        with self._lock:
            self._refusals[uid] = (id_, etag)

    def refused(self, uid: str, id_: str, etag: str) -> bool:
        """The deletion of this version was tried and refused."""
        with self._lock:
            return self._refusals.get(uid) == (id_, etag)

    def note_contention(self, uid: str) -> None:
        """Somebody else has written to the external resource: at the same moment, or against what is
        asked."""
        with self._lock:
            self._contentions[uid] = [*self._contentions.get(uid, ()), self._clock.now()][-_CONTENTIONS:]

    def contended(self, uid: str) -> bool:
        """It happened again and again, so that it is no accident."""
        with self._lock:
            times = self._contentions.get(uid, ())
            return len(times) == _CONTENTIONS and times[0] > self._clock.now() - _CONTENTION_SECONDS

    def now(self) -> float:
        """On the injected clock."""
        return self._clock.now()

    def note_seen(self, uid: str, id_: str) -> None:
        """The external resource is there."""
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
        """Seconds to the next look for what AWS says is there and does not show: doubled each time."""
        with self._lock:
            times = self._unseen[uid] = self._unseen.get(uid, 0) + 1
        return float(min(_FIRST_LOOK * 2.0 ** min(times - 1, 30), _LONGEST_LOOK))

    def let_go(self, uid: str) -> None:
        """Nobody wants it any more."""
        self.vanished.forget(uid)
        with self._lock:
            self._unseen.pop(uid, None)

    def note_proof(self, uid: str, what: Hashable, *, proven: bool) -> None:
        """The tags of a tenant were read, and prove or do not prove that it is this resource's."""
        with self._lock:
            self._proofs[uid] = (what, proven, self._clock.now() + _PROOF_SECONDS)

    def proof(self, uid: str, what: Hashable) -> bool | None:
        """What came of it where the same was asked lately; None where it was not."""
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
        """The external resource is gone."""
        self.proofs.drop(uid)
        with self._lock:
            for remembered in self._by_uid:
                remembered.pop(uid, None)


def _look_lasts(group: str, look: GroupLook) -> float:
    if not group and look.id:
        return _DEFAULT_GROUP_SECONDS
    return _ROLL_OUT_SECONDS if look.rolling_out else _GROUP_SECONDS


def _share(uid: str) -> float:
    """A fixed share in (0, 1] for each resource."""
    return (int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4], "big") + 1) / 2**32

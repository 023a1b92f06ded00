"""Writes changes: one request at a time for each zone, with the changes of all workers that wait.

Route 53 refuses a request while it works on another one of the zone, and counts requests more strictly than
changes. So while one worker sends a request, the changes of the others gather, and the next request has all
of them:

    worker 1  ──── request: its own ────▶
    worker 2    waits ······················ leads ── request: 2, 3, 4 ──▶
    worker 3      waits ···················· waits ························ done
    worker 4        waits ·················· waits ························ done

A batch is made as a whole or not at all. If Route 53 refuses one, its halves are tried separately, so that
one change that cannot be made stops no other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock, Stopwatch
from provider.dns.errors import DnsError, Failure
from provider.dns.route53.calls import ZoneCalls
from provider.dns.store import Change

__all__ = ["ZoneWriter"]

_MOST_CHANGES: Final = 500
"""Route 53 takes 1,000 records in a request (Developer Guide, "Quotas"); smaller ones are quicker."""
_MOST_CHARACTERS: Final = 30_000
"""Of values; Route 53 takes 32,000."""
_BURST: Final = 1_000.0
_PER_SECOND: Final = 90.0
"""Changes; Route 53 permits 1,500 at once and 100 a second (Developer Guide, "Quotas")."""
_LONGEST_WAIT: Final = 10.0
"""Seconds that a worker waits for its change; real time, as connections hang in real time."""
_AGAIN: Final = 2.0
_OF_ONE: Final = frozenset({Failure.CHANGED, Failure.REFUSED, Failure.NOT_PERMITTED})
"""Failures of a batch that one of its changes may cause. IAM can permit names one by one."""


@dataclass(eq=False)
class _Job:
    """The change of one worker."""

    change: Change
    woken: threading.Event = field(default_factory=threading.Event)
    leads: bool = False
    """Its worker sends the next requests."""
    sent: bool = False
    over: bool = False
    ticket: str = ""
    failure: DnsError | None = None

    @property
    def cost(self) -> int:
        """How many changes Route 53 counts."""
        return len(self.change.deletes) + len(self.change.creates) + 2 * len(self.change.keeps)

    @property
    def characters(self) -> int:
        """How many characters of values it has."""
        sets = (*self.change.deletes, *self.change.creates, *self.change.keeps, *self.change.keeps)
        return sum(len(value) + 2 for each in sets for value in each.values)

    def done(self, ticket: str = "", failure: DnsError | None = None) -> None:
        self.ticket, self.failure, self.over = ticket, failure, True
        self.woken.set()


@dataclass
class _Lane:
    """The changes of one zone."""

    waiting: deque[_Job] = field(default_factory=deque)
    busy: bool = False
    """A worker sends requests."""
    not_before: float = float("-inf")
    """Route 53 is still working on a request."""


class ZoneWriter:
    """The requests of one provider config. Thread-safe; no lock is held during a request."""

    def __init__(self, calls: ZoneCalls, clock: Clock, accepted: Callable[[str, Change, str], None]) -> None:
        """`accepted` is called with the zone, the change and the id of Route 53's change."""
        self._calls, self._clock, self._accepted = calls, clock, accepted
        self._lock = threading.Lock()
        self._lanes: dict[str, _Lane] = {}
        self._left, self._left_at = _BURST, clock.now()
        """Changes that may be sent at once, and when that was true."""

    def write(self, zone: str, changes: Sequence[Change]) -> list[str | DnsError]:
        """Make changes, each as a whole; return for each the id of Route 53's change, or why it failed."""
        jobs = [_Job(each) for each in changes]
        with self._lock:
            lane = self._lanes.setdefault(zone, _Lane())
            lane.waiting.extend(jobs)
            leads = bool(jobs) and not lane.busy
            if leads:
                lane.busy = True
        watch = Stopwatch()
        for job in jobs:
            leads = leads or self._wait(lane, job, _LONGEST_WAIT - watch.elapsed())
            if leads:
                break
        if leads:
            self._lead(zone, lane, jobs)
        return [each.failure or each.ticket for each in jobs]

    def _wait(self, lane: _Lane, job: _Job, seconds: float) -> bool:
        """Wait for a change; return whether this worker leads from now on."""
        job.woken.wait(max(0.0, min(seconds, deadline.remaining())))
        with self._lock:
            if job.leads or job.over:
                return job.leads
            if job in lane.waiting:
                lane.waiting.remove(job)
                # If this worker leads for a later one of its changes, it must not wait for this one.
                job.over = True
            failure = Failure.UNCERTAIN if job.sent else Failure.LATER
            words = "ChangeResourceRecordSets: Route 53 has not answered another request for the zone yet"
            # The request may still be under way: what becomes of it is noted, and not for this worker.
            job.failure = DnsError(failure, words, after=_AGAIN)
            return False

    def _lead(self, zone: str, lane: _Lane, mine: Sequence[_Job]) -> None:
        try:
            while not all(each.over for each in mine):
                batch = self._next_batch(lane)
                if batch:
                    self._send(zone, lane, batch)
        finally:
            self._hand_over(lane, mine)

    def _hand_over(self, lane: _Lane, mine: Sequence[_Job]) -> None:
        with self._lock:
            for each in mine:
                # Only after an exception.
                if each in lane.waiting:
                    lane.waiting.remove(each)
            lane.busy = bool(lane.waiting)
            if lane.waiting:
                lane.waiting[0].leads = True
                lane.waiting[0].woken.set()

    def _next_batch(self, lane: _Lane) -> list[_Job]:
        """Take the next changes, as many as fit in a request; refuse those for which it is too early."""
        now = self._clock.now()
        with self._lock:
            if now < lane.not_before:
                self._refuse(lane, "Route 53 is still working on another request", lane.not_before - now)
                return []
            self._left = min(_BURST, self._left + max(0.0, now - self._left_at) * _PER_SECOND)
            self._left_at = now
            batch = _fitting(lane.waiting, self._left)
            if not batch:
                need = lane.waiting[0].cost - self._left
                self._refuse(lane, "the provider sends no more changes per second", need / _PER_SECOND)
                return []
            self._left -= sum(each.cost for each in batch)
            for each in batch:
                each.sent = True
            return batch

    def _refuse(self, lane: _Lane, why: str, after: float) -> None:
        """Call under the lock: all that wait come back later."""
        words = f"ChangeResourceRecordSets: {why}"
        while lane.waiting:
            lane.waiting.popleft().done(failure=DnsError(Failure.LATER, words, after=max(after, 0.1)))

    def _send(self, zone: str, lane: _Lane, batch: Sequence[_Job], watch: Stopwatch | None = None) -> None:
        watch = watch or Stopwatch()
        failure = DnsError(Failure.UNCERTAIN, "ChangeResourceRecordSets: the request was interrupted")
        try:
            ticket = self._request(zone, batch)
        except DnsError as error:
            failure = error
            if error.failure is Failure.LATER:
                lane.not_before = self._clock.now() + (error.after or 0.0)
            if error.failure in _OF_ONE and len(batch) > 1:
                middle = len(batch) // 2
                failure = DnsError(Failure.LATER, "ChangeResourceRecordSets: tried again alone", after=_AGAIN)
                for half in (batch[:middle], batch[middle:]):
                    if self._clock.now() >= lane.not_before and watch.elapsed() < _LONGEST_WAIT:
                        self._send(zone, lane, half, watch)
        else:
            for each in batch:
                self._accepted(zone, each.change, ticket)
                each.done(ticket)
        finally:
            for each in batch:
                if not each.over:
                    # Each worker raises its own: raising adds a traceback.
                    each.done(failure=DnsError(failure.failure, str(failure), after=failure.after))

    def _request(self, zone: str, batch: Sequence[_Job]) -> str:
        changes = [each.change for each in batch]
        # A record set that must not have changed is deleted and created again, in the same request.
        deletes = [record for each in changes for record in (*each.deletes, *each.keeps)]
        creates = [record for each in changes for record in (*each.creates, *each.keeps)]
        return self._calls.change(zone, deletes, creates)


def _fitting(waiting: deque[_Job], most: float) -> list[_Job]:
    """Take the first changes that fit in a request and have no name in common."""
    batch: list[_Job] = []
    cost, characters, names = 0, 0, set[str]()
    while waiting:
        job = waiting[0]
        cost, characters = cost + job.cost, characters + job.characters
        full = cost > min(most, _MOST_CHANGES) or characters > _MOST_CHARACTERS
        if (batch and full) or cost > most or names & job.change.names:
            break
        names |= job.change.names
        batch.append(waiting.popleft())
    return batch

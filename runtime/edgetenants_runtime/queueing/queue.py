"""The work queue: decides which object is reconciled next.

    add ──────────► ready (change │ deletion │ drift │ poll) ──get──► processing ──done──► gone
                        ▲                                                │
    add_after ► waiting ┘ due                                            └─ added meanwhile: ready again

A key is at most once in each box, so a burst of changes costs one reconcile, and a key is never processed
twice at the same time.

The highest priority goes first. None waits for ever: a lower one that was passed over a number of times in a
row is served next (`WorkQueue.PASSED_OVER`).

Within a priority, the shares (namespaces) are served in turn. A share gets another worker only while more
workers are free than it has: the first share gets half of them, the next half of the rest, and so on. A share
without a worker finds a free one, unless there are as many busy shares as halvings. While the keys of other
shares take all workers, a share has one worker, whatever the priority of its keys.

Work may have to wait in its worker, for example for the rate of its account. While drift and polls that wait
hold half of the workers, they leave a quarter of all workers to changes and deletions (`WorkQueue.hold`).
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from enum import IntEnum
from typing import Final, Generic, Protocol, TypeVar

from edgetenants_runtime.bounds import wait
from edgetenants_runtime.clock import Clock, SystemClock
from edgetenants_runtime.queueing.lanes import Lane

__all__ = ["Priority", "Tally", "WorkQueue"]

Key = TypeVar("Key", bound=Hashable)


class Priority(IntEnum):
    """What a key waits for. Keys of the highest priority go first."""

    POLL = 0
    """A periodic poll, or the list of a settled resource: no one waits for it."""
    DRIFT = 1
    """Something outside has changed, or the repair of such a change is followed."""
    DELETION = 2
    """The object is being deleted: a user waits for it, and meanwhile the object does no harm."""
    CHANGE = 3
    """The object is new, or it was edited, or such a change is followed until the resource has settled."""


class Tally(Protocol):
    """Counts what the queue does. Called with the queue's lock held: it must be quick and must not call back.
    Seconds are real."""

    def added(self) -> None:
        """A key became ready."""
        ...

    def started(self, waited: float) -> None:
        """A key was handed out, that many seconds after it was added."""
        ...

    def ended(self, worked: float) -> None:
        """A key's processing ended, that many seconds after it was handed out."""
        ...

    def retried(self) -> None:
        """A key was requeued with back-off."""
        ...


class _Nobody:
    """Counts nothing."""

    def added(self) -> None: ...

    def started(self, waited: float) -> None: ...

    def ended(self, worked: float) -> None: ...

    def retried(self) -> None: ...


_STALE_ENTRIES: Final = 64
"""Entries of keys that no longer wait, which a key with a delay of days and many changes leaves behind."""


class _Delays(Generic[Key]):
    """Keys that wait for a time of one clock. For each key, the earliest time wins."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._due: dict[Key, tuple[float, Priority]] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._due)

    def put(self, key: Key, delay: float, priority: Priority) -> None:
        due = self.clock.now() + delay
        known = self._due.get(key)
        if known is not None and known[0] <= due:
            self._due[key] = (known[0], max(known[1], priority))
            return
        self._due[key] = (due, priority)
        heapq.heappush(self._heap, (due, next(self._order), key))

    def discard(self, key: Key) -> None:
        # Its heap entries remain and are recognised as stale by their time, while they are few.
        self._due.pop(key, None)
        if len(self._heap) > 2 * len(self._due) + _STALE_ENTRIES:
            self._heap = [(due, next(self._order), key) for key, (due, _) in self._due.items()]
            heapq.heapify(self._heap)

    def next_due(self) -> float | None:
        while self._heap:
            due, _, key = self._heap[0]
            known = self._due.get(key)
            if known is not None and known[0] == due:
                return due
            heapq.heappop(self._heap)
        return None

    def pop_due(self) -> list[tuple[Key, Priority]]:
        due, now = [], self.clock.now()
        while (moment := self.next_due()) is not None and moment <= now:
            _, _, key = heapq.heappop(self._heap)
            _, priority = self._due.pop(key)
            due.append((key, priority))
        return due


class WorkQueue(Generic[Key]):
    """De-duplicating queue with per-key order, delays, per-key back-off, priorities and fair shares.

    Thread-safe."""

    PASSED_OVER: Final[Mapping[Priority, int]] = {Priority.DELETION: 4, Priority.DRIFT: 8, Priority.POLL: 4}
    """The number of keys of other priorities that are served in a row while one of this priority waits. So
    polls have at least a fifth of the reconciles. Of several priorities whose turn it is, the lowest goes
    first. If all keys of a priority belong to shares that get no further worker at present, it waits on."""
    HELD = 1 / 2
    """The part of the workers from which on drift and polls leave others free, if they wait in so many."""
    KEPT = 1 / 4
    """The part of the workers that they leave free then."""
    FIRST_RETRY = 1.0
    """Seconds. Each further back-off of a key is twice as long, up to LONGEST_RETRY."""
    LONGEST_RETRY = 60.0

    def __init__(
        self,
        clock: Clock,
        rng: random.Random,
        *,
        real_clock: Clock | None = None,
        share: Callable[[Key], Hashable] = lambda _: None,
        workers: int | None = None,
        tally: Tally | None = None,
    ) -> None:
        """`share` returns the share of a key, for example its namespace; shares of one priority are served in
        turn. `workers` is the number of workers; None if it does not matter."""
        self._rng = rng
        self._share, self._workers = share, workers
        self._shares: dict[Key, Hashable] = {}
        """The shares of the keys in processing, except those that were set aside."""
        self._priorities: dict[Key, Priority] = {}
        """The priorities of the keys in processing."""
        self._held: set[Key] = set()
        """The keys among them whose drift or poll waits in its worker."""
        self._changed = threading.Condition()
        self._ready: dict[Priority, Lane[Key]] = {p: Lane(share) for p in Priority}
        self._processing: dict[Key, float] = {}
        self._again: dict[Key, Priority] = {}
        self._added: dict[Key, float] = {}
        self._real = real_clock or SystemClock()
        self._tally = tally or _Nobody()
        self._delays: _Delays[Key] = _Delays(clock)
        self._real_delays: _Delays[Key] = _Delays(self._real)
        self._alarm: threading.Timer | None = None
        self._alarm_due = 0.0
        self._failures: dict[Key, int] = {}
        self._passed_over = dict.fromkeys(Priority, 0)
        self._stopping = False

    @property
    def clock(self) -> Clock:
        """The injected clock, which times delays and back-off."""
        return self._delays.clock

    def add(self, key: Key, priority: Priority = Priority.CHANGE) -> None:
        """Process the key as soon as a worker is free."""
        with self._changed:
            self._make_ready(key, priority)
            self._changed.notify()

    def add_after(self, key: Key, delay: float, priority: Priority = Priority.POLL) -> None:
        """Process the key after `delay` seconds of the injected clock; an earlier time wins."""
        self._delay(self._delays, key, delay, priority)

    def add_after_real(self, key: Key, delay: float, priority: Priority = Priority.POLL) -> None:
        """Process the key after `delay` real seconds: for retries of API server requests."""
        self._delay(self._real_delays, key, delay, priority)

    def add_soon(self, key: Key, priority: Priority = Priority.CHANGE) -> None:
        """Process the key in a moment, in real time: what it waits for arrives shortly."""
        self.add_after_real(key, self._rng.uniform(0.05, 0.2), priority)

    def retry(self, key: Key, priority: Priority = Priority.POLL) -> float:
        """Process the key after its back-off, in seconds of the injected clock; return the delay."""
        delay = self._next_backoff(key)
        self.add_after(key, delay, priority)
        return delay

    def retry_real(self, key: Key, priority: Priority = Priority.POLL) -> float:
        """Process the key after its back-off, in real seconds; return the delay."""
        delay = self._next_backoff(key)
        self.add_after_real(key, delay, priority)
        return delay

    def forget(self, key: Key) -> None:
        """The key succeeded: reset its back-off."""
        with self._changed:
            self._failures.pop(key, None)

    def remove(self, key: Key) -> None:
        """The object was deleted: drop its delays and its back-off."""
        with self._changed:
            self._failures.pop(key, None)
            self._delays.discard(key)
            self._real_delays.discard(key)

    def get(self, *, block: bool = True) -> Key | None:
        """The next key, which counts as in processing until `done`. None: shut down, or nothing is ready and
        `block` is False.

        Delays of the key are dropped: the result of this processing decides when it is requeued.
        """
        with self._changed:
            while True:
                self._promote_due()
                picked = self._pick()
                if picked is not None:
                    self._start(*picked)
                    return picked[0]
                if self._stopping or not block:
                    return None
                self._wait()

    def priority_of(self, key: Key) -> Priority:
        """The priority of the key's processing; that of a change if it is not in processing."""
        with self._changed:
            return self._priorities.get(key, Priority.CHANGE)

    def hold(self, key: Key, held: bool) -> None:
        """The key's processing begins or ends to wait in its worker."""
        with self._changed:
            if not held:
                self._go_on(key)
            elif key in self._shares and self._priorities[key] <= Priority.DRIFT:
                self._held.add(key)

    def set_aside(self, key: Key) -> None:
        """The key's processing takes too long; it no longer counts for its share."""
        with self._changed:
            self._shares.pop(key, None)
            self._held.discard(key)
            self._changed.notify_all()

    def done(self, key: Key) -> None:
        """The key's processing ended; if it was added meanwhile, it is ready again."""
        with self._changed:
            self._shares.pop(key, None)
            self._priorities.pop(key, None)
            self._held.discard(key)
            started = self._processing.pop(key, None)
            if started is not None:
                self._tally.ended(self._real.now() - started)
            priority = self._again.pop(key, None)
            if priority is not None:
                self._make_ready(key, priority)
            self._changed.notify_all()

    def shutdown(self, *, drain: float = 0.0) -> bool:
        """Return no more keys; wait up to `drain` real seconds for those in processing. True: all ended."""
        real = SystemClock()
        deadline = real.now() + drain
        with self._changed:
            self._stopping = True
            for ready in self._ready.values():
                ready.clear()
            self._added.clear()
            if self._alarm is not None:
                self._alarm.cancel()
            self._changed.notify_all()
            while self._processing and real.now() < deadline:
                real.wait(self._changed, deadline)
            return not self._processing

    def __len__(self) -> int:
        """The number of keys that are ready."""
        with self._changed:
            return sum(len(ready) for ready in self._ready.values())

    @property
    def depths(self) -> dict[Priority, int]:
        """The number of keys that are ready, by priority; highest first."""
        with self._changed:
            return {priority: len(self._ready[priority]) for priority in reversed(Priority)}

    @property
    def delayed(self) -> int:
        """The number of delayed keys."""
        with self._changed:
            return len(self._delays) + len(self._real_delays)

    @property
    def processing(self) -> list[float]:
        """For each key in processing, the real seconds since it started."""
        with self._changed:
            now = self._real.now()
            return [now - started for started in self._processing.values()]

    def _delay(self, delays: _Delays[Key], key: Key, delay: float, priority: Priority) -> None:
        delay = wait(delay)
        with self._changed:
            if delay <= 0:
                self._make_ready(key, priority)
            elif not self._stopping:
                delays.put(key, delay, priority)
            self._changed.notify()

    def _make_ready(self, key: Key, priority: Priority) -> None:
        if self._stopping:
            return
        if key not in self._added:
            self._added[key] = self._real.now()
            self._tally.added()
        if key in self._processing:
            self._again[key] = max(priority, self._again.get(key, priority))
            return
        before = next((each for each, ready in self._ready.items() if key in ready), None)
        if before is not None and before < priority:
            self._ready[before].discard(key)
            before = None
        if before is None:
            self._ready[priority].put(key)

    def _promote_due(self) -> None:
        for delays in (self._delays, self._real_delays):
            for key, priority in delays.pop_due():
                self._make_ready(key, priority)

    def _pick(self) -> tuple[Key, Priority] | None:
        full, lowest = self._full(), self._lowest()
        overdue = [p for p, most in self.PASSED_OVER.items() if self._passed_over[p] >= most]
        for priority in (*sorted(overdue), *reversed(Priority)):
            key = self._ready[priority].take(full) if priority >= lowest else None
            if key is not None:
                self._count_passed_over(priority)
                return key, priority
        return None

    def _count_passed_over(self, served: Priority) -> None:
        for priority, ready in self._ready.items():
            waits = len(ready) > 0 and priority is not served
            self._passed_over[priority] = self._passed_over[priority] + 1 if waits else 0

    def _full(self) -> frozenset[Hashable]:
        """The shares that get no further worker at present."""
        if self._workers is None:
            return frozenset()
        free, counts = self._workers - len(self._shares), Counter(self._shares.values())
        return frozenset(share for share, count in counts.items() if count >= free)

    def _lowest(self) -> Priority:
        """The lowest priority that gets a worker at present."""
        if self._workers is None or not self._is_much_held(self._workers):
            return Priority.POLL
        kept = int(self._workers * self.KEPT)
        return Priority.DELETION if self._workers - len(self._shares) <= kept else Priority.POLL

    def _is_much_held(self, workers: int) -> bool:
        return len(self._held) >= max(1.0, workers * self.HELD)

    def _go_on(self, key: Key) -> None:
        if key not in self._held:
            return
        withheld = self._lowest() > Priority.POLL
        self._held.discard(key)
        if withheld:
            self._changed.notify_all()

    def _start(self, key: Key, priority: Priority) -> None:
        now = self._real.now()
        self._processing[key] = now
        self._priorities[key] = priority
        self._shares[key] = self._share(key)
        self._tally.started(now - self._added.pop(key, now))
        self._delays.discard(key)
        self._real_delays.discard(key)

    def _wait(self) -> None:
        self._set_alarm()
        self._delays.clock.wait(self._changed, self._delays.next_due())

    def _set_alarm(self) -> None:
        # Workers sleep on the injected clock, which may stand still; one timer wakes them for real delays.
        due = self._real_delays.next_due()
        if due is None or (self._alarm is not None and self._alarm_due <= due):
            return
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        alarm = threading.Timer(max(0.0, due - self._real_delays.clock.now()), self._ring)
        alarm.daemon = True
        # If no thread can start at present, the next worker tries again.
        alarm.start()
        self._alarm, self._alarm_due = alarm, due

    def _ring(self) -> None:
        with self._changed:
            self._alarm = None
            self._changed.notify_all()

    def _next_backoff(self, key: Key) -> float:
        with self._changed:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            self._tally.retried()
            delay = min(self.LONGEST_RETRY, self.FIRST_RETRY * 2.0 ** min(failures, 30))
            return delay * self._rng.uniform(0.8, 1.2)

"""A provider on a virtual clock: workers in threads of which one runs at a time, their queue, and an AWS that
permits so many calls a second. The same each time: what differs is drawn from a seed."""

from __future__ import annotations

import heapq
import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.aws.pacing.throttling import Pace
from provider.cloudfront.aws.pacing.turns import on_behalf_of
from provider.cloudfront.aws.pacing.waiting_places import WaitingPlaces

CREATION = "CreateDistributionTenant"
READING = (0.05, 0.15)
"""Seconds of what a reconcile reads before the throttled call."""
LATENCY = (0.05, 0.2)
"""Seconds until AWS answers."""
LATE = 0.3
"""Seconds that a queue takes beyond what it was told, at most."""


class Aws(Protocol):
    """What AWS permits."""

    rate: float

    def permits(self, now: float) -> bool:
        """Whether it answers one more call."""
        ...


@dataclass
class Bucket:
    """A token bucket that starts full."""

    rate: float
    burst: float
    tokens: float = field(init=False)
    at: float = 0.0

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def permits(self, now: float) -> bool:
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate + 1e-9)
        self.at = now
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@dataclass
class Windows:
    """So many calls in each second of the clock; those that it refuses count, too."""

    rate: float
    second: int = -1
    calls: int = 0

    def permits(self, now: float) -> bool:
        if int(now) != self.second:
            self.second, self.calls = int(now), 0
        self.calls += 1
        return self.calls <= self.rate


class Over(BaseException):
    """The test has ended, and so does this thread."""


class StagedClock:
    """A clock of threads of which one runs at a time; it jumps to the next moment at which one is due."""

    def __init__(self) -> None:
        self._now = 0.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self._back = threading.Semaphore(0)
        self._stopped: list[threading.Semaphore] = []
        self._told: dict[threading.Semaphore, threading.Lock] = {}
        """Threads that wait on conditions; the locks are open once they are notified."""
        self._is_over = False

    def now(self) -> float:
        return self._now

    def at(self, when: float, what: Callable[[], None]) -> None:
        """Do something at a time."""
        self._number += 1
        heapq.heappush(self._due, (max(when, self._now), self._number, what))

    def wait(self, condition: threading.Condition, deadline: float | None) -> None:
        """Let others run until then, or until the condition is notified."""
        mine, told = threading.Semaphore(0), threading.Lock()
        told.acquire()
        # As threading.Condition does; `play` looks for those that are notified.
        condition._waiters.append(told)  # type: ignore[attr-defined]
        condition.release()
        self._told[mine] = told
        if deadline is not None:
            self.at(deadline, lambda: self._wake(mine))
        try:
            self.stop(mine)
        finally:
            condition.acquire()
            with suppress(ValueError):
                condition._waiters.remove(told)  # type: ignore[attr-defined]

    def _wake(self, mine: threading.Semaphore) -> None:
        if self._told.pop(mine, None) is not None:
            self.run(mine)

    def _notified(self) -> threading.Semaphore | None:
        return next((mine for mine, told in self._told.items() if not told.locked()), None)

    def sleep(self, seconds: float) -> None:
        """This thread goes on after that time."""
        condition = threading.Condition()
        with condition:
            self.wait(condition, self._now + seconds)

    def stop(self, mine: threading.Semaphore) -> None:
        """Let others run, until `run` lets this thread run again."""
        if self._is_over:
            raise Over
        self._stopped.append(mine)
        self._back.release()
        mine.acquire()
        if self._is_over:
            raise Over
        self._stopped.remove(mine)

    def run(self, other: threading.Semaphore) -> None:
        """Let a thread run until it stops. Not from a thread of a worker."""
        other.release()
        self._back.acquire()

    def start(self, thread: threading.Thread) -> None:
        """Let a new thread run until it stops."""
        thread.start()
        self._back.acquire()

    def end(self) -> None:
        """End all threads that have stopped."""
        self._is_over = True
        for mine in self._stopped:
            mine.release()

    def play(self, until: float) -> None:
        """Let time pass."""
        while True:
            if (mine := self._notified()) is not None:
                self._wake(mine)
            elif self._due and self._due[0][0] <= until:
                self._now, _, what = heapq.heappop(self._due)
                what()
            else:
                break
        self._now = until


@dataclass
class Resource:
    """A managed resource that wants to make the same call again and again, or once."""

    namespace: str
    again: bool = True
    failures: int = 0
    since: float = 0.0
    """When it began to want it."""


@dataclass(frozen=True)
class Call:
    at: float
    namespace: str
    answered: bool
    waited: float
    """Seconds since the resource began to want it."""


class Workers:
    """Workers that reconcile resources which all make one operation's call."""

    def __init__(self, number: int, aws: Aws, rate: float = 1000.0, operation: str = CREATION) -> None:
        """`rate` is the account's own."""
        self.aws, self.operation = aws, operation
        self.clock = StagedClock()
        self.pace = Pace(self.clock, number, WaitingPlaces(number))
        self.pace.limit("cloudfront", "platform", rate)
        self.rng = random.Random(f"{number} {aws}")
        self.calls: list[Call] = []
        self.tries = self.waiting = self.most_waiting = 0
        self._ready: dict[str, deque[Resource]] = {}
        """By namespace: they take turns, as in the runtime's queue."""
        self._idle: deque[threading.Semaphore] = deque()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(number)]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Have the threads run."""
        for thread in self._threads:
            self.clock.at(0.0, partial(self.clock.start, thread))
        try:
            yield
        finally:
            self.clock.end()
            for thread in self._threads:
                thread.join(5)

    def want(self, resource: Resource, after: float = 0.0) -> None:
        """Put a resource into the queue."""
        self.clock.at(self.clock.now() + after, lambda: self._due(resource))

    def used(self, since: float, until: float) -> float:
        """The answered calls of that time, as a part of what AWS permits."""
        answered = sum(1 for call in self.calls if since <= call.at < until and call.answered)
        return answered / (self.aws.rate * (until - since))

    def refused(self, since: float, until: float) -> float:
        """The refused calls, as a part of all."""
        calls = [call.answered for call in self.calls if since <= call.at < until]
        return calls.count(False) / len(calls)

    def answered(self, since: float = 0.0) -> Counter[str]:
        """The answered calls by namespace."""
        return Counter(call.namespace for call in self.calls if call.answered and call.at >= since)

    def _due(self, resource: Resource) -> None:
        self._ready.setdefault(resource.namespace, deque()).append(resource)
        if self._idle:
            self.clock.run(self._idle.popleft())

    def _work(self) -> None:
        mine = threading.Semaphore(0)
        with suppress(Over):
            while True:
                while not self._ready:
                    self._idle.append(mine)
                    self.clock.stop(mine)
                self._reconcile(self._first())

    def _first(self) -> Resource:
        namespace = next(iter(self._ready))
        waiting = self._ready.pop(namespace)
        resource = waiting.popleft()
        if waiting:
            self._ready[namespace] = waiting
        return resource

    def _reconcile(self, resource: Resource) -> None:
        self.clock.sleep(self.rng.uniform(*READING))
        self.tries += 1
        try:
            with on_behalf_of(resource.namespace):
                self._admit()
        except AwsError as error:
            if error.code != PAUSED or error.after is None:
                raise
            self.want(resource, error.after + self.rng.uniform(0, LATE))
            return
        self._call(resource)

    def _admit(self) -> None:
        self.waiting += 1
        try:
            before = self.clock.now()
            self.pace.admit("cloudfront", self.operation)
            if self.clock.now() > before:
                self.most_waiting = max(self.most_waiting, self.waiting)
        finally:
            self.waiting -= 1

    def _call(self, resource: Resource) -> None:
        began = self.clock.now()
        answered = self.aws.permits(began)
        self.calls.append(Call(began, resource.namespace, answered, began - resource.since))
        self.clock.sleep(self.rng.uniform(*LATENCY))
        if answered:
            self.pace.answered(self.operation, began)
            resource.failures, resource.since = 0, self.clock.now()
            if resource.again:
                self.want(resource, self.rng.uniform(0, LATE))
        else:
            self.pace.throttled(self.operation, began)
            resource.failures += 1
            self.want(resource, 2.0 ** min(resource.failures, 6))

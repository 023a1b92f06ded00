"""One account whose resources the runtime's own controller reconciles, on a virtual clock: workers in threads
of which one runs at a time, the runtime's queue, and the account's pace. All calls take the same time."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.managed import Managed, ManagedKind, ObjectKey
from edgetenants_runtime.process.controller import BY_PROVIDER_CONFIG, Controller, Instruments, Limits
from edgetenants_runtime.process.controller import by_provider_config as config_of
from edgetenants_runtime.process.metrics import Metrics
from edgetenants_runtime.queueing import urgency
from edgetenants_runtime.queueing.queue import Priority, WorkQueue
from edgetenants_runtime.queueing.urgency import Urgency
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.testing import TOYS
from edgetenants_runtime.testing.cases import SETTLED
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.aws.pacing.throttling import Pace
from provider.cloudfront.aws.pacing.turns import on_behalf_of
from provider.cloudfront.aws.pacing.waiting_places import WaitingPlaces
from tests.unit.provider.cloudfront.aws.pacing.staged_workers import Over, StagedClock

WORKERS = 16
SECONDS = 0.1
"""Of a call."""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Step:
    """One reconcile: so many calls, and what follows."""

    calls: int
    outcome: Outcome


POLL = Step(1, Outcome(Next.AFTER, 60.0, settled=True))
UPDATE = Step(2, Outcome(Next.AFTER, 5.0, made=Priority.CHANGE))
FAILURE = Step(2, Outcome(Next.BACKOFF, failed=True, made=Priority.CHANGE))
CREATION = (Step(4, Outcome(Next.AFTER, 5.0, made=Priority.CHANGE)), Step(2, POLL.outcome))
"""GetDistributionTenant, GetDistribution, DescribeCertificate and CreateDistributionTenant; after the
roll-out GetDistributionTenant and VerifyDnsConfiguration."""


class Middle(random.Random):
    """Delays have no spread."""

    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


class Account:
    """The account, its resources, and the workers."""

    def __init__(self, rate: float | None = None, workers: int = WORKERS) -> None:
        """`rate` is that of a provider config."""
        self.clock = StagedClock()
        self.places = WaitingPlaces(workers)
        self.pace = Pace(self.clock, workers, self.places)
        self.pace.limit("cloudfront", "platform", rate)
        self.calls: list[tuple[float, str]] = []
        """When each was made, and for which namespace."""
        self.ended: Counter[ObjectKey] = Counter()
        self.refused: Counter[str] = Counter()
        """By namespace: the calls that did not get a slot."""
        self.usual: dict[str, Step] = {}
        """By namespace: what its resources do without a plan, if it is not a poll."""
        self.plans: dict[ObjectKey, list[Step]] = {}
        self.after: Callable[[Managed], None] = lambda _: None
        """Called after each reconcile."""
        self._versions = itertools.count(1)
        self._cache = Cache({BY_PROVIDER_CONFIG: config_of})
        self.queue: WorkQueue[ObjectKey] = WorkQueue(
            self.clock, Middle(), real_clock=self.clock, share=lambda key: key.namespace, workers=workers
        )
        self.controllers = [self._controller(TOYS, self.queue, workers)]
        self._threads = [self._thread(self.controllers[0]._work) for _ in range(workers)]

    def _controller(self, kind: ManagedKind, queue: WorkQueue[ObjectKey], workers: int) -> Controller:
        informer: Any = SimpleNamespace(cache=self._cache, add_handler=lambda _: None)
        reconciler: Any = SimpleNamespace(
            reconcile=self._reconcile, forget=lambda _: None, makes=lambda _: False
        )
        metrics = Metrics()
        controller = Controller(
            kind,
            informer,
            queue,
            reconciler,
            limits=Limits(workers, clock=self.clock, now=self._now, timeout=1e9),
            instruments=Instruments(metrics.controller("toys", workers), metrics.managed(kind)),
        )
        controller._active = True
        return controller

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        def until_over() -> None:
            with suppress(Over):
                work()

        return threading.Thread(target=until_over, daemon=True)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Have the workers run."""
        for thread in self._threads:
            self.clock.at(0.0, partial(self.clock.start, thread))
        try:
            yield
        finally:
            self.after = lambda _: None
            self.queue.shutdown()
            self.clock.end()
            for thread in self._threads:
                thread.join(5)

    def beside(self, work: Callable[[], None]) -> None:
        """Have another thread do something, before the workers run."""
        self._threads.append(self._thread(work))

    def tell(self, namespace: str, name: str = "a", *, settled: bool = False, **metadata: Any) -> ObjectKey:
        """The watch, or a list at the beginning, delivers a resource."""
        own = {"namespace": namespace, "name": name, "uid": f"{namespace}/{name}", "generation": 1}
        obj: dict[str, Any] = {"apiVersion": TOYS.api_version, "kind": TOYS.kind, "spec": {}}
        obj["metadata"] = own | metadata | {"resourceVersion": str(next(self._versions))}
        if settled:
            obj["status"] = SETTLED
        for change in self._cache.changed(obj, listed=settled):
            self.controllers[0].on_change(change)
        return Managed(obj).key

    def edit(self, mr: Managed) -> None:
        """A user changes a resource."""
        self.tell(mr.namespace, mr.name, annotations={"x": str(next(self._versions))})

    def new(self, namespace: str = "new", plan: tuple[Step, ...] = CREATION) -> float:
        """Create a resource; return the seconds until it is Ready."""
        began = self.clock.now()
        key = self.tell(namespace, f"n{next(self._versions)}")
        self.plans[key] = list(plan)
        while self.plans[key]:
            assert self.clock.now() < began + 1000
            self.clock.play(self.clock.now() + 0.1)
        return self.clock.now() - began

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.play(self.clock.now() + seconds)

    def made(self, since: float) -> Counter[str]:
        """The calls since then, by namespace."""
        return Counter(namespace for at, namespace in self.calls if at >= since)

    def call(self, namespace: str, operation: str = "GetDistributionTenant", config: str = "") -> None:
        """Make one call. Raises AwsError if it does not get a slot."""
        with on_behalf_of(namespace):
            self.pace.admit("cloudfront", operation, config)
        self.calls.append((self.clock.now(), namespace))
        self.clock.sleep(SECONDS)

    def sweep(self, pages: int, took: list[float]) -> None:
        """Make lists all the time; append the seconds of each."""
        with urgency.within(Urgency(Priority.DRIFT)):
            while True:
                began = self.clock.now()
                for _ in range(pages):
                    self.call("", "ListDistributionTenants")
                took.append(self.clock.now() - began)
                self.clock.sleep(5.0)

    def _now(self) -> datetime:
        return BEGAN + timedelta(seconds=self.clock.now())

    def _reconcile(self, mr: Managed) -> Outcome:
        plan = self.plans.get(mr.key)
        step = plan[0] if plan else self.usual.get(mr.namespace, POLL)
        try:
            for _ in range(step.calls):
                self.call(mr.namespace)
        except AwsError as error:
            if error.code != PAUSED or not error.after:
                raise
            self.refused[mr.namespace] += 1
            return Outcome(Next.AFTER, error.after)
        finally:
            self.after(mr)
        if plan:
            del plan[0]
        self.ended[mr.key] += 1
        return step.outcome

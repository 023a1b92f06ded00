"""The metrics of queues, controllers and managed resources; see `metrics`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from edgetenants_runtime.api.annotations import FINALIZER
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType
from edgetenants_runtime.clock import Clock, SystemClock, parse_rfc3339, utc_now
from edgetenants_runtime.kube.cache import JsonObject
from edgetenants_runtime.managed import Managed

__all__ = [
    "ControllerFamilies",
    "ControllerMetrics",
    "Lives",
    "ManagedFamilies",
    "ManagedMetrics",
    "NoLives",
    "QueueFamilies",
    "QueueMetrics",
    "Result",
    "is_true",
]

_WIDE = tuple(10e-9 * 10**n for n in range(12))
_LIFE = (1, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600)
_RECONCILE = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9),
    *(1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)


class Result(StrEnum):
    """The result of a reconcile, as in controller-runtime."""

    SUCCESS = "success"
    """There is nothing to do until the object changes."""
    ERROR = "error"
    """A step failed."""
    REQUEUE = "requeue"
    """It is requeued with back-off: an operation is in progress."""
    REQUEUE_AFTER = "requeue_after"
    """It is requeued after a fixed time."""


class QueueFamilies:
    """client-go's metrics of work queues, with controller-runtime's labels."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("name", "controller")
        self.adds = Counter(
            "workqueue_adds", "Total number of keys added to the work queue.", labels, registry=registry
        )
        self.retries = Counter(
            "workqueue_retries", "Total number of keys requeued with back-off.", labels, registry=registry
        )
        self.waited = Histogram(
            "workqueue_queue_duration_seconds",
            "How long in seconds a key waits in the work queue before a worker takes it.",
            labels,
            registry=registry,
            buckets=_WIDE,
        )
        self.worked = Histogram(
            "workqueue_work_duration_seconds",
            "How long in seconds processing a key takes.",
            labels,
            registry=registry,
            buckets=_WIDE,
        )


class QueueMetrics:
    """A queue's `Tally`."""

    def __init__(self, queues: QueueFamilies, name: str) -> None:
        self._adds, self._retries = queues.adds.labels(name, name), queues.retries.labels(name, name)
        self._waited, self._worked = queues.waited.labels(name, name), queues.worked.labels(name, name)

    def added(self) -> None:
        """See `Tally`."""
        self._adds.inc()

    def started(self, waited: float) -> None:
        """See `Tally`."""
        self._waited.observe(waited)

    def ended(self, worked: float) -> None:
        """See `Tally`."""
        self._worked.observe(worked)

    def retried(self) -> None:
        """See `Tally`."""
        self._retries.inc()


class ControllerFamilies:
    """controller-runtime's metrics of controllers."""

    def __init__(self, registry: CollectorRegistry) -> None:
        one = ("controller",)

        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(f"controller_runtime_{name}", says, (*one, *labels), registry=registry)

        self.reconciles = counter("reconcile", "Total number of reconciles, by result.", "result")
        self.errors = counter("reconcile_errors", "Total number of reconciles in which a step failed.")
        self.panics = counter(
            "reconcile_panics", "Total number of reconciles that raised an unexpected exception."
        )
        self.timeouts = counter(
            "reconcile_timeouts", "Total number of reconciles that exceeded their timeout."
        )
        self.seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "How long in seconds a reconcile takes.",
            one,
            registry=registry,
            buckets=_RECONCILE,
        )
        self.active = Gauge(
            "controller_runtime_active_workers",
            "Number of workers that are reconciling.",
            one,
            registry=registry,
        )
        self.workers = Gauge(
            "controller_runtime_max_concurrent_reconciles",
            "Maximum number of concurrent reconciles.",
            one,
            registry=registry,
        )


class ControllerMetrics:
    """The metrics of one controller's reconciles."""

    def __init__(self, controllers: ControllerFamilies, name: str, workers: int) -> None:
        self._results = {r: controllers.reconciles.labels(name, r.value) for r in Result}
        self._errors, self._panics = controllers.errors.labels(name), controllers.panics.labels(name)
        self._timeouts, self._seconds = controllers.timeouts.labels(name), controllers.seconds.labels(name)
        self._active = controllers.active.labels(name)
        controllers.workers.labels(name).set(workers)

    def began(self) -> None:
        """A reconcile started."""
        self._active.inc()

    def ended(self, result: Result, seconds: float) -> None:
        """A reconcile ended."""
        self._active.dec()
        self._results[result].inc()
        self._seconds.observe(seconds)
        if result is Result.ERROR:
            self._errors.inc()

    def stumbled(self) -> None:
        """A reconcile raised an unexpected exception."""
        self._panics.inc()

    def timed_out(self) -> None:
        """A reconcile exceeded its timeout."""
        self._timeouts.inc()


class Lives(Protocol):
    """What a controller reports of the lifecycle of its objects."""

    def before(self, mr: Managed) -> None:
        """A reconcile starts."""
        ...

    def after(self, mr: Managed, now: Managed | None) -> None:
        """A reconcile of `mr` ended; `now` is the object after it, None if it was deleted."""
        ...

    def forget(self, uid: str) -> None:
        """The object was deleted."""
        ...


class NoLives:
    """The `Lives` of a plain controller, whose objects are no managed resources."""

    def before(self, mr: Managed) -> None:
        """See `Lives`."""

    def after(self, mr: Managed, now: Managed | None) -> None:
        """See `Lives`."""

    def forget(self, uid: str) -> None:
        """See `Lives`."""


class ManagedFamilies:
    """crossplane-runtime's metrics of the lifecycle of managed resources."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def histogram(name: str, says: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(
                f"crossplane_managed_resource_{name}", says, ("gvk",), registry=registry, buckets=buckets
            )

        self.detected = histogram(
            "first_time_to_reconcile_seconds",
            "The time from the creation of a managed resource to its first reconcile.",
            _WIDE[:10],
        )
        self.ready = histogram(
            "first_time_to_readiness_seconds",
            "The time from the creation of a managed resource until it was first ready.",
            _LIFE,
        )
        self.deletion = histogram(
            "deletion_seconds",
            "The time from the deletion request for a managed resource until it was deleted.",
            _LIFE,
        )
        self.drift = histogram(
            "drift_seconds",
            "The time since an external resource was last observed up to date, when it had to be updated.",
            _WIDE[:10],
        )


class ManagedMetrics:
    """The metrics of the managed resources of one kind; `Sightings` of its external clients."""

    def __init__(
        self,
        lives: ManagedFamilies,
        label: str,
        *,
        clock: Clock | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._detected, self._ready = lives.detected.labels(label), lives.ready.labels(label)
        self._deletion, self._drift = lives.deletion.labels(label), lives.drift.labels(label)
        self._clock, self._now = clock or SystemClock(), now
        self._lock = threading.Lock()
        self._fresh: set[str] = set()
        self._unchanged: dict[str, float] = {}

    def before(self, mr: Managed) -> None:
        """A reconcile starts."""
        if mr.condition(ConditionType.SYNCED) is None and mr.uid not in self._fresh:
            with self._lock:
                self._fresh.add(mr.uid)
            self._detected.observe(self._since(mr.metadata.get("creationTimestamp")))

    def after(self, mr: Managed, now: Managed | None) -> None:
        """A reconcile of `mr` ended; `now` is the resource after it, None if it was deleted."""
        if mr.uid in self._fresh and now is not None and is_true(now.raw, ConditionType.READY):
            self._ready.observe(self._since(mr.metadata.get("creationTimestamp")))
            with self._lock:
                self._fresh.discard(mr.uid)
        if mr.deleted and _held(mr) and not _held(now):
            self._deletion.observe(self._since(mr.metadata.get("deletionTimestamp")))
        if now is None:
            self.forget(mr.uid)

    def forget(self, uid: str) -> None:
        """The resource was deleted."""
        with self._lock:
            self._fresh.discard(uid)
            self._unchanged.pop(uid, None)

    def up_to_date(self, mr: Managed) -> None:
        """See `Sightings`."""
        with self._lock:
            self._unchanged[mr.uid] = self._clock.now()

    def repaired(self, mr: Managed) -> None:
        """See `Sightings`."""
        now = self._clock.now()
        with self._lock:
            since = self._unchanged.get(mr.uid)
            self._unchanged[mr.uid] = now
        if since is not None:
            self._drift.observe(now - since)

    def _since(self, stamp: object) -> float:
        try:
            return max(0.0, (self._now() - parse_rfc3339(str(stamp))).total_seconds())
        except ValueError:
            return 0.0


def _held(mr: Managed | None) -> bool:
    return mr is not None and FINALIZER in mr.finalizers


def is_true(obj: JsonObject, type_: str) -> bool:
    """The object has a condition of that type with status True."""
    for condition in Managed(obj).conditions:
        if condition["type"] == type_:
            return bool(condition.get("status") == ConditionStatus.TRUE)
    return False

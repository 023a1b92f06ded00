"""Runs the reconciler of one kind: turns informer events and delays into reconciles.

The kind need not be one of managed resources: `Reconciles` is what a controller asks of its reconciler, and
`Manager.control` runs one for a kind of any sort (a plain controller).
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Protocol

import structlog

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import Clock, SystemClock, utc_now
from edgetenants_runtime.config.resolved import ConfigUse
from edgetenants_runtime.config.usages import index_of
from edgetenants_runtime.kube.cache import ChangeType, JsonObject, ObjectChange
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import Managed, ManagedKind, ObjectKey, ProviderConfigKey, ResourceKind
from edgetenants_runtime.process.instruments import ControllerMetrics, Lives, Result
from edgetenants_runtime.process.stacks import stack_of
from edgetenants_runtime.providerconfigs import ProviderConfigs
from edgetenants_runtime.queueing import urgency
from edgetenants_runtime.queueing.following import Course, Following
from edgetenants_runtime.queueing.queue import Priority, WorkQueue
from edgetenants_runtime.queueing.urgency import Urgency
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.reconcile.unsettled import awaits, news

__all__ = [
    "BY_PROVIDER_CONFIG",
    "Controller",
    "Instruments",
    "Limits",
    "Reconciles",
    "by_provider_config",
    "controller_name",
    "plain_name",
    "shares",
]

_log = structlog.get_logger("edgetenants_runtime.controller")

_QUEUE_SECONDS = 1.0
"""Real seconds after which a worker retries if the queue failed."""

BY_PROVIDER_CONFIG = "providerConfig"
"""Index of the managed resources by the provider config that they use."""


def by_provider_config(obj: Mapping[str, Any]) -> str:
    """The value of the index for a managed resource."""
    return str(Managed(obj).provider_config_ref)


def controller_name(kind: ManagedKind) -> str:
    """The controller's name, as in crossplane-runtime (pkg/reconciler/managed, ControllerName)."""
    return f"managed/{kind.kind.lower()}.{kind.group}"


def plain_name(kind: ResourceKind) -> str:
    """The name of a plain controller, as controller-runtime names one: the kind in lower case, and its group
    because two kinds may have one name."""
    return f"{kind.kind.lower()}.{kind.group}"


class Reconciles(Protocol):
    """What a controller asks of its reconciler. `Managed` is a view of any object's metadata, spec and
    conditions; a plain reconciler reads only what its kind has."""

    def reconcile(self, mr: Managed) -> Outcome:
        """Reconcile one object, as last seen. Called in one thread at a time for each object. What it raises
        is logged and retried with back-off."""
        ...

    def makes(self, change: ObjectChange) -> bool:
        """Whether the reconciler itself makes this change, which then is no news."""
        ...

    def forget(self, uid: str) -> None:
        """The object is gone, or another process reconciles it."""
        ...


def shares(informer: Informer) -> Callable[[ObjectKey], Hashable]:
    """Returns the share of a key: its namespace, or for a cluster-scoped resource the claim's namespace."""

    def share(key: ObjectKey) -> Hashable:
        if key.namespace:
            return key.namespace
        obj = informer.cache.get(key)
        return Managed(obj).share if obj else ""

    return share


@dataclass(frozen=True)
class Limits:
    """The limits of a controller: concurrency, timeout, and when it may act."""

    workers: int = 16
    """Concurrent reconciles."""
    timeout: float = 60.0
    """Real seconds for one reconcile; see `edgetenants_runtime.deadline`."""
    may_act: Callable[[], bool] = lambda: True
    """Called before each reconcile; while it is False, none starts."""
    may_start: Callable[[], bool] = lambda: True
    """Called before the first reconcile only."""
    clock: Clock = field(default_factory=SystemClock)
    """Real time, for the timeout."""
    mine: Callable[[Managed], bool] = lambda _: True
    """Called before each reconcile; while it is False, another process reconciles the resource."""
    now: Callable[[], datetime] = utc_now
    """The time to compare with what the API server wrote; see `kube.server_time`."""


@dataclass(frozen=True)
class Instruments:
    """The metrics of a controller."""

    reconciles: ControllerMetrics
    resources: Lives


@dataclass
class _Reconcile:
    """A running reconcile."""

    key: ObjectKey
    began: float
    worker: threading.Thread
    overdue: bool = False


class Controller:
    """Workers that reconcile the objects of one kind, each resource in one worker at a time.

    A reconcile that exceeds its timeout cannot be aborted, because threads cannot be. It keeps its resource,
    so that nothing is done twice, and starts no further external write. Another worker is started in its
    place; later, the first surplus worker ends. If more reconciles are stuck than there are workers, no
    further worker is started and the controller is unhealthy.
    """

    def __init__(
        self,
        kind: ResourceKind,
        informer: Informer,
        queue: WorkQueue[ObjectKey],
        reconciler: Reconciles,
        *,
        limits: Limits,
        instruments: Instruments,
    ) -> None:
        self.kind = kind
        self.informer = informer
        self.queue = queue
        self._reconciler = reconciler
        self._limits, self._instruments = limits, instruments
        self._configs: ProviderConfigs | None = None
        self._clock = limits.clock
        self._following: Following[ObjectKey] = Following(queue.clock)
        self._stopping = threading.Event()
        self._active = False
        self._lock = threading.Lock()
        self._under_way: dict[threading.Thread, _Reconcile] = {}
        self._workers: list[threading.Thread] = []
        self._started = 0
        self._starter = threading.Thread(
            target=self._start_when_read, name=f"{kind.plural} start", daemon=True
        )
        informer.add_handler(self.on_change)

    def follow(self, configs: ProviderConfigs) -> None:
        """Requeue resources when the provider config that they use is created, changed or deleted."""
        self._configs = configs
        configs.on_change(self.on_config_change)

    def follow_too(self, configs: ProviderConfigs, use: ConfigUse) -> None:
        """Count the resources as users of a second provider config, and requeue them when it changes. Call it
        before the informers start."""
        configs.used_by(self.informer, use)
        configs.on_change(partial(self._on_change_of, index_of(use)))

    def _on_change_of(self, index: str, config: ProviderConfigKey) -> None:
        for key in self.informer.cache.keys_by_index(index, str(config)):
            self.enqueue(key, Priority.POLL)

    def start(self) -> None:
        """Start the workers when all objects have been listed once and this process may act and start."""
        self._starter.start()

    def stop(self, drain: float) -> bool:
        """Start no more reconciles; wait up to `drain` real seconds for running ones. True: all ended."""
        self._stopping.set()
        return self.queue.shutdown(drain=drain)

    @property
    def problem(self) -> str:
        """Why the controller cannot reconcile; "" if it can."""
        if self._stopping.is_set():
            return ""
        with self._lock:
            dead = [w for w in self._workers if w.ident is not None and not w.is_alive()]
            overdue = [r for r in self._under_way.values() if r.overdue]
        if dead:
            return f"a worker of {self.kind.resource} has died"
        if len(overdue) > self._limits.workers:
            return f"{len(overdue)} reconciles of {self.kind.resource} are stuck"
        return ""

    @property
    def objects(self) -> Iterable[JsonObject]:
        """See `metrics.Observed`."""
        return self.informer.cache.objects()

    @property
    def depths(self) -> Mapping[Priority, int]:
        """See `metrics.Observed`."""
        return self.queue.depths

    @property
    def processing(self) -> list[float]:
        """See `metrics.Observed`."""
        return self.queue.processing

    def enqueue(self, key: ObjectKey, priority: Priority = Priority.CHANGE) -> None:
        """Requeue the resource: something that it depends on has changed, and someone waits for that. With
        DRIFT or POLL, its client noticed a change of its external resource, or notices none any more: if that
        follows a change of the resource, it has the priority of the change. Before the start of the workers,
        this does nothing: they begin with all resources."""
        if self._active:
            followed = self._following.priority(key) if priority <= Priority.DRIFT else priority
            self.queue.add(key, max(priority, followed))

    def enqueue_after(self, key: ObjectKey, seconds: float, priority: Priority = Priority.CHANGE) -> None:
        """As `enqueue`, after real seconds in which further changes cost nothing."""
        if self._active:
            self.queue.add_after_real(key, seconds, priority)

    def on_change(self, change: ObjectChange) -> None:
        """Handle a change of a managed resource."""
        if change.new is None:
            self._let_go(change.key, Managed(change.old or {}).uid)
        elif change.type is ChangeType.LISTED:
            self._found(Managed(change.new))
        elif self._is_news(change):
            self._asked(Managed(change.new))

    def _asked(self, mr: Managed) -> None:
        """Another client wants something else of the resource."""
        if self._active:
            self._following.asked(mr.key, news(mr))
        self.enqueue(mr.key, news(mr))

    def _found(self, mr: Managed) -> None:
        """The resource was found in a list; it may have been edited or deleted while no one looked."""
        if not self._active:
            return
        priority = awaits(mr, self._limits.now())
        if priority is not Priority.POLL:
            self._following.asked(mr.key, priority)
        self.queue.add(mr.key, priority)

    def _is_news(self, change: ObjectChange) -> bool:
        """Another client changed what the resource asks for."""
        if change.old is None or change.new is None:
            return True
        differs = Managed(change.old).asked_for != Managed(change.new).asked_for
        return differs and not self._reconciler.makes(change)

    def on_config_change(self, config: ProviderConfigKey) -> None:
        """Handle a change of a provider config."""
        for key in self.informer.cache.keys_by_index(BY_PROVIDER_CONFIG, str(config)):
            # Thousands may use it. What awaits it, such as a new resource, keeps its priority.
            self.enqueue(key, Priority.POLL)

    def look_again(self, config: ProviderConfigKey | None = None) -> None:
        """Reconcile what this process may have to reconcile from now on: of all resources, or of those of a
        provider config."""
        cache = self.informer.cache
        keys = cache.keys() if config is None else cache.keys_by_index(BY_PROVIDER_CONFIG, str(config))
        for obj in filter(None, map(cache.get, keys)):
            if self._limits.mine(Managed(obj)):
                self._found(Managed(obj))

    def look_for_overdue(self) -> None:
        """Log reconciles that exceed their timeout, and replace their workers. Call it about every second."""
        now = self._clock.now()
        with self._lock:
            late = [
                r for r in self._under_way.values() if not r.overdue and now - r.began >= self._limits.timeout
            ]
            for reconcile in late:
                reconcile.overdue = True
        for reconcile in late:
            self._instruments.reconciles.timed_out()
            _log.error(
                "reconcile exceeded its timeout",
                **self._names(reconcile.key),
                timeout=self._limits.timeout,
                where=stack_of(reconcile.worker),
            )
            self.queue.set_aside(reconcile.key)
            self._make_up_for_overdue()

    def _start_when_read(self) -> None:
        while not self._stopping.is_set():
            read = self.informer.wait_synced(0.2)
            may = self._limits.may_act() and self._limits.may_start()
            if read and may and (self._configs is None or self._configs.settled):
                break
            self._stopping.wait(0.05)
        if self._stopping.is_set():
            return
        # First activate, then add all known keys, so that no change in between is lost.
        self._active = True
        for obj in self.informer.cache.objects():
            self._found(Managed(obj))
        for _ in range(self._limits.workers):
            self._start_worker()

    def _start_worker(self) -> None:
        with self._lock:
            self._started += 1
            worker = threading.Thread(
                target=self._work, name=f"{self.kind.plural} {self._started}", daemon=True
            )
            self._workers.append(worker)
        worker.start()

    def _make_up_for_overdue(self) -> None:
        with self._lock:
            enough = len(self._workers) >= 2 * self._limits.workers
        if not enough and not self._stopping.is_set():
            self._start_worker()

    def _work(self) -> None:
        me = threading.current_thread()
        while (key := self._next()) is not None:
            try:
                self._attempt(key)
            finally:
                self.queue.done(key)
            if self._superfluous(me):
                return

    def _next(self) -> ObjectKey | None:
        while True:
            try:
                return self.queue.get()
            except Exception:  # noqa: BLE001 - a worker must not die of it
                _log.exception("cannot take the next resource from the queue", kind=self.kind.kind)
                self._stopping.wait(_QUEUE_SECONDS)

    def _attempt(self, key: ObjectKey) -> None:
        try:
            self._process(key)
        except StandDown as stand_down:
            _log.info("left for the leader", **self._names(key), before=str(stand_down))
            # This process may turn out to be it, after a step of the clock.
            self.queue.retry_real(key, self._following.priority(key))
        except BaseException:  # noqa: BLE001 - no exception may stop the worker, not even SystemExit
            # First the back-off: logging may fail too, if memory is short or a text is broken.
            self.queue.retry(key, self._following.priority(key))
            with contextlib.suppress(Exception):
                self._instruments.reconciles.stumbled()
                _log.exception("reconcile raised an exception, backing off", **self._names(key))

    def _superfluous(self, worker: threading.Thread) -> bool:
        with self._lock:
            overdue = sum(r.overdue for r in self._under_way.values())
            if len(self._workers) - overdue <= self._limits.workers:
                return False
            self._workers.remove(worker)
            return True

    def _process(self, key: ObjectKey) -> None:
        obj = self.informer.cache.get(key)
        if obj is None:
            self.queue.remove(key)
            return
        if not self._limits.may_act():
            raise StandDown("the reconcile")
        mr, course = Managed(obj), self._following.course(key)
        if not self._limits.mine(mr):
            self._leave_to_its_process(mr)
            return
        with structlog.contextvars.bound_contextvars(**self._names(key)):
            outcome = self._timed(mr)
            _log.debug("reconciled", next=str(outcome.next), seconds=round(outcome.seconds, 1))
        self._schedule(key, outcome, course)
        self._look_back(mr)

    def _timed(self, mr: Managed) -> Outcome:
        worker, began, result = threading.current_thread(), self._clock.now(), Result.ERROR
        with self._lock:
            self._under_way[worker] = _Reconcile(mr.key, began, worker)
        self._instruments.reconciles.began()
        try:
            self._instruments.resources.before(mr)
            outcome = self._in_context(mr)
            result = _result(outcome)
            return outcome
        finally:
            self._instruments.reconciles.ended(result, self._clock.now() - began)
            with self._lock:
                reconcile = self._under_way.pop(worker)
            if reconcile.overdue:
                took = round(self._clock.now() - began, 1)
                _log.warning("a reconcile that exceeded its timeout has ended", seconds=took)

    def _in_context(self, mr: Managed) -> Outcome:
        """Reconcile with the deadline and the urgency, which clients read."""
        urgent = Urgency(self.queue.priority_of(mr.key), partial(self.queue.hold, mr.key))
        with deadline.within(self._limits.timeout, self._clock), urgency.within(urgent):
            return self._reconciler.reconcile(mr)

    def _let_go(self, key: ObjectKey, uid: str) -> None:
        self.queue.remove(key)
        self._following.forget(key)
        self._reconciler.forget(uid)
        self._instruments.resources.forget(uid)

    def _leave_to_its_process(self, mr: Managed) -> None:
        """If this process has to reconcile it again, it begins with nothing that may be out of date. The key
        may have been added again meanwhile, so its delays stay."""
        self.queue.forget(mr.key)
        self._following.forget(mr.key)
        self._reconciler.forget(mr.uid)
        self._instruments.resources.forget(mr.uid)

    def _look_back(self, mr: Managed) -> None:
        # Our own removal of the finalizer is in the cache before the watch delivers it, which then is no
        # change.
        stored = self.informer.cache.get(mr.key)
        now = Managed(stored) if stored and Managed(stored).uid == mr.uid else None
        if stored is None:
            self.queue.remove(mr.key)
            self._following.forget(mr.key)
        if now is None:
            self._reconciler.forget(mr.uid)
        self._instruments.resources.after(mr, now)

    def _schedule(self, key: ObjectKey, outcome: Outcome, course: Course | None) -> None:
        """`course` is what the resource followed when the reconcile began."""
        if outcome.settled:
            self._following.settled(key, course)
        elif outcome.made is not None:
            self._following.made(key, outcome.made)
        match outcome.next:
            case Next.BACKOFF:
                self.queue.retry(key, self._following.priority(key))
            case Next.REAL_BACKOFF:
                self.queue.retry_real(key, self._following.priority(key))
            case Next.SOON:
                self._overtaken(key)
            case Next.AFTER:
                self.queue.forget(key)
                self.queue.add_after(key, outcome.seconds, self._following.priority(key))
            case Next.NEVER:
                self.queue.forget(key)

    def _overtaken(self, key: ObjectKey) -> None:
        """Another client's change came with the response to a write; the watch does not report it again."""
        obj = self.informer.cache.get(key)
        if obj is not None:
            self._following.asked(key, news(Managed(obj)))
        self.queue.add_soon(key, self._following.priority(key))

    def _names(self, key: ObjectKey) -> dict[str, str]:
        return {"kind": self.kind.kind, "namespace": key.namespace, "name": key.name}


def _result(outcome: Outcome) -> Result:
    if outcome.failed:
        return Result.ERROR
    match outcome.next:
        case Next.BACKOFF | Next.REAL_BACKOFF | Next.SOON:
            return Result.REQUEUE
        case Next.AFTER:
            return Result.REQUEUE_AFTER
        case Next.NEVER:
            return Result.SUCCESS

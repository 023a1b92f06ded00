"""Runs the reconciler of one kind: informer events and delays in, reconciles out."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from typing import Any

import structlog

from edgetenants_runtime.kube.cache import ChangeType, ObjectChange
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.managed import Managed, ManagedKind, ObjectKey, ProviderConfigKey, key_of
from edgetenants_runtime.providerconfigs import ProviderConfigs
from edgetenants_runtime.queue import Priority, WorkQueue
from edgetenants_runtime.reconciler import Reconciler
from edgetenants_runtime.steps import Next, Outcome

__all__ = ["BY_PROVIDER_CONFIG", "Controller", "by_provider_config"]

_log = structlog.get_logger("edgetenants_runtime.controller")

BY_PROVIDER_CONFIG = "providerConfig"
"""Index of the managed resources by the provider config that they use."""


def by_provider_config(obj: Mapping[str, Any]) -> str:
    """The index's value for a managed resource."""
    return str(Managed(obj).provider_config_ref)


class Controller:
    """Workers that reconcile the managed resources of one kind, each resource in one worker at a time."""

    def __init__(
        self,
        kind: ManagedKind,
        informer: Informer,
        queue: WorkQueue[ObjectKey],
        reconciler: Reconciler,
        *,
        workers: int,
        rng: random.Random,
    ) -> None:
        self.kind = kind
        self.informer = informer
        self.queue = queue
        self._reconciler = reconciler
        self._configs: ProviderConfigs | None = None
        self._rng = rng
        self._stopping = threading.Event()
        self._starter = threading.Thread(
            target=self._start_when_read, name=f"{kind.plural} start", daemon=True
        )
        self._workers = [
            threading.Thread(target=self._work, name=f"{kind.plural} {number}", daemon=True)
            for number in range(workers)
        ]
        informer.add_handler(self.on_change)

    def follow(self, configs: ProviderConfigs) -> None:
        """Requeue resources when the provider config that they use appears, changes or goes."""
        self._configs = configs
        configs.on_change(self.on_config_change)

    def start(self) -> None:
        """Start the workers as soon as all objects have been read once."""
        self._starter.start()

    def stop(self, drain: float) -> bool:
        """Start no more reconciles; wait up to `drain` real seconds for those under way. True: all ended."""
        self._stopping.set()
        return self.queue.shutdown(drain=drain)

    @property
    def alive(self) -> bool:
        """No worker has died."""
        started = [worker for worker in self._workers if worker.ident is not None]
        return self._stopping.is_set() or all(worker.is_alive() for worker in started)

    def enqueue(self, key: ObjectKey, priority: Priority = Priority.HIGH) -> None:
        """Have the resource reconciled: something that it depends on has changed."""
        self.queue.add(key, priority)

    def on_change(self, change: ObjectChange) -> None:
        """Take in a change of a managed resource."""
        if change.new is None:
            self.queue.remove(change.key)
            self._reconciler.forget(Managed(change.old or {}).uid)
        elif change.type is ChangeType.LISTED:
            self.queue.add(change.key, Priority.LOW)
        elif change.old is None or _wants(change.old) != _wants(change.new):
            self.queue.add(change.key, Priority.HIGH)

    def on_config_change(self, config: ProviderConfigKey) -> None:
        """Take in a change of a provider config."""
        for obj in self.informer.cache.by_index(BY_PROVIDER_CONFIG, str(config)):
            self.queue.add(key_of(obj), Priority.LOW)

    def _start_when_read(self) -> None:
        while not self._stopping.is_set():
            read = self.informer.wait_synced(0.2)
            if read and (self._configs is None or self._configs.settled):
                break
            self._stopping.wait(0.05)
        for worker in () if self._stopping.is_set() else self._workers:
            worker.start()

    def _work(self) -> None:
        while (key := self.queue.get()) is not None:
            try:
                self._process(key)
            except Exception:  # noqa: BLE001 - a bug in one reconcile must not end the worker
                _log.exception("reconcile raised, backing off", kind=self.kind.kind, object=str(key))
                self.queue.retry(key)
            finally:
                self.queue.done(key)

    def _process(self, key: ObjectKey) -> None:
        obj = self.informer.cache.get(key)
        if obj is None:
            self.queue.remove(key)
            return
        context = {"kind": self.kind.kind, "name": key.name}
        with structlog.contextvars.bound_contextvars(namespace=key.namespace, **context):
            outcome = self._reconciler.reconcile(Managed(obj))
            _log.debug("reconciled", next=str(outcome.next), seconds=round(outcome.seconds, 1))
        self._schedule(key, outcome)

    def _schedule(self, key: ObjectKey, outcome: Outcome) -> None:
        match outcome.next:
            case Next.BACKOFF:
                self.queue.retry(key)
            case Next.REAL_BACKOFF:
                self.queue.retry_real(key)
            case Next.SOON:
                self.queue.add_after_real(key, self._rng.uniform(0.05, 0.2), Priority.HIGH)
            case Next.AFTER:
                self.queue.forget(key)
                self.queue.add_after(key, outcome.seconds)
            case Next.NEVER:
                self.queue.forget(key)


def _wants(obj: Mapping[str, Any]) -> tuple[Any, ...]:
    # What people ask for. A change of status alone is our own doing, or nobody's business.
    metadata = obj["metadata"]
    names = ("uid", "generation", "deletionTimestamp", "annotations", "labels", "finalizers")
    return tuple(metadata.get(name) for name in names)

"""A managed resource and its environment."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from edgetenants_runtime.clock import rfc3339
from edgetenants_runtime.external import Connector
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.transform import Transform
from edgetenants_runtime.managed import Managed, ManagedKind, key_of
from edgetenants_runtime.reconcile.collaborators import Collaborators, Pace
from edgetenants_runtime.reconcile.connection import ConnectionPublisher
from edgetenants_runtime.reconcile.reconciler import Reconciler
from edgetenants_runtime.reconcile.steps import Outcome
from edgetenants_runtime.reconcile.targets import Targets
from edgetenants_runtime.reconcile.writer import ManagedWriter
from edgetenants_runtime.rules import references
from edgetenants_runtime.testing.external import FakeExternal, FakeRecorder
from edgetenants_runtime.testing.journal import Journal
from edgetenants_runtime.testing.objects import FakeObjects
from edgetenants_runtime.testing.toys import CLUSTER_TOYS, TOYS

__all__ = ["World"]


class World:
    """One managed resource, with Kubernetes, an external system, and a provider to restart."""

    def __init__(
        self, mr: Mapping[str, Any], kind: ManagedKind | None = None, connector: Connector | None = None
    ) -> None:
        """`connector` is that of the provider under test; without one, `external` is the external system."""
        self._log = Journal()
        self._connector = connector
        self.kind = kind or (TOYS if mr["metadata"].get("namespace") else CLUSTER_TOYS)
        self.key = key_of(mr)
        self.objects = FakeObjects(self._log)
        self.objects.put(self.kind, mr)
        self.external = FakeExternal(self._log)
        self.recorder = FakeRecorder(self._log)
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.wrong = timedelta(0)
        """By how much the clock of the process is wrong."""
        self.pace = Pace(jitter=0.0)
        self.held: str | Exception = ""
        """Why deletions are held, or the error that prevents the check."""
        self.leads = True
        """No other process leads."""
        self.restart()

    @property
    def journal(self) -> list[str]:
        """All actions so far."""
        return self._log.entries

    @property
    def mr(self) -> Managed | None:
        """The managed resource as stored; None if it was deleted."""
        stored = self.objects.find(self.kind, self.key)
        return Managed(stored) if stored else None

    def status(self) -> Mapping[str, Any]:
        """Its status as stored."""
        return self.mr.status if self.mr else {}

    def kill_at(self, index: int, when: str) -> None:
        """Die before or after the effect of the entry with that index."""
        self._log.kill = (index, when)

    @property
    def _kept(self) -> Transform:
        return Transform.of(self.kind)

    def restart(self) -> None:
        """Start a new process: everything that was only in memory is lost."""
        self._log.kill = None
        self.reconciler = Reconciler(
            self.kind,
            Collaborators(
                connector=self._connector or self.external,
                writer=ManagedWriter(
                    self.objects,
                    self.kind,
                    Cache(keep=self._kept),
                    now=self.now,
                    pause=lambda _: None,
                    may_act=lambda: self.leads,
                ),
                connections=ConnectionPublisher(self.objects),
                recorder=self.recorder,
                rng=random.Random(1),  # noqa: S311 - a test repeats
                pace=self.pace,
                now=self.now,
                uptime=self.uptime,
                deletion_held=self._deletion_held,
                resolve=lambda mr: references.resolve(mr, self.kind.references, Targets(self.objects)),
            ),
        )

    def delete(self) -> None:
        """A user deletes the resource: it is removed when its finalizers are."""
        stored = self.objects.find(self.kind, self.key)
        if stored is not None:
            stored["metadata"]["deletionTimestamp"] = rfc3339(self.time)
            self.objects.put(self.kind, stored)

    def reconcile(self) -> Outcome | None:
        """Reconcile once, from the stored version; None if the resource was deleted."""
        mr = self.mr
        return self.reconciler.reconcile(Managed(self._kept(mr.raw))) if mr else None

    def settle(self, times: int = 10) -> None:
        """Reconcile until a reconcile writes nothing and changes nothing externally, at most that often."""
        for _ in range(times):
            before = len(self.journal)
            self.reconcile()
            if not [e for e in self.journal[before:] if not e.startswith(("external observe", "event"))]:
                return
        raise AssertionError(f"not settled after {times} reconciles: {self.journal}")

    def now(self) -> datetime:
        """The current time as the process sees it; each call advances it by a millisecond."""
        self.time += timedelta(milliseconds=1)
        return self.time + self.wrong

    def uptime(self) -> float:
        """Seconds that no step of the clock changes."""
        return self.time.timestamp()

    def _deletion_held(self, mr: Managed) -> str:
        del mr
        if isinstance(self.held, Exception):
            raise self.held
        return self.held

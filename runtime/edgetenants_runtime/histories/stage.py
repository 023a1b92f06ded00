"""Plays a history: one provider process, which can be restarted, its API server and its external system."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from edgetenants_runtime.histories.actions import (
    Action,
    At,
    Reconcile,
    Restart,
    Setting,
    Settle,
    Wait,
    script,
)
from edgetenants_runtime.histories.calls import Calls, Client
from edgetenants_runtime.histories.laws import FOREIGN, Broken, Laws, final_fault, managed_by
from edgetenants_runtime.histories.outside import Outside
from edgetenants_runtime.histories.people import People
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.kube.transform import Transform
from edgetenants_runtime.managed import Managed, ObjectKey, ResourceKind
from edgetenants_runtime.reconcile.collaborators import Collaborators, Pace
from edgetenants_runtime.reconcile.connection import ConnectionPublisher
from edgetenants_runtime.reconcile.reconciler import Reconciler
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.reconcile.writer import ManagedWriter
from edgetenants_runtime.rules.events import EventReason, EventType
from edgetenants_runtime.testing import CLUSTER_TOYS, TOYS, FakeObjects, Journal, Killed

__all__ = ["MANAGED", "Stage", "play"]

MANAGED = ("a", "b")
"""Names of the managed resources in a history."""

_CALM = timedelta(seconds=45)
"""A managed resource has settled after this time without a write and two reconciles. Longer than the longest
delay until an external resource is visible."""
_CALL_LASTS = timedelta(seconds=120)
"""Time after which an interrupted call can no longer take effect, so that a user can check its result."""
_PATIENCE = 60
"""The maximum number of reconciles per managed resource until all have settled."""


def play(setting: Setting, *history: Action) -> Stage:
    """Play the history, end all failures, and check that the desired state is reached.

    Raises Broken, with the script of the history and all actions.
    """
    stage = Stage(setting)
    try:
        for action in history:
            stage.act(action)
        stage.come_to_rest()
        stage.rest()
    except Broken as broken:
        done = "\n    ".join(stage.told)
        raise Broken(f"{broken}\n\n{script(setting, history)}\n\nwhat was done:\n    {done}") from None
    return stage


class Stage:
    """The state of a history while it is played."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        kind = CLUSTER_TOYS if setting.cluster else TOYS
        self.kind = replace(kind, deterministic_name=not setting.generated)
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self._handed = ""
        self._calls = Calls(self.act, self._touch)
        self.server = FakeObjects(Journal())
        self.server.put(SECRETS, FOREIGN)
        self.laws = Laws(setting, self.kind, self.server)
        self.outside = Outside(setting, self._calls, self.now, self.laws.judge)
        self._people = People(self.kind, self.server, self.outside, self.laws, self.now)
        self._client = Client(self.server, self._calls, self._written)
        self._versions: dict[str, list[Mapping[str, Any]]] = {}
        self._restart()

    @property
    def told(self) -> list[str]:
        """All actions, one per line."""
        return self._calls.told

    def now(self) -> datetime:
        """The current time; each call advances it by a millisecond."""
        self.time += timedelta(milliseconds=1)
        return self.time

    def find(self, mr: str) -> Managed | None:
        """The managed resource as stored."""
        stored = self.server.find(self.kind, self._key(mr))
        return Managed(stored) if stored else None

    def act(self, action: Action) -> None:
        """Perform the action. Raises Broken."""
        match action:
            case Reconcile():
                self._asked(action)
            case Restart():
                self._restart()
            case Wait(seconds):
                self.time += timedelta(seconds=seconds)
            case _:
                if isinstance(action, Settle):
                    self.time += _CALL_LASTS
                self.told.append(f"# {action}")
                self._people.act(action)

    def come_to_rest(self) -> None:
        """After all failures: reconcile on the runtime's own schedule until nothing changes, then check that
        the desired state is reached. Raises Broken."""
        self._run_until_quiet()
        for mr in MANAGED:
            # An interrupted creation of a generated name waits for a user, and reports that.
            self.act(Settle(mr))
        self._run_until_quiet()
        for stored in filter(None, map(self.find, MANAGED)):
            mine = managed_by(self.outside, stored, generated=self._setting.generated)
            fault = final_fault(stored, mine, refused=self._refused(stored))
            if fault:
                raise Broken(f"{stored.name}: {fault}")

    def rest(self) -> None:
        """Nothing is written in the steady state, nor after a restart. Raises Broken."""
        for restart in (False, True):
            if restart:
                self._restart()
            before = self._calls.writes
            for _, mr in itertools.product(range(3), MANAGED):
                self.time += timedelta(seconds=60)
                self._reconcile(mr)
            if self._calls.writes != before:
                raise Broken(f"writes in the steady state{' after a restart' if restart else ''}")

    # The process.

    def _restart(self) -> None:
        self.told.append("# the process starts")
        self._cache = Cache(keep=Transform.of(self.kind))
        self._due: dict[str, datetime] = {}
        self._failures: dict[str, int] = {}
        writer = ManagedWriter(self._client, self.kind, self._cache, now=self.now, pause=lambda _: None)
        self._reconciler = Reconciler(
            self.kind,
            Collaborators(
                connector=self.outside,
                writer=writer,
                connections=ConnectionPublisher(self._client),
                recorder=_Silence(),
                rng=random.Random(1),  # noqa: S311 - a history repeats
                pace=Pace(jitter=0.0),
                now=self.now,
                uptime=lambda: self.time.timestamp(),  # noqa: PLW0108 - the time is another object each time
            ),
        )
        for mr in MANAGED:
            self._watch(mr)

    def _watch(self, mr: str) -> None:
        """The watch delivers the managed resource."""
        key = self._key(mr)
        cached, stored = self._cache.get(key), self.server.find(self.kind, key)
        if stored is not None:
            for change in self._cache.changed(stored):
                if change.new is None:
                    self._reconciler.forget(Managed(change.old or {}).uid)
                elif change.old is None or Managed(change.old).asked_for != Managed(stored).asked_for:
                    self._due[mr] = self.time
        elif cached is not None and self._cache.deleted(cached):
            self._reconciler.forget(Managed(cached).uid)
            self._due.pop(mr, None)

    def _asked(self, action: Reconcile) -> None:
        if not action.stale:
            self._watch(action.mr)
        self._reconcile(action.mr, action.at, behind=action.behind)

    def _reconcile(self, mr: str, at: tuple[At, ...] = (), *, behind: int = 0) -> None:
        cached = self._cache.get(self._key(mr))
        if cached is None:
            self._due.pop(mr, None)
            return
        handed = self._older(Managed(cached), behind)
        self.told.append(f"# {Reconcile(mr)}: version {handed.resource_version}")
        self._handed = mr
        self.laws.begin(handed)
        self._calls.begin(at)
        try:
            self._plan(mr, self._reconciler.reconcile(handed))
        except Killed:
            self._restart()
        self._calls.begin(())
        self.laws.never_two(self.outside, handed.uid)
        self.laws.foreign_secret()
        if self.laws.broken:
            raise Broken("; ".join(self.laws.broken))

    def _older(self, cached: Managed, behind: int) -> Managed:
        versions = self._versions.setdefault(cached.uid, [])
        if not versions or versions[-1] != cached.raw:
            versions.append(cached.raw)
        older = Managed(versions[max(0, len(versions) - 1 - behind)])
        # A deletion is always seen: it requeues the resource, and the queue drops earlier entries.
        stored = self.find(cached.name)
        known = stored is not None and stored.uid == older.uid and stored.deleted == older.deleted
        return older if known else cached

    def _plan(self, mr: str, outcome: Outcome) -> None:
        self._due.pop(mr, None)
        match outcome.next:
            case Next.NEVER:
                self._failures.pop(mr, None)
            case Next.AFTER:
                self._failures.pop(mr, None)
                self._due[mr] = self.time + timedelta(seconds=outcome.seconds)
            case Next.SOON:
                self._due[mr] = self.time + timedelta(seconds=0.1)
            case _:
                failures = self._failures[mr] = self._failures.get(mr, 0) + 1
                self._due[mr] = self.time + timedelta(seconds=min(60, 2.0**failures / 2))

    def _run_until_quiet(self) -> None:
        looks, moved = dict.fromkeys(MANAGED, 0), dict.fromkeys(MANAGED, self.time)
        for _ in range(_PATIENCE * len(MANAGED)):
            for mr in MANAGED:
                self._people.collect(mr)
                self._watch(mr)
            waiting = [mr for mr in self._due if looks[mr] < 2 or self.time < moved[mr] + _CALM]
            if not waiting:
                return
            mr = min(waiting, key=lambda name: self._due[name])
            self.time = max(self.time, self._due[mr])
            before = self._calls.writes
            self._reconcile(mr)
            looks[mr] += 1
            if self._calls.writes != before:
                looks[mr], moved[mr] = 0, self.time
        raise Broken("it does not settle")

    # The API server.

    def _key(self, mr: str) -> ObjectKey:
        return ObjectKey("shop" if self.kind.namespaced else "", mr)

    def _written(
        self, kind: ResourceKind, before: Mapping[str, Any] | None, after: Mapping[str, Any], subresource: str
    ) -> None:
        del subresource
        self.laws.written(self.outside, kind, before, after)

    def _touch(self) -> None:
        if self.find(self._handed) is not None:
            self.server.touch(self.kind, self._key(self._handed))

    def _refused(self, mr: Managed) -> bool:
        return self._people.asks_the_impossible(mr)


class _Silence:
    """Discards events."""

    def event(self, mr: Managed, type_: EventType, reason: EventReason, message: str) -> None:
        """As `Recorder.event`."""
        del mr, type_, reason, message

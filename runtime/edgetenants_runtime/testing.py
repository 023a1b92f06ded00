"""Fakes for tests of providers and of this runtime: stateful, with one journal of all that was done.

    world = World(toy())
    world.reconcile()
    assert world.journal == ["external observe acme", ...]

A journal is compared whole: a write that is missing fails a test like one that is wrong.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from edgetenants_runtime import references
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.conditions import available
from edgetenants_runtime.clock import rfc3339
from edgetenants_runtime.collaborators import Collaborators, Pace
from edgetenants_runtime.connection import ConnectionPublisher
from edgetenants_runtime.events import EventReason, EventType
from edgetenants_runtime.external import Change, Connector, Observation
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.errors import AlreadyExists, Conflict, Invalid, KubeError, NotFound, Operation
from edgetenants_runtime.managed import Managed, ManagedKind, ObjectKey, ResourceKind, key_of
from edgetenants_runtime.reconciler import Reconciler
from edgetenants_runtime.steps import Outcome
from edgetenants_runtime.targets import Targets
from edgetenants_runtime.writer import ManagedWriter

__all__ = [
    "CLUSTER_TOYS",
    "TOYS",
    "FakeExternal",
    "FakeObjects",
    "FakeRecorder",
    "Journal",
    "Killed",
    "World",
    "toy",
]

TOYS = ManagedKind(
    "toys.m.example.org", "v1alpha1", "Toy", "toys", namespaced=True, late_initialized=("colour",)
)
CLUSTER_TOYS = ManagedKind(
    "toys.example.org", "v1alpha1", "Toy", "toys", namespaced=False, late_initialized=("colour",)
)

T = TypeVar("T")


class Killed(BaseException):
    """The process dies here. Not an Exception: no handler of the code under test may catch it."""


@dataclass
class Journal:
    """What was done, in order. `kill` = (index, "before" or "after") dies around that entry's effect."""

    entries: list[str] = field(default_factory=list)
    kill: tuple[int, str] | None = None

    def act(self, entry: str, effect: Callable[[], T]) -> T:
        """Note the entry and have the effect, unless the process dies before, between or after."""
        index = len(self.entries)
        if self.kill == (index, "before"):
            raise Killed(entry)
        self.entries.append(entry)
        result = effect()
        if self.kill == (index, "after"):
            raise Killed(entry)
        return result


def toy(*, cluster: bool = False, deleted: bool = False, **changes: Any) -> dict[str, Any]:
    """A managed resource as applied; `changes` are annotations, finalizers, status and fields of spec."""
    metadata: dict[str, Any] = {"name": "acme", "uid": "uid-acme", "generation": 1, "resourceVersion": "1"}
    if not cluster:
        metadata["namespace"] = "shop"
    metadata |= {name: changes.pop(name) for name in ("annotations", "finalizers") if name in changes}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        metadata.setdefault("finalizers", [names.FINALIZER])
    kind = CLUSTER_TOYS if cluster else TOYS
    obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    if "status" in changes:
        obj["status"] = changes.pop("status")
    return obj | {"spec": {"forProvider": {"size": 1}} | changes}


class FakeObjects:
    """An API server in memory: resource versions, generations, merge patches, finalizers. Notes writes."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._objects: dict[tuple[str, ObjectKey], dict[str, Any]] = {}
        self._version = 100
        self.failing: dict[str, list[KubeError]] = {}
        """Errors to raise instead of the next writes whose entry starts with the key."""

    def put(self, kind: ResourceKind, obj: Mapping[str, Any]) -> None:
        """Have the object exist, without an entry."""
        stored = copy.deepcopy(dict(obj))
        stored["metadata"].setdefault("uid", f"uid-{key_of(obj)}")
        self._objects[kind.resource, key_of(obj)] = stored

    def find(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any] | None:
        """A copy of the object, None when there is none."""
        return copy.deepcopy(self._objects.get((kind.resource, key)))

    def touch(self, kind: ResourceKind, key: ObjectKey) -> None:
        """Somebody else writes to the object."""
        self._stamp(self._objects[kind.resource, key])

    def get(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any]:
        """As `Objects.get`."""
        found = self.find(kind, key)
        if found is None:
            raise NotFound(Operation("get", kind, name=key.name, namespace=key.namespace), 404, "not found")
        return found

    def select(self, kind: ResourceKind, namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """As `targets.Reader.select`."""
        found = [
            obj
            for (resource, key), obj in self._objects.items()
            if resource == kind.resource and namespace in ("", key.namespace)
        ]
        known = [obj for obj in found if labels.items() <= (obj["metadata"].get("labels") or {}).items()]
        return copy.deepcopy(known)

    def create(self, kind: ResourceKind, obj: Mapping[str, Any]) -> dict[str, Any]:
        """As `Objects.create`."""
        key = key_of(obj)
        operation = Operation("create", kind, name=key.name, namespace=key.namespace)
        return self._journal.act(f"create {kind.kind} {key}", lambda: self._create(operation, key, obj))

    def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        """As `Objects.patch`."""
        operation = Operation("patch", kind, subresource, key.name, key.namespace)
        stored = self._objects.get((kind.resource, key))
        entry = _describe(kind, key, stored or {}, patch)
        return self._journal.act(entry, lambda: self._patch(operation, key, patch, entry))

    def _create(self, operation: Operation, key: ObjectKey, obj: Mapping[str, Any]) -> dict[str, Any]:
        if (operation.kind.resource, key) in self._objects:
            raise AlreadyExists(operation, 409, "already exists")
        stored = copy.deepcopy(dict(obj))
        stored["metadata"].setdefault("uid", f"uid-{key}")
        self._stamp(stored)
        self._objects[operation.kind.resource, key] = stored
        return copy.deepcopy(stored)

    def _patch(
        self, operation: Operation, key: ObjectKey, patch: Mapping[str, Any], entry: str
    ) -> dict[str, Any]:
        self._fail_as_told(entry)
        stored = self._objects.get((operation.kind.resource, key))
        if stored is None:
            raise NotFound(operation, 404, "not found")
        metadata = patch.get("metadata") or {}
        if metadata.get("uid", stored["metadata"]["uid"]) != stored["metadata"]["uid"]:
            raise Invalid(operation, 422, "metadata.uid: Invalid value: field is immutable")
        version = stored["metadata"].get("resourceVersion")
        if metadata.get("resourceVersion", version) != version:
            raise Conflict(operation, 409, "the object has been modified")
        return self._apply(operation, key, stored, patch)

    def _apply(
        self, operation: Operation, key: ObjectKey, stored: dict[str, Any], patch: Mapping[str, Any]
    ) -> dict[str, Any]:
        new = _merged(stored, patch)
        if new != stored:
            new["metadata"]["generation"] = stored["metadata"].get("generation", 1) + (
                new.get("spec") != stored.get("spec")
            )
            self._stamp(new)
        self._objects[operation.kind.resource, key] = new
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            del self._objects[operation.kind.resource, key]
        return copy.deepcopy(new)

    def _fail_as_told(self, entry: str) -> None:
        for prefix, errors in self.failing.items():
            if entry.startswith(prefix) and errors:
                raise errors.pop(0)

    def _stamp(self, obj: dict[str, Any]) -> None:
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)


class FakeExternal:
    """An outside world of toys by external name, and the connector to it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.toys: dict[str, int] = {}
        self.created = 0
        self.refusing: dict[str, list[Exception]] = {}
        """Exceptions for the next calls of connect, observe, create, update or delete."""
        self.observation = Observation(exists=True, conditions=(available(),))
        """What is seen of a toy that exists; exists and up_to_date are filled in."""
        self.change = Change()
        """What create, update and delete answer."""

    def connect(self, mr: Managed) -> FakeExternal:
        """As `Connector.connect`."""
        del mr
        self._refuse_as_told("connect")
        return self

    def observe(self, mr: Managed) -> Observation:
        """As `ExternalClient.observe`."""
        self._call("observe", mr, lambda: None)
        name = mr.external_name or ""
        if name not in self.toys:
            return Observation(exists=False)
        return replace(self.observation, up_to_date=self.toys[name] == mr.for_provider.get("size"))

    def create(self, mr: Managed, seen: Observation) -> Change:
        """As `ExternalClient.create`."""
        del seen
        self._call("create", mr, lambda: self._make(mr))
        return self.change

    def update(self, mr: Managed, seen: Observation) -> Change:
        """As `ExternalClient.update`."""
        del seen
        self._call("update", mr, lambda: self.toys.update({mr.external_name or "": mr.for_provider["size"]}))
        return self.change

    def delete(self, mr: Managed, seen: Observation) -> Change:
        """As `ExternalClient.delete`."""
        del seen
        self._call("delete", mr, lambda: self.toys.pop(mr.external_name or "", None))
        return self.change

    def _make(self, mr: Managed) -> None:
        name = self.change.external_name or mr.external_name or ""
        if name not in self.toys:
            self.created += 1
        self.toys[name] = mr.for_provider["size"]

    def _call(self, method: str, mr: Managed, effect: Callable[[], object]) -> None:
        def act() -> None:
            self._refuse_as_told(method)
            effect()

        self._journal.act(f"external {method} {mr.external_name}", act)

    def _refuse_as_told(self, method: str) -> None:
        refusals = self.refusing.get(method)
        if refusals:
            raise refusals.pop(0)


class FakeRecorder:
    """Notes events in the journal; their messages in `messages`."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.messages: list[str] = []

    def event(self, mr: Managed, type_: EventType, reason: EventReason, message: str) -> None:
        """As `Recorder.event`."""
        del mr
        self._journal.act(f"event {type_} {reason}", lambda: self.messages.append(message))


class World:
    """One managed resource, Kubernetes and the outside world around it, and a provider to restart."""

    def __init__(
        self, mr: Mapping[str, Any], kind: ManagedKind | None = None, connector: Connector | None = None
    ) -> None:
        """`connector` is that of the provider under test; without one, `external` is the outside world."""
        self._log = Journal()
        self._connector = connector
        self.kind = kind or (TOYS if mr["metadata"].get("namespace") else CLUSTER_TOYS)
        self.key = key_of(mr)
        self.objects = FakeObjects(self._log)
        self.objects.put(self.kind, mr)
        self.external = FakeExternal(self._log)
        self.recorder = FakeRecorder(self._log)
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.restart()

    @property
    def journal(self) -> list[str]:
        """What was done so far."""
        return self._log.entries

    @property
    def mr(self) -> Managed | None:
        """The managed resource as stored, None when it is gone."""
        stored = self.objects.find(self.kind, self.key)
        return Managed(stored) if stored else None

    def status(self) -> Mapping[str, Any]:
        """Its status as stored."""
        return self.mr.status if self.mr else {}

    def kill_at(self, index: int, when: str) -> None:
        """Die before or after the effect of the entry with that index."""
        self._log.kill = (index, when)

    def restart(self) -> None:
        """A new process: everything that was only in memory is forgotten."""
        self._log.kill = None
        self.reconciler = Reconciler(
            self.kind,
            Collaborators(
                connector=self._connector or self.external,
                writer=ManagedWriter(self.objects, self.kind, Cache(), now=self.now, pause=lambda _: None),
                connections=ConnectionPublisher(self.objects),
                recorder=self.recorder,
                rng=random.Random(1),  # noqa: S311 - a test repeats
                pace=Pace(jitter=0.0),
                now=self.now,
                resolve=lambda mr: references.resolve(mr, self.kind.references, Targets(self.objects)),
            ),
        )

    def delete(self) -> None:
        """Somebody deletes the resource: it goes when its finalizers are gone."""
        stored = self.objects.find(self.kind, self.key)
        if stored is not None:
            stored["metadata"]["deletionTimestamp"] = rfc3339(self.time)
            self.objects.put(self.kind, stored)

    def reconcile(self) -> Outcome | None:
        """Reconcile once, from what is stored; None when the resource is gone."""
        mr = self.mr
        return self.reconciler.reconcile(mr) if mr else None

    def settle(self, times: int = 10) -> None:
        """Reconcile until one writes nothing and changes nothing outside, at most that often."""
        for _ in range(times):
            before = len(self.journal)
            self.reconcile()
            if not [e for e in self.journal[before:] if not e.startswith(("external observe", "event"))]:
                return
        raise AssertionError(f"not settled after {times} reconciles: {self.journal}")

    def now(self) -> datetime:
        """The time of day; a millisecond later at every reading."""
        self.time += timedelta(milliseconds=1)
        return self.time


def _merged(stored: Any, patch: Any) -> Any:
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    merged = dict(stored) if isinstance(stored, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged


def _describe(kind: ResourceKind, key: ObjectKey, stored: Mapping[str, Any], patch: Mapping[str, Any]) -> str:
    if not kind.kind.endswith("Toy"):
        return f"patch {kind.kind} {key}"
    if "status" in patch:
        return " ".join(("status", *_said(stored.get("status") or {}, patch["status"])))
    metadata = patch["metadata"]
    blocks = patch.get("spec") or {}
    fields = [name for block in blocks.values() for name in sorted(block)]
    if blocks and metadata.keys() <= {"resourceVersion"}:
        return " ".join(("spec", *fields))
    words = [name.removeprefix("crossplane.io/") for name in metadata.get("annotations") or ()]
    if "finalizers" in metadata:
        words.insert(0, "+finalizer" if names.FINALIZER in metadata["finalizers"] else "-finalizer")
    return " ".join(("metadata", *words, *(("spec", *fields) if fields else ())))


def _said(stored: Mapping[str, Any], patch: Mapping[str, Any]) -> list[str]:
    before = stored.get("conditions") or []
    conditions = [c for c in patch.get("conditions") or () if c not in before]
    others = sorted(name for name in patch if name not in ("conditions", "observedGeneration"))
    return [f"{c['type']}={c['status']}/{c['reason']}" for c in conditions] + others

"""A TenantSource over an API server in memory that knows server-side apply, a table, and a clock."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from prometheus_client import CollectorRegistry

from apis import kinds
from edgetenants_runtime.clock import FakeClock, rfc3339
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.errors import Conflict, KubeError, NotFound, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.kube.transform import Transform
from edgetenants_runtime.managed import Managed, ObjectKey, ResourceKind
from edgetenants_runtime.reconcile.steps import Outcome
from edgetenants_runtime.reconcile.writer import ManagedWriter
from edgetenants_runtime.testing.journal import Journal
from edgetenants_runtime.testing.objects import FakeObjects
from sources.metrics import SourceMetrics
from sources.objects import ANNOTATIONS, BY_OWNER, CONFIRM, OWNER, by_owner
from sources.reconciler import Parts, SourceReconciler
from sources.records import Records, record_name
from sources.stores.store import Row, StoreError, StoreReason
from sources.writing import resource_kind

CLAIMS = resource_kind(kinds.TENANT_CLAIM)
TENANTS = resource_kind(kinds.DISTRIBUTION_TENANT)
SOURCES = resource_kind(kinds.TENANT_SOURCE)
NAMESPACE = "shop"
OWN_NAMESPACE = "crossplane-system"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ObjectKey(NAMESPACE, "customers")
SPEC: dict[str, Any] = {
    "source": {"configMap": {"name": "customers", "key": "rows", "format": "csv"}},
    "key": "id",
    "template": {"name": "{id}", "spec": {"domains": ["{domain}"]}},
    "pollInterval": "1m",
    "maxNew": 10_000,
}


class Killed(BaseException):
    """The process ends before or after a write."""


def row(key: Any, domain: str | None = None, **columns: Any) -> Row:
    return Row({"id": key, "domain": domain or f"{key}.example.com", **columns})


class Server(FakeObjects):
    """Applies and deletes too."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.journal = Journal()
        super().__init__(self.journal)
        self._now = now
        self._uids = 0
        self._fields: dict[tuple[str, ObjectKey], dict[str, dict[tuple[str, ...], Any]]] = {}
        self.writes: list[tuple[str, str]] = []
        self.die_at: int | None = None
        self.answers: dict[str, KubeError] = {}
        """What the server answers to a write of the object of that name."""
        self.refused: KubeError | None = None
        """What it answers to reads of ConfigMaps."""
        self.unanswered = 0
        """Writes of ConfigMaps that succeed, and whose answer is lost."""

    def get(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any]:
        if self.refused is not None and kind == CONFIG_MAPS:
            raise self.refused
        return super().get(kind, key)

    def create(self, kind: ResourceKind, obj: Mapping[str, Any]) -> dict[str, Any]:
        self._count("create", obj["metadata"]["name"])
        return super().create(kind, obj)

    def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        if kind != CONFIG_MAPS:
            return super().patch(kind, key, patch, subresource=subresource)
        self._count("patch", key.name)
        stored = super().patch(kind, key, patch)
        if self.unanswered:
            self.unanswered -= 1
            raise KubeError(Operation("patch", kind, "", key.name, key.namespace), 0, "no answer")
        return stored

    def apply(
        self,
        kind: ResourceKind,
        key: ObjectKey,
        fields: Mapping[str, Any],
        *,
        manager: str,
        force: bool = False,
    ) -> dict[str, Any]:
        operation = Operation("patch", kind, "", key.name, key.namespace)
        self._count("apply", key.name)
        self.writes.append(("apply", key.name))
        if key.name in self.answers:
            raise self.answers[key.name]
        stored = self._objects.get((kind.resource, key))
        metadata = {
            name: value
            for name, value in fields["metadata"].items()
            if name not in ("uid", "resourceVersion")
        }
        uid = fields["metadata"].get("uid")
        if uid is not None and (stored is None or stored["metadata"]["uid"] != uid):
            raise Conflict(operation, 409, "Precondition failed: UID in precondition")
        version = fields["metadata"].get("resourceVersion")
        if version is not None and (stored is None or stored["metadata"]["resourceVersion"] != version):
            raise Conflict(operation, 409, "the object has been modified")
        wanted = _leaves({"metadata": metadata, "spec": fields.get("spec", {})})
        owners = self._fields.setdefault((kind.resource, key), {}) if stored else {}
        self._check_conflicts(operation, owners, wanted, manager, force=force)
        new = copy.deepcopy(stored) if stored else self._new(kind, key)
        before = copy.deepcopy(new)
        for path in set(owners.get(manager, {})) - set(wanted):
            if not any(path in other for name, other in owners.items() if name != manager):
                _remove(new, path)
        for path, value in wanted.items():
            _set(new, path, value)
        owners[manager] = dict(wanted)
        if stored is None or new != before:
            changed = stored is not None and new.get("spec") != before.get("spec")
            new["metadata"]["generation"] = new["metadata"].get("generation", 1) + changed
            self._stamp(new)
        self._fields[kind.resource, key] = owners
        self._objects[kind.resource, key] = new
        return copy.deepcopy(new)

    def delete(self, kind: ResourceKind, key: ObjectKey, *, uid: str, resource_version: str) -> None:
        operation = Operation("delete", kind, "", key.name, key.namespace)
        self._count("delete", key.name)
        if key.name in self.answers:
            raise self.answers[key.name]
        stored = self._objects.get((kind.resource, key))
        if stored is None:
            raise NotFound(operation, 404, "not found")
        if (stored["metadata"]["uid"], stored["metadata"]["resourceVersion"]) != (uid, resource_version):
            raise Conflict(operation, 409, "the object has been modified")
        del self._objects[kind.resource, key]
        self._fields.pop((kind.resource, key), None)
        self.writes.append(("delete", key.name))

    def edit(self, name: str, spec: Mapping[str, Any], manager: str = "kubectl-edit") -> None:
        """Someone else sets fields of a claim, and takes them."""
        key = ObjectKey(NAMESPACE, name)
        stored = self._objects[CLAIMS.resource, key]
        stored["spec"] = {**stored["spec"], **spec}
        stored["metadata"]["generation"] += 1
        leaves = _leaves({"spec": dict(spec)})
        owners = self._fields.setdefault((CLAIMS.resource, key), {})
        for other in owners.values():
            for path in leaves:
                other.pop(path, None)
        owners[manager] = leaves
        self._stamp(stored)

    def all(self, kind: ResourceKind) -> list[dict[str, Any]]:
        return [
            copy.deepcopy(obj) for (resource, _), obj in self._objects.items() if resource == kind.resource
        ]

    def _count(self, verb: str, name: str) -> None:
        if self.die_at is not None:
            self.die_at -= 1
            if self.die_at < 0:
                raise Killed(f"{verb} {name}")

    def _new(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any]:
        self._uids += 1
        metadata = {
            "name": key.name,
            "namespace": key.namespace,
            "uid": f"uid-{self._uids}",
            "generation": 1,
            "creationTimestamp": rfc3339(self._now()),
        }
        return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": {}}

    def _check_conflicts(
        self, operation: Operation, owners: Any, wanted: Any, manager: str, *, force: bool
    ) -> None:
        for name, theirs in owners.items():
            both = [path for path in theirs if path in wanted and theirs[path] != wanted[path]]
            if name == manager or not both:
                continue
            if not force:
                field = "." + ".".join(both[0])
                message = f'Apply failed with 1 conflict: conflict with "{name}" using v1: {field}'
                raise Conflict(operation, 409, message)
            for path in both:
                del theirs[path]


def _leaves(node: Any, at: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if not isinstance(node, Mapping):
        return {at: copy.deepcopy(node)}
    found: dict[tuple[str, ...], Any] = {}
    for key, value in node.items():
        found |= _leaves(value, (*at, key))
    return found


def _set(obj: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for key in path[:-1]:
        obj = obj.setdefault(key, {})
    obj[path[-1]] = copy.deepcopy(value)


def _remove(obj: dict[str, Any], path: tuple[str, ...]) -> None:
    for key in path[:-1]:
        obj = obj.get(key, {})
    obj.pop(path[-1], None)


class StandIn:
    """An informer whose watch brings what happened when it is asked to."""

    synced = served = True
    forbidden = False
    problem = ""

    def __init__(self, server: Server, kind: ResourceKind, annotations: Mapping[str, int]) -> None:
        self.kind, self._server = kind, server
        self.cache = Cache({BY_OWNER: by_owner}, Transform(annotations, first=(OWNER,)))

    def sync(self) -> None:
        self.cache.restored([self.cache.kept(obj) for obj in self._server.all(self.kind)])


@dataclass
class FakeStore:
    """A table. `fails_at`: the number of rows after which a read fails; `takes`: seconds of a read."""

    rows: list[Row] = field(default_factory=list)
    fails_at: int | None = None
    takes: float = 0.0
    pass_time: Callable[[float], None] = lambda _: None
    reads: int = 0
    error: Exception = field(default_factory=lambda: StoreError(StoreReason.UNREACHABLE, "no answer"))

    @contextmanager
    def read(self) -> Iterator[Iterator[Row]]:
        self.reads += 1
        yield self._rows()

    def _rows(self) -> Iterator[Row]:
        self.pass_time(self.takes)
        for number, each in enumerate(self.rows):
            if number == self.fails_at:
                raise self.error
            yield each
        if self.fails_at is not None and self.fails_at >= len(self.rows):
            raise self.error

    def close(self) -> None:
        pass


class Scene:
    """One TenantSource, its table and its objects."""

    def __init__(self, *rows: Row, **spec: Any) -> None:
        self.clock = FakeClock()
        self.server = Server(self.now)
        self.store = FakeStore(list(rows), pass_time=self.clock.advance)
        self.put_source(**spec)
        self.leaving = False
        self.removes = self.acts = True
        self.config_maps = CONFIG_MAPS
        self.restart()

    def now(self) -> datetime:
        return BEGIN + timedelta(seconds=self.clock.now())

    def put_source(self, **spec: Any) -> None:
        old = self.server.find(SOURCES, KEY)
        metadata = {
            "name": KEY.name,
            "namespace": KEY.namespace,
            "uid": "uid-source",
            "generation": (old["metadata"]["generation"] + 1) if old else 1,
            "annotations": (old or {"metadata": {}})["metadata"].get("annotations") or {},
        }
        obj = {"apiVersion": SOURCES.api_version, "kind": SOURCES.kind, "metadata": metadata}
        self.server.put(SOURCES, {**obj, "spec": {**SPEC, **spec}, "status": (old or {}).get("status") or {}})
        self.server.touch(SOURCES, KEY)

    def restart(self) -> None:
        """Another process: what was only in memory is forgotten."""
        self.server.die_at = None
        self.informers = {kind.kind: StandIn(self.server, kind, ANNOTATIONS) for kind in (CLAIMS, TENANTS)}
        self.sources = StandIn(self.server, SOURCES, {CONFIRM: 100})
        informers: Any = self.informers
        self.reconciler = SourceReconciler(
            Parts(
                objects=self.server,
                writer=ManagedWriter(self.server, SOURCES, self.sources.cache, now=self.now),
                seen=self.sources.cache.get,
                informers=informers,
                open_store=lambda _namespace, _choice: self.store,
                clock=self.clock,
                now=self.now,
                may_act=lambda: self.acts,
                removes=self.removes,
                kind_leaves=lambda: self.leaving,
                metrics=SourceMetrics(CollectorRegistry(), self.clock.now),
                records=Records(
                    self.server, OWN_NAMESPACE, lambda key: self.sources.cache.get(key) is not None
                ),
            )
        )

    def look(self, seconds: float = 60.0) -> Outcome | None:
        """Let time pass, and reconcile once."""
        self.clock.advance(seconds)
        return self.reconcile()

    def reconcile(self) -> Outcome | None:
        for informer in (*self.informers.values(), self.sources):
            informer.sync()
        found = self.sources.cache.get(KEY)
        return self.reconciler.reconcile(Managed(found)) if found else None

    def take_journal(self) -> list[str]:
        made = [entry for entry in self.server.journal.entries if "ConfigMap" in entry]
        self.server.journal.entries.clear()
        return made

    def put_record(self, obj: dict[str, Any], *, name: str | None = "", of: str = "") -> None:
        """Someone else writes a record: by default that of the TenantSource; `name` None: the one that a
        TenantSource `of` would have."""
        new = copy.deepcopy(obj)
        if name != "":
            namespace, _, source = of.partition("/")
            new["metadata"]["name"] = name or record_name(ObjectKey(namespace, source))
            new["metadata"]["annotations"] = {"edgetenants.io/source-record-of": of}
            del new["metadata"]["uid"]
        self.server.put(CONFIG_MAPS, new)
        self.server.touch(CONFIG_MAPS, ObjectKey(OWN_NAMESPACE, new["metadata"]["name"]))

    def drop_record(self) -> None:
        key = ObjectKey(OWN_NAMESPACE, record_name(KEY))
        metadata = self.server.get(CONFIG_MAPS, key)["metadata"]
        self.server.delete(
            CONFIG_MAPS, key, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
        )
        self.take_writes()

    def delete_source(self) -> None:
        stored = self.server.find(SOURCES, KEY) or {}
        stored["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        self.server.put(SOURCES, stored)

    def recreate_source(self) -> None:
        stored = self.server.find(SOURCES, KEY) or {}
        stored["metadata"]["uid"] = "another"
        self.server.put(SOURCES, stored)

    def annotate(self, **annotations: str) -> None:
        names = {name.replace("_", "-"): value for name, value in annotations.items()}
        body = {"metadata": {"annotations": {f"edgetenants.io/{name}": v for name, v in names.items()}}}
        self.server.patch(SOURCES, KEY, body)

    @property
    def status(self) -> dict[str, Any]:
        return (self.server.find(SOURCES, KEY) or {}).get("status") or {}

    def reason(self, type_: str) -> str:
        return next((c["reason"] for c in self.status["conditions"] if c["type"] == type_), "")

    def message(self, type_: str) -> str:
        return next((c.get("message", "") for c in self.status["conditions"] if c["type"] == type_), "")

    @property
    def claims(self) -> dict[str, dict[str, Any]]:
        return {obj["metadata"]["name"]: obj for obj in self.server.all(CLAIMS)}

    def take_writes(self) -> list[tuple[str, str]]:
        made, self.server.writes = self.server.writes, []
        return made

    def set_live(self, name: str, *, live: bool = True) -> None:
        status = {"conditions": [{"type": "Live", "status": str(live), "reason": "Live"}]}
        self.server.patch(CLAIMS, ObjectKey(NAMESPACE, name), {"status": status})

"""An API server in memory."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.kube.errors import AlreadyExists, Conflict, Invalid, KubeError, NotFound, Operation
from edgetenants_runtime.managed import Managed, ManagedKind, ObjectKey, ResourceKind, key_of
from edgetenants_runtime.testing.journal import Journal

__all__ = ["FakeObjects"]


class FakeObjects:
    """An API server in memory: resource versions, generations, merge patches, finalizers. Records writes."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._objects: dict[tuple[str, ObjectKey], dict[str, Any]] = {}
        self._version = 100
        self.failing: dict[str, list[KubeError]] = {}
        """Errors to raise for the next writes whose journal entry starts with the key."""

    def put(self, kind: ResourceKind, obj: Mapping[str, Any]) -> None:
        """Store the object, without a journal entry."""
        stored = copy.deepcopy(dict(obj))
        stored["metadata"].setdefault("uid", f"uid-{key_of(obj)}")
        self._objects[kind.resource, key_of(obj)] = stored

    def find(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any] | None:
        """A copy of the object; None if it does not exist."""
        return copy.deepcopy(self._objects.get((kind.resource, key)))

    def touch(self, kind: ResourceKind, key: ObjectKey) -> None:
        """Another client writes to the object."""
        self._stamp(self._objects[kind.resource, key])

    def get(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any]:
        """As `Objects.get`."""
        found = self.find(kind, key)
        if found is None:
            raise NotFound(Operation("get", kind, name=key.name, namespace=key.namespace), 404, "not found")
        return found

    def select(self, kind: ResourceKind, namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """As `reconcile.targets.Reader.select`."""
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
        entry = f"create {kind.kind} {key}"
        return self._journal.act(entry, lambda: self._create(operation, key, obj, entry))

    def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        """As `Objects.patch`."""
        operation = Operation("patch", kind, subresource, key.name, key.namespace)
        stored = self._objects.get((kind.resource, key))
        entry = _describe(kind, key, stored or {}, patch)
        return self._journal.act(entry, lambda: self._patch(operation, key, patch, entry))

    def _create(
        self, operation: Operation, key: ObjectKey, obj: Mapping[str, Any], entry: str
    ) -> dict[str, Any]:
        self._fail_as_told(entry)
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
    if not isinstance(kind, ManagedKind):
        return f"patch {kind.kind} {key}"
    if "status" in patch:
        return " ".join(("status", *_said(Managed(stored), patch["status"])))
    metadata = patch["metadata"]
    blocks = patch.get("spec") or {}
    fields = [name for block in blocks.values() for name in sorted(block)]
    if blocks and metadata.keys() <= {"resourceVersion"}:
        return " ".join(("spec", *fields))
    words = [name.removeprefix("crossplane.io/") for name in metadata.get("annotations") or ()]
    if "finalizers" in metadata:
        words.insert(0, "+finalizer" if names.FINALIZER in metadata["finalizers"] else "-finalizer")
    return " ".join(("metadata", *words, *(("spec", *fields) if fields else ())))


def _said(before: Managed, patch: Mapping[str, Any]) -> list[str]:
    conditions = [c for c in patch.get("conditions") or () if c not in before.conditions]
    others = sorted(name for name in patch if name not in ("conditions", "observedGeneration"))
    return [f"{c['type']}={c['status']}/{c['reason']}" for c in conditions] + others

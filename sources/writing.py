"""All writes to the objects of a TenantSource, by server-side apply.

Two field managers: `edgetenants-source-NAME` has what the row asks for, and the same with `-gone` has what
the absence of the row sets (the mark, `suspended`). When the row is back, the second one applies nothing, and
the API server removes its fields. Neither takes a field from anyone else: a conflict is a problem of the row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from apis.kinds import TENANT_CLAIM, Kind
from edgetenants_runtime.api.model import Scope
from edgetenants_runtime.clock import rfc3339
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.errors import (
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    NotServed,
    TooLarge,
)
from edgetenants_runtime.managed import ObjectKey, ResourceKind
from sources.objects import GONE, HASH, KEY, OWNER, Existing, manager_of, owner_value
from sources.plan import Action, Verb
from sources.rows import Desired

__all__ = ["Objects", "Refused", "Writer", "refused", "resource_kind"]

JsonObject = dict[str, Any]

_MANAGERS: Final = re.compile('conflicts? with "([^"]+)"')
_AS_SEEN: Final = "an object that did not change since the read"
_FIELD: Final = re.compile(r"\.?((?:spec|metadata)\.[\w.\-]+)")


class Objects(Protocol):
    """The requests that a writer makes; `KubeClient` has them."""

    def get(self, kind: ResourceKind, key: ObjectKey) -> JsonObject:
        """See `KubeClient.get`."""
        ...

    def apply(
        self,
        kind: ResourceKind,
        key: ObjectKey,
        fields: Mapping[str, Any],
        *,
        manager: str,
        force: bool = False,
    ) -> JsonObject:
        """See `KubeClient.apply`."""
        ...

    def delete(self, kind: ResourceKind, key: ObjectKey, *, uid: str, resource_version: str) -> None:
        """See `KubeClient.delete`."""
        ...


class Refused(Exception):  # noqa: N818 - says what happened
    """An object cannot be written as its row asks. Neither text has values of the row."""

    def __init__(self, field: str, expected: str, *, of_all: bool = False) -> None:
        """`of_all`: the same may be true of all objects, such as a right that is missing."""
        super().__init__(f"{field}: expected {expected}")
        self.field, self.expected, self.of_all = field, expected, of_all


def resource_kind(kind: Kind) -> ResourceKind:
    """The runtime's description of one of our kinds."""
    version = kind.api_version.partition("/")[2]
    return ResourceKind(
        kind.group, version, kind.kind, kind.plural, namespaced=kind.scope is Scope.NAMESPACED
    )


@dataclass(frozen=True)
class Writer:
    """Writes the objects of one TenantSource. Each method raises Refused, and nothing else: one object stops
    no other."""

    objects: Objects
    kind: Kind
    cache: Cache
    namespace: str
    source: str
    """Name of the TenantSource."""

    def perform(self, action: Action, now: datetime) -> None:
        """Do what the action says."""
        try:
            self._perform(action, now)
        except KubeError as error:
            raise refused(error) from error

    def _perform(self, action: Action, now: datetime) -> None:
        match action:
            case Action(Verb.CREATE, row=Desired() as row):
                self._create(row)
            case Action(Verb.UPDATE, row=Desired() as row, existing=Existing() as existing):
                if existing.marked_gone:
                    self._restore(existing)
                self._apply(row, existing.managed.uid)
            case Action(Verb.RESTORE, existing=Existing() as existing):
                self._restore(existing)
            case Action(Verb.SUSPEND, existing=Existing() as existing):
                self._suspend(existing, now)
            case Action(Verb.DELETE, existing=Existing() as existing):
                self._delete(existing)
            case _:
                raise ValueError(f"incomplete action {action.verb}")

    def _create(self, row: Desired) -> None:
        # The cache may lag. An object of that name that is not ours must not be merged into.
        try:
            self.objects.get(self._resource, self._key(row.name))
        except NotFound:
            self._apply(row, None)
            return
        raise Refused("metadata.name", f"no other {self.kind.kind} with its name")

    def _apply(self, row: Desired, uid: str | None) -> None:
        metadata: dict[str, Any] = {
            "labels": {**row.labels, OWNER: owner_value(self.source)},
            "annotations": {KEY: row.key, HASH: row.digest},
        }
        if uid is not None:
            # Exactly this object, not another one that was created under its name meanwhile.
            metadata["uid"] = uid
        self._store(row.name, {"metadata": metadata, "spec": dict(row.spec)}, manager_of(self.source))

    def _restore(self, existing: Existing) -> None:
        self._store(existing.name, {"metadata": {"uid": existing.managed.uid}}, self._gone_manager)

    def _suspend(self, existing: Existing, now: datetime) -> None:
        try:
            stored = self._still(existing)
        except NotFound:
            return
        version = stored.managed.resource_version
        fields: dict[str, Any] = {
            # With the version: nothing is written to an object that someone takes out at this moment.
            "metadata": {
                "uid": stored.managed.uid,
                "resourceVersion": version,
                "annotations": {GONE: rfc3339(now)},
            },
            "spec": _disabled(self.kind),
        }
        try:
            self._store(existing.name, fields, self._gone_manager)
        except Conflict as error:
            managers = set(_MANAGERS.findall(error.message))
            if not managers:
                raise Refused("metadata", _AS_SEEN) from error
            if managers != {manager_of(self.source)}:
                raise
            # The row itself set the field, and it is gone.
            self._store(existing.name, fields, self._gone_manager, force=True)

    def delete(self, existing: Existing) -> None:
        """Delete the object, if it is as it was seen. Raises Refused."""
        try:
            self._delete(existing)
        except KubeError as error:
            raise refused(error) from error

    def _delete(self, existing: Existing) -> None:
        try:
            stored = self._still(existing)
            uid, version = stored.managed.uid, stored.managed.resource_version
            self.objects.delete(self._resource, self._key(existing.name), uid=uid, resource_version=version)
        except NotFound:
            return
        except Conflict as error:
            raise Refused("metadata", _AS_SEEN) from error

    def _still(self, existing: Existing) -> Existing:
        """The object as the API server has it, if it is still that of the row. Raises NotFound or Refused."""
        stored = Existing(self.kind, self.objects.get(self._resource, self._key(existing.name)))
        same = stored.managed.uid == existing.managed.uid and stored.owner == owner_value(self.source)
        if not (same and stored.key == existing.key):
            raise Refused("metadata", _AS_SEEN)
        return stored

    def _store(self, name: str, fields: Mapping[str, Any], manager: str, *, force: bool = False) -> None:
        stored = self.objects.apply(self._resource, self._key(name), fields, manager=manager, force=force)
        self.cache.observed(stored)

    def _key(self, name: str) -> ObjectKey:
        return ObjectKey(self.namespace, name)

    @property
    def _resource(self) -> ResourceKind:
        return resource_kind(self.kind)

    @property
    def _gone_manager(self) -> str:
        return f"{manager_of(self.source)}-gone"


def _disabled(kind: Kind) -> dict[str, Any]:
    return {"suspended": True} if kind.kind == TENANT_CLAIM.kind else {"forProvider": {"enabled": False}}


def refused(error: KubeError) -> Refused:
    """What a write that failed says of its object. Only names of fields and of field managers are from the
    server: its text may have values of rows, and words of webhooks about other objects."""
    if isinstance(error, Conflict):
        managers = ", ".join(sorted(set(_MANAGERS.findall(error.message)))) or "another client"
        return Refused(_field_in(error), f"a field that no other field manager has; {managers} has it")
    if isinstance(error, Invalid | TooLarge):
        return Refused(_field_in(error), "a value that the API server accepts")
    why = _why_of_all(error)
    if why:
        return Refused("metadata", why, of_all=True)
    if isinstance(error, NotFound):
        return Refused("metadata", "an object that is still there, and a namespace")
    expected = "an object that admission policies, webhooks and quotas accept; they answer HTTP"
    return Refused("spec", f"{expected} {error.code}")


def _why_of_all(error: KubeError) -> str:
    """What may be true of all objects; "" if it is of this one."""
    if isinstance(error, Forbidden) and "missing RBAC rule" in str(error):
        return f"the RBAC rule {error.operation.rule}"
    if isinstance(error, NotServed):
        return "a kind that the API server has"
    if not error.transient:
        return ""
    return "the API server to take the write" + (f", which answers HTTP {error.code}" if error.code else "")


def _field_in(error: KubeError) -> str:
    found = None if "admission" in error.message else _FIELD.search(error.message)
    return found[1] if found else "spec"

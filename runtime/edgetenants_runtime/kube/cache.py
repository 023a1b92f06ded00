"""The objects of one kind as last seen, including the latest writes of this process."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

import structlog

from edgetenants_runtime.kube.handlers import tell
from edgetenants_runtime.managed import ObjectKey, key_of

__all__ = ["Cache", "ChangeType", "ObjectChange"]

_log = structlog.get_logger("edgetenants_runtime.kube.cache")

JsonObject = Mapping[str, Any]
Index = Callable[[JsonObject], str | tuple[str, ...]]
"""Returns the index value of an object, or several."""

_REMEMBERED_DELETIONS = 10_000


class ChangeType(StrEnum):
    """The type of a change."""

    LISTED = "Listed"
    """New in the cache from a list: at the start, or after the watch was lost."""
    ADDED = "Added"
    """Just created."""
    MODIFIED = "Modified"
    """Changed by another client, or by this provider before a restart."""
    DELETED = "Deleted"
    """Deleted."""


@dataclass(frozen=True)
class ObjectChange:
    """A change, passed to handlers."""

    type: ChangeType
    key: ObjectKey
    old: JsonObject | None
    new: JsonObject | None


class Cache:
    """Objects by key, and by the value of named indexes. Thread-safe.

    Resource versions of one kind increase, so the greater of two versions of an object is kept: a watch event
    that is older than our own write, whose response `observed` put in, changes nothing.
    """

    def __init__(
        self,
        indexes: Mapping[str, Index] | None = None,
        keep: Callable[[JsonObject], JsonObject] = lambda obj: obj,
    ) -> None:
        """`keep` returns the part of an object that is kept; see `kube.transform`."""
        self.kept = keep
        self._lock = threading.Lock()
        self._objects: dict[ObjectKey, JsonObject] = {}
        self._indexes = dict(indexes or {})
        self._indexed: dict[tuple[str, str], dict[ObjectKey, None]] = {}
        self._deleted: OrderedDict[str, None] = OrderedDict()
        self._listeners: list[Callable[[ObjectChange], None]] = []

    def __len__(self) -> int:
        with self._lock:
            return len(self._objects)

    def get(self, key: ObjectKey) -> JsonObject | None:
        """The object; None if there is none."""
        with self._lock:
            return self._objects.get(key)

    def keys(self) -> list[ObjectKey]:
        """All keys."""
        with self._lock:
            return list(self._objects)

    def objects(self) -> list[JsonObject]:
        """All objects."""
        with self._lock:
            return list(self._objects.values())

    def by_index(self, index: str, value: str) -> list[JsonObject]:
        """The objects for which the index returns that value, alone or among others."""
        with self._lock:
            return [self._objects[key] for key in self._indexed.get((index, value), ())]

    def keys_by_index(self, index: str, value: str, most: int | None = None) -> list[ObjectKey]:
        """The keys of these objects; at most as many as `most`."""
        with self._lock:
            return list(islice(self._indexed.get((index, value), ()), most))

    def on_own_write(self, listener: Callable[[ObjectChange], None]) -> None:
        """Call the listener for changes from `observed`, which the watch does not report again.

        A listener must not block.
        """
        self._listeners.append(listener)

    def observed(self, obj: JsonObject) -> None:
        """Put in the response to our own write, so that the next read sees it before the watch delivers
        it."""
        key = key_of(obj)
        with self._lock:
            old = self._objects.get(key)
            if _leaving(obj):
                self._drop(key, obj)
            elif _uid(obj) not in self._deleted:
                self._put(obj)
            new = self._objects.get(key)
        if new is not old:
            for change in _changes(ChangeType.ADDED, key, old, new):
                tell(self._listeners, change, key=str(key))

    def changed(self, obj: JsonObject, *, listed: bool = False) -> tuple[ObjectChange, ...]:
        """Put in an object from the list or the watch; returns no change if it is not newer. An object that
        was deleted and recreated under the same name is two changes, so that handlers drop the first one."""
        key = key_of(obj)
        with self._lock:
            old = self._objects.get(key)
            if not self._put(obj):
                return ()
            appeared = ChangeType.LISTED if listed else ChangeType.ADDED
            return _changes(appeared, key, old, self._objects[key])

    def deleted(self, obj: JsonObject) -> ObjectChange | None:
        """Put in a deletion; None if the key already has another object or none."""
        key = key_of(obj)
        with self._lock:
            old = self._objects.get(key)
            self._drop(key, obj)
            if old is None or key in self._objects:
                return None
            return ObjectChange(ChangeType.DELETED, key, old, None)

    def replaced(self, objects: Iterable[JsonObject], resource_version: str) -> list[ObjectChange]:
        """Put in a whole list of that resource version; objects that are not in it are deleted, unless
        newer."""
        listed, version = list(objects), _number(resource_version)
        changes = [change for obj in listed for change in self._replace(obj, version)]
        present = {key_of(obj) for obj in listed}
        for key in self.keys():
            known = self.get(key)
            if key not in present and known is not None and _version(known) <= version:
                gone = self.deleted(known)
                changes += [gone] if gone else []
        return changes

    def _replace(self, obj: JsonObject, list_version: int) -> tuple[ObjectChange, ...]:
        self._forget_what_never_was(obj, list_version)
        return self.changed(obj, listed=True)

    def _forget_what_never_was(self, obj: JsonObject, list_version: int) -> None:
        """A list that reaches further than the known object, and has an earlier version of it: the server's
        state was replaced by an older one, and its versions were raised (`etcdutl snapshot restore
        --bump-revision`). The known object is of a history that no longer exists."""
        key = key_of(obj)
        with self._lock:
            old = self._objects.get(key)
            if old is not None and _version(obj) < _version(old) <= list_version:
                metadata = {**old["metadata"], "resourceVersion": ""}
                self._objects[key] = {**old, "metadata": metadata}

    def add_index(self, name: str, index: Index) -> None:
        """Add an index. Call it before any object is put in."""
        self._indexes[name] = index

    def indexed(self, index: str, value: str) -> bool:
        """There is an object for which the index returns that value."""
        with self._lock:
            return (index, value) in self._indexed

    def restored(self, objects: Iterable[JsonObject]) -> list[ObjectChange]:
        """Put in a whole list of another history, whatever is known, in one step: at no moment are objects
        missing that exist in both."""
        listed = {key_of(obj): obj for obj in objects}
        with self._lock:
            before = dict(self._objects)
            self._clear()
            for obj in listed.values():
                self._put(obj)
            now = dict(self._objects)
        gone = [
            ObjectChange(ChangeType.DELETED, key, old, None)
            for key, old in before.items()
            if key not in now or _uid(now[key]) != _uid(old)
        ]
        return [*gone, *(ObjectChange(ChangeType.LISTED, key, None, obj) for key, obj in now.items())]

    def emptied(self) -> list[ObjectChange]:
        """Drop everything, including versions and deletions."""
        with self._lock:
            gone = [ObjectChange(ChangeType.DELETED, key, obj, None) for key, obj in self._objects.items()]
            self._clear()
            return gone

    def _clear(self) -> None:
        self._objects.clear()
        self._indexed.clear()
        self._deleted.clear()

    def _put(self, obj: JsonObject) -> bool:
        key = key_of(obj)
        old = self._objects.get(key)
        if old is not None and _version(obj) <= _version(old):
            return False
        self._unindex(key, old)
        if old is not None and _uid(old) != _uid(obj):
            self._remember_deletion(old)
        self._objects[key] = kept = self.kept(obj)
        for name, index in self._indexes.items():
            # Not of the whole object: what is not kept could not be removed from the index again.
            for value in _values(index, kept):
                self._indexed.setdefault((name, value), {})[key] = None
        return True

    def _remember_deletion(self, obj: JsonObject) -> None:
        self._deleted[_uid(obj)] = None
        while len(self._deleted) > _REMEMBERED_DELETIONS:
            self._deleted.popitem(last=False)

    def _drop(self, key: ObjectKey, obj: JsonObject) -> None:
        self._remember_deletion(obj)
        old = self._objects.get(key)
        if old is not None and _uid(old) == _uid(obj):
            del self._objects[key]
            self._unindex(key, old)

    def _unindex(self, key: ObjectKey, old: JsonObject | None) -> None:
        if old is None:
            return
        for name, index in self._indexes.items():
            for value in _values(index, old):
                keys = self._indexed.get((name, value), {})
                keys.pop(key, None)
                if not keys:
                    self._indexed.pop((name, value), None)


def _changes(
    appeared: ChangeType, key: ObjectKey, old: JsonObject | None, new: JsonObject | None
) -> tuple[ObjectChange, ...]:
    """The changes to report; `appeared` is the type for a new object."""
    if old is not None and new is not None and _uid(old) == _uid(new):
        return (ObjectChange(ChangeType.MODIFIED, key, old, new),)
    gone = (ObjectChange(ChangeType.DELETED, key, old, None),) if old is not None else ()
    come = (ObjectChange(appeared, key, None, new),) if new is not None else ()
    return (*gone, *come)


def _values(index: Index, obj: JsonObject) -> tuple[str, ...]:
    try:
        value = index(obj)
    except Exception:  # noqa: BLE001 - one malformed object must not block the others
        _log.warning("cannot index object", key=str(key_of(obj)), exc_info=True)
        return ()
    return (value,) if isinstance(value, str) else value


def _leaving(obj: JsonObject) -> bool:
    metadata = obj["metadata"]
    return bool(metadata.get("deletionTimestamp")) and not metadata.get("finalizers")


def _uid(obj: JsonObject) -> str:
    return str(obj["metadata"].get("uid") or "")


def _version(obj: JsonObject) -> int:
    return _number(str(obj["metadata"].get("resourceVersion") or ""))


def _number(resource_version: str) -> int:
    return int(resource_version) if resource_version.isdigit() else 0

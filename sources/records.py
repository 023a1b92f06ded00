"""The records of rows that are gone: a ConfigMap for each TenantSource, in the namespace of this process.

The users of a TenantSource cannot write there, so a count that is found was counted by a process. Each write
compares the version that was read: of two processes that believe they lead, one begins again. A record that
is lost, unreadable or of another TenantSource begins again, too, which only delays removals.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import structlog

from edgetenants_runtime.kube.errors import KubeError, NotFound
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import Managed, ObjectKey, ResourceKind
from sources.going import MOST_BYTES, Batch, Record
from sources.rows import digest_of

__all__ = ["LABEL", "Kept", "Objects", "Records", "lost", "record_name", "stored_record"]

JsonObject = dict[str, Any]
Get = Callable[[ResourceKind, ObjectKey], Mapping[str, Any]]
"""Reads one object. Raises KubeError."""

_log = structlog.get_logger("edgetenants.sources.records")

LABEL: Final = "edgetenants.io/source-record"
"""The label of every ConfigMap with a record; its value is "true"."""
_OF: Final = "edgetenants.io/source-record-of"
"""Annotation with the TenantSource, as NAMESPACE/NAME."""
_FORM: Final = 1
_TAG: Final = 12
_STORE: Final = 600_000
"""Milliseconds. The time alone is stored again when it has grown by this much: what a restart loses of it
only makes removals later."""
_LATEST: Final = 10**14
"""Milliseconds that no process counts."""
_SWEPT: Final = 20
"""Records that one sweep deletes."""


class Objects(Protocol):
    """The requests that records need; `KubeClient` has them. Each raises KubeError."""

    def get(self, kind: ResourceKind, key: ObjectKey) -> JsonObject:
        """See `KubeClient.get`."""
        ...

    def select(self, kind: ResourceKind, namespace: str, labels: Mapping[str, str]) -> list[JsonObject]:
        """See `KubeClient.select`."""
        ...

    def create(self, kind: ResourceKind, obj: Mapping[str, Any]) -> JsonObject:
        """See `KubeClient.create`."""
        ...

    def patch(self, kind: ResourceKind, key: ObjectKey, patch: Mapping[str, Any]) -> JsonObject:
        """See `KubeClient.patch`."""
        ...

    def delete(self, kind: ResourceKind, key: ObjectKey, *, uid: str, resource_version: str) -> None:
        """See `KubeClient.delete`."""
        ...


@dataclass(frozen=True)
class Kept:
    """A record as this process knows it."""

    record: Record
    writer: str
    """Identifies this process's hold of the record: what anyone else stores is not continued."""
    version: str | None = None
    """resourceVersion of the ConfigMap; "" if there is none, None if it is not known."""
    stored: Record | None = None
    """What the ConfigMap of that version has."""
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_stored(self) -> bool:
        """Whether nothing would be lost with this process but time."""
        if self.version is None:
            return False
        if self.stored is None:
            return self.record.empty
        return self.record.differs_only_in_time(self.stored)


class Records:
    """Reads and writes records. Thread-safe: it holds nothing."""

    def __init__(self, objects: Objects, namespace: str, lives: Callable[[ObjectKey], bool]) -> None:
        """`namespace` is this process's own; `lives`: there is a TenantSource of that key."""
        self._objects, self._namespace, self._lives = objects, namespace, lives

    def take_over(self, source: Managed) -> Kept:
        """The record of a TenantSource, before the first read of this process. Raises KubeError."""
        version, data = _read(self._objects.get, self._key(source.key))
        record = _record(source.uid, data) if version else None
        if version and record is None:
            _log.warning(
                "the record begins again", source=str(source.key), config_map=record_name(source.key)
            )
        new = Record.new()
        return Kept(record or new, new.nonce, version, record, data)

    def store(self, source: Managed, kept: Kept, record: Record) -> Kept:
        """Store a new state of the record, if it must be. Raises KubeError; then call `lost`."""
        kept = replace(kept, record=record)
        grown = kept.stored is not None and record.counted - kept.stored.counted >= _STORE
        if kept.is_stored and not (grown and not record.empty):
            return kept
        if kept.version is None:
            kept = self._resumed(source, kept)
        data = _data(source.uid, kept.writer, kept.record)
        written = self._write(source, kept, data)
        return replace(kept, version=_version(written), stored=kept.record, data=data)

    def _resumed(self, source: Managed, kept: Kept) -> Kept:
        """After a write of which it is not known whether it succeeded: continue, if no one else wrote."""
        version, data = _read(self._objects.get, self._key(source.key))
        ours = not version or data.get("writer") == kept.writer or data == kept.data
        record = kept.record if ours else replace(Record.new(), counted=kept.record.counted)
        if not ours:
            _log.warning(
                "another process wrote the record, so the time since rows are gone begins again",
                source=str(source.key),
                config_map=record_name(source.key),
            )
        return replace(kept, record=record, version=version, stored=None, data=data)

    def _write(self, source: Managed, kept: Kept, data: Mapping[str, str]) -> JsonObject:
        key = self._key(source.key)
        if kept.version:
            changed = {name: value for name, value in data.items() if kept.data.get(name) != value}
            patch = {"metadata": {"resourceVersion": kept.version}, "data": changed}
            return self._objects.patch(CONFIG_MAPS, key, patch)
        self._sweep()
        metadata = {
            "name": key.name,
            "namespace": key.namespace,
            "labels": {LABEL: "true"},
            "annotations": {_OF: str(source.key)},
        }
        return self._objects.create(CONFIG_MAPS, {"metadata": metadata, "data": dict(data)})

    def _sweep(self) -> None:
        """Delete records of TenantSources that are gone. Each new record does it, so they do not gather."""
        try:
            for stored in self._left():
                uid = str(stored["metadata"].get("uid"))
                key = ObjectKey(self._namespace, stored["metadata"]["name"])
                self._objects.delete(CONFIG_MAPS, key, uid=uid, resource_version=_version(stored))
        except KubeError as error:
            _log.warning("cannot delete records of TenantSources that are gone", error=str(error))

    def _left(self) -> Iterator[JsonObject]:
        left = 0
        for stored in self._objects.select(CONFIG_MAPS, self._namespace, {LABEL: "true"}):
            namespace, _, name = str((stored["metadata"].get("annotations") or {}).get(_OF)).partition("/")
            key = ObjectKey(namespace, name)
            # Whatever the annotation says: only what has the name of such a record.
            if stored["metadata"]["name"] != record_name(key) or self._lives(key):
                continue
            left += 1
            if left > _SWEPT:
                return
            yield stored

    def _key(self, source: ObjectKey) -> ObjectKey:
        return ObjectKey(self._namespace, record_name(source))


def stored_record(get: Get, namespace: str, source: Managed) -> Record | None:
    """The record of a TenantSource, for a caller that only reads; None if there is none that counts.

    `namespace` is that of edgetenants-sources. Raises KubeError.
    """
    version, data = _read(get, ObjectKey(namespace, record_name(source.key)))
    return _record(source.uid, data) if version else None


def lost(kept: Kept) -> Kept:
    """It is not known what the ConfigMap has."""
    return replace(kept, version=None, stored=None)


def record_name(source: ObjectKey) -> str:
    """The name of the ConfigMap with the record of a TenantSource."""
    return f"edgetenants-source-{digest_of([source.namespace, source.name], characters=16)}"


def _read(get: Get, key: ObjectKey) -> tuple[str, Mapping[str, str]]:
    """The version, "" if there is none, and data of a record."""
    try:
        stored = get(CONFIG_MAPS, key)
    except NotFound:
        return "", {}
    return _version(stored), stored.get("data") or {}


def _version(stored: Mapping[str, Any]) -> str:
    return str(stored["metadata"].get("resourceVersion") or "")


def _data(uid: str, writer: str, record: Record) -> dict[str, str]:
    batches = {
        str(number): {
            "first": batch.first,
            "known": batch.known,
            "witnesses": "".join(sorted(batch.witnesses)),
            "objects": "".join(sorted(batch.objects)),
            **({"confirmed": True} if batch.confirmed else {}),
        }
        for number, batch in sorted(record.batches.items())
    }
    told = {
        "form": _FORM,
        "source": uid,
        "nonce": record.nonce,
        "scope": record.scope,
        "last": record.last,
        "batches": batches,
        "removed": dict(sorted(record.removed.items())),
    }
    text = json.dumps(told, separators=(",", ":"))
    return {"counted": str(record.counted), "record": text, "writer": writer}


def _record(uid: str, data: Mapping[str, str]) -> Record | None:
    """The stored record; None if it cannot be read, or is of another TenantSource."""
    text = data.get("record") or ""
    if len(text) > 2 * MOST_BYTES:
        return None
    try:
        told = json.loads(text)
        if told["form"] != _FORM or told["source"] != uid:
            return None
        counted = _number(int(data["counted"]), _LATEST)
        last = _number(told["last"], _LATEST)
        batches = {
            _number(int(number), last): _batch(batch, counted) for number, batch in told["batches"].items()
        }
        removed = {tag: _number(at, counted) for tag, at in told["removed"].items()}
        return Record(str(told["nonce"]), str(told["scope"]), counted, last, batches, removed)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _batch(told: Mapping[str, Any], counted: int) -> Batch:
    return Batch(
        _number(told["first"], counted),
        _number(told["known"], _LATEST),
        _tags(told["witnesses"]),
        _tags(told["objects"]),
        told.get("confirmed") is True,
    )


def _tags(text: str) -> frozenset[str]:
    if len(text) % _TAG:
        raise ValueError("cut")
    return frozenset(text[at : at + _TAG] for at in range(0, len(text), _TAG))


def _number(value: object, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError("no number, or one that no process stores")
    return value

"""Publishes connection details to the Secrets that a managed resource names."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from edgetenants_runtime.api.annotations import CONNECTION_SECRET_TYPE, LABEL_OWNER_UID
from edgetenants_runtime.api.references import LONGEST_OBJECT_NAME, OBJECT_NAME
from edgetenants_runtime.bounds import excerpt
from edgetenants_runtime.clock import Stopwatch
from edgetenants_runtime.errors import ExternalError, Retry
from edgetenants_runtime.kube.errors import NotFound
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.kube.objects import Objects
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.rules.meta import controller_reference

__all__ = ["ConnectionPublisher"]

_KUBERNETES_STORE = "default"
_NAME = re.compile(OBJECT_NAME)
"""An invalid name must not become part of a URL path."""


@dataclass(frozen=True)
class _Published:
    digest: str
    since: Stopwatch
    stored: tuple[tuple[ObjectKey, str], ...]
    """The Secrets with their resource versions; "" for one that is not watched."""


class Watch(Protocol):
    """Detects changes to Secrets by other clients; see `secret_watch.PublishedSecrets`."""

    def written(self, stored: Mapping[str, Any]) -> None:
        """The Secret was written, or found to be correct."""
        ...

    def stands(self, key: ObjectKey, version: str) -> bool | None:
        """The Secret exists and has no later version. None if that is unknown at present."""
        ...


class _Blind:
    """Detects nothing."""

    def written(self, stored: Mapping[str, Any]) -> None: ...

    def stands(self, key: ObjectKey, version: str) -> bool | None: ...


@dataclass(frozen=True)
class _Target:
    """A Secret that a resource publishes to."""

    path: str
    """Path of the reference in spec."""
    key: ObjectKey
    type: str = CONNECTION_SECRET_TYPE
    type_path: str = ""
    """Path of the type in spec; "" if it has none."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


class ConnectionPublisher:
    """Writes Secrets of type connection.crossplane.io/v1alpha1, controlled by the managed resource.

    Publishing adds and updates keys and never removes one. It never overwrites a Secret of another owner. If
    the resource changes to another Secret, the first remains unchanged until the resource is deleted, as with
    crossplane-runtime.
    """

    RECHECK_SECONDS = 600.0
    """Real seconds after which a Secret that is not watched is read again: it may have been edited or
    deleted."""

    def __init__(
        self, objects: Objects, namespace: str = "crossplane-system", watch: Watch | None = None
    ) -> None:
        """`namespace` is the provider's: spec.publishConnectionDetailsTo has no namespace."""
        self._objects, self._namespace = objects, namespace
        self._watch: Watch = watch or _Blind()
        self._published: dict[str, _Published] = {}
        self._unpublished: dict[str, Mapping[str, bytes]] = {}

    def keep_created(self, mr: Managed, details: Mapping[str, bytes]) -> None:
        """Remember the details of a creation, which returns them only once, until they are published. They
        are lost if the process ends, as with crossplane-runtime. What was kept before is of a former external
        resource, unless this creation returns none: it found one that exists."""
        if details:
            self._unpublished.pop(mr.uid, None)
        self.keep(mr, details)

    def keep(self, mr: Managed, details: Mapping[str, bytes]) -> None:
        """Remember details until they are published, beside those that were kept before."""
        if details and _wanted(mr):
            self._unpublished[mr.uid] = {**self._unpublished.get(mr.uid, {}), **details}

    def publish(self, mr: Managed, details: Mapping[str, bytes]) -> None:
        """Write the details, and those that were kept, to the Secrets. Does nothing if the resource names no
        Secret or there are no details.

        Raises KubeError, and ExternalError for a Secret that does not belong to this resource or a store that
        is not supported.
        """
        self.keep(mr, details)
        details = self._unpublished.get(mr.uid, {})
        targets = tuple(_targets(mr, self._namespace)) if details else ()
        if not targets:
            return
        digest = _digest(targets, details)
        known = self._published.get(mr.uid)
        if known and known.digest == digest and self._stands(known):
            self._unpublished.pop(mr.uid, None)
            return
        data = {name: base64.b64encode(value).decode() for name, value in details.items()}
        stored = tuple(self._written(target, self._write(mr, target, data)) for target in targets)
        self._published[mr.uid] = _Published(digest, Stopwatch(), stored)
        self._unpublished.pop(mr.uid, None)

    def forget(self, uid: str) -> None:
        """The resource was deleted."""
        self._published.pop(uid, None)
        self._unpublished.pop(uid, None)

    def _stands(self, known: _Published) -> bool:
        """As far as is known, no other client has deleted or changed the published Secrets."""
        told = [self._watch.stands(key, version) if version else None for key, version in known.stored]
        if False in told:
            return False
        return None not in told or known.since.elapsed() < self.RECHECK_SECONDS

    def _written(self, target: _Target, stored: Mapping[str, Any]) -> tuple[ObjectKey, str]:
        self._watch.written(stored)
        watched = stored.get("type") == CONNECTION_SECRET_TYPE
        return target.key, str(stored["metadata"].get("resourceVersion") or "") if watched else ""

    def _write(self, mr: Managed, target: _Target, data: Mapping[str, str]) -> Mapping[str, Any]:
        try:
            stored = self._objects.get(SECRETS, target.key)
        except NotFound:
            return self._objects.create(SECRETS, _secret(mr, target, data))
        owned = _owned(mr, target, stored)
        metadata = _missing_metadata(target, stored["metadata"])
        if not owned:
            others = stored["metadata"].get("ownerReferences") or []
            metadata["ownerReferences"] = [*others, controller_reference(mr)]
        missing = _missing(data, stored.get("data"))
        if metadata or missing:
            metadata["resourceVersion"] = stored["metadata"]["resourceVersion"]
            return self._objects.patch(SECRETS, target.key, {"metadata": metadata, "data": missing})
        return stored


def _wanted(mr: Managed) -> bool:
    older = mr.spec.get("publishConnectionDetailsTo")
    return bool(mr.spec.get("writeConnectionSecretToRef") or (older and not mr.namespace))


def _targets(mr: Managed, provider_namespace: str) -> Iterator[_Target]:
    ref = mr.spec.get("writeConnectionSecretToRef")
    if ref:
        # A namespaced resource writes to its own namespace only.
        path = "spec.writeConnectionSecretToRef"
        yield _Target(path, ObjectKey(mr.namespace or ref.get("namespace") or "default", _name(path, ref)))
    to = mr.spec.get("publishConnectionDetailsTo")
    if not to or mr.namespace:
        return
    path = "spec.publishConnectionDetailsTo"
    store = (to.get("configRef") or {}).get("name") or _KUBERNETES_STORE
    if store != _KUBERNETES_STORE:
        raise ExternalError(
            f"{path}.configRef.name: expected {_KUBERNETES_STORE}, which is the Kubernetes store, "
            f"got {store!r}: no other store is supported",
            retry=Retry.poll(),
        )
    metadata = to.get("metadata") or {}
    yield _Target(
        path,
        ObjectKey(provider_namespace, _name(path, to)),
        type=metadata.get("type") or CONNECTION_SECRET_TYPE,
        type_path=f"{path}.metadata.type",
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
    )


def _name(path: str, ref: Mapping[str, Any]) -> str:
    name = str(ref.get("name") or "")
    if len(name) > LONGEST_OBJECT_NAME or not _NAME.fullmatch(name):
        raise ExternalError(
            f"{path}.name: expected the name of a Secret (lower case letters, digits, and - and . between "
            f"them), got {excerpt(name)}",
            retry=Retry.poll(),
        )
    return name


def _owned(mr: Managed, target: _Target, stored: Mapping[str, Any]) -> bool:
    metadata, type_ = stored["metadata"], stored.get("type")
    controllers = [owner for owner in metadata.get("ownerReferences") or () if owner.get("controller")]
    owned = any(owner.get("uid") == mr.uid for owner in controllers)
    # Adopt a connection Secret that lost its owner, for example in a restored backup, and one that
    # crossplane-runtime's Kubernetes store wrote for this resource.
    uid = (metadata.get("labels") or {}).get(LABEL_OWNER_UID)
    lost = uid == mr.uid or (uid is None and type_ == CONNECTION_SECRET_TYPE)
    if not owned and (controllers or not lost):
        raise ExternalError(
            f"Secret {target.key} already exists and is not this resource's connection Secret, so it is not "
            f"overwritten; name another one in {target.path}, or delete it",
            retry=Retry.backoff(),
        )
    if target.type_path and type_ != target.type:
        raise ExternalError(
            f"{target.type_path}: Secret {target.key} has type {type_}, which cannot be changed to "
            f"{target.type}; delete the Secret to have it recreated",
            retry=Retry.backoff(),
        )
    return owned


def _missing_metadata(target: _Target, stored: Mapping[str, Any]) -> dict[str, Any]:
    wanted = {"labels": target.labels, "annotations": target.annotations}
    missing = {name: _missing(values, stored.get(name)) for name, values in wanted.items()}
    return {name: values for name, values in missing.items() if values}


def _missing(wanted: Mapping[str, str], stored: Mapping[str, str] | None) -> dict[str, str]:
    return {name: value for name, value in wanted.items() if (stored or {}).get(name) != value}


def _secret(mr: Managed, target: _Target, data: Mapping[str, str]) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": target.key.name,
        "namespace": target.key.namespace,
        "ownerReferences": [controller_reference(mr)],
    }
    metadata |= _missing_metadata(target, {})
    return {"metadata": metadata, "type": target.type, "data": dict(data)}


def _digest(targets: tuple[_Target, ...], details: Mapping[str, bytes]) -> str:
    said = [[str(t.key), t.type, sorted(t.labels.items()), sorted(t.annotations.items())] for t in targets]
    digest = hashlib.sha256(json.dumps(said).encode())
    for name, value in sorted(details.items()):
        digest.update(b"\0%d %s %d " % (len(name), name.encode(), len(value)) + value)
    return digest.hexdigest()

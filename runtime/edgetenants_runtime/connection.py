"""Publishes connection details to the Secret that a managed resource names."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgetenants_runtime.api.annotations import CONNECTION_SECRET_TYPE
from edgetenants_runtime.clock import Stopwatch
from edgetenants_runtime.errors import ExternalError, Retry
from edgetenants_runtime.kube.errors import NotFound
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.writer import Objects

__all__ = ["ConnectionPublisher", "controller_reference"]


@dataclass(frozen=True)
class _Published:
    digest: str
    since: Stopwatch


class ConnectionPublisher:
    """Writes Secrets of type connection.crossplane.io/v1alpha1, controlled by the managed resource.

    Publishing adds and updates keys and never removes one. A Secret of somebody else is never overwritten.
    """

    RECHECK_SECONDS = 600.0
    """Real seconds after which a Secret with unchanged details is looked at again: someone may have edited
    it."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._published: dict[str, _Published] = {}

    def publish(self, mr: Managed, details: Mapping[str, bytes]) -> None:
        """Bring the Secret to the details. Nothing happens where the resource names none or there are no
        details.

        Raises KubeError, and ExternalError for a Secret that is not this resource's own.
        """
        key = _secret_key(mr)
        if key is None or not details:
            return
        digest = _digest(key, details)
        known = self._published.get(mr.uid)
        if known and known.digest == digest and known.since.elapsed() < self.RECHECK_SECONDS:
            return
        self._write(mr, key, {name: base64.b64encode(value).decode() for name, value in details.items()})
        self._published[mr.uid] = _Published(digest, Stopwatch())

    def forget(self, uid: str) -> None:
        """The resource is gone."""
        self._published.pop(uid, None)

    def _write(self, mr: Managed, key: ObjectKey, data: Mapping[str, str]) -> None:
        try:
            stored = self._objects.get(SECRETS, key)
        except NotFound:
            self._objects.create(SECRETS, _secret(mr, key, data))
            return
        owned = _owned(mr, key, stored)
        missing = {
            name: value for name, value in data.items() if (stored.get("data") or {}).get(name) != value
        }
        if owned and not missing:
            return
        metadata: dict[str, Any] = {"resourceVersion": stored["metadata"]["resourceVersion"]}
        if not owned:
            others = stored["metadata"].get("ownerReferences") or []
            metadata["ownerReferences"] = [*others, controller_reference(mr)]
        self._objects.patch(SECRETS, key, {"metadata": metadata, "data": missing})


def controller_reference(mr: Managed) -> dict[str, Any]:
    """An ownerReference that makes the managed resource the controller."""
    return {
        "apiVersion": mr.api_version,
        "kind": mr.kind,
        "name": mr.name,
        "uid": mr.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _secret_key(mr: Managed) -> ObjectKey | None:
    ref = mr.spec.get("writeConnectionSecretToRef")
    if not ref:
        return None
    # A namespaced resource writes to its own namespace only.
    return ObjectKey(mr.namespace or ref.get("namespace") or "default", ref["name"])


def _owned(mr: Managed, key: ObjectKey, stored: Mapping[str, Any]) -> bool:
    owners = stored["metadata"].get("ownerReferences") or ()
    controllers = [owner for owner in owners if owner.get("controller")]
    if any(owner.get("uid") == mr.uid for owner in controllers):
        return True
    if not controllers and stored.get("type") == CONNECTION_SECRET_TYPE:
        # A connection Secret that lost its owner, in a restored backup for example, is taken over.
        return False
    raise ExternalError(
        f"Secret {key} exists and is not this resource's connection Secret: it is left alone; "
        "name another one in spec.writeConnectionSecretToRef, or delete it",
        retry=Retry.backoff(),
    )


def _secret(mr: Managed, key: ObjectKey, data: Mapping[str, str]) -> dict[str, Any]:
    return {
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "ownerReferences": [controller_reference(mr)],
        },
        "type": CONNECTION_SECRET_TYPE,
        "data": dict(data),
    }


def _digest(key: ObjectKey, details: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256(str(key).encode())
    for name, value in sorted(details.items()):
        digest.update(b"\0%d %s %d " % (len(name), name.encode(), len(value)) + value)
    return digest.hexdigest()

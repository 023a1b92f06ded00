"""The Lease for the leader election among the processes of a provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from edgetenants_runtime.clock import rfc3339_micro, utc_now
from edgetenants_runtime.kube.errors import NotFound
from edgetenants_runtime.kube.kinds import LEASES
from edgetenants_runtime.kube.objects import Objects
from edgetenants_runtime.managed import ObjectKey

__all__ = ["LeaseLock", "LeaseRecord"]

_RELEASED_SECONDS: Final = 1
"""The duration in a Lease that its holder released, as client-go writes it."""
_MOST_TRANSITIONS: Final = 2**31 - 1
"""The API server refuses a greater number."""


@dataclass(frozen=True)
class LeaseRecord:
    """A Lease as read or written."""

    spec: Mapping[str, Any]
    version: str
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def holder(self) -> str:
        """Identity of the leader; "" if the Lease was released."""
        return str(self.spec.get("holderIdentity") or "")

    @property
    def seconds(self) -> float:
        """Seconds within which its holder must renew it."""
        return float(self.spec.get("leaseDurationSeconds") or 1)

    @property
    def released(self) -> bool:
        """Its holder gave it up, after its work had ended. If only the holder is missing, another client
        removed it, and the process that was the holder does not know that yet."""
        return not self.holder and self.seconds <= _RELEASED_SECONDS

    @property
    def transitions(self) -> int:
        """How often its holder has changed."""
        return int(self.spec.get("leaseTransitions") or 0)


class LeaseLock:
    """Reads and writes one Lease (coordination.k8s.io/v1); each write fails if the Lease has changed.

    Times are informational: the election never compares the clocks of two machines. Every method raises
    KubeError.
    """

    def __init__(
        self,
        objects: Objects,
        key: ObjectKey,
        identity: str,
        *,
        now: Callable[[], datetime] = utc_now,
        notes: Callable[[LeaseRecord | None], Mapping[str, str | None]] = lambda _: {},
    ) -> None:
        """`identity` must be unique to each process. `notes` returns the annotations to set, or with None to
        remove, when it takes the Lease, which it last read like this."""
        self.key, self.identity, self._notes = key, identity, notes
        self._objects, self._now = objects, now

    def read(self) -> LeaseRecord | None:
        """The Lease; None if it does not exist."""
        try:
            return _record(self._objects.get(LEASES, self.key))
        except NotFound:
            return None

    def take(self, known: LeaseRecord | None, seconds: int) -> LeaseRecord:
        """Acquire it for `seconds`. Raises Conflict or AlreadyExists if another process was faster."""
        spec = self._spec(self.identity, seconds) | {"acquireTime": self._stamp()}
        notes = dict(self._notes(known))
        annotated: dict[str, Any] = {"annotations": notes} if notes else {}
        if known is None:
            metadata = {"name": self.key.name, "namespace": self.key.namespace} | annotated
            return _record(self._objects.create(LEASES, {"metadata": metadata, "spec": spec}))
        moved = known.holder != self.identity
        transitions = min(known.transitions + moved, _MOST_TRANSITIONS)
        return self._write(known, spec | {"leaseTransitions": transitions}, annotated)

    def renew(self, known: LeaseRecord, seconds: int) -> LeaseRecord:
        """Renew it for `seconds`. Raises Conflict, and NotFound if it was deleted."""
        return self._write(known, self._spec(self.identity, seconds))

    def annotate(self, annotations: Mapping[str, str]) -> None:
        """Set annotations. Its holder, if there is one, then reads it again before it renews it."""
        self._objects.patch(LEASES, self.key, {"metadata": {"annotations": dict(annotations)}})

    def release(self, known: LeaseRecord) -> None:
        """Release it, so that another process need not wait."""
        self._write(known, self._spec("", _RELEASED_SECONDS))

    def _write(
        self, known: LeaseRecord, spec: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
    ) -> LeaseRecord:
        patch = {"metadata": {"resourceVersion": known.version, **(metadata or {})}, "spec": spec}
        return _record(self._objects.patch(LEASES, self.key, patch))

    def _spec(self, holder: str, seconds: int) -> dict[str, Any]:
        return {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": self._stamp()}

    def _stamp(self) -> str:
        return rfc3339_micro(self._now())


def _record(lease: Mapping[str, Any]) -> LeaseRecord:
    metadata = lease["metadata"]
    version, annotations = str(metadata.get("resourceVersion") or ""), metadata.get("annotations") or {}
    return LeaseRecord(lease.get("spec") or {}, version, annotations)

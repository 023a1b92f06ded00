"""The Lease by which the processes of one provider agree who of them leads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from edgetenants_runtime.clock import rfc3339_micro, utc_now
from edgetenants_runtime.kube.errors import NotFound
from edgetenants_runtime.kube.kinds import LEASES
from edgetenants_runtime.kube.objects import Objects
from edgetenants_runtime.managed import ObjectKey

__all__ = ["LeaseLock", "LeaseRecord"]


@dataclass(frozen=True)
class LeaseRecord:
    """A Lease as read or written."""

    spec: Mapping[str, Any]
    version: str

    @property
    def holder(self) -> str:
        """Identity of the process that leads; "" when it was released."""
        return str(self.spec.get("holderIdentity") or "")

    @property
    def seconds(self) -> float:
        """How long its holder may go without renewing it."""
        return float(self.spec.get("leaseDurationSeconds") or 1)

    @property
    def transitions(self) -> int:
        """How often it went from one holder to another."""
        return int(self.spec.get("leaseTransitions") or 0)


class LeaseLock:
    """Reads and writes one Lease (coordination.k8s.io/v1); each write fails when it has moved on.

    Times are written for people: nobody compares the clocks of two machines. Every method raises KubeError.
    """

    def __init__(
        self, objects: Objects, key: ObjectKey, identity: str, *, now: Callable[[], datetime] = utc_now
    ) -> None:
        """`identity` must be another one in each process."""
        self.key, self.identity = key, identity
        self._objects, self._now = objects, now

    def read(self) -> LeaseRecord | None:
        """The Lease as it is, None when there is none."""
        try:
            return _record(self._objects.get(LEASES, self.key))
        except NotFound:
            return None

    def take(self, known: LeaseRecord | None, seconds: int) -> LeaseRecord:
        """Become its holder for `seconds`. Raises Conflict or AlreadyExists when another was faster."""
        spec = self._spec(self.identity, seconds) | {"acquireTime": self._stamp()}
        if known is None:
            metadata = {"name": self.key.name, "namespace": self.key.namespace}
            return _record(self._objects.create(LEASES, {"metadata": metadata, "spec": spec}))
        moved = known.holder != self.identity
        return self._write(known, spec | {"leaseTransitions": known.transitions + moved})

    def renew(self, known: LeaseRecord, seconds: int) -> LeaseRecord:
        """Hold it for `seconds` more. Raises Conflict, and NotFound when somebody deleted it."""
        return self._write(known, self._spec(self.identity, seconds))

    def release(self, known: LeaseRecord) -> None:
        """Give it up, so that another process need not wait."""
        self._write(known, self._spec("", 1))

    def _write(self, known: LeaseRecord, spec: Mapping[str, Any]) -> LeaseRecord:
        patch = {"metadata": {"resourceVersion": known.version}, "spec": spec}
        return _record(self._objects.patch(LEASES, self.key, patch))

    def _spec(self, holder: str, seconds: int) -> dict[str, Any]:
        return {"holderIdentity": holder, "leaseDurationSeconds": seconds, "renewTime": self._stamp()}

    def _stamp(self) -> str:
        return rfc3339_micro(self._now())


def _record(lease: Mapping[str, Any]) -> LeaseRecord:
    return LeaseRecord(lease.get("spec") or {}, str(lease["metadata"].get("resourceVersion") or ""))

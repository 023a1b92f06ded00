"""The managed resources for tests."""

from __future__ import annotations

from typing import Any

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.managed import ManagedKind

__all__ = ["CLUSTER_TOYS", "TOYS", "toy"]

_READ = {"example.org/creating-in": 100}
"""The record of a creation; see `Observation.creation_record`."""
TOYS = ManagedKind(
    "toys.m.example.org",
    "v1alpha1",
    "Toy",
    "toys",
    namespaced=True,
    late_initialized=("colour",),
    annotations=_READ,
)
CLUSTER_TOYS = ManagedKind(
    "toys.example.org",
    "v1alpha1",
    "Toy",
    "toys",
    namespaced=False,
    late_initialized=("colour",),
    annotations=_READ,
)


def toy(*, cluster: bool = False, deleted: bool = False, **changes: Any) -> dict[str, Any]:
    """A managed resource as applied; `changes` are annotations, finalizers, generation, status and fields of
    spec."""
    metadata: dict[str, Any] = {"name": "acme", "uid": "uid-acme", "generation": 1, "resourceVersion": "1"}
    if not cluster:
        metadata["namespace"] = "shop"
    metadata |= {
        name: changes.pop(name) for name in ("annotations", "finalizers", "generation") if name in changes
    }
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        metadata.setdefault("finalizers", [names.FINALIZER])
    kind = CLUSTER_TOYS if cluster else TOYS
    obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    if "status" in changes:
        obj["status"] = changes.pop("status")
    return obj | {"spec": {"forProvider": {"size": 1}} | changes}

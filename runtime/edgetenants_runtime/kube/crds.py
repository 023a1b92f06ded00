"""Queries about CRDs."""

from __future__ import annotations

from edgetenants_runtime.kube.errors import Forbidden, NotFound
from edgetenants_runtime.kube.kinds import CRDS
from edgetenants_runtime.kube.objects import Objects
from edgetenants_runtime.managed import ObjectKey, ResourceKind

__all__ = ["leaves"]


def leaves(objects: Objects, kind: ResourceKind) -> bool:
    """The kind's CRD is being deleted or does not exist: its objects are deleted without a request for it.

    False if the provider may not read CRDs, as under Crossplane v1. Raises KubeError.
    """
    try:
        crd = objects.get(CRDS, ObjectKey("", kind.resource))
    except NotFound:
        return True
    except Forbidden:
        return False
    return bool(crd["metadata"].get("deletionTimestamp"))

"""The interface to an API server, real or fake."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from edgetenants_runtime.managed import ObjectKey, ResourceKind

__all__ = ["Objects"]


class Objects(Protocol):
    """The API server requests used here; `kube.client.KubeClient` implements them."""

    def get(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any]:
        """One object. Raises KubeError."""
        ...

    def create(self, kind: ResourceKind, obj: Mapping[str, Any]) -> dict[str, Any]:
        """The object as stored. Raises KubeError."""
        ...

    def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Mapping[str, Any], *, subresource: str = ""
    ) -> dict[str, Any]:
        """The object after the JSON merge patch. Raises KubeError."""
        ...

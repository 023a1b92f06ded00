"""What is asked of an API server, whoever stands for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from edgetenants_runtime.managed import ObjectKey, ResourceKind

__all__ = ["Objects"]


class Objects(Protocol):
    """What is asked of the API server here; `kube.client.KubeClient` is one."""

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

"""Watches connection Secrets: one metadata-only watch reports which were deleted or edited.

Without it, each poll of each resource would have to read its Secret. The watch starts with the first
published Secret and never reads the content.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from typing import Any

from edgetenants_runtime.api.annotations import CONNECTION_SECRET_TYPE
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import ObjectKey

__all__ = ["PublishedSecrets"]


class PublishedSecrets:
    """The Secrets of the connection type, for all kinds and providers. Thread-safe."""

    def __init__(self, client: KubeClient, rng: random.Random) -> None:
        self._wanted = threading.Event()
        self.informer = Informer(
            client.selecting({}, fields={"type": CONNECTION_SECRET_TYPE}),
            SECRETS,
            rng,
            metadata_only=True,
            gate=self._wanted.is_set,
        )

    def written(self, stored: Mapping[str, Any]) -> None:
        """The Secret was written, or found to be correct."""
        self._wanted.set()
        if stored.get("type") == CONNECTION_SECRET_TYPE:
            # Never the content.
            self.informer.cache.observed({"metadata": stored["metadata"]})

    def stands(self, key: ObjectKey, version: str) -> bool | None:
        """The Secret exists and has no later version. None if that is unknown at present."""
        if not self.informer.synced or self.informer.problem:
            return None
        held = self.informer.cache.get(key)
        return held is not None and _number(held["metadata"].get("resourceVersion")) <= _number(version)


def _number(version: object) -> int:
    text = str(version or "")
    return int(text) if text.isdigit() else 0

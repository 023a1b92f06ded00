"""Opens the store of a TenantSource. Secrets and ConfigMaps are read by name, in its own namespace only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apis.tenantsource import ConfigMapSource, SourceChoice
from edgetenants_runtime.kube.errors import Forbidden, KubeError, NotFound
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import ObjectKey, ResourceKind
from sources.stores.store import Store, StoreError, StoreReason
from sources.stores.text import TextStore

__all__ = ["Get", "OpenStore", "opener"]

Get = Callable[[ResourceKind, ObjectKey], Mapping[str, Any]]
"""Reads one object. Raises KubeError."""
OpenStore = Callable[[str, SourceChoice], Store]
"""Opens the store of a TenantSource in a namespace. Raises StoreError."""


def opener(get: Get) -> OpenStore:
    """What opens stores, with `get` for the objects that they name."""

    def open_store(namespace: str, choice: SourceChoice) -> Store:
        return TextStore(_text(get, namespace, choice.config_map), choice.config_map.format)

    return open_store


def _text(get: Get, namespace: str, source: ConfigMapSource) -> str:
    try:
        found = get(CONFIG_MAPS, ObjectKey(namespace, source.name))
    except NotFound as error:
        message = f"the ConfigMap {source.name} does not exist"
        raise StoreError(StoreReason.INVALID_CONFIGURATION, message) from error
    except Forbidden as error:
        raise StoreError(StoreReason.ACCESS_DENIED, str(error)) from error
    except KubeError as error:
        raise StoreError(StoreReason.UNREACHABLE, str(error)) from error
    text = (found.get("data") or {}).get(source.key)
    if not isinstance(text, str):
        message = f"the ConfigMap {source.name} has no key {source.key}"
        raise StoreError(StoreReason.INVALID_CONFIGURATION, message)
    return text

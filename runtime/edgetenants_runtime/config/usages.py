"""The users of a provider config: ProviderConfigUsages, and managed resources whose usages are already
deleted.

A usage is owned by its managed resource and garbage-collected with it. The provider has no permission to
delete it. When a whole namespace is deleted, usages are deleted immediately, but managed resources only after
their external resources, for which they need the config. Therefore managed resources count too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.config.resolved import PRIMARY, ConfigUse
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.errors import AlreadyExists, Conflict
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.kube.objects import Objects
from edgetenants_runtime.kube.transform import check_whole
from edgetenants_runtime.managed import Managed, ObjectKey, ProviderConfigKey, ResourceKind
from edgetenants_runtime.rules.meta import controller_reference

__all__ = [
    "BY_CONFIG",
    "UsageTracker",
    "Users",
    "by_config",
    "config_of",
    "controller_of",
    "index_of",
    "user_of",
]

BY_CONFIG = "config"
"""Index of usages by the config that they name."""


def by_config(usage: Mapping[str, Any]) -> str | tuple[str, ...]:
    """The value of the index. A usage without a controller does not count: it is stale, or its resource is
    about to own it again."""
    owner = controller_of(usage)
    return str(config_of(usage)) if owner else ()


def config_of(usage: Mapping[str, Any]) -> ProviderConfigKey:
    """The config that a usage names."""
    ref = usage.get("providerConfigRef") or {}
    kind, namespace = ref.get("kind") or "ProviderConfig", usage["metadata"].get("namespace") or ""
    return ProviderConfigKey(kind, ref.get("name") or "", namespace if kind == "ProviderConfig" else "")


def controller_of(obj: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The ownerReference to the object's controller."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


class Users:
    """Counts the users of a config from informer caches. A resource counts once."""

    def __init__(self, usages: Cache) -> None:
        self._usages = usages
        self._resources: list[tuple[Cache, str]] = []

    def add(self, resources: Cache, use: ConfigUse) -> None:
        """Count these managed resources too. Call it before their informer starts."""
        index = index_of(use)
        resources.add_index(index, lambda obj: str(user_of(obj, use) or "") or ())
        self._resources.append((resources, index))

    def any(self, config: ProviderConfigKey) -> bool:
        """The config has a user. Much cheaper than `count`."""
        value = str(config)
        of_resources = (cache.indexed(index, value) for cache, index in self._resources)
        return self._usages.indexed(BY_CONFIG, value) or any(of_resources)

    def count(self, config: ProviderConfigKey) -> int:
        """The number of managed resources that use the config."""
        value = str(config)
        users = {_uid(controller_of(usage)) for usage in self._usages.by_index(BY_CONFIG, value)}
        for cache, index in self._resources:
            users.update(_uid(obj["metadata"]) for obj in cache.by_index(index, value))
        return len(users)


def index_of(use: ConfigUse) -> str:
    """The name of the index of managed resources by the config that they use this way."""
    return f"uses config {use.suffix}"


def user_of(obj: Mapping[str, Any] | None, use: ConfigUse) -> ProviderConfigKey | None:
    """The config that the managed resource needs for its external resource; None without our finalizer."""
    mr = Managed(obj or {})
    return use.ref(mr) if names.FINALIZER in mr.finalizers else None


def _uid(holder: Mapping[str, Any] | None) -> str:
    return str((holder or {}).get("uid") or "")


class UsageTracker:
    """Records with a ProviderConfigUsage, written once, that a managed resource uses a provider config."""

    def __init__(self, objects: Objects, usages: Informer) -> None:
        self._objects = objects
        self._kind: ResourceKind = usages.kind
        self._cache = usages.cache

    def recorded(self, mr: Managed, ref: ProviderConfigKey, suffix: str = "") -> bool:
        """The usage is already correct."""
        stored = self._cache.get(self._key(mr, suffix))
        return stored is not None and not self._correction(stored, self._wanted(mr, ref, suffix))

    def track(self, mr: Managed, ref: ProviderConfigKey, suffix: str = "") -> None:
        """Create or correct the usage. Raises KubeError."""
        key, wanted = self._key(mr, suffix), self._wanted(mr, ref, suffix)
        stored = self._cache.get(key)
        if stored is None:
            stored = self._create(key, wanted)
        patch = self._correction(stored, wanted)
        if patch:
            self._patch(key, patch)

    def let_go(self, mr: Managed, use: ConfigUse) -> None:
        """The resource no longer uses a config in that way. Raises KubeError.

        The usage exists until the resource is deleted. It is changed to name the resource's own config, where
        the resource counts once.
        """
        stored = self._cache.get(self._key(mr, use.suffix))
        own = PRIMARY.ref(mr)
        if stored is not None and own is not None:
            self.track(mr, own, use.suffix)

    def adopt(self, key: ObjectKey) -> None:
        """Make the resource the controller of its usage again, so that the usage is garbage-collected if the
        resource no longer exists. Raises KubeError.
        """
        stored = self._cache.get(key)
        resource = (stored or {}).get("resourceRef") or {}
        if stored is None or controller_of(stored) or not resource.get("uid"):
            return
        owner = {name: resource[name] for name in ("apiVersion", "kind", "name", "uid")}
        patch = self._owned(stored, owner | {"controller": True, "blockOwnerDeletion": True})
        self._patch(key, {"metadata": patch})

    def _key(self, mr: Managed, suffix: str) -> ObjectKey:
        name = f"{mr.uid}-{suffix}" if suffix else mr.uid
        return ObjectKey(mr.namespace if self._kind.namespaced else "", name)

    def _create(self, key: ObjectKey, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            stored = self._objects.create(self._kind, wanted)
        except AlreadyExists:
            stored = self._objects.get(self._kind, key)
        # Cache it, as the informer may not be allowed to list: an existing usage is not created again.
        self._cache.observed(stored)
        return stored

    def _patch(self, key: ObjectKey, patch: Mapping[str, Any]) -> None:
        try:
            self._cache.observed(self._objects.patch(self._kind, key, patch))
        except Conflict:
            # The informer, which would deliver the newer version, may not be allowed to list.
            self._cache.observed(self._objects.get(self._kind, key))
            raise

    def _wanted(self, mr: Managed, ref: ProviderConfigKey, suffix: str) -> dict[str, Any]:
        labels = {names.LABEL_PROVIDER_CONFIG: ref.name}
        reference = {"name": ref.name}
        key = self._key(mr, suffix)
        metadata: dict[str, Any] = {"name": key.name, "ownerReferences": [controller_reference(mr)]}
        if self._kind.namespaced:
            labels[names.LABEL_PROVIDER_CONFIG_KIND] = ref.kind
            reference["kind"] = ref.kind
            metadata["namespace"] = mr.namespace
        resource = {"apiVersion": mr.api_version, "kind": mr.kind, "name": mr.name, "uid": mr.uid}
        return {
            "metadata": metadata | {"labels": labels},
            "providerConfigRef": reference,
            "resourceRef": resource,
        }

    def _correction(self, stored: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
        """The patch from the stored usage to the wanted one; empty if they match."""
        patch: dict[str, Any] = {}
        (owner,) = wanted["metadata"]["ownerReferences"]
        if _uid(controller_of(stored)) != owner["uid"]:
            patch["metadata"] = self._owned(stored, owner)
        if stored.get("providerConfigRef") != wanted["providerConfigRef"]:
            patch["providerConfigRef"] = wanted["providerConfigRef"]
            patch["metadata"] = patch.get("metadata", {}) | {"labels": wanted["metadata"]["labels"]}
        return patch

    def _owned(self, stored: Mapping[str, Any], owner: Mapping[str, Any]) -> dict[str, Any]:
        """Raises Invalid."""
        metadata = stored["metadata"]
        check_whole(self._kind, metadata, "ownerReferences")
        others = [o for o in metadata.get("ownerReferences") or () if not o.get("controller")]
        version = metadata.get("resourceVersion")
        return {"ownerReferences": [*others, dict(owner)]} | ({"resourceVersion": version} if version else {})

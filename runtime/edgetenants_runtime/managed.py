"""A read-only view of the JSON object of a managed resource."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.conditions import Condition, ConditionType, ReadyReason
from edgetenants_runtime.api.references import ReferenceField
from edgetenants_runtime.clock import parse_rfc3339
from edgetenants_runtime.paths import patched

__all__ = [
    "Managed",
    "ManagedKind",
    "ObjectKey",
    "ProviderConfigKey",
    "ResourceKind",
    "conditions_in",
    "key_of",
]


_COLLECTORS = frozenset({"foregroundDeletion", "orphan"})
"""Finalizers of Kubernetes' garbage collector. It waits for dependents, not for us, so we do not wait for
it."""


@dataclass(frozen=True)
class ResourceKind:
    """A kind served by the API server."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """`group/version`, or only the version in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """`plural.group`, as in RBAC messages and CRD names."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True)
class ManagedKind(ResourceKind):
    """A kind of managed resource."""

    deterministic_name: bool = True
    """The external name is known before the creation, and a repeated creation cannot create a second external
    resource.

    If False, an interrupted creation stops with Crossplane's well-known message and is not repeated."""
    references: tuple[ReferenceField, ...] = ()
    """Fields that can be filled in from other objects. They are resolved first."""
    late_initialized: tuple[str, ...] = ()
    """Paths below spec.forProvider that may be filled in from the observed state. None of them may be the
    field of a reference: the filled-in value would override the reference permanently."""
    annotations: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Annotations that the provider reads or writes besides Crossplane's, each with the number of characters
    that it reads. Others are not in the `Managed` that a client gets: the runtime does not keep them."""
    immutable: tuple[str, ...] = ()
    """Paths below spec.forProvider that the external API cannot change after the creation. If one differs,
    the runtime reports an error and updates nothing."""

    def __post_init__(self) -> None:
        pinned = {each.field for each in self.references}.intersection(self.late_initialized)
        if pinned:
            raise ValueError(
                f"late initialization would override the reference of {', '.join(sorted(pinned))}"
            )


@dataclass(frozen=True, order=True)
class ObjectKey:
    """Namespace ("" if cluster-scoped) and name of an object of a known kind."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, order=True)
class ProviderConfigKey:
    """The provider config that a managed resource uses."""

    kind: str
    name: str
    namespace: str
    """"" for a cluster-scoped config."""

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {where}{self.name}"


def key_of(obj: Mapping[str, Any]) -> ObjectKey:
    """The key of any Kubernetes object in JSON form."""
    metadata = obj.get("metadata") or {}
    return ObjectKey(metadata.get("namespace") or "", metadata.get("name") or "")


def conditions_in(status: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The conditions of a stored status that have a type. Anyone with permission to write status may write
    anything, and a CRD that preserves unknown fields stores it."""
    stored = status.get("conditions")
    found = (each for each in stored if isinstance(each, Mapping)) if isinstance(stored, list | tuple) else ()
    return tuple(each for each in found if isinstance(each.get("type"), str) and each["type"])


def _object(stored: Any) -> Mapping[str, Any]:
    return stored if isinstance(stored, Mapping) else {}


@dataclass(frozen=True)
class Managed:
    """One managed resource, as last read. Properties never raise for absent fields, only if the identity is
    missing."""

    raw: Mapping[str, Any]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The object's metadata."""
        metadata: Mapping[str, Any] = self.raw.get("metadata") or {}
        return metadata

    @property
    def api_version(self) -> str:
        """`group/version`."""
        return str(self.raw.get("apiVersion", ""))

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.raw.get("kind", ""))

    @property
    def name(self) -> str:
        """metadata.name."""
        return str(self.metadata["name"])

    @property
    def share(self) -> str:
        """The namespace that it counts for: its own, or for a cluster-scoped resource the claim's
        namespace."""
        return self.namespace or self.labels.get(names.LABEL_CLAIM_NAMESPACE, "")

    @property
    def namespace(self) -> str:
        """metadata.namespace, "" if cluster-scoped."""
        return self.metadata.get("namespace") or ""

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def uid(self) -> str:
        """metadata.uid: a different uid under the same name is a different resource."""
        return self.metadata.get("uid") or ""

    @property
    def generation(self) -> int:
        """metadata.generation: counts the changes of spec."""
        return int(self.metadata.get("generation") or 0)

    @property
    def resource_version(self) -> str:
        """The version that was read. A write with it fails if the object has changed since."""
        return self.metadata.get("resourceVersion") or ""

    @property
    def annotations(self) -> Mapping[str, str]:
        """metadata.annotations."""
        return self.metadata.get("annotations") or {}

    @property
    def controller(self) -> Mapping[str, Any] | None:
        """The owner reference of the controller (the composite, for a composed resource); None if it has no
        controller."""
        owners = self.metadata.get("ownerReferences") or ()
        return next((owner for owner in owners if owner.get("controller")), None)

    @property
    def labels(self) -> Mapping[str, str]:
        """metadata.labels."""
        return self.metadata.get("labels") or {}

    @property
    def finalizers(self) -> tuple[str, ...]:
        """metadata.finalizers in order."""
        return tuple(self.metadata.get("finalizers") or ())

    @property
    def deleted(self) -> bool:
        """Deletion was requested; the object exists until its finalizers are removed."""
        return bool(self.metadata.get("deletionTimestamp"))

    @property
    def deleted_at(self) -> datetime | None:
        """When deletion was requested; None if it was not."""
        moment = self.metadata.get("deletionTimestamp")
        return parse_rfc3339(moment) if moment else None

    @property
    def held_by_others(self) -> tuple[str, ...]:
        """The finalizers for which a deletion waits, sorted."""
        return tuple(sorted(set(self.finalizers) - {names.FINALIZER} - _COLLECTORS))

    @property
    def deletion_began(self) -> bool:
        """It is being deleted, and Ready says so. Ready says so only if the external resource was observed,
        or the runtime no longer waits for it to appear."""
        ready = self.condition(ConditionType.READY) if self.deleted else None
        return ready is not None and ready.reason == ReadyReason.DELETING

    @property
    def asked_for(self) -> tuple[Any, ...]:
        """The desired state. A change of status alone does not count: the runtime itself writes status."""
        kept = ("uid", "generation", "deletionTimestamp", "annotations", "labels", "finalizers")
        return tuple(self.metadata.get(name) or None for name in kept)

    @property
    def external_name(self) -> str | None:
        """The annotation `crossplane.io/external-name`; None if absent or empty."""
        return self.annotations.get(names.EXTERNAL_NAME) or None

    @property
    def spec(self) -> Mapping[str, Any]:
        """The whole spec."""
        return self.raw.get("spec") or {}

    def with_spec(self, patch: Mapping[str, Any]) -> Managed:
        """The resource as it would be after a JSON merge patch of its spec."""
        return Managed({**self.raw, "spec": patched(self.spec, patch)}) if patch else self

    @property
    def for_provider(self) -> Mapping[str, Any]:
        """spec.forProvider."""
        return self.spec.get("forProvider") or {}

    @property
    def init_provider(self) -> Mapping[str, Any]:
        """spec.initProvider: used at creation only."""
        return self.spec.get("initProvider") or {}

    @property
    def status(self) -> Mapping[str, Any]:
        """The whole status; empty if the stored value is not an object."""
        return _object(self.raw.get("status"))

    @property
    def at_provider(self) -> Mapping[str, Any]:
        """status.atProvider: the last observation; empty if the stored value is not an object."""
        return _object(self.status.get("atProvider"))

    @property
    def conditions(self) -> tuple[Mapping[str, Any], ...]:
        """status.conditions as stored, without malformed entries."""
        return conditions_in(self.status)

    @property
    def management_policies(self) -> tuple[str, ...]:
        """spec.managementPolicies; ("*",) if absent, as with a CRD without the field."""
        policies = self.spec.get("managementPolicies")
        return ("*",) if policies is None else tuple(policies)

    @property
    def deletion_policy(self) -> str | None:
        """spec.deletionPolicy of a cluster-scoped resource; None if unset."""
        return self.spec.get("deletionPolicy")

    @property
    def paused(self) -> bool:
        """The annotation `crossplane.io/paused` is "true", or the management policies are empty."""
        return self.annotations.get(names.PAUSED) == "true" or not self.management_policies

    @property
    def provider_config_ref(self) -> ProviderConfigKey:
        """spec.providerConfigRef with Crossplane's defaults.

        Namespaced resources default to ClusterProviderConfig "default", cluster-scoped ones to ProviderConfig
        "default".
        """
        ref = self.spec.get("providerConfigRef") or {}
        name = ref.get("name") or "default"
        if not self.namespace:
            return ProviderConfigKey("ProviderConfig", name, "")
        kind = ref.get("kind") or "ClusterProviderConfig"
        return ProviderConfigKey(kind, name, self.namespace if kind == "ProviderConfig" else "")

    def with_annotations(self, annotations: Mapping[str, str]) -> Managed:
        """A copy with these annotations added; nothing is written."""
        metadata = {**self.metadata, "annotations": {**self.annotations, **annotations}}
        return Managed({**self.raw, "metadata": metadata})

    def condition(self, type_: str) -> Condition | None:
        """The status condition of that type; None if it was never set or is malformed."""
        for condition in self.conditions:
            if condition["type"] == type_:
                try:
                    return Condition.model_validate(condition)
                except ValidationError:
                    return None
        return None

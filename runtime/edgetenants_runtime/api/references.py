"""References from one object to others: by name, by selector, to Secrets and to ProviderConfigs.

Shapes as in Crossplane (apis/core/v2). One type serves both scopes: fields that exist in one scope alone are
marked.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from .model import ApiModel, Bool, Kube, Scope

ObjectName = Annotated[
    str,
    Field(min_length=1, max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"),
]
"""The name of an object of Kubernetes (RFC 1123 subdomain)."""

NamespaceName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
"""The name of a namespace (RFC 1123 label)."""

LabelMap = Annotated[dict[str, Annotated[str, Field(max_length=63)]], Field(max_length=64)]
"""Labels as Kubernetes has them."""


class Resolve(StrEnum):
    """When a reference or selector is resolved."""

    ALWAYS = "Always"
    """At each reconcile, so that the field follows its target."""
    IF_NOT_PRESENT = "IfNotPresent"
    """Once, while the field is empty."""


class Resolution(StrEnum):
    """What follows when a reference or selector cannot be resolved."""

    REQUIRED = "Required"
    """The reconcile fails and is tried again."""
    OPTIONAL = "Optional"
    """The reconcile goes on without the field."""


class ReferencePolicy(ApiModel):
    """When a reference is resolved, and whether it must be."""

    resolve: Resolve | None = None
    """Always: at each reconcile. IfNotPresent: only while the field is empty. Unset: IfNotPresent."""
    resolution: Resolution | None = None
    """Required: the reconcile fails until the target is there. Optional: it goes on without. Unset:
    Required."""


class Reference(ApiModel):
    """A reference to another object by its name."""

    name: ObjectName
    """Name of the referenced object."""
    namespace: Annotated[NamespaceName | None, Kube(only=Scope.NAMESPACED)] = None
    """Namespace of the referenced object. Unset: the namespace of this object."""
    policy: ReferencePolicy | None = None
    """When the reference is resolved, and whether it must be."""


class Selector(ApiModel):
    """A selection of another object by its labels or its controller."""

    match_labels: LabelMap | None = None
    """An object with all these labels is selected."""
    match_controller_ref: Bool | None = None
    """true: an object with the same controller as this one (composed by the same composite) is selected."""
    namespace: Annotated[NamespaceName | None, Kube(only=Scope.NAMESPACED)] = None
    """Namespace to select in. Unset: the namespace of this object."""
    policy: ReferencePolicy | None = None
    """When the selector is resolved, and whether it must be."""


class ProviderConfigKind(StrEnum):
    """Kinds that a providerConfigRef may name."""

    PROVIDER_CONFIG = "ProviderConfig"
    """A configuration in the namespace of the object that refers to it."""
    CLUSTER_PROVIDER_CONFIG = "ClusterProviderConfig"
    """A configuration for the whole cluster."""


class ProviderConfigReference(ApiModel):
    """The ProviderConfig with whose credentials and limits an external resource is managed."""

    kind: Annotated[ProviderConfigKind | None, Kube(only=Scope.NAMESPACED, required=True)] = None
    """ProviderConfig (in this namespace) or ClusterProviderConfig."""
    name: ObjectName
    """Name of the ProviderConfig."""


class SecretReference(ApiModel):
    """A Secret."""

    name: ObjectName
    """Name of the Secret."""
    namespace: Annotated[NamespaceName | None, Kube(only=Scope.CLUSTER, required=True)] = None
    """Namespace of the Secret. In namespaced kinds it is always the object's own."""


class SecretKeySelector(SecretReference):
    """One key of a Secret."""

    key: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]
    """Key in the Secret's data."""

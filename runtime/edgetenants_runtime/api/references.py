"""References from one object to others: by name, by selector, to Secrets and to ProviderConfigs.

Shapes as in Crossplane (apis/core/v2). One type serves both scopes: fields that exist in one scope alone are
marked. What a kind's fields may refer to is declared with `ReferenceField`; the runtime resolves it.
"""

from dataclasses import dataclass
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
    """Required: the reconcile fails until the target is there. Optional: it goes on without the field, or
    with what was resolved before. Unset: Required."""


class Reference(ApiModel):
    """A reference to another object by its name."""

    name: ObjectName
    """Name of the referenced object."""
    namespace: Annotated[NamespaceName | None, Kube(only=Scope.NAMESPACED)] = None
    """Namespace of the referenced object. Unset: the namespace of this object."""
    policy: ReferencePolicy | None = None
    """When the reference is resolved, and whether it must be."""


class Selector(ApiModel):
    """A selection of another object by its labels or its controller. Of several that match, the first by name
    is taken; one that is being deleted is not."""

    match_labels: LabelMap | None = None
    """An object with all these labels is selected."""
    match_controller_ref: Bool | None = None
    """true: an object with the same controller as this one (composed by the same composite) is selected."""
    namespace: Annotated[NamespaceName | None, Kube(only=Scope.NAMESPACED)] = None
    """Namespace to select in. Unset: the namespace of this object."""
    policy: ReferencePolicy | None = None
    """When the selector is resolved, and whether it must be."""


@dataclass(frozen=True)
class ReferenceTarget:
    """A kind of managed resource that fields refer to, and what they take from it."""

    group: str
    versions: tuple[str, ...]
    """Tried in this order until one is served; what is taken must be the same in all."""
    kind: str
    plural: str
    namespaced: bool
    value: str = ""
    """Path of what is taken, such as `status.atProvider.id`. "": the external name."""
    provider: str = ""
    """Name of the provider whose kind it is. "": this provider's own, whose objects are watched."""
    hint: str = ""
    """How the right to read the kind is given, for the message where it is missing; a whole clause."""


@dataclass(frozen=True)
class ReferenceField:
    """A field of forProvider and initProvider that can be filled in from another object.

    Beside it stand `<field>Ref` (a Reference) and `<field>Selector`; for a field with many values, which ends
    in s, `<field without s>Refs` (a list of References) and `<field without s>Selector`.
    """

    field: str
    """Path below forProvider, such as `customizations.webAcl.arn`. No list may lie on it."""
    target: ReferenceTarget
    many: bool = False
    """The field is a list, with one value for each reference."""

    @property
    def reference(self) -> str:
        """Path of the reference, or of the list of them."""
        return f"{self._stem}Refs" if self.many else f"{self.field}Ref"

    @property
    def selector(self) -> str:
        """Path of the selector."""
        return f"{self._stem}Selector"

    @property
    def _stem(self) -> str:
        return self.field.removesuffix("s") if self.many else self.field


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

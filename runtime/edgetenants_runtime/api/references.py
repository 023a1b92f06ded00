"""References from one object to others: by name, by selector, to Secrets and to ProviderConfigs.

The same shapes as in Crossplane (apis/core/v2). One type covers both scopes; fields that exist in one scope
only are marked. A kind declares with `ReferenceField` what its fields may refer to; the runtime resolves it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from .model import ApiModel, Bool, Kube, Scope

OBJECT_NAME: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
"""Of names that Kubernetes accepts: neither `a..b` nor `a.-b`."""

LONGEST_OBJECT_NAME: Final = 253

ObjectName = Annotated[str, Field(min_length=1, max_length=LONGEST_OBJECT_NAME, pattern=OBJECT_NAME)]
"""The name of a Kubernetes object (RFC 1123 subdomain)."""

NamespaceName = Annotated[str, Field(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
"""The name of a namespace (RFC 1123 label)."""

LabelMap = Annotated[dict[str, Annotated[str, Field(max_length=63)]], Field(max_length=64)]
"""Kubernetes labels."""


class Resolve(StrEnum):
    """When a reference or selector is resolved."""

    ALWAYS = "Always"
    """On every reconcile, so that the field follows its target."""
    IF_NOT_PRESENT = "IfNotPresent"
    """Only if the field is empty."""


class Resolution(StrEnum):
    """What happens when a reference or selector cannot be resolved."""

    REQUIRED = "Required"
    """The reconcile fails and is retried."""
    OPTIONAL = "Optional"
    """The reconcile continues without the field."""


class ReferencePolicy(ApiModel):
    """When a reference is resolved, and whether that is required."""

    resolve: Resolve | None = None
    """Always: on every reconcile. IfNotPresent: only if the field is empty. Unset: IfNotPresent."""
    resolution: Resolution | None = None
    """Required: the reconcile fails until the target exists. Optional: it continues without the field, or
    with the value resolved before. Unset: Required."""


class Reference(ApiModel):
    """A reference to another object by its name."""

    name: ObjectName
    """Name of the referenced object."""
    namespace: Annotated[NamespaceName | None, Kube(only=Scope.NAMESPACED)] = None
    """Namespace of the referenced object. Unset: the namespace of this object."""
    policy: ReferencePolicy | None = None
    """When the reference is resolved, and whether that is required."""


class Selector(ApiModel):
    """Selects another object by its labels or its controller. If several match, the first by name is
    selected. Objects that are being deleted are not selected."""

    match_labels: LabelMap | None = None
    """Selects an object with all these labels."""
    match_controller_ref: Bool | None = None
    """true: selects an object with the same controller as this one (composed by the same composite)."""
    namespace: Annotated[NamespaceName | None, Kube(only=Scope.NAMESPACED)] = None
    """Namespace to select in. Unset: the namespace of this object."""
    policy: ReferencePolicy | None = None
    """When the selector is resolved, and whether that is required."""


@dataclass(frozen=True)
class ReferenceTarget:
    """A kind of managed resource that fields refer to, and the value to read from it."""

    group: str
    versions: tuple[str, ...]
    """Tried in this order until one is served. The value must be the same in all."""
    kind: str
    plural: str
    namespaced: bool
    value: str = ""
    """Path of the value, such as `status.atProvider.id`. "": the external name."""
    provider: str = ""
    """Name of the provider that owns the kind. "": this provider, which watches its own kinds."""
    hint: str = ""
    """How to grant permission to read the kind, for the message when it is missing; a whole clause."""


@dataclass(frozen=True)
class ReferenceField:
    """A field of forProvider and initProvider that can be filled in from another object.

    It comes with `<field>Ref` (a Reference) and `<field>Selector`; a field with many values, whose name ends
    in s, with `<field without s>Refs` (a list of References) and `<field without s>Selector`.
    """

    field: str
    """Path below forProvider, such as `customizations.webAcl.arn`. It must not pass through a list."""
    target: ReferenceTarget
    many: bool = False
    """The field is a list, with one value for each reference."""
    follows_later: bool = False
    """While the reference cannot be resolved, an existing external resource follows the rest of its spec, and
    the field stays as it is. Only for a field that keeps its external value if the spec does not set it."""

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
    """The ProviderConfig with the credentials and limits to manage an external resource with."""

    kind: Annotated[ProviderConfigKind | None, Kube(only=Scope.NAMESPACED, required=True)] = None
    """ProviderConfig (in this namespace) or ClusterProviderConfig."""
    name: ObjectName
    """Name of the ProviderConfig."""


class SecretReference(ApiModel):
    """A Secret."""

    name: ObjectName
    """Name of the Secret."""
    namespace: Annotated[NamespaceName | None, Kube(only=Scope.CLUSTER, required=True)] = None
    """Namespace of the Secret. Namespaced kinds always use their own namespace."""


class SecretKeySelector(SecretReference):
    """One key of a Secret."""

    key: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$")]
    """Key in the Secret's data."""

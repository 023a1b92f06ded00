"""The spec and status fields that every managed resource has.

The same shapes as in Crossplane (apis/core/v2, resource_namespace.go and resource_cluster.go). A kind adds
forProvider and initProvider to the spec of each scope, and atProvider to the status.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from edgetenants_runtime.bounds import LONGEST_REQUEST

from .conditions import Conditions
from .model import NOT_TEXT, ApiModel, Kube
from .references import LabelMap, ObjectName, ProviderConfigKind, ProviderConfigReference, SecretReference


class ManagementPolicy(StrEnum):
    """An action that the provider may take on the external resource."""

    ALL = "*"
    """All actions."""
    OBSERVE = "Observe"
    """Observe it."""
    CREATE = "Create"
    """Create it when it does not exist."""
    UPDATE = "Update"
    """Update it when it differs from the desired state."""
    DELETE = "Delete"
    """Delete it when the object is deleted."""
    LATE_INITIALIZE = "LateInitialize"
    """Fill empty fields of forProvider with values that the external API chose."""


class DeletionPolicy(StrEnum):
    """What happens to the external resource when its object is deleted."""

    DELETE = "Delete"
    """The provider deletes it too."""
    ORPHAN = "Orphan"
    """The provider leaves it as it is."""


class PublishMetadata(ApiModel):
    """Metadata of the Secret to which connection details are published."""

    labels: LabelMap | None = None
    """Labels of the Secret."""
    annotations: Annotated[dict[str, Annotated[str, Field(max_length=4096)]] | None, Field(max_length=64)] = (
        None
    )
    """Annotations of the Secret."""
    type: Annotated[str | None, Field(max_length=253)] = None
    """Type of the Secret. Unset: connection.crossplane.io/v1alpha1."""


class StoreConfigReference(ApiModel):
    """The store to which connection details are published."""

    name: ObjectName
    """Name of the store. Only `default`, the Kubernetes store, is supported."""


class PublishConnectionDetailsTo(ApiModel):
    """Where connection details are published: the older form, with labels and annotations."""

    name: ObjectName
    """Name of the Secret. It is written to the provider's namespace."""
    metadata: PublishMetadata | None = None
    """Labels, annotations and type of the Secret."""
    config_ref: StoreConfigReference = StoreConfigReference(name="default")
    """The store. Any store other than `default` is rejected with a ReconcileError."""


class ManagedSpec(ApiModel):
    """The spec fields that both scopes share."""

    # Atomic, as in Crossplane's own kinds: server-side apply would merge a set with the default, which no
    # field manager owns, and the result is a combination that is not supported.
    management_policies: Annotated[
        tuple[ManagementPolicy, ...], Field(max_length=6), Kube(list_type="atomic")
    ] = (ManagementPolicy.ALL,)
    """What the provider may do with the external resource. An empty list pauses the resource. Combinations
    that Crossplane does not define are rejected with a ReconcileError that lists the allowed ones."""


class NamespacedManagedSpec(ManagedSpec):
    """The common spec of a namespaced managed resource (Crossplane v2)."""

    provider_config_ref: ProviderConfigReference = ProviderConfigReference(
        kind=ProviderConfigKind.CLUSTER_PROVIDER_CONFIG, name="default"
    )
    """The ProviderConfig of this namespace, or the ClusterProviderConfig, with the credentials and limits to
    use."""
    write_connection_secret_to_ref: SecretReference | None = None
    """The Secret in this namespace to which the provider writes connection details. It never overwrites a
    Secret that does not belong to this resource. Unset: connection details are not written."""


class ClusterManagedSpec(ManagedSpec):
    """The common spec of a cluster-scoped managed resource (Crossplane v1)."""

    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE
    """What happens to the external resource when this object is deleted: Delete deletes it, Orphan leaves it
    as it is. managementPolicies take precedence unless they are the default."""
    provider_config_ref: ProviderConfigReference = ProviderConfigReference(name="default")
    """The ProviderConfig with the credentials and limits to use."""
    write_connection_secret_to_ref: SecretReference | None = None
    """The Secret to which the provider writes connection details. It never overwrites a Secret that does not
    belong to this resource. Unset: connection details are not written."""
    publish_connection_details_to: PublishConnectionDetailsTo | None = None
    """The older form of writeConnectionSecretToRef, with labels and annotations for the Secret."""


class ManagedStatus(ApiModel):
    """The status fields that every managed resource has."""

    conditions: Conditions = ()
    """Ready, Synced, and the condition types of the kind."""
    last_handled_reconcile_at: Annotated[str | None, Field(max_length=LONGEST_REQUEST)] = None
    """The last value of the annotation crossplane.io/reconcile-requested-at that the provider handled."""
    observed_generation: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The metadata.generation for which the provider last observed the external resource; 0 before the first
    observation. While it is behind metadata.generation, a change waits; Synced says for what."""

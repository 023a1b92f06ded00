"""The envelope of a managed resource's spec and status: what Crossplane promises for every kind.

Shapes as in Crossplane (apis/core/v2, resource_namespace.go and resource_cluster.go). A kind adds forProvider
and initProvider to one envelope for each scope, and atProvider to the status.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from edgetenants_runtime.bounds import LONGEST_REQUEST

from .conditions import Conditions
from .model import NOT_TEXT, ApiModel, Kube
from .references import LabelMap, ObjectName, ProviderConfigKind, ProviderConfigReference, SecretReference


class ManagementPolicy(StrEnum):
    """One thing that the provider may do with the external resource."""

    ALL = "*"
    """Everything."""
    OBSERVE = "Observe"
    """Read it."""
    CREATE = "Create"
    """Make it when it does not exist."""
    UPDATE = "Update"
    """Change it when it differs."""
    DELETE = "Delete"
    """Delete it when the object is deleted."""
    LATE_INITIALIZE = "LateInitialize"
    """Copy values that the outside world chose into empty fields of forProvider."""


class DeletionPolicy(StrEnum):
    """What becomes of the external resource when its object is deleted."""

    DELETE = "Delete"
    """It is deleted too."""
    ORPHAN = "Orphan"
    """It stays as it is."""


class PublishMetadata(ApiModel):
    """Metadata of the Secret to which connection details are published."""

    labels: LabelMap | None = None
    """Labels put on the Secret."""
    annotations: Annotated[dict[str, Annotated[str, Field(max_length=4096)]] | None, Field(max_length=64)] = (
        None
    )
    """Annotations put on the Secret."""
    type: Annotated[str | None, Field(max_length=253)] = None
    """Type of the Secret. Unset: connection.crossplane.io/v1alpha1."""


class StoreConfigReference(ApiModel):
    """The store to which connection details are published."""

    name: ObjectName
    """Name of the store. Only `default`, which is the Kubernetes store, is served."""


class PublishConnectionDetailsTo(ApiModel):
    """Where connection details are published, in the older form with labels and annotations."""

    name: ObjectName
    """Name of the Secret. It is written to the provider's namespace."""
    metadata: PublishMetadata | None = None
    """Labels, annotations and type of the Secret."""
    config_ref: StoreConfigReference = StoreConfigReference(name="default")
    """The store. Any other than `default` is refused with a ReconcileError."""


class ManagedSpec(ApiModel):
    """What the specs of both scopes have in common."""

    management_policies: Annotated[
        tuple[ManagementPolicy, ...], Field(max_length=6), Kube(list_type="set")
    ] = (ManagementPolicy.ALL,)
    """What the provider may do with the external resource. An empty list pauses the resource. Combinations
    that Crossplane does not define are refused with a ReconcileError that names the allowed ones."""


class NamespacedManagedSpec(ManagedSpec):
    """The spec envelope of a namespaced managed resource (Crossplane v2)."""

    provider_config_ref: ProviderConfigReference = ProviderConfigReference(
        kind=ProviderConfigKind.CLUSTER_PROVIDER_CONFIG, name="default"
    )
    """Whose credentials and limits are used: a ProviderConfig of this namespace or a
    ClusterProviderConfig."""
    write_connection_secret_to_ref: SecretReference | None = None
    """The Secret in this namespace to which connection details are written. A Secret that is not this
    resource's own is never overwritten. Unset: they are not written."""


class ClusterManagedSpec(ManagedSpec):
    """The spec envelope of a cluster-scoped managed resource (Crossplane v1)."""

    deletion_policy: DeletionPolicy = DeletionPolicy.DELETE
    """What becomes of the external resource when this object is deleted: Delete deletes it, Orphan leaves it
    as it is. managementPolicies win where they are not the default."""
    provider_config_ref: ProviderConfigReference = ProviderConfigReference(name="default")
    """Whose credentials and limits are used: a ProviderConfig by name."""
    write_connection_secret_to_ref: SecretReference | None = None
    """The Secret to which connection details are written. A Secret that is not this resource's own is never
    overwritten. Unset: they are not written."""
    publish_connection_details_to: PublishConnectionDetailsTo | None = None
    """Another way to say where connection details are written, with labels and annotations for the Secret."""


class ManagedStatus(ApiModel):
    """What the status of every managed resource has."""

    conditions: Conditions = ()
    """Ready and Synced, and the types of the kind."""
    last_handled_reconcile_at: Annotated[str | None, Field(max_length=LONGEST_REQUEST)] = None
    """The last value of the annotation crossplane.io/reconcile-requested-at that was acted upon."""
    observed_generation: Annotated[int | None, Field(ge=0), NOT_TEXT] = None
    """The metadata.generation with which the external resource was last looked at; 0 while there was none.
    While it is behind metadata.generation, a change waits: Synced says for what."""

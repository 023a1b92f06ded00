"""ConnectionGroup: one connection group of CloudFront, as a managed resource of both scopes.

Field names are those of CloudFront's API (CreateConnectionGroup, UpdateConnectionGroup) in camelCase. Nothing
under forProvider or initProvider has a default in the CRD; the default stands in the description.
"""

from typing import Annotated, Any

from pydantic import Field

from edgetenants_runtime.api.managed import (
    ClusterManagedSpec,
    ManagedSpec,
    ManagedStatus,
    NamespacedManagedSpec,
)
from edgetenants_runtime.api.model import ApiModel, Bool, Kube

from .distributiontenant import AwsId
from .drift import AppliedRecord, Drift, GuardedSpec, PlannedActions
from .tags import Tags


class ConnectionGroupParameters(ApiModel):
    """What is asked of CloudFront."""

    ipv6_enabled: Bool | None = None
    """true: the routing endpoint has IPv6 addresses too. Unset: true when the group is created, else as it
    is, which late initialization fills in here."""
    anycast_ip_list_id: AwsId | None = None
    """Id of an Anycast static IP list whose addresses the routing endpoint has. Unset: none."""
    enabled: Bool | None = None
    """true: the tenants of the group are served. false: the group is kept and serves nothing, which is
    refused for the account's default group. Unset: true when it is created, else as it is, which late
    initialization fills in here."""
    tags: Tags | None = None
    """Tags of the group in AWS: at most 50, keys of 1 to 128 characters, values of up to 256. Tags that
    others put on the group are left alone."""


IgnoredField = Annotated[
    str, Field(max_length=256, pattern="^(ipv6Enabled|anycastIpListId|enabled|tags([.].+)?)$")
]
"""Path of a field that may differ in AWS."""


class ConnectionGroupSpec(ManagedSpec, GuardedSpec):
    """What the specs of both scopes have in common."""

    for_provider: ConnectionGroupParameters = ConnectionGroupParameters()
    """What is asked of CloudFront, and held to."""
    init_provider: Annotated[dict[str, Any] | None, Kube(partial_of=ConnectionGroupParameters)] = None
    """What is asked of CloudFront when the group is created, and not held to afterwards. Fields that
    forProvider has too are taken from there; maps are merged key by key."""
    ignore_drift: Annotated[tuple[IgnoredField, ...] | None, Field(max_length=64), Kube(list_type="set")] = (
        None
    )
    """Fields below forProvider that may differ in AWS: they are neither shown as drift nor repaired, such as
    ipv6Enabled or tags.team. They are still set when the group is created."""


class NamespacedConnectionGroupSpec(ConnectionGroupSpec, NamespacedManagedSpec):
    """The spec of a ConnectionGroup in a namespace."""


class ClusterConnectionGroupSpec(ConnectionGroupSpec, ClusterManagedSpec):
    """The spec of a ConnectionGroup beside the namespaces."""


class ConnectionGroupObservation(ApiModel):
    """The connection group as CloudFront has it."""

    id: Annotated[str | None, Field(max_length=64)] = None
    """Id of the group (cg_…)."""
    arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the group."""
    name: Annotated[str | None, Field(max_length=128)] = None
    """Name of the group in CloudFront; unique in the account and never changed."""
    etag: Annotated[str | None, Field(max_length=128)] = None
    """Version of the group; moves with each write."""
    routing_endpoint: Annotated[str | None, Field(max_length=253)] = None
    """Name of the endpoint to which the domains of the group's tenants must lead."""
    status: Annotated[str | None, Field(max_length=64)] = None
    """InProgress: a change is being rolled out. Deployed: the last one is."""
    enabled: Bool | None = None
    """Whether the tenants of the group are served."""
    ipv6_enabled: Bool | None = None
    """Whether the endpoint has IPv6 addresses."""
    anycast_ip_list_id: Annotated[str | None, Field(max_length=64)] = None
    """Id of the Anycast static IP list."""
    is_default: Bool | None = None
    """Whether tenants without a connection group of their own get this one."""
    tags: Annotated[dict[str, Annotated[str, Field(max_length=256)]] | None, Field(max_length=64)] = None
    """Tags of the group, the provider's own and foreign ones included."""


class ConnectionGroupStatus(ManagedStatus):
    """What is known of the connection group."""

    at_provider: ConnectionGroupObservation | None = None
    """The group as CloudFront has it."""
    applied: AppliedRecord | None = None
    """What the provider last wrote."""
    drift: Drift | None = None
    """Fields that differ in AWS from what was asked."""
    planned_actions: PlannedActions | None = None
    """What the provider would do, under the annotation edgetenants.io/dry-run: "true"."""

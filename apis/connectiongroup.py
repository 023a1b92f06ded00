"""ConnectionGroup: a CloudFront connection group, as a managed resource in both scopes.

Field names are those of CloudFront's API (CreateConnectionGroup, UpdateConnectionGroup) in camelCase. No
field under forProvider or initProvider has a default in the CRD; the description has the default.
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
from .drift import AppliedRecord, Drift, GuardedSpec, GuardedStatus, PlannedActions
from .tags import Tags


class ConnectionGroupParameters(ApiModel):
    """The desired state of the connection group."""

    ipv6_enabled: Bool | None = None
    """true: the routing endpoint has IPv6 addresses too. Unset: a new group gets true; for an existing group,
    late initialization sets the present value here."""
    anycast_ip_list_id: AwsId | None = None
    """Id of an Anycast static IP list whose addresses the routing endpoint uses. Unset: none."""
    enabled: Bool | None = None
    """true: CloudFront serves the tenants of the group. false: the group is kept and serves nothing; refused
    for the account's default group. Unset: a new group gets true; for an existing group, late initialization
    sets the present value here."""
    tags: Tags | None = None
    """Tags of the group in AWS: at most 50, keys of 1 to 128 characters, values of up to 256. The provider
    removes a tag that the spec no longer lists, and leaves other tags alone."""


IgnoredField = Annotated[
    str, Field(max_length=256, pattern="^(ipv6Enabled|anycastIpListId|enabled|tags([.].+)?)$")
]
"""Path of a field that may differ in AWS."""


class ConnectionGroupSpec(ManagedSpec, GuardedSpec):
    """The fields that both scopes share."""

    for_provider: ConnectionGroupParameters = ConnectionGroupParameters()
    """The desired state of the connection group. The provider enforces it."""
    init_provider: Annotated[dict[str, Any] | None, Kube(partial_of=ConnectionGroupParameters)] = None
    """Initial values: the provider applies them when it creates the group and ignores them afterwards. Fields
    in forProvider take precedence; maps are merged key by key."""
    ignore_drift: Annotated[tuple[IgnoredField, ...] | None, Field(max_length=64), Kube(list_type="set")] = (
        None
    )
    """Fields below forProvider that may differ in AWS, such as ipv6Enabled or tags.team. The provider neither
    reports nor repairs their drift, but still sets them when it creates the group."""


class NamespacedConnectionGroupSpec(ConnectionGroupSpec, NamespacedManagedSpec):
    """The spec of a namespaced ConnectionGroup."""


class ClusterConnectionGroupSpec(ConnectionGroupSpec, ClusterManagedSpec):
    """The spec of a cluster-scoped ConnectionGroup."""


class ConnectionGroupObservation(ApiModel):
    """The observed state of the connection group in CloudFront."""

    id: Annotated[str | None, Field(max_length=64)] = None
    """Id of the group (cg_…)."""
    arn: Annotated[str | None, Field(max_length=2048)] = None
    """ARN of the group."""
    name: Annotated[str | None, Field(max_length=128)] = None
    """Name of the group in CloudFront; unique in the account and immutable."""
    etag: Annotated[str | None, Field(max_length=128)] = None
    """Version of the group; changes with each write."""
    routing_endpoint: Annotated[str | None, Field(max_length=253)] = None
    """Name of the endpoint to which the domains of the group's tenants must lead."""
    status: Annotated[str | None, Field(max_length=64)] = None
    """InProgress: CloudFront is rolling out a change. Deployed: the last change is rolled out."""
    enabled: Bool | None = None
    """Whether CloudFront serves the tenants of the group."""
    ipv6_enabled: Bool | None = None
    """Whether the endpoint has IPv6 addresses."""
    anycast_ip_list_id: Annotated[str | None, Field(max_length=64)] = None
    """Id of the Anycast static IP list."""
    is_default: Bool | None = None
    """Whether this is the account's default group, for tenants that name no group."""
    tags: Annotated[dict[str, Annotated[str, Field(max_length=256)]] | None, Field(max_length=64)] = None
    """Tags of the group, including the provider's own and those that others set."""


class ConnectionGroupStatus(ManagedStatus, GuardedStatus):
    """The observed state of the connection group."""

    at_provider: ConnectionGroupObservation | None = None
    """The observed state of the group in CloudFront."""
    applied: AppliedRecord | None = None
    """The provider's last write."""
    drift: Drift | None = None
    """Fields whose value in AWS differs from the desired one."""
    planned_actions: PlannedActions | None = None
    """The actions that the provider would take; set with the annotation edgetenants.io/dry-run: "true"."""

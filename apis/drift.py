"""Drift: differences between the state in AWS and the desired state, and the policy for them."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from edgetenants_runtime.api.model import ApiModel, Bool, Kube


class DriftPolicy(StrEnum):
    """What the provider does about drift: changes in AWS that it did not make."""

    ENFORCE = "Enforce"
    """It reports and repairs the drift."""
    REPORT = "Report"
    """It reports the drift and does not repair it."""
    SUSPEND = "Suspend"
    """It neither reports nor repairs the drift."""


class GuardedSpec(ApiModel):
    """Fields for drift and deletion that all managed resources have."""

    drift_policy: DriftPolicy | None = None
    """What the provider does if the external resource was changed in AWS. Enforce: it reports and repairs the
    drift. Report: it reports the drift and does not repair it. Suspend: neither. It applies changes of this
    spec under every policy. It recreates a deleted external resource under Enforce only. Unset: the
    provider's flag --drift-policy decides."""
    deletion_protection: Bool = False
    """true: if this object is deleted, the provider deletes nothing in AWS until the annotation
    edgetenants.io/confirm has the token that the Ready condition names. Turning the field off does not
    release a deletion that waits already."""


class GuardedStatus(ApiModel):
    """Status fields for drift and deletion that all managed resources have."""

    deletion_protected: Bool | None = None
    """true: this object was deleted while spec.deletionProtection was on, so the deletion waits for the
    annotation edgetenants.io/confirm."""


class FieldDrift(ApiModel):
    """One field whose value in AWS differs from the desired one."""

    field: Annotated[str, Field(min_length=1, max_length=512)]
    """Path of the field below spec.forProvider."""
    desired: Annotated[str, Field(max_length=4096)]
    """The desired value, as text."""
    observed: Annotated[str, Field(max_length=4096)]
    """The value in AWS, as text."""


class PlannedAction(ApiModel):
    """One action that the provider would take."""

    action: Annotated[str, Field(min_length=1, max_length=64)]
    """Name of the action, such as UpdateTenant."""
    operation: Annotated[str | None, Field(max_length=128)] = None
    """The AWS API call of the action, such as cloudfront:UpdateDistributionTenant. Unset: none."""
    details: Annotated[str, Field(max_length=4096)] = ""
    """What it would change, in words."""


class AppliedRecord(ApiModel):
    """The provider's last write to AWS. By it the provider distinguishes tags and parameters that it must
    remove from those that others set."""

    hash: Annotated[str | None, Field(max_length=128)] = None
    """Digest of the fields of the last write."""
    etag: Annotated[str | None, Field(max_length=128)] = None
    """ETag that AWS returned for the last write."""
    owner: Annotated[str | None, Field(max_length=256)] = None
    """Last written value of the tag edgetenants.io/owner. For a cluster-scoped resource it keeps the
    namespace of its claim, because Crossplane removes the claim labels before it deletes the resource."""
    tag_keys: Annotated[
        tuple[Annotated[str, Field(max_length=128)], ...] | None, Field(max_length=64), Kube(list_type="set")
    ] = None
    """Keys of the written tags."""
    parameter_keys: Annotated[
        tuple[Annotated[str, Field(max_length=128)], ...] | None, Field(max_length=64), Kube(list_type="set")
    ] = None
    """Names of the written parameters."""


Drift = Annotated[tuple[FieldDrift, ...], Field(max_length=128), Kube(list_type="atomic")]
"""The differences of one external resource; empty if there are none."""

PlannedActions = Annotated[tuple[PlannedAction, ...], Field(max_length=64), Kube(list_type="atomic")]
"""The actions that the provider would take, in order."""

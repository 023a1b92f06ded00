"""Drift: what differs in AWS from what was asked, and what is to be done about it."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from edgetenants_runtime.api.model import ApiModel, Bool, Kube


class DriftPolicy(StrEnum):
    """What is done about a difference that somebody made behind the provider's back."""

    ENFORCE = "Enforce"
    """It is shown and repaired."""
    REPORT = "Report"
    """It is shown and left."""
    SUSPEND = "Suspend"
    """It is neither shown nor repaired."""


class GuardedSpec(ApiModel):
    """What both kinds of external resource can be told about drift and deletion."""

    drift_policy: DriftPolicy | None = None
    """What is done when the external resource was changed behind the provider's back. Enforce: shown and
    repaired. Report: shown and left. Suspend: neither. A change of this spec is rolled out in any case. What
    was deleted in AWS is made anew under Enforce only. Unset: what the provider's flag --drift-policy
    says."""
    deletion_protection: Bool = False
    """true: a deletion of this object is held, and nothing is deleted in AWS, until the annotation
    edgetenants.io/confirm carries the token that the Ready condition names."""


class FieldDrift(ApiModel):
    """One field that differs in AWS from what was asked."""

    field: Annotated[str, Field(min_length=1, max_length=512)]
    """Path of the field below spec.forProvider."""
    desired: Annotated[str, Field(max_length=4096)]
    """What was asked, as text."""
    observed: Annotated[str, Field(max_length=4096)]
    """What AWS has, as text."""


class PlannedAction(ApiModel):
    """One thing that the provider would do."""

    action: Annotated[str, Field(min_length=1, max_length=64)]
    """Name of the action, such as UpdateTenant."""
    operation: Annotated[str | None, Field(max_length=128)] = None
    """The AWS API call that it would make, such as cloudfront:UpdateDistributionTenant. Unset: none."""
    details: Annotated[str, Field(max_length=4096)] = ""
    """What would be changed, in words."""


class AppliedRecord(ApiModel):
    """What the provider last wrote to AWS; tells its own removed tags and parameters from foreign ones."""

    hash: Annotated[str | None, Field(max_length=128)] = None
    """Digest of the fields that were last written."""
    etag: Annotated[str | None, Field(max_length=128)] = None
    """ETag that AWS answered to the last write."""
    owner: Annotated[str | None, Field(max_length=256)] = None
    """Value of the tag edgetenants.io/owner that was last written. Of a cluster-scoped resource it keeps the
    namespace of its claim, whose labels Crossplane takes off before it deletes the resource."""
    tag_keys: Annotated[
        tuple[Annotated[str, Field(max_length=128)], ...] | None, Field(max_length=64), Kube(list_type="set")
    ] = None
    """Keys of the tags that were written."""
    parameter_keys: Annotated[
        tuple[Annotated[str, Field(max_length=128)], ...] | None, Field(max_length=64), Kube(list_type="set")
    ] = None
    """Names of the parameters that were written."""


Drift = Annotated[tuple[FieldDrift, ...], Field(max_length=128), Kube(list_type="map", keys=("field",))]
"""The differences of one external resource; empty where there is none."""

PlannedActions = Annotated[tuple[PlannedAction, ...], Field(max_length=64), Kube(list_type="atomic")]
"""What the provider would do, in order."""

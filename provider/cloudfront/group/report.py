"""The conditions and status of a connection group's managed resource (pure)."""

from __future__ import annotations

from typing import Final

from apis.conditions import DeployedReason, TenantConditionType, TenantReadyReason
from edgetenants_runtime.api.conditions import Condition, available
from provider.cloudfront.aws.retries import not_ready
from provider.cloudfront.group.plan import GroupState
from provider.cloudfront.lifecycle import report
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN
from provider.cloudfront.lifecycle.conditions import NO_ACTION, condition, deployed, in_sync, told
from provider.cloudfront.lifecycle.report import Shown
from provider.cloudfront.state import group as group_state

__all__ = ["absent", "show"]

_MOST_TOLD: Final = 100
"""Enough for all fields and the maximum number of tags."""


def show(
    state: GroupState, *, served: bool, written: bool = False, ineffective: bool = False, frozen: str = ""
) -> Shown:
    """Report a group.

    Args:
        state: the group.
        served: it was Ready at the last reconcile.
        written: it was just created or updated.
        ineffective: the provider sent the same update twice and nothing changed.
        frozen: why writes are frozen, for messages.
    """
    seen, differing = state.seen, told((*state.drift, *state.pending), _MOST_TOLD)
    drift, left = bool(state.drift), state.left
    return Shown(
        conditions=(
            _ready(state, served=served),
            deployed(seen),
            in_sync(seen, differing, drift=drift, left=left, ineffective=ineffective, frozen=frozen),
        ),
        at_provider=group_state.at_provider(state.seen),
        status=report.status(state, written=written),
        connection_details=report.details(
            {"connectionGroupId": state.seen.id, "endpoint": state.seen.routing_endpoint}
        ),
        late={"enabled": state.seen.enabled, "ipv6Enabled": state.seen.ipv6_enabled},
        next_look=None if state.seen.deployed else LOOK_AGAIN,
    )


def absent() -> tuple[Condition, ...]:
    """The conditions before the group exists."""
    words = "The connection group does not exist yet. Ready and Synced show what it waits for."
    return (condition(TenantConditionType.DEPLOYED, DeployedReason.CREATING, words),)


def _ready(state: GroupState, *, served: bool) -> Condition:
    seen = state.seen
    if not seen.enabled and state.asked.enabled is False:
        words = (
            "The group is disabled because spec.forProvider.enabled is false; set it to true to enable it."
        )
        return not_ready(TenantReadyReason.DISABLED, words)
    if not seen.enabled:
        words = "The group is disabled in AWS. Set spec.forProvider.enabled to true to enable it."
        return not_ready(TenantReadyReason.DISABLED, words)
    if not seen.deployed and not served:
        words = f"CloudFront is rolling out the connection group, which takes some minutes. {NO_ACTION}"
        return not_ready(TenantReadyReason.DEPLOYING, words)
    return available()

"""What is shown of a connection group on its managed resource (pure)."""

from __future__ import annotations

from apis.conditions import DeployedReason, InSyncReason, TenantConditionType, TenantReadyReason
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, available
from edgetenants_runtime.api.conditions import deleting as ready_deleting
from provider.cloudfront.aws.errors import not_ready
from provider.cloudfront.group.plan import GroupState
from provider.cloudfront.lifecycle import report
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN
from provider.cloudfront.lifecycle.report import Shown
from provider.cloudfront.state import group as group_state
from provider.cloudfront.state.group import ObservedGroup
from provider.cloudfront.tenant.conditions import NOBODY, UNLESS_REFUSED, difference

__all__ = ["absent", "gone", "removing", "show"]


def show(
    state: GroupState, *, served: bool, written: bool = False, ineffective: bool = False, frozen: str = ""
) -> Shown:
    """Show a group.

    Args:
        state: the group.
        served: it was Ready when it was last told of.
        written: it was created or changed just now.
        ineffective: the same update was made twice and changed nothing.
        frozen: what forbids every write, in words.
    """
    in_sync = _in_sync(state, ineffective=ineffective, frozen=frozen)
    return Shown(
        conditions=(_ready(state, served=served), _deployed(state.seen), in_sync),
        at_provider=group_state.at_provider(state.seen),
        status=report.status(state, written=written),
        connection_details=report.details(
            {"connectionGroupId": state.seen.id, "endpoint": state.seen.routing_endpoint}
        ),
        late={"enabled": state.seen.enabled, "ipv6Enabled": state.seen.ipv6_enabled},
        look_after=None if state.seen.deployed else LOOK_AGAIN,
    )


def absent() -> tuple[Condition, ...]:
    """What is known before the group exists."""
    words = "The connection group does not exist yet. Ready and Synced say what it waits for."
    return (_condition(TenantConditionType.DEPLOYED, DeployedReason.CREATING, words),)


def removing(seen: ObservedGroup) -> tuple[Condition, ...]:
    """The group is to be deleted and still there. As long as it is enabled, nothing was done about that: it
    may wait for its tenants."""
    if seen.enabled:
        return (_deployed(seen),)
    if seen.deployed:
        return gone()
    words = (
        f"Connection group {seen.name} is being disabled; CloudFront lets it be deleted once that is rolled "
        f"out. {NOBODY}"
    )
    return (
        not_ready(TenantReadyReason.DISABLING, words),
        _condition(TenantConditionType.DEPLOYED, DeployedReason.DISABLING, words),
    )


def gone() -> tuple[Condition, ...]:
    """The group was deleted just now, or waits for that."""
    words = f"The connection group is disabled and is being deleted. {UNLESS_REFUSED}"
    return (ready_deleting(), _condition(TenantConditionType.DEPLOYED, DeployedReason.DELETING, words))


def _ready(state: GroupState, *, served: bool) -> Condition:
    seen = state.seen
    if not seen.enabled and state.asked.enabled is False:
        words = "The group is disabled, as spec.forProvider.enabled asks. Set it to true to have it serve."
        return not_ready(TenantReadyReason.DISABLED, words)
    if not seen.enabled:
        words = "The group is disabled in AWS. Set spec.forProvider.enabled to true to have it enabled."
        return not_ready(TenantReadyReason.DISABLED, words)
    if not seen.deployed and not served:
        words = f"CloudFront is rolling the connection group out, which takes some minutes. {NOBODY}"
        return not_ready(TenantReadyReason.DEPLOYING, words)
    return available()


def _deployed(seen: ObservedGroup) -> Condition:
    if seen.deployed:
        return _condition(TenantConditionType.DEPLOYED, DeployedReason.DEPLOYED, holds=True)
    words = f"CloudFront says {seen.status or 'nothing'}. {NOBODY}"
    return _condition(TenantConditionType.DEPLOYED, DeployedReason.DEPLOYING, words)


def _in_sync(state: GroupState, *, ineffective: bool, frozen: str) -> Condition:
    differing = (*state.drift, *state.pending)
    if not differing and state.seen.deployed:
        return _condition(TenantConditionType.IN_SYNC, InSyncReason.IN_SYNC, holds=True)
    if not differing:
        words = f"AWS has what was asked and is rolling it out. {NOBODY}"
        return _condition(TenantConditionType.IN_SYNC, InSyncReason.UPDATE_PENDING, words)
    reason, why = difference(drift=bool(state.drift), left=state.left, ineffective=ineffective, frozen=frozen)
    words = "; ".join(f"{d.field}: asked {d.desired}, AWS has {d.observed}" for d in differing)
    return _condition(TenantConditionType.IN_SYNC, reason, words + why)


def _condition(
    type_: TenantConditionType,
    reason: DeployedReason | InSyncReason,
    message: str = "",
    *,
    holds: bool = False,
) -> Condition:
    status = ConditionStatus.TRUE if holds else ConditionStatus.FALSE
    return Condition(type=type_.value, status=status, reason=reason.value, message=message)

"""The conditions that all kinds share: rolled out, in sync, being deleted (pure)."""

from __future__ import annotations

from typing import Final

from apis.conditions import (
    NOT_DONE,
    DeployedReason,
    DnsReason,
    InSyncReason,
    TenantConditionType,
    TenantReadyReason,
)
from edgetenants_runtime.api.conditions import Condition, ConditionStatus, ConditionType
from edgetenants_runtime.api.conditions import deleting as ready_deleting
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.retries import not_ready
from provider.cloudfront.state.observed import Observed

__all__ = [
    "INEFFECTIVE",
    "LIFT_FREEZE",
    "NO_ACTION",
    "condition",
    "deployed",
    "drifted",
    "gone",
    "in_sync",
    "left_alone",
    "removing",
    "staying",
    "told",
    "was_ready",
]

NO_ACTION: Final = "No action is needed."
INEFFECTIVE: Final = "set these fields to the values in AWS, or change the values in AWS"
LIFT_FREEZE: Final = "Writes resume when that setting is removed"
_UNLESS_REFUSED: Final = "No action is needed, unless Ready shows that AWS refuses it."
_ONLY_DELETED: Final = "the provider changes nothing while this resource is being deleted"
_NOT_SENT: Final = frozenset({InSyncReason.UPDATE_PENDING, InSyncReason.DRIFT_DETECTED})
_TOLD: Final = 10

Reason = DeployedReason | DnsReason | InSyncReason


def was_ready(mr: Managed) -> bool:
    """It was Ready at the last reconcile. A failure now does not mean that it stopped serving."""
    ready = mr.condition(ConditionType.READY)
    return ready is not None and ready.status is ConditionStatus.TRUE


def drifted(mr: Managed, said: tuple[Condition, ...]) -> str:
    """The drift in these conditions that the resource did not report before, as a message."""
    now = next(c for c in said if c.type == TenantConditionType.IN_SYNC)
    before = mr.condition(TenantConditionType.IN_SYNC)
    if now.reason != InSyncReason.DRIFT_DETECTED:
        return ""
    known = before is not None and (before.reason, before.message) == (now.reason, now.message)
    return "" if known else now.message


def removing(what: str, seen: Observed) -> tuple[Condition, ...]:
    """The conditions while the external resource waits for its deletion; `what` is its noun. While it is
    enabled, the deletion has not started: it may be on hold, or wait for what uses the resource."""
    if seen.enabled:
        return (deployed(seen),)
    if seen.deployed:
        return gone(what)
    words = (
        f"{what.capitalize()} {seen.name} is being disabled. CloudFront allows its deletion once that is "
        f"rolled out. {NO_ACTION}"
    )
    return (
        not_ready(TenantReadyReason.DISABLING, words),
        condition(TenantConditionType.DEPLOYED, DeployedReason.DISABLING, words),
    )


def staying(what: str, seen: Observed) -> tuple[Condition, ...]:
    """The conditions while its deletion is on hold, if it cannot be compared with the spec."""
    if seen.enabled:
        return (deployed(seen),)
    words = f"{what.capitalize()} {seen.name} is disabled in AWS. Its deletion is on hold"
    return (not_ready(TenantReadyReason.DISABLED, words), deployed(seen))


def left_alone(told: Condition, but: str = "") -> Condition:
    """The condition of something that differs from the spec, of a resource whose deletion is on hold; `but`
    is the field that is written nevertheless."""
    if told.type != TenantConditionType.IN_SYNC or told.reason not in _NOT_SENT or NOT_DONE in told.message:
        return told
    words = f"apart from {but}, {_ONLY_DELETED}" if but else _ONLY_DELETED
    return told.model_copy(update={"message": f"{told.message}{NOT_DONE}{words}"})


def gone(what: str) -> tuple[Condition, ...]:
    """The conditions when it was just deleted, or is disabled and about to be."""
    words = f"The {what} is disabled and is being deleted. {_UNLESS_REFUSED}"
    return (ready_deleting(), condition(TenantConditionType.DEPLOYED, DeployedReason.DELETING, words))


def deployed(seen: Observed) -> Condition:
    """Whether CloudFront has rolled out the last change."""
    if seen.deployed:
        return condition(TenantConditionType.DEPLOYED, DeployedReason.DEPLOYED, holds=True)
    words = f"CloudFront reports {seen.status or 'no status'}. {NO_ACTION}"
    return condition(TenantConditionType.DEPLOYED, DeployedReason.DEPLOYING, words)


def in_sync(
    seen: Observed, differing: str, *, drift: bool, left: bool, ineffective: bool, frozen: str
) -> Condition:
    """Whether AWS has the desired state.

    Args:
        seen: the observed state.
        differing: the differences, as `told` writes them; empty if there are none.
        drift: some differences are changes that someone made in AWS.
        left: the drift policy does not correct them.
        ineffective: the provider sent the same update twice and nothing changed.
        frozen: why writes are frozen, for messages.
    """
    if differing:
        reason, why = _difference(drift=drift, left=left, ineffective=ineffective, frozen=frozen)
        return condition(TenantConditionType.IN_SYNC, reason, differing + why)
    if seen.deployed:
        return condition(TenantConditionType.IN_SYNC, InSyncReason.IN_SYNC, holds=True)
    words = f"AWS has the desired state and is rolling it out. {NO_ACTION}"
    return condition(TenantConditionType.IN_SYNC, InSyncReason.UPDATE_PENDING, words)


def _difference(*, drift: bool, left: bool, ineffective: bool, frozen: str) -> tuple[InSyncReason, str]:
    """Why AWS differs from the desired state: the reason, and the end of the message."""
    if frozen:
        return InSyncReason.FROZEN, f"{NOT_DONE}{frozen}. {LIFT_FREEZE}"
    if ineffective:
        return InSyncReason.UPDATE_INEFFECTIVE, (
            ". The provider sent the same update twice and nothing changed. It does not repeat it until the "
            f"resource or AWS changes: {INEFFECTIVE}"
        )
    if not drift:
        return InSyncReason.UPDATE_PENDING, ""
    way_out = ". The drift policy keeps it so: change it back in AWS, or set spec.driftPolicy to Enforce"
    return InSyncReason.DRIFT_DETECTED, way_out if left else ""


def told(differing: tuple[FieldDiff, ...], most: int = _TOLD) -> str:
    """The fields that differ, for a message; at most `most` of them."""
    said = [f"{d.field}: desired {d.desired}, AWS has {d.observed}" for d in differing[:most]]
    more = f"; and {len(differing) - most} more" if len(differing) > most else ""
    return "; ".join(said) + more


def condition(
    type_: TenantConditionType, reason: Reason, message: str = "", *, holds: bool = False
) -> Condition:
    """A condition of the provider's own types."""
    status = ConditionStatus.TRUE if holds else ConditionStatus.FALSE
    return Condition(type=type_.value, status=status, reason=reason.value, message=message)

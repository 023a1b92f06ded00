"""What is said of an external resource of any kind: whether it is rolled out, as asked, or going (pure)."""

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
from provider.cloudfront.aws.errors import not_ready
from provider.cloudfront.state.observed import Observed

__all__ = [
    "INEFFECTIVE",
    "NOBODY",
    "condition",
    "deployed",
    "drifted",
    "gone",
    "in_sync",
    "removing",
    "told",
    "was_ready",
]

NOBODY: Final = "Nobody needs to act."
INEFFECTIVE: Final = "ask for what AWS has there, or have that changed in AWS"
_UNLESS_REFUSED: Final = "Nobody needs to act, unless Ready says that AWS refuses it."
_TOLD: Final = 10

Reason = DeployedReason | DnsReason | InSyncReason


def was_ready(mr: Managed) -> bool:
    """Ready when it was last told of: what fails now is no reason to say that it does not serve."""
    ready = mr.condition(ConditionType.READY)
    return ready is not None and ready.status is ConditionStatus.TRUE


def drifted(mr: Managed, said: tuple[Condition, ...]) -> str:
    """The drift that is told of in `said` and was not before, in words."""
    now = next(c for c in said if c.type == TenantConditionType.IN_SYNC)
    before = mr.condition(TenantConditionType.IN_SYNC)
    if now.reason != InSyncReason.DRIFT_DETECTED:
        return ""
    known = before is not None and (before.reason, before.message) == (now.reason, now.message)
    return "" if known else now.message


def removing(what: str, seen: Observed) -> tuple[Condition, ...]:
    """It is to be deleted and still there; `what` is its noun. As long as it is enabled, nothing was done
    about that: the deletion may be held, or wait for what uses it."""
    if seen.enabled:
        return (deployed(seen),)
    if seen.deployed:
        return gone(what)
    words = (
        f"{what.capitalize()} {seen.name} is being disabled; CloudFront lets it be deleted once that is "
        f"rolled out. {NOBODY}"
    )
    return (
        not_ready(TenantReadyReason.DISABLING, words),
        condition(TenantConditionType.DEPLOYED, DeployedReason.DISABLING, words),
    )


def gone(what: str) -> tuple[Condition, ...]:
    """It was deleted just now, or waits for that."""
    words = f"The {what} is disabled and is being deleted. {_UNLESS_REFUSED}"
    return (ready_deleting(), condition(TenantConditionType.DEPLOYED, DeployedReason.DELETING, words))


def deployed(seen: Observed) -> Condition:
    """Whether its last change is rolled out."""
    if seen.deployed:
        return condition(TenantConditionType.DEPLOYED, DeployedReason.DEPLOYED, holds=True)
    words = f"CloudFront says {seen.status or 'nothing'}. {NOBODY}"
    return condition(TenantConditionType.DEPLOYED, DeployedReason.DEPLOYING, words)


def in_sync(
    seen: Observed, differing: str, *, drift: bool, left: bool, ineffective: bool, frozen: str
) -> Condition:
    """Whether AWS has what is asked.

    Args:
        seen: what is there.
        differing: in what it differs, as `told` has it; empty where it does not.
        drift: somebody changed something behind the provider's back.
        left: the drift policy leaves that as it is.
        ineffective: the same update was made twice and changed nothing.
        frozen: what forbids every write, in words.
    """
    if differing:
        reason, why = _difference(drift=drift, left=left, ineffective=ineffective, frozen=frozen)
        return condition(TenantConditionType.IN_SYNC, reason, differing + why)
    if seen.deployed:
        return condition(TenantConditionType.IN_SYNC, InSyncReason.IN_SYNC, holds=True)
    words = f"AWS has what was asked and is rolling it out. {NOBODY}"
    return condition(TenantConditionType.IN_SYNC, InSyncReason.UPDATE_PENDING, words)


def _difference(*, drift: bool, left: bool, ineffective: bool, frozen: str) -> tuple[InSyncReason, str]:
    """Why AWS has something else than what is asked: the reason, and how the message ends."""
    if frozen:
        return InSyncReason.FROZEN, f"{NOT_DONE}{frozen}. Whoever did that lifts it"
    if ineffective:
        return InSyncReason.UPDATE_INEFFECTIVE, (
            ". The same update was made twice and changed nothing, so it is not repeated until the resource "
            f"or AWS changes: {INEFFECTIVE}"
        )
    if not drift:
        return InSyncReason.UPDATE_PENDING, ""
    way_out = ". The drift policy leaves it so: change it back in AWS, or set spec.driftPolicy to Enforce"
    return InSyncReason.DRIFT_DETECTED, way_out if left else ""


def told(differing: tuple[FieldDiff, ...], most: int = _TOLD) -> str:
    """The fields that differ, in words; no more than `most` of them."""
    said = [f"{d.field}: asked {d.desired}, AWS has {d.observed}" for d in differing[:most]]
    more = f"; and {len(differing) - most} more" if len(differing) > most else ""
    return "; ".join(said) + more


def condition(
    type_: TenantConditionType, reason: Reason, message: str = "", *, holds: bool = False
) -> Condition:
    """A condition of the provider's own types."""
    status = ConditionStatus.TRUE if holds else ConditionStatus.FALSE
    return Condition(type=type_.value, status=status, reason=reason.value, message=message)

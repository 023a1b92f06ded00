"""Whether the deletion of a managed resource also deletes its external resource (pure)."""

from __future__ import annotations

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.api.annotations import PAUSED
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.policies import UnsupportedPolicies, permissions

__all__ = ["deletes", "held_back"]

_HELD = (Reason.DELETION_HELD, Reason.FROZEN)


def deletes(mr: Managed) -> bool:
    """The policies allow the provider to delete the external resource with the managed resource."""
    try:
        return permissions(mr.management_policies, mr.deletion_policy).delete
    except UnsupportedPolicies:
        return False


def held_back(mr: Managed, going: Managed) -> str:
    """Why the deletion of another resource does not proceed without action; "" if it proceeds.

    Args:
        mr: the managed resource whose users read the message. It omits the cause if `going` is in another
            namespace.
        going: the other resource, which is being deleted.
    """
    here = going.namespace == mr.namespace
    it = f"{going.kind} {going.name}" if here else "that resource"
    if going.paused:
        return f"Its deletion waits while it is paused. Remove the annotation {PAUSED} of {it}"
    if others := going.held_by_others:
        named = f": {', '.join(others)}" if here else ""
        return (
            f"The deletion of {it} waits for other finalizers{named}. The controllers that set them must "
            "remove them"
        )
    ready, synced = going.condition(ConditionType.READY), going.condition(ConditionType.SYNCED)
    # Its message is not quoted: what it says to do with that resource would be done with this one.
    if ready is not None and ready.reason in _HELD:
        return f"The deletion of {it} is on hold{'; its Ready condition says how to proceed' if here else ''}"
    if synced is not None and synced.status is ConditionStatus.FALSE:
        return f"The deletion of {it} fails{'; its Synced condition says why' if here else ''}"
    return ""

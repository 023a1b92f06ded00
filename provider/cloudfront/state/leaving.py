"""Whether a managed resource that is being deleted takes its external resource with it (pure)."""

from __future__ import annotations

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.api.annotations import PAUSED
from edgetenants_runtime.api.conditions import ConditionStatus, ConditionType
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.rules.policies import UnsupportedPolicies, permissions

__all__ = ["deletes", "held_back"]

_HELD = (Reason.DELETION_HELD, Reason.FROZEN)


def deletes(mr: Managed) -> bool:
    """The policies permit that the external resource is deleted with the managed resource."""
    try:
        return permissions(mr.management_policies, mr.deletion_policy).delete
    except UnsupportedPolicies:
        return False


def held_back(mr: Managed, going: Managed) -> str:
    """Why the deletion of another resource does not go on until somebody acts; "" where it goes on.

    Args:
        mr: the managed resource whose users read it. Those of another namespace are not told the cause.
        going: the other one, which is being deleted.
    """
    here = going.namespace == mr.namespace
    it = f"{going.kind} {going.name}" if here else "that resource"
    if going.paused:
        return f"Its deletion does not go on while it is paused. Remove the annotation {PAUSED} of {it}"
    ready, synced = going.condition(ConditionType.READY), going.condition(ConditionType.SYNCED)
    if ready is not None and ready.reason in _HELD:
        return (
            f"Its deletion is held: {ready.message}" if here else "Its deletion is held until somebody acts"
        )
    if synced is not None and synced.status is ConditionStatus.FALSE:
        return f"Its deletion fails: {synced.message}" if here else "Its deletion fails at present"
    return ""

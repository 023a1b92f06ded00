"""The status of a provider config (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from edgetenants_runtime.api.conditions import Condition, ConditionStatus
from edgetenants_runtime.api.providerconfig import ProviderConfigConditionType, ProviderConfigReason
from edgetenants_runtime.managed import Managed, conditions_in
from edgetenants_runtime.rules.status import Report, merge_patch, next_status

__all__ = ["COPY_IT", "IN_USE", "is_news", "is_terminating", "patch_for"]

COPY_IT: Final = "use another one, or apply a copy under another name and point its users to the copy"
"""How to proceed, as Kubernetes cannot undo a deletion."""
IN_USE: Final = (
    "Blocking deletion while usages still exist: it is deleted when the managed resources that use it are "
    "deleted or use another; `kubectl get providerconfigusages -A` lists them, status.users counts them. It "
    f"accepts no new resources, and the deletion cannot be undone: {COPY_IT}"
)
"""Starts with crossplane-runtime's message (pkg/reconciler/providerconfig)."""

_TERMINATING: Final = Condition(
    type=ProviderConfigConditionType.TERMINATING,
    status=ConditionStatus.TRUE,
    reason=ProviderConfigReason.IN_USE,
    message=IN_USE,
)


def is_terminating(config: Mapping[str, Any], *, used: bool) -> bool:
    """The config is being deleted and remains because it is in use."""
    return used and bool(config["metadata"].get("deletionTimestamp"))


def is_news(config: Mapping[str, Any], *, used: bool) -> bool:
    """The status does not show yet whether the config is in use, or that it is terminating."""
    status = Managed(config).status
    said = any(c["type"] == _TERMINATING.type for c in conditions_in(status))
    return bool(status.get("users")) != used or said != is_terminating(config, used=used)


def patch_for(config: Mapping[str, Any], fields: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
    """The JSON merge patch of status that sets the fields, including `users`; empty if nothing changed."""
    old = Managed(config).status
    terminating = is_terminating(config, used=fields["users"] > 0)
    report = Report(conditions=(_TERMINATING,) if terminating else (), fields=fields)
    generation = int(config["metadata"].get("generation") or 0)
    new = next_status(old if terminating else _released(old), report, generation=generation, now=now)
    # A config's status has no generation, and has conditions only if there are any.
    del new["observedGeneration"]
    if not new["conditions"] and not old.get("conditions"):
        del new["conditions"]
    return merge_patch(old, new)


def _released(status: Mapping[str, Any]) -> Mapping[str, Any]:
    # No longer in use, but another finalizer blocks its deletion: remove InUse.
    kept = [c for c in conditions_in(status) if c["type"] != ProviderConfigConditionType.TERMINATING]
    return {**status, "conditions": kept}

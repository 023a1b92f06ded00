"""Why the provider may not write to the external resource of another managed resource (pure).

A move changes two tenants, but only the reconcile of the receiving resource acts. What stops writes for the
giving resource must stop that, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from apis.providerconfig import Writes
from edgetenants_runtime.api.annotations import PAUSED
from edgetenants_runtime.managed import Managed
from provider.cloudfront.ownership import judgement
from provider.cloudfront.safety.guards import DRY_RUN_ANNOTATION, is_dry_run

__all__ = ["ConfigOf", "Hold", "hold_of"]

ConfigOf = Callable[[Managed], Mapping[str, Any] | None]
"""Returns the stored provider config that a managed resource names; None if there is none."""
Hold = Callable[[Managed], str]
"""Returns why the provider may not update the external resource of a managed resource, and how to proceed;
"" if it may."""


def hold_of(mr: Managed, config: Mapping[str, Any] | None) -> str:
    """See Hold. `config`: the stored provider config of the resource; None if it does not exist."""
    it = f"{mr.kind} {mr.name}"
    if mr.annotations.get(PAUSED) == "true":
        return f"{it} is paused. Remove its annotation {PAUSED} to proceed"
    if is_dry_run(mr):
        return f"{it} is in a dry run. Remove its annotation {DRY_RUN_ANNOTATION} to proceed"
    if not judgement.updates(mr):
        return f"the managementPolicies of {it} do not allow updates. Add Update to them to proceed"
    if config is None:
        return f"{mr.provider_config_ref}, which {it} uses, does not exist. Create it to proceed"
    if (config.get("spec") or {}).get("writes") == Writes.FROZEN:
        config_name = mr.provider_config_ref
        return f"spec.writes of {config_name}, which {it} uses, is Frozen. The platform team ends that"
    return ""

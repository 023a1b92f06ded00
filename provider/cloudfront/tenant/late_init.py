"""What late initialization offers of a tenant, and what it must not, as somebody cleared it (pure).

Which fields may be filled in is said beside the kind (apis.kinds); the runtime does it where the field is
open and the policy permits it. Here is what only the record of the last write tells: a field that the spec
has said before, and says no more, was cleared on purpose and stays empty.
"""

from __future__ import annotations

from typing import Any

from edgetenants_runtime.managed import Managed
from provider.cloudfront.tenant.assessment import Assessment

__all__ = ["offered"]


def offered(mr: Managed, state: Assessment) -> dict[str, Any]:
    """Values of AWS for fields that the spec never said anything of.

    A tenant that is only looked at has no record; its fields are offered at the first look alone.
    """
    seen, applied = state.seen, state.applied
    enabled = seen.enabled if state.asked.enabled is None else state.asked.enabled
    values = {"domains": sorted(seen.domains), "enabled": enabled}
    if not applied.known:
        return {} if mr.at_provider.get("id") else values
    return {field: value for field, value in values.items() if not applied.was_said(field)}

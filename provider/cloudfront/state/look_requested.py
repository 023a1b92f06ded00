"""Whether a user requested a reconcile (pure)."""

from __future__ import annotations

from edgetenants_runtime.api.annotations import RECONCILE_REQUESTED_AT
from edgetenants_runtime.bounds import LONGEST_REQUEST, cut
from edgetenants_runtime.managed import Managed

__all__ = ["is_requested"]


def is_requested(mr: Managed) -> bool:
    """The annotation crossplane.io/reconcile-requested-at has a value that no reconcile has handled yet. So
    this reconcile also does what is otherwise done less often."""
    asked = cut(mr.annotations.get(RECONCILE_REQUESTED_AT) or "", LONGEST_REQUEST)
    return bool(asked) and asked != mr.status.get("lastHandledReconcileAt")

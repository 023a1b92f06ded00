"""Whether somebody asked for a look now (pure)."""

from __future__ import annotations

from edgetenants_runtime.api.annotations import RECONCILE_REQUESTED_AT
from edgetenants_runtime.bounds import LONGEST_REQUEST, cut
from edgetenants_runtime.managed import Managed

__all__ = ["is_requested"]


def is_requested(mr: Managed) -> bool:
    """The annotation crossplane.io/reconcile-requested-at asks for a reconcile, and none has answered it yet:
    this one does what else comes in its time only."""
    asked = cut(mr.annotations.get(RECONCILE_REQUESTED_AT) or "", LONGEST_REQUEST)
    return bool(asked) and asked != mr.status.get("lastHandledReconcileAt")

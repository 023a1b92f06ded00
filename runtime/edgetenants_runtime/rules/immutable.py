"""Fields that the external API cannot change: an edit is an error, never applied, and never deletes anything.

With `Kube(immutable=True)` in the field's model, the API server rejects the edit immediately. This module
handles what the API server accepts: a field that was added later, a CRD without the rule, or a change in the
external system.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgetenants_runtime.errors import ExternalError, Retry
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import ManagedKind

__all__ = ["check"]


def check(kind: ManagedKind, diff: Sequence[FieldDiff]) -> None:
    """Check the fields before an update.

    Raises: ExternalError: the update would change an immutable field. Then nothing is updated, because other
    changes may depend on it.
    """
    stuck = [each for each in diff if each.field in kind.immutable]
    if stuck:
        found = "; ".join(
            f"spec.forProvider.{each.field} is immutable: expected {each.observed}, got {each.desired}"
            for each in stuck
        )
        raise ExternalError(
            f"{found}. The external resource is not updated: revert the change, or delete this resource and "
            "create another",
            retry=Retry.poll(),
        )

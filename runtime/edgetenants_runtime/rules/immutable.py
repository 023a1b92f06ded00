"""Fields that the external API cannot change: an edit is told of, never applied, and never deletes anything.

`Kube(immutable=True)` in the field's model has the API server refuse the edit at once. What is left for this
module is what the API server lets in: a field that was added later, a CRD without the rule, or a difference
that was made in the outside world.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgetenants_runtime.errors import ExternalError, Retry
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import ManagedKind

__all__ = ["check"]


def check(kind: ManagedKind, diff: Sequence[FieldDiff]) -> None:
    """Before an update.

    Raises:
        ExternalError: the update would change an immutable field. Nothing is updated then: what is asked for
            beside it may depend on it.
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

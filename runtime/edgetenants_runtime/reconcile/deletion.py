"""When to keep the external resource of a deleted managed resource.

Deleting a provider's package deletes the CRDs of its kinds, and the API server then marks every managed
resource as deleted. A provider that is still running would take that for a request and delete external
resources that are in use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edgetenants_runtime.managed import Managed

__all__ = ["DeletionHold"]


@dataclass(frozen=True)
class DeletionHold:
    """Decides why a deletion is held, for `Collaborators.deletion_held`."""

    crd_leaves: Callable[[], bool]
    """The kind's CRD is being deleted. False if CRDs cannot be read. Raises KubeError."""
    everything: bool = False
    """The provider is configured to hold every deletion: for clusters where CRDs cannot be read."""
    confirm_annotation: str = ""
    """The annotation that confirms one deletion; its value is the first eight characters of metadata.uid. "":
    deletions cannot be confirmed."""

    def __call__(self, mr: Managed) -> str:
        """Why the deletion is held and how to proceed; "" if it is not held."""
        token = mr.uid[:8]
        if self.confirm_annotation and mr.annotations.get(self.confirm_annotation) == token:
            return ""
        why = self._why()
        return f"{why}; {self._way_out(mr, token)}" if why else ""

    def _why(self) -> str:
        if self.everything:
            return "deletion held: the provider is configured to hold deletions"
        # Read it each time: the watch of CRDs may lag behind that of the managed resources.
        return "deletion held: the CRD of this kind is being deleted" if self.crd_leaves() else ""

    def _way_out(self, mr: Managed, token: str) -> str:
        keep = "to keep it and delete only this object, remove Delete (or *) from spec.managementPolicies"
        if not self.confirm_annotation:
            return keep
        return (
            f"to delete external resource {mr.external_name} too, set the annotation "
            f"{self.confirm_annotation} to {token}; {keep}"
        )

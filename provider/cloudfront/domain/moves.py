"""Whether a domain may be moved here from another tenant of one's own (pure).

UpdateDomainAssociation takes a domain from one tenant and gives it to another in one step, so that it is
served all the time. Nothing is moved unless somebody asks for it on the resource that receives, by the id of
the tenant that has the domain. Where that one belongs to another namespace, its resource has to agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from edgetenants_runtime.managed import Managed
from provider.cloudfront.ownership import judgement
from provider.cloudfront.state import identity, leaving
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["GIVE_ANNOTATION", "TAKE_ANNOTATION", "Mover", "taken_from"]

TAKE_ANNOTATION: Final = "edgetenants.io/take-domains-from"
"""On the resource that receives: the ids of the tenants whose domains it may take, separated by commas."""
GIVE_ANNOTATION: Final = "edgetenants.io/give-domains-to"
"""On a resource whose tenant has domains: the tenants of other namespaces that may take them, each as
<namespace>/<name in CloudFront>, separated by commas. A name alone gives them to whoever has it first."""


def taken_from(mr: Managed) -> frozenset[str]:
    """The ids of the tenants whose domains this resource may take."""
    return _listed(mr, TAKE_ANNOTATION)


@dataclass(frozen=True)
class Mover:
    """Decides for one managed resource."""

    mr: Managed
    installation: str
    everyone: Callable[[], Iterable[Managed]] = lambda: ()
    """All managed resources of the kind."""

    @property
    def wanted(self) -> bool:
        """Somebody asked for moves."""
        return bool(taken_from(self.mr))

    def refusal(self, holder: ObservedTenant, owner: str | None) -> str:
        """Why a domain is not moved from the tenant that has it, and the way out; "" where it is.

        Args:
            holder: the tenant that has the domain.
            owner: the owner in its tags; None where it has none, or they cannot be read.
        """
        ours = f"{self.installation}/DistributionTenant/"
        if owner is None or not owner.startswith(ours):
            return "Release it there, or remove it here"
        # A tenant's name in CloudFront may have no slash, nor a namespace.
        namespace, _, _ = owner.removeprefix(ours).partition("/")
        agreed = namespace == identity.namespace_of(self.mr)
        if agreed and (going := next(filter(_goes, self._sources(holder, owner)), None)):
            held = leaving.held_back(self.mr, going)
            return (
                f"That tenant is being deleted, and the domain is free then. {held or 'No action is needed'}"
            )
        sources = () if agreed and not self.wanted else self._sources(holder, owner)
        if not agreed and not any(map(self._gives, sources)):
            return (
                "Release it there, or remove it here; or have it moved: set the annotation "
                f"{GIVE_ANNOTATION} of the resource that has it to {self._receiver}"
            )
        if holder.id not in taken_from(self.mr):
            return (
                "Release it there, or remove it here; or have it moved: set the annotation "
                f"{TAKE_ANNOTATION} to {holder.id}"
            )
        if any(self.mr.at_provider.get("id") in taken_from(source) for source in sources):
            return f"Each of the two would take the other's: remove the annotation {TAKE_ANNOTATION} there"
        return ""

    def _sources(self, holder: ObservedTenant, owner: str) -> tuple[Managed, ...]:
        """Whose the tenant is by its owner tag, and who may write to it: whoever can make a resource can have
        it lead there and say anything."""
        return tuple(
            mr
            for mr in self.everyone()
            if judgement.recorded(mr, holder)
            and identity.owner_of(mr, self.installation, holder.name) == owner
            and judgement.writes(mr)
        )

    @property
    def _receiver(self) -> str:
        return f"{identity.namespace_of(self.mr)}/{self.mr.external_name}"

    def _gives(self, source: Managed) -> bool:
        # One that is being deleted speaks for nothing any more: another may have come in its place.
        return not source.deleted and self._receiver in _listed(source, GIVE_ANNOTATION)


def _goes(mr: Managed) -> bool:
    """Its tenant is being deleted with it."""
    return mr.deleted and leaving.deletes(mr)


def _listed(mr: Managed, annotation: str) -> frozenset[str]:
    parts = (part.strip() for part in mr.annotations.get(annotation, "").split(","))
    return frozenset(filter(None, parts))

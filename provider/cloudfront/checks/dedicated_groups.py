"""Connection groups that are only for the claim that they were created for.

The function marks such a group with an annotation. Tenants of other namespaces may not join it: as long as
one is in it, the group cannot be deleted, and the deletion of its claim would wait for it.

A resource's status proves nothing. It only shows which resources may own a group; the owner tag in AWS shows
which one does. A group whose name does not begin with its owner's namespace may have been adopted, and others
may have plans that name it. So no namespace can close it, and none can close the default group.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from edgetenants_runtime.managed import Managed
from provider.cloudfront.state import identity
from provider.cloudfront.state.group import ObservedGroup

__all__ = ["DEDICATED_ANNOTATION", "belongs_to", "candidates"]

DEDICATED_ANNOTATION: Final = "edgetenants.io/dedicated"
"""On a ConnectionGroup, with the value "true": only tenants of its own namespace may join it, if the group's
name begins with that namespace and a dot."""


def candidates(mr: Managed, group: ObservedGroup, everyone: Iterable[Managed]) -> tuple[Managed, ...]:
    """The dedicated ConnectionGroups of other namespaces that may own the group."""
    if group.is_default:
        return ()
    own = identity.namespace_of(mr)
    return tuple(
        each
        for each in everyone
        if each.kind == "ConnectionGroup"
        and each.annotations.get(DEDICATED_ANNOTATION) == "true"
        and each.at_provider.get("id") == group.id
        and identity.namespace_of(each) != own
        and group.name.startswith(f"{identity.namespace_of(each)}.")
    )


def belongs_to(group: ObservedGroup, owner: str | None, found: Iterable[Managed], installation: str) -> bool:
    """Whether one of the candidates owns the group. `owner`: its owner tag."""
    return owner in {identity.owner_of(each, installation, group.name) for each in found}

"""Connection groups that are only for the claim that they were created for (pure).

The function marks such a group with an annotation, and the provider copies the mark to a tag in AWS. Tenants
of other namespaces may not join the group: as long as one is in it, the group cannot be deleted, and the
deletion of its claim would wait for it.

The tags decide, not the resources in the cluster. So a group that a claim left in AWS with `onDelete: Orphan`
stays closed until the claim exists again. A group whose name does not begin with its owner's namespace may
have been adopted, and others may have plans that name it. So no namespace can close it, and none can close
the default group.
"""

from __future__ import annotations

from collections.abc import Mapping

from provider.cloudfront.state import identity
from provider.cloudfront.state.group import ObservedGroup

__all__ = ["is_closed", "may_be_closed"]


def may_be_closed(group: ObservedGroup, namespace: str) -> bool:
    """Whether the group may be closed to tenants of the namespace; only then its tags have to be read."""
    first, dot, _ = group.name.partition(".")
    return bool(first and dot) and not group.is_default and first != namespace


def is_closed(group: ObservedGroup, tags: Mapping[str, str]) -> bool:
    """Whether the group is only for its owner's namespace, by its tags."""
    first, _, _ = group.name.partition(".")
    _installation, *owner = tags.get(identity.OWNER_TAG, "").split("/", 3)
    return tags.get(identity.DEDICATED_TAG) == "true" and owner == ["ConnectionGroup", first, group.name]

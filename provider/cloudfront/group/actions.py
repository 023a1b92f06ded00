"""The actions on a connection group. A plan consists of these; each makes one call to CloudFront."""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgetenants_runtime.external import FieldDiff
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.disabling import Said
from provider.cloudfront.lifecycle.actions import Effects
from provider.cloudfront.state.group import Group, ObservedGroup

__all__ = ["CreateGroup", "DeleteGroup", "SwitchGroup", "UpdateGroup"]

_Effects = Effects[ObservedGroup]


@dataclass(frozen=True)
class CreateGroup:
    """CreateConnectionGroup."""

    group: Group

    def __str__(self) -> str:
        return f"created connection group {self.group.name}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        effects.seen = replace(cloudfront.create_group(self.group), tags=self.group.tags)


@dataclass(frozen=True)
class UpdateGroup:
    """UpdateConnectionGroup with the whole group."""

    id: str
    group: Group
    changes: tuple[FieldDiff, ...]
    emptied: bool = False
    """The update removes its Anycast list."""

    def __str__(self) -> str:
        told = ", ".join(f"{each.field} {each.observed} → {each.desired}" for each in self.changes)
        return f"updated connection group {self.group.name}: {told}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        effects.answered(cloudfront.update_group(self.id, effects.etag, self.group, emptied=self.emptied))


@dataclass(frozen=True)
class SwitchGroup:
    """UpdateConnectionGroup with Enabled and, if AWS requires more members, the observed group.

    The provider disables a group to delete it, and enables it again if a tenant appears in it meanwhile.
    """

    id: str
    name: str
    ways: tuple[tuple[Said, Group], ...]
    """The updates to try, in this order, until AWS accepts one."""
    enabled: bool = False

    def __str__(self) -> str:
        again = f"enabled connection group {self.name} again"
        return again if self.enabled else f"disabled connection group {self.name}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        etag = effects.etag
        effects.switched(self.ways, lambda way: cloudfront.update_group(self.id, etag, way))


@dataclass(frozen=True)
class DeleteGroup:
    """DeleteConnectionGroup."""

    id: str
    name: str

    def __str__(self) -> str:
        return f"deleted connection group {self.name}"

    def do(self, effects: _Effects, cloudfront: CloudFront) -> None:
        """See lifecycle.actions.Action."""
        cloudfront.delete_group(self.id, effects.etag)
        effects.seen = None

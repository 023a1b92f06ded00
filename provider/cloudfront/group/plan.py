"""Plans the actions that lead from the observed connection group to the desired one (pure).

It works as for tenants, but is smaller: every field is a single value.
"""

from __future__ import annotations

from collections.abc import Iterator

from apis.drift import DriftPolicy
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.disabling import Said, order
from provider.cloudfront.group.actions import DeleteGroup, SwitchGroup, UpdateGroup
from provider.cloudfront.lifecycle.actions import Action, Wait, with_tags
from provider.cloudfront.lifecycle.assessment import Assessed, told_apart
from provider.cloudfront.state import applied as records
from provider.cloudfront.state import diff, identity
from provider.cloudfront.state import group as group_state
from provider.cloudfront.state.applied import Applied
from provider.cloudfront.state.diff import Diff
from provider.cloudfront.state.group import Group, ObservedGroup

__all__ = ["GroupState", "assess", "compare", "converge", "enable_again", "remove", "waiting"]

GroupState = Assessed[Group, ObservedGroup]


def assess(mr: Managed, asked: Group, seen: ObservedGroup, default: DriftPolicy) -> GroupState:
    """Compare the desired and the observed group. `default` is the policy of resources that set none."""
    applied = records.read(mr.status, group_state.FIELDS)
    todo, drift, pending = told_apart(
        mr, asked, applied, default, lambda ignored: compare(_target(asked, applied, seen, ignored), seen)
    )
    return GroupState(asked, applied, seen, todo, drift, pending)


def converge(todo: Diff[Group], seen: ObservedGroup) -> tuple[Action, ...]:
    """Plan the update of a group to the desired state; empty if nothing differs."""
    emptied = seen.anycast_ip_list_id is not None and todo.target.anycast_ip_list_id is None
    update = (UpdateGroup(seen.id, todo.target, todo.fields, emptied),) if todo.fields else ()
    return with_tags(update, todo, seen)


def remove(
    seen: ObservedGroup, *, refused: bool = False, early: bool = True, said: Said = Said.NOTHING
) -> tuple[Action, ...]:
    """Plan the deletion of a group: disable it if it is enabled, and delete it at once. CloudFront may refuse
    the deletion until the change is rolled out.

    Args:
        seen: the observed group.
        refused: CloudFront refused to delete this version, so the plan waits for the roll-out.
        early: CloudFront may delete a group before its disabling is rolled out; see tenant.plan.remove.
        said: the form of the last disabling request that AWS accepted.
    """
    if refused and not seen.deployed:
        return (Wait(waiting(seen)),)
    delete = DeleteGroup(seen.id, seen.name)
    if seen.enabled:
        disable = SwitchGroup(seen.id, seen.name, _ways(seen, said, enabled=False))
        return (disable, delete) if early else (disable,)
    return (delete,) if early or seen.deployed else (Wait(waiting(seen)),)


def waiting(seen: ObservedGroup) -> str:
    """The message while the deletion waits for the roll-out."""
    return f"waiting for CloudFront before deleting connection group {seen.name}"


def enable_again(seen: ObservedGroup, said: Said) -> tuple[Action, ...]:
    """Plan to enable a group that the provider disabled for its deletion."""
    return (SwitchGroup(seen.id, seen.name, _ways(seen, said, enabled=True), enabled=True),)


def _ways(seen: ObservedGroup, said: Said, *, enabled: bool) -> tuple[tuple[Said, Group], ...]:
    """The two forms of the request; a group has no parent, so there is no third."""
    forms = {
        Said.NOTHING: Group(seen.name, enabled=enabled),
        Said.EVERYTHING: Group(seen.name, seen.ipv6_enabled, seen.anycast_ip_list_id, enabled),
    }
    return tuple((each, forms[each]) for each in order(said) if each in forms)


def _target(asked: Group, applied: Applied, seen: ObservedGroup, ignored: frozenset[str]) -> Group:
    list_id = asked.anycast_ip_list_id
    if "anycastIpListId" in ignored or (list_id is None and not applied.had("anycastIpListId")):
        list_id = seen.anycast_ip_list_id
    return Group(
        name=seen.name,
        ipv6_enabled=_said(asked.ipv6_enabled, seen.ipv6_enabled, ignored="ipv6Enabled" in ignored),
        anycast_ip_list_id=list_id,
        enabled=_said(asked.enabled, seen.enabled, ignored="enabled" in ignored),
        tags=None if seen.tags is None else _tags(asked, applied, seen, ignored),
    )


def _said(asked: bool | None, seen: bool, *, ignored: bool) -> bool:
    return seen if asked is None or ignored else asked


def _tags(asked: Group, applied: Applied, seen: ObservedGroup, ignored: frozenset[str]) -> dict[str, str]:
    kept = {
        key: value
        for key, value in (asked.tags or {}).items()
        if identity.is_own_tag(key) or not {"tags", f"tags.{key}"} & ignored
    }
    merged = diff.merge_tags(kept, applied, seen.tags or {}, ignored)
    if identity.DEDICATED_TAG not in kept:
        # A copy of the annotation, which the record of the last write does not contain.
        merged.pop(identity.DEDICATED_TAG, None)
    return merged


def compare(target: Group, seen: ObservedGroup) -> Diff[Group]:
    """Compare the complete desired group with the observed one."""
    fields = tuple(_fields(target, seen))
    if target.tags is None or seen.tags is None:
        return Diff(target, fields)
    return Diff(target, fields, tuple(diff.entries("tags", target.tags, seen.tags)))


def _fields(target: Group, seen: ObservedGroup) -> Iterator[FieldDiff]:
    pairs = (
        ("anycastIpListId", target.anycast_ip_list_id, seen.anycast_ip_list_id),
        ("enabled", target.enabled, seen.enabled),
        ("ipv6Enabled", target.ipv6_enabled, seen.ipv6_enabled),
    )
    for name, wanted, there in pairs:
        if wanted != there:
            yield FieldDiff(name, diff.text(wanted), diff.text(there))

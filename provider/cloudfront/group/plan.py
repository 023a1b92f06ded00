"""From what is asked of a connection group and what is there to what is to be done (pure).

As for tenants, but smaller: every field is one value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from apis.drift import DriftPolicy
from edgetenants_runtime.external import FieldDiff
from edgetenants_runtime.managed import Managed
from provider.cloudfront.account.memory import Attempt
from provider.cloudfront.aws.disabling import Said, order
from provider.cloudfront.state import applied as records
from provider.cloudfront.state import diff, identity
from provider.cloudfront.state import group as group_state
from provider.cloudfront.state.applied import Applied
from provider.cloudfront.state.group import Group, ObservedGroup
from provider.cloudfront.state.identity import OWNER_TAG

__all__ = [
    "CreateGroup",
    "DeleteGroup",
    "DisableGroup",
    "EnableGroup",
    "GroupAction",
    "GroupState",
    "TagGroup",
    "UntagGroup",
    "UpdateGroup",
    "assess",
    "attempt",
    "converge",
    "enable_again",
    "is_ineffective",
    "remove",
]

_TRIES = 2


@dataclass(frozen=True)
class CreateGroup:
    """CreateConnectionGroup."""

    group: Group

    def __str__(self) -> str:
        return f"created connection group {self.group.name}"


@dataclass(frozen=True)
class UpdateGroup:
    """UpdateConnectionGroup with the whole group."""

    id: str
    group: Group
    changes: tuple[FieldDiff, ...]
    emptied: bool = False
    """Its Anycast list is taken away."""

    def __str__(self) -> str:
        told = ", ".join(f"{each.field} {each.observed} → {each.desired}" for each in self.changes)
        return f"updated connection group {self.group.name}: {told}"


@dataclass(frozen=True)
class DisableGroup:
    """UpdateConnectionGroup of Enabled; where AWS wants more said, with the group as CloudFront has it."""

    id: str
    name: str
    ways: tuple[tuple[Said, Group], ...]
    """The updates to try, in this order, until AWS takes one."""

    def __str__(self) -> str:
        return f"disabled connection group {self.name}"


@dataclass(frozen=True)
class EnableGroup:
    """UpdateConnectionGroup of Enabled, when a tenant turns up in what was disabled for its deletion."""

    id: str
    name: str
    ways: tuple[tuple[Said, Group], ...]
    """As of DisableGroup."""

    def __str__(self) -> str:
        return f"enabled connection group {self.name} again"


@dataclass(frozen=True)
class DeleteGroup:
    """DeleteConnectionGroup."""

    id: str
    name: str

    def __str__(self) -> str:
        return f"deleted connection group {self.name}"


@dataclass(frozen=True)
class TagGroup:
    """TagResource."""

    arn: str
    tags: dict[str, str]

    def __str__(self) -> str:
        return f"set tags {', '.join(sorted(self.tags))}"


@dataclass(frozen=True)
class UntagGroup:
    """UntagResource."""

    arn: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        return f"removed tags {', '.join(self.keys)}"


GroupAction = CreateGroup | UpdateGroup | DisableGroup | EnableGroup | DeleteGroup | TagGroup | UntagGroup


@dataclass(frozen=True)
class GroupState:
    """The state of a connection group: spec, last write and AWS taken together."""

    asked: Group
    applied: Applied
    seen: ObservedGroup
    target: Group
    """The group as it should be, whole."""
    fields: tuple[FieldDiff, ...]
    """What UpdateConnectionGroup can change, and may under the drift policy."""
    tags: tuple[FieldDiff, ...]
    """What the tag operations can change, and may."""
    drift: tuple[FieldDiff, ...]
    """What somebody changed behind the provider's back, as far as it is shown."""
    pending: tuple[FieldDiff, ...]
    """What the spec asks for anew."""

    @property
    def todo(self) -> tuple[FieldDiff, ...]:
        """All that may be brought about."""
        return (*self.fields, *self.tags)


def assess(mr: Managed, asked: Group, seen: ObservedGroup, default: DriftPolicy) -> GroupState:
    """Compare. `default` is the drift policy of resources that say none."""
    applied = records.read(mr.status, group_state.FIELDS)
    ignored = frozenset(mr.spec.get("ignoreDrift") or ())
    policy = DriftPolicy(mr.spec.get("driftPolicy") or default)
    every = tuple(_differences(_target(asked, applied, seen, ignored), seen))
    drift = tuple(d for d in every if not applied.changed(records.field_of(d.field), asked))
    pending = tuple(d for d in every if d not in drift)
    if policy is not DriftPolicy.ENFORCE:
        ignored |= {d.field for d in drift}
    target = _target(asked, applied, seen, ignored)
    todo = tuple(_differences(target, seen))
    tags = tuple(d for d in todo if d.field.startswith("tags."))
    fields = tuple(d for d in todo if d not in tags)
    shown = () if policy is DriftPolicy.SUSPEND else drift
    return GroupState(asked, applied, seen, target, fields, tags, shown, pending)


def attempt(after: GroupState) -> Attempt | None:
    """What to remember of an update; None when it left no difference."""
    if not after.todo:
        return None
    left = tuple((d.field, d.desired, d.observed) for d in after.todo)
    return Attempt(str(records.record(after.asked, "")["hash"]), left, after.seen.etag, 1)


def is_ineffective(now: GroupState, last: Attempt | None) -> bool:
    """The update was made twice, and neither the spec nor the group moved since."""
    current = attempt(now)
    if last is None or current is None or last.count < _TRIES:
        return False
    return (current.asked, current.left, current.etag) == (last.asked, last.left, last.etag)


def converge(state: GroupState) -> tuple[GroupAction, ...]:
    """Bring a group to what it should be. Empty when it is."""
    seen, target = state.seen, state.target
    update: tuple[GroupAction, ...] = ()
    if state.fields:
        emptied = seen.anycast_ip_list_id is not None and target.anycast_ip_list_id is None
        update = (UpdateGroup(seen.id, target, state.fields, emptied),)
    tagging = tuple(_tagging(state))
    # As with tenants: marked before it is changed, so that nobody else takes it meanwhile.
    claims = any(isinstance(each, TagGroup) and OWNER_TAG in each.tags for each in tagging)
    return (*tagging, *update) if claims else (*update, *tagging)


def remove(seen: ObservedGroup, said: Said = Said.NOTHING) -> tuple[GroupAction, ...]:
    """Disable it where it is enabled, and delete it at once, which CloudFront may refuse until the change is
    rolled out. `said` is what AWS was told when it last took a disabling."""
    delete = DeleteGroup(seen.id, seen.name)
    if not seen.enabled:
        return (delete,)
    return (DisableGroup(seen.id, seen.name, _ways(seen, said, enabled=False)), delete)


def enable_again(seen: ObservedGroup, said: Said) -> tuple[GroupAction, ...]:
    """Take a disabling back."""
    return (EnableGroup(seen.id, seen.name, _ways(seen, said, enabled=True)),)


def _ways(seen: ObservedGroup, said: Said, *, enabled: bool) -> tuple[tuple[Said, Group], ...]:
    """A group has no parent, so that there are two ways."""
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
    return diff.merge_tags(kept, applied, seen.tags or {}, ignored)


def _differences(target: Group, seen: ObservedGroup) -> Iterator[FieldDiff]:
    pairs = (
        ("anycastIpListId", target.anycast_ip_list_id, seen.anycast_ip_list_id),
        ("enabled", target.enabled, seen.enabled),
        ("ipv6Enabled", target.ipv6_enabled, seen.ipv6_enabled),
    )
    for name, wanted, there in pairs:
        if wanted != there:
            yield FieldDiff(name, diff.text(wanted), diff.text(there))
    if target.tags is not None and seen.tags is not None:
        yield from diff.entries("tags", target.tags, seen.tags)


def _tagging(state: GroupState) -> Iterator[GroupAction]:
    wanted, there = state.target.tags, state.seen.tags
    if wanted is None or there is None:
        return
    changed = {key: value for key, value in wanted.items() if there.get(key) != value}
    if changed:
        yield TagGroup(state.seen.arn, changed)
    if gone := tuple(sorted(there.keys() - wanted.keys())):
        yield UntagGroup(state.seen.arn, gone)

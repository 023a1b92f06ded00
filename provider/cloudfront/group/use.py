"""Whether a connection group that is to be deleted has tenants: they would be served no more once it is
disabled, and whether AWS refuses that is not published. So AWS is not relied on for it.

    AWS lists a tenant ─────────────────▶ wait        a cached resource asks for the group ──▶ wait
    AWS does not tell ──▶ DeletionHeld, until somebody confirms
    neither ──▶ a second look after a pause, as a list may lag behind a new tenant ──▶ disable

Status proves nothing, and anybody may write a spec in a namespace of theirs: of another namespace's resource
it counts what AWS says of its tenant.
"""

from __future__ import annotations

import re
from typing import Any, Final

import structlog

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError, ErrorClass, explain, not_ready
from provider.cloudfront.group.plan import GroupState
from provider.cloudfront.lifecycle import conditions
from provider.cloudfront.lifecycle.actions import LOOK_AGAIN
from provider.cloudfront.ownership import disclosure
from provider.cloudfront.safety import guards, name_keys
from provider.cloudfront.safety.context import Context
from provider.cloudfront.safety.kept_domains import RecordsFailed
from provider.cloudfront.state import identity
from provider.cloudfront.state.group import ObservedGroup
from provider.cloudfront.state.observed import ObservedTenant

__all__ = [
    "check_change",
    "check_known",
    "check_taking",
    "disables",
    "has_others",
    "not_taken",
    "users",
    "waiting",
]

_log = structlog.get_logger("provider.cloudfront.groupuse")

_TENANT: Final = "DistributionTenant"
_TOLD: Final = 5
_MOST_LOOKS: Final = 20
_HELD_SECONDS: Final = 60.0
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.:/-]{1,255}", re.ASCII)
"""What may name a tenant; anything else would make another request, or one that fails whenever it is made."""


def users(mr: Managed, group: ObservedGroup, having: Context) -> str:
    """Whose tenants use the group, in words; empty where nobody's are known to.

    Raises:
        NotYet: AWS does not tell, and nobody has confirmed.
        ExternalError: AWS takes no requests for the moment.
    """
    if listed := _listed(mr, group, having):
        return _told(mr, {each.name for each in listed}, having)
    mine, others = _askers(mr, group, having)
    if mine:
        return ", ".join(sorted(f"{each.kind} {each.name}" for each in mine)[:_TOLD])
    there = next((tenant for each in others if (tenant := _in_group(mr, each, group, having))), None)
    return _told(mr, {there.name}, having) if there else ""


def check_known(mr: Managed, group: ObservedGroup, having: Context, *, used: bool) -> None:
    """A group without tenants has been seen so for a while, where it would be disabled.

    Raises:
        NotYet: a second look has to be taken.
    """
    left = having.memory.unused(mr.uid, group.id, used=used)
    if not used and group.enabled and left:
        raise waiting(group, "for a second look at its tenants", left)


def check_taking(mr: Managed, group: ObservedGroup, having: Context) -> None:
    """A group that is nobody's is about to be taken over, and could be disabled then: no namespace takes one
    in which others, or nobody it knows, have tenants. Cluster-scoped resources are the platform's.

    Raises:
        NotYet, ExternalError: it has such tenants, or AWS does not tell.
    """
    if has_others(mr, group, having):
        raise not_taken(mr, group, having)


def not_taken(mr: Managed, group: ObservedGroup, having: Context) -> ExternalError:
    """A group is not taken over, as others have tenants in it."""
    tag = f"tag {identity.OWNER_TAG} to {identity.owner_of(mr, having.installation, group.name)}"
    return guards.invalid(
        f"connection group {group.name} ({group.id}) is not taken over, as tenants are in it that this "
        "namespace does not have. Use it by its id without a ConnectionGroup; or have an administrator "
        f"set its {tag} in AWS",
        Reason.ADOPTION_REFUSED,
    )


def check_change(mr: Managed, state: GroupState, having: Context) -> None:
    """A group is about to be changed. As for its deletion, tenants of others keep what they have of it: they
    may have come after it was taken over. What status says was written before does not matter. A group is
    disabled after a second look only, as for a deletion: a list may lag behind a new tenant.

    Raises:
        NotYet, ExternalError: it has such tenants, or AWS does not tell, or a second look has to be taken.
    """
    group, target = state.seen, state.todo.target
    less = {
        "enabled": disables(state),
        "ipv6Enabled": group.ipv6_enabled and not target.ipv6_enabled,
        "anycastIpListId": group.anycast_ip_list_id != target.anycast_ip_list_id,
    }
    taken = ", ".join(f"spec.forProvider.{field}" for field, goes in less.items() if goes)
    others = bool(taken) and has_others(mr, group, having, f"before {taken} is changed")
    second_look = less["enabled"] and identity.namespace_of(mr)
    left = having.memory.unused(mr.uid, group.id, used=others or not second_look)
    if others:
        raise guards.invalid(
            f"{taken} of connection group {group.name} ({group.id}) is not changed, as "
            "tenants are in it that this namespace does not have. Leave it as it is; or have an "
            "administrator move them",
            serving=True,
        )
    if second_look and left:
        words = f"connection group {group.name} is disabled after a second look at its tenants"
        raise NotYet(words, after=left)


def disables(state: GroupState) -> bool:
    """The group serves, and is to serve no more."""
    return state.seen.enabled and not state.todo.target.enabled


def has_others(
    mr: Managed, group: ObservedGroup, having: Context, when: str = "before it is taken over"
) -> bool:
    """By the records of names, which cost no call, and for a few by their tags. A list may lag behind a new
    tenant, so those of cached resources that name the group are looked at, too. Cluster-scoped resources are
    the platform's, which decides for everybody."""
    own, unknown = identity.namespace_of(mr), []
    if not own:
        return False
    try:
        for each in having.cloudfront.tenants_of_group(group.id):
            holder = _kept_for(each, having)
            if holder not in (None, own):
                return True
            unknown += [each] if holder is None else []
        if len(unknown) > _MOST_LOOKS or any(_is_others(mr, each, having) for each in unknown):
            return True
        _, others = _askers(mr, group, having)
        unlisted = (_in_group(mr, each, group, having) for each in others)
        return any(_is_others(mr, each, having) for each in unlisted if each is not None)
    except AwsError as error:
        what = f"see whose tenants are in connection group {group.name}, {when}"
        raise explain(error, what, serving=conditions.was_ready(mr)) from error


def _kept_for(tenant: ObservedTenant, having: Context) -> str | None:
    if having.account is None:
        return None
    try:
        return having.kept.holder(name_keys.key_of(_TENANT, having.account, tenant.name))
    except RecordsFailed:
        return None


def _is_others(mr: Managed, tenant: ObservedTenant, having: Context) -> bool:
    owner = having.cloudfront.tags(tenant.arn).get(identity.OWNER_TAG)
    return not disclosure.may_know(mr, having.installation, owner)


def waiting(group: ObservedGroup, what: str, seconds: float = LOOK_AGAIN) -> NotYet:
    """The deletion of the group waits."""
    words = f"connection group {group.name} waits {what}"
    return NotYet(words, after=seconds, conditions=conditions.removing("connection group", group))


def _listed(mr: Managed, group: ObservedGroup, having: Context) -> tuple[ObservedTenant, ...]:
    try:
        return having.cloudfront.tenants_of_group(group.id)
    except AwsError as error:
        if error.verdict.class_ in (ErrorClass.THROTTLED, ErrorClass.WAIT):
            what = f"list the tenants of connection group {group.name}"
            raise explain(error, what, serving=conditions.was_ready(mr)) from error
        if group.enabled and not guards.is_confirmed(mr):
            raise _held(mr, group, error) from error
        # What is disabled serves nobody, and CloudFront itself keeps a group that has tenants.
        _log.warning("cannot list tenants", connection_group=group.name, error=str(error))
        return ()


def _held(mr: Managed, group: ObservedGroup, error: AwsError) -> NotYet:
    denied = error.verdict.reason is Reason.ACCESS_DENIED
    words = (
        f"connection group {group.name} is kept, as AWS does not tell whether it has tenants: {error}. "
        f"{'Permit cloudfront:ListDistributionTenants. ' if denied else ''}If no tenant uses it, set the "
        f"annotation {guards.CONFIRM_ANNOTATION} to {guards.token_of(mr)}, and it is deleted all the same"
    )
    held = not_ready(Reason.DELETION_HELD, words)
    # One that is gone is seen to be at the next look.
    after = LOOK_AGAIN if error.absent else _HELD_SECONDS
    return NotYet(words, after=after, conditions=(*conditions.removing("connection group", group), held))


def _told(mr: Managed, names: set[str], having: Context) -> str:
    if having.memory.is_news(mr.uid, "tenants", frozenset(names)):
        _log.info("waits for its tenants", connection_group=mr.external_name, tenants=sorted(names))
    return disclosure.named_tenants(mr, names, having.everyone())


def _askers(mr: Managed, group: ObservedGroup, having: Context) -> tuple[list[Managed], list[Managed]]:
    """The cached resources that name the group: those whose spec asks for it beside it, and others, the
    newest first, as it is those that a list may not show yet. No more others than can be looked at."""
    mine, others = [], []
    for each in having.everyone():
        asks = _asked(each) in (group.id, group.arn, group.name)
        if each.kind == _TENANT and asks and identity.namespace_of(each) == identity.namespace_of(mr):
            mine.append(each)
        elif each.kind == _TENANT and (asks or each.at_provider.get("connectionGroupId") == group.id):
            others.append(each)
    newest = sorted(others, key=lambda each: each.metadata.get("creationTimestamp") or "", reverse=True)
    return mine, newest[:_MOST_LOOKS]


def _asked(mr: Managed) -> Any:
    asked = mr.for_provider.get("connectionGroupId")
    return asked or (None if mr.at_provider.get("id") else mr.init_provider.get("connectionGroupId"))


def _in_group(mr: Managed, other: Managed, group: ObservedGroup, having: Context) -> ObservedTenant | None:
    """Another resource's tenant that AWS says is in the group."""
    name = str(other.at_provider.get("id") or other.external_name or other.name)
    if not _NAME.fullmatch(name):
        return None
    try:
        seen = having.cloudfront.get_tenant(name)
    except AwsError as error:
        if error.verdict.class_ in (ErrorClass.THROTTLED, ErrorClass.WAIT):
            what = f"look at a tenant that names connection group {group.name}"
            raise explain(error, what, serving=conditions.was_ready(mr)) from error
        return None
    return seen if seen.connection_group_id == group.id else None

"""Whether tenants use a connection group.

CloudFront stops serving a group's tenants once the group is disabled. AWS does not document whether it
refuses to disable a group that has tenants, so the provider checks that itself before a deletion:

    AWS lists a tenant ─────────────────▶ wait        a cached resource names the group ──▶ wait
    AWS does not answer ──▶ DeletionHeld, until a user confirms
    neither ──▶ a second check after a pause, as a list may lag behind a new tenant ──▶ disable

A status proves nothing, and users may write any spec in their own namespaces. For a resource of another
namespace, only what AWS says about its tenant counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import islice
from typing import Any, Final

import structlog

from apis.conditions import TenantReadyReason as Reason
from edgetenants_runtime import deadline
from edgetenants_runtime.api.conditions import ConditionType, deleting
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.calls import CloudFront
from provider.cloudfront.aws.errors import AwsError, ErrorClass
from provider.cloudfront.aws.retries import not_ready, to_external_error
from provider.cloudfront.group.plan import GroupState
from provider.cloudfront.lifecycle import conditions
from provider.cloudfront.memory.log_changes import LogChanges
from provider.cloudfront.memory.pauses import SecondChecks
from provider.cloudfront.memory.readings import NotRead
from provider.cloudfront.ownership import disclosure
from provider.cloudfront.safety import guards, name_keys
from provider.cloudfront.safety.dependencies import AccountAccess, ClusterView, Everyone
from provider.cloudfront.safety.kept_domains import KeptDomains, RecordsFailed
from provider.cloudfront.state import identity, leaving
from provider.cloudfront.state.group import ObservedGroup
from provider.cloudfront.state.observed import ObservedTenant

__all__ = [
    "check_change",
    "check_known",
    "check_taking",
    "disables",
    "has_leaving",
    "has_others",
    "not_taken",
    "users",
    "waiting",
]

_log = structlog.get_logger("provider.cloudfront.groupuse")

_TENANT: Final = "DistributionTenant"
_TOLD: Final = 5
_MOST_LISTED: Final = 20
"""The most tenants of a group that are listed to tell whether it has any."""
_MOST_LOOKS: Final = 20
"""The most tenants that one reconcile reads for a group."""
_MOST_FRESH: Final = 10
"""Of these, how many are read in each reconcile."""
_HELD_SECONDS: Final = 60.0
_READ_ON_SECONDS: Final = 10.0
_READING_SECONDS: Final = 20.0
"""Of a reconcile, left for other work after the owner tags of a large group."""
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.:/-]{1,255}", re.ASCII)
"""A tenant's name or id. Anything else would make a different request, or one that always fails."""


def users(mr: Managed, group: ObservedGroup, account: AccountAccess, cluster: ClusterView) -> str:
    """The tenants that use the group, for a message; empty if none is known.

    Raises:
        NotYet: AWS does not list the tenants, and no user has confirmed the deletion.
        ExternalError: AWS is throttling requests.
    """
    listed = _listed(mr, group, account)
    if listed and not isinstance(listed, AwsError):
        return _told(mr, {each.name for each in listed}, account.memory.log_changes, cluster.everyone)
    mine, others = _askers(mr, group, cluster.everyone)
    if mine:
        return ", ".join(sorted(f"{each.kind} {each.name}" for each in mine)[:_TOLD])
    # A disabled group serves no one, and the attempt to delete it shows whether it has to be enabled again.
    refused = listed if isinstance(listed, AwsError) and group.enabled else None
    there = _unlisted(mr, group, others, account, counts=lambda _: True, refused=refused)
    return _told(mr, {there.name}, account.memory.log_changes, cluster.everyone) if there else ""


def check_known(mr: Managed, group: ObservedGroup, unused: SecondChecks, *, used: bool) -> None:
    """Check that an enabled group has had no tenants for a while, before it is disabled.

    Raises:
        NotYet: a second check is due later.
    """
    left = unused.start_over(mr.uid) if used else unused.left(mr.uid, group.id)
    if not used and group.enabled and left:
        raise waiting(group, "for a second check of its tenants", left)


def check_taking(mr: Managed, group: ObservedGroup, account: AccountAccess, cluster: ClusterView) -> None:
    """Check that a resource may adopt a group without an owner, which it could disable afterwards.

    A namespaced resource may not adopt a group with tenants of other namespaces or of unknown owners.
    Cluster-scoped resources belong to the platform team, and may.

    Raises:
        NotYet, ExternalError: the group has such tenants, or AWS does not list them.
    """
    if has_others(mr, group, account, cluster):
        raise not_taken(mr, group, account.installation)


def not_taken(mr: Managed, group: ObservedGroup, installation: str) -> ExternalError:
    """The error for a group that cannot be adopted because others have tenants in it."""
    tag = f"tag {identity.OWNER_TAG} to {identity.owner_of(mr, installation, group.name)}"
    return guards.invalid(
        f"connection group {group.name} ({group.id}) cannot be adopted: it has tenants that do not "
        "belong to this namespace. Use the group by its id without a ConnectionGroup, or ask an "
        f"administrator to set its {tag} in AWS",
        Reason.ADOPTION_REFUSED,
    )


def check_change(mr: Managed, state: GroupState, account: AccountAccess, cluster: ClusterView) -> None:
    """Check that an update takes nothing from tenants of other owners.

    Such tenants may have joined the group after it was adopted. What status says was written before does not
    matter. A group is disabled only after a second check, as for a deletion: a list may lag behind a new
    tenant.

    Raises:
        NotYet, ExternalError: the group has such tenants, or AWS does not list them, or a second check is due
            later.
    """
    group, target = state.seen, state.todo.target
    less = {
        "enabled": disables(state),
        "ipv6Enabled": group.ipv6_enabled and not target.ipv6_enabled,
        "anycastIpListId": group.anycast_ip_list_id != target.anycast_ip_list_id,
    }
    taken = ", ".join(f"spec.forProvider.{field}" for field, goes in less.items() if goes)
    others = bool(taken) and has_others(mr, group, account, cluster, f"before changing {taken}")
    second_look = less["enabled"] and identity.namespace_of(mr)
    unused = account.memory.unused
    used = others or not second_look
    left = unused.start_over(mr.uid) if used else unused.left(mr.uid, group.id)
    if others:
        raise guards.invalid(
            f"{taken} of connection group {group.name} ({group.id}) cannot be changed: "
            "the group has tenants that do not belong to this namespace. Undo the change in the spec, or "
            "ask an administrator to move those tenants",
            serving=True,
        )
    if second_look and left:
        words = f"connection group {group.name} will be disabled after a second check of its tenants"
        raise NotYet(words, after=left)


def disables(state: GroupState) -> bool:
    """The update disables an enabled group."""
    return state.seen.enabled and not state.todo.target.enabled


def has_others(
    mr: Managed,
    group: ObservedGroup,
    account: AccountAccess,
    cluster: ClusterView,
    when: str = "before adopting it",
) -> bool:
    """Whether the group has tenants that this namespace does not own.

    A record of a name for another namespace answers that without a call. For all other tenants the owner tag
    decides: an administrator may have handed over a tenant that this namespace had. A list may lag behind a
    new tenant, so the provider also reads the tenants of cached resources that name the group. It is always
    False for cluster-scoped resources: they belong to the platform team, which decides for all.

    Raises:
        NotYet: the group has many tenants, and the next reconcile reads on.
        ExternalError: AWS does not say.
    """
    own = identity.namespace_of(mr)
    held: list[ObservedTenant] = []
    unknown: list[ObservedTenant] = []
    if not own:
        return False
    try:
        for each in account.cloudfront.tenants_of_group(group.id):
            holder = _kept_for(each, account.id, cluster.kept)
            if holder not in (None, own):
                return True
            (unknown if holder is None else held).append(each)
            if len(unknown) > _MOST_LOOKS:
                return True
        if any(_is_others(mr, each, account) for each in unknown):
            return True
        if _handed_over(mr, group, held, account):
            return True
        _, others = _askers(mr, group, cluster.everyone)
        counts = partial(_is_others, mr, account=account)
        return _unlisted(mr, group, others, account, counts=counts) is not None
    except AwsError as error:
        what = f"read the owners of the tenants in connection group {group.name} {when}"
        raise to_external_error(error, what, serving=conditions.was_ready(mr)) from error


def _handed_over(
    mr: Managed, group: ObservedGroup, tenants: Iterable[ObservedTenant], account: AccountAccess
) -> bool:
    """Whether one of the tenants that this namespace had is another owner's by now. Of a large group each
    reconcile reads some tags; those are good for as long as it takes to read the others.

    Raises:
        NotYet: other tags are left to the next reconcile.
    """
    for number, tenant in enumerate(tenants):
        if number < _MOST_LOOKS:
            others = _is_others(mr, tenant, account)
        elif deadline.remaining() < _READING_SECONDS:
            words = f"reading the owner tags of the tenants in connection group {group.name}"
            raise NotYet(words, after=1.0)
        else:
            others = account.memory.holders.get(
                ("group", mr.uid, mr.generation, tenant.arn),
                partial(_is_others, mr, tenant, account),
                free=lambda _: False,
            )
        if others:
            return True
    return False


def _kept_for(tenant: ObservedTenant, account: str | None, kept: KeptDomains) -> str | None:
    if account is None:
        return None
    try:
        return kept.holder(name_keys.key_of(_TENANT, account, tenant.name))
    except RecordsFailed:
        return None


def _is_others(mr: Managed, tenant: ObservedTenant, account: AccountAccess) -> bool:
    owner = account.cloudfront.tags(tenant.arn).get(identity.OWNER_TAG)
    return not disclosure.may_know(mr, account.installation, owner)


def has_leaving(mr: Managed, group: ObservedGroup, everyone: Everyone) -> bool:
    """Whether the deletion of a tenant of this namespace, which is in the group, is in progress."""
    return any(
        each.kind == _TENANT
        and each.deleted
        and identity.namespace_of(each) == identity.namespace_of(mr)
        and group.id in (_asked(each), each.at_provider.get("connectionGroupId"))
        and not leaving.held_back(mr, each)
        for each in everyone()
    )


def waiting(group: ObservedGroup, what: str, seconds: float) -> NotYet:
    """The error while the deletion of the group waits."""
    words = f"connection group {group.name} waits {what}"
    said = conditions.removing("connection group", group)
    # While the group is enabled, nothing else says why its deletion makes no progress.
    return NotYet(words, after=seconds, conditions=(deleting(words), *said) if group.enabled else said)


def _listed(
    mr: Managed, group: ObservedGroup, account: AccountAccess
) -> tuple[ObservedTenant, ...] | AwsError:
    """The error if AWS does not list them, and a user has confirmed the deletion."""
    try:
        return tuple(islice(account.cloudfront.tenants_of_group(group.id), _MOST_LISTED))
    except AwsError as error:
        if error.verdict.class_ in (ErrorClass.THROTTLED, ErrorClass.WAIT):
            what = f"list the tenants of connection group {group.name}"
            raise to_external_error(error, what, serving=conditions.was_ready(mr)) from error
        if group.enabled and not guards.is_confirmed(mr):
            # If the group is gone, the next reconcile observes that.
            after = account.memory.used.next(mr.uid) if error.absent else _HELD_SECONDS
            raise _held(mr, group, error, after) from error
        # A disabled group serves no visitors, and CloudFront refuses to delete a group that has tenants.
        _log.warning(
            "cannot list the tenants of the connection group", connection_group=group.name, error=str(error)
        )
        return error


def _held(mr: Managed, group: ObservedGroup, error: AwsError, after: float) -> NotYet:
    denied = error.verdict.reason is Reason.ACCESS_DENIED
    words = (
        f"connection group {group.name} is not deleted, because the provider cannot tell whether it has "
        f"tenants: {error}. {'Allow cloudfront:ListDistributionTenants. ' if denied else ''}If no tenant uses"
        f" it, set the annotation {guards.CONFIRM_ANNOTATION} to {guards.token_of(mr)} to delete it anyway"
    )
    held = not_ready(Reason.DELETION_HELD, words)
    return NotYet(words, after=after, conditions=(*conditions.removing("connection group", group), held))


def _unread(group: ObservedGroup, refused: AwsError) -> NotYet:
    """The error if the tenants are not listed, and were not all read one by one. AWS's words on a tenant are
    only in the log: they may name one of another namespace."""
    denied = refused.verdict.reason is Reason.ACCESS_DENIED
    way_out = (
        "Allow cloudfront:ListDistributionTenants" if denied else "If no tenant uses it, delete it in AWS"
    )
    words = (
        f"connection group {group.name} is not deleted, although the deletion is confirmed: the provider "
        "could not read all tenants that name the group, and CloudFront does not list those in it: "
        f"{refused}. {way_out}"
    )
    held = not_ready(Reason.DELETION_HELD, words)
    said = conditions.removing("connection group", group)
    return NotYet(words, after=_HELD_SECONDS, conditions=(*said, held))


def _told(mr: Managed, names: set[str], log_changes: LogChanges, everyone: Everyone) -> str:
    if log_changes.is_new(mr.uid, "tenants", frozenset(names)):
        _log.info(
            "deletion waits for the tenants of the connection group",
            connection_group=mr.external_name,
            tenants=sorted(names),
        )
    return disclosure.named_tenants(mr, names, everyone())


def _askers(mr: Managed, group: ObservedGroup, everyone: Everyone) -> tuple[list[Managed], list[Managed]]:
    """The cached resources that name the group: those of its own namespace whose spec names it, or whose DNS
    records still lead to it, and others. A list may not show the tenants of the others yet."""
    mine: list[Managed] = []
    others: list[Managed] = []
    for each in everyone():
        asks = _asked(each) in (group.id, group.arn, group.name)
        uses = asks or _is_led_to(each, group)
        if each.kind == _TENANT and uses and identity.namespace_of(each) == identity.namespace_of(mr):
            mine.append(each)
        elif each.kind == _TENANT and (asks or each.at_provider.get("connectionGroupId") == group.id):
            others.append(each)
    return mine, others


def _is_led_to(mr: Managed, group: ObservedGroup) -> bool:
    """Whether records of the resource lead to the group's endpoint: the provider is about to move them away,
    or another tenant has the domain by now."""
    endpoint, records = group.routing_endpoint, mr.status.get("dnsInstructions") or ()
    ready = mr.condition(ConditionType.READY)
    is_held = ready is not None and ready.reason == Reason.DELETION_HELD
    if not endpoint or (mr.deleted and not is_held) or not mr.for_provider.get("dns"):
        return False
    leads = (f"{each.get('value')} {each.get('found') or ''}" for each in records if each.get("managedBy"))
    return any(endpoint in each for each in leads)


def _in_turn(mr: Managed, others: Iterable[Managed], account: AccountAccess) -> list[tuple[Hashable, str]]:
    """The tenants to read, each with its share: the namespace, and whether its owner is unproven. A list may
    not show the newest tenants yet. Proven ones come first, and the namespaces take turns, so that no
    namespace hides another one's tenant by creating others. Anyone may delete, create and edit their
    resources at any time, so only names count, and which resource has one does not."""
    newest = sorted(others, key=lambda each: each.metadata.get("creationTimestamp") or "", reverse=True)
    own, had = identity.namespace_of(mr), Counter[Hashable]()
    turns: dict[tuple[Hashable, str], tuple[bool, int, bool]] = {}
    for each in newest:
        namespace, proof = identity.namespace_of(each), account.memory.proofs.of(each.uid)
        unproven = proof is None
        share = (namespace, unproven)
        # A status may name another tenant, the proof cannot.
        name = str(proof.id if proof else each.at_provider.get("id") or each.external_name or each.name)
        if _may_be_here(name, account.id) and (share, name) not in turns:
            turns[share, name] = (unproven, had[share], namespace == own)
            had[share] += 1
    return sorted(turns, key=turns.__getitem__)


def _may_be_here(name: str, account: str | None) -> bool:
    """Whether a name, id or ARN that anyone may have written can be one of a tenant in the account."""
    if account and name.startswith("arn:") and not re.match(rf"arn:[\w-]+:cloudfront::{account}:", name):
        return False
    return _NAME.fullmatch(name) is not None


def _unlisted(
    mr: Managed,
    group: ObservedGroup,
    others: Iterable[Managed],
    account: AccountAccess,
    *,
    counts: Callable[[ObservedTenant], bool],
    refused: AwsError | None = None,
) -> ObservedTenant | None:
    """Find a tenant of other resources that counts and that AWS has in the group, whether it lists it or not.
    Of many resources each reconcile reads some (memory/readings.py). Of a namespace with very many, it reads
    the newest ones only: AWS refuses to delete a group with tenants, and then the provider enables it again.

    If the list was `refused`, a tenant that was not read keeps the group. The user who confirmed the deletion
    may not know who has joined the group.

    Raises:
        NotYet: other tenants are left to the next reconcile, or one that was not read keeps the group.
        ExternalError: AWS is throttling requests.
    """
    reads, readings = 0, account.memory.readings
    reading = readings.of(mr.uid, group.id)

    def read(name: str) -> ObservedTenant | None:
        nonlocal reads
        reads += 1
        if reads > _MOST_LOOKS:
            words = f"reading the tenants that name connection group {group.name}"
            raise NotYet(words, after=_READ_ON_SECONDS)
        return _in_group(mr, name, group, account.cloudfront)

    turns = _in_turn(mr, others, account)
    newest, rest = turns[:_MOST_FRESH], reading.in_turn(turns[_MOST_FRESH:])
    looks = (
        *(partial(read, name) for _, name in newest),
        *(partial(reading.get, share, name, partial(read, name)) for share, name in rest),
    )
    there, unread = _first(looks, counts)
    readings.end(reading)
    if there is None and unread and refused:
        _log.warning(
            "cannot read a tenant of the connection group",
            connection_group=group.name,
            error=str(unread.__cause__ or "too many name the group"),
        )
        raise _unread(group, refused)
    return there


def _first(
    looks: Iterable[Callable[[], ObservedTenant | None]], counts: Callable[[ObservedTenant], bool]
) -> tuple[ObservedTenant | None, NotRead | None]:
    """The first tenant that counts; and why another one was not read, if so."""
    unread = None
    for look in looks:
        try:
            seen = look()
        except NotRead as error:
            unread = error
            continue
        if seen is not None and counts(seen):
            return seen, unread
    return None, unread


def _asked(mr: Managed) -> Any:
    asked = mr.for_provider.get("connectionGroupId")
    return asked or (None if mr.at_provider.get("id") else mr.init_provider.get("connectionGroupId"))


def _in_group(mr: Managed, name: str, group: ObservedGroup, cloudfront: CloudFront) -> ObservedTenant | None:
    """The tenant of another resource, if AWS says that it is in the group.

    Raises:
        NotRead: the credentials may not read it.
        ExternalError: AWS is throttling requests.
    """
    try:
        seen = cloudfront.get_tenant(name)
    except AwsError as error:
        if error.verdict.class_ in (ErrorClass.THROTTLED, ErrorClass.WAIT):
            what = f"get a tenant that names connection group {group.name}"
            raise to_external_error(error, what, serving=conditions.was_ready(mr)) from error
        if error.says_what_is_there:
            return None
        raise NotRead from error
    return seen if seen.connection_group_id == group.id else None

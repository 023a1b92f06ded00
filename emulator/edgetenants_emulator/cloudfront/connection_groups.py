"""Connection groups: create, get, update, delete, list, and the account's default group."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from edgetenants_emulator.cloudfront import anycast_ip_lists, paging, tags
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state import durations, etag, identifiers
from edgetenants_emulator.state.identifiers import Arn
from edgetenants_emulator.state.records import ConnectionGroup
from edgetenants_emulator.state.world import World

__all__ = ["create", "default", "delete", "get", "get_by_routing_endpoint", "list_page", "shown", "update"]

Params = Mapping[str, Any]

_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")


def create(world: World, account: str, params: Params) -> dict[str, Any]:
    """CreateConnectionGroup. Ipv6Enabled and Enabled are true by default."""
    given_tags = tags.settled(params.get("Tags"), world.settings.tags_per_resource)
    if not params["Name"] or (world.settings.group_names_checked and not _NAME.fullmatch(params["Name"])):
        message = "A connection group's name has 1 to 128 letters, digits, dots, dashes and underscores."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if world.groups.named(account, params["Name"]):
        message = f"A connection group named {params['Name']!r} already exists."
        raise AwsError(ErrorCode.ENTITY_ALREADY_EXISTS, message)
    list_id = params.get("AnycastIpListId", "")
    _check_anycast(world, account, list_id, "")
    if world.groups.count(account) >= world.settings.groups_per_account:
        message = f"Your request exceeds the limit of {world.settings.groups_per_account} connection groups."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)
    group = _new(world, account, params["Name"])
    group.enabled = params.get("Enabled", world.settings.enabled_by_default)
    group.ipv6_enabled = params.get("Ipv6Enabled", True)
    group.anycast_ip_list_id = list_id
    group.tags = given_tags
    world.groups.add(group)
    return _answer(world, group, with_tags=True)


def default(world: World, account: str) -> ConnectionGroup:
    """The account's default group. It is created with the account's first multi-tenant distribution.

    It counts against the account's quota, but is created even if the quota is used up.
    """
    for group in world.groups.of(account):
        if group.is_default:
            return group
    group = _new(world, account, "")
    group.name = f"CreatedByCloudFront-{group.id}"
    group.is_default = True
    world.groups.add(group)
    return group


def get(world: World, account: str, params: Params) -> dict[str, Any]:
    """GetConnectionGroup, by id, ARN or name."""
    found = find(world, account, params["Identifier"])
    return _answer(world, found, with_tags=world.settings.get_returns_tags)


def get_by_routing_endpoint(world: World, account: str, params: Params) -> dict[str, Any]:
    """GetConnectionGroupByRoutingEndpoint."""
    endpoint = params.get("RoutingEndpoint", "").lower()
    for group in world.groups.of(account):
        if group.routing_endpoint == endpoint:
            return _answer(world, group)
    raise _not_found(endpoint)


def update(world: World, account: str, params: Params) -> dict[str, Any]:
    """UpdateConnectionGroup. Omitted members are kept; an empty AnycastIpListId removes the list."""
    group = _by_id(world, account, params["Id"])
    etag.check(params.get("IfMatch"), group.version, world.settings)
    missing = sorted({"Enabled", "Ipv6Enabled"} - params.keys())
    if missing and world.settings.group_update_needs_everything:
        raise AwsError(ErrorCode.INVALID_ARGUMENT, f"The update must specify {', '.join(missing)}.")
    list_id = params.get("AnycastIpListId", group.anycast_ip_list_id)
    _check_anycast(world, account, list_id, group.id)
    enabled = params.get("Enabled", group.enabled)
    if not enabled and world.settings.group_disable_needs_no_tenants and _in_use(world, group):
        message = f"The connection group {group.id} can't be disabled: it has distribution tenants."
        raise AwsError(ErrorCode.RESOURCE_IN_USE, message)
    group.enabled = enabled
    group.anycast_ip_list_id = list_id
    group.ipv6_enabled = params.get("Ipv6Enabled", group.ipv6_enabled)
    group.touch(world.clock.now(), durations.of_group(world))
    return _answer(world, group)


def delete(world: World, account: str, params: Params) -> dict[str, Any]:
    """DeleteConnectionGroup. The group must be disabled, without tenants, and not the default."""
    group = _by_id(world, account, params["Id"])
    etag.check(params.get("IfMatch"), group.version, world.settings)
    if group.is_default:
        message = f"The connection group {group.id} is the account's default and can't be deleted."
        raise AwsError(world.settings.default_group_delete_error, message)
    if _in_use(world, group):
        message = f"The connection group {group.id} can't be deleted: it has distribution tenants."
        raise AwsError(ErrorCode.CANNOT_DELETE_ENTITY_WHILE_IN_USE, message)
    if not world.may_delete(group):
        message = f"The connection group {group.id} must be disabled before it can be deleted."
        raise AwsError(world.delete_error(group, ErrorCode.RESOURCE_NOT_DISABLED), message)
    world.groups.remove(group)
    return {}


def list_page(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListConnectionGroups. Items have no Ipv6Enabled and Tags, but the ETag. Can filter by Anycast list."""
    list_id = (params.get("AssociationFilter") or {}).get("AnycastIpListId")
    matching = world.groups.of(account)
    if list_id:
        wanted = anycast_ip_lists.find(world, account, list_id).id
        matching = [group for group in matching if group.anycast_ip_list_id == wanted]
    limit = paging.size(params.get("MaxItems"), world.settings)
    groups, marker = paging.page(matching, params.get("Marker"), limit, world.settings)
    now = world.clock.now()
    rows = [{**shown(world, group, now), "ETag": group.etag} for group in groups]
    for row in rows:
        del row["Ipv6Enabled"]
    return {"ConnectionGroups": rows, "NextMarker": marker}


def find(world: World, account: str, identifier: str) -> ConnectionGroup:
    """A group by id, ARN or name. Raises AwsError EntityNotFound; AccessDenied for another account's ARN."""
    arn = Arn.parse(identifier)
    if arn is None:
        found = world.groups.get(account, identifier) or world.groups.named(account, identifier)
    elif arn.account != account:
        message = f"Access to {identifier} is denied: it belongs to another account."
        raise AwsError(world.settings.foreign_arn_error, message)
    else:
        found = world.groups.get(account, arn.id) if arn.kind == ConnectionGroup.KIND else None
    if found is None:
        raise _not_found(identifier)
    return found


def shown(world: World, group: ConnectionGroup, now: float) -> dict[str, Any]:
    """A group as Get returns it, by the model's names."""
    return {
        "Id": group.id,
        "Name": group.name,
        "Arn": group.arn,
        "CreatedTime": world.clock.stamp(group.created),
        "LastModifiedTime": world.clock.stamp(group.modified),
        "Ipv6Enabled": group.ipv6_enabled,
        "RoutingEndpoint": group.routing_endpoint,
        "AnycastIpListId": group.anycast_ip_list_id or None,
        "Status": group.status(now),
        "Enabled": group.enabled,
        "IsDefault": group.is_default,
    }


def _new(world: World, account: str, name: str) -> ConnectionGroup:
    now = world.clock.now()
    return ConnectionGroup(
        id=identifiers.ksuid("cg", world.clock.unix(now)),
        account=account,
        name=name,
        enabled=True,
        created=now,
        modified=now,
        deployed_at=now + durations.of_group(world),
        routing_endpoint=identifiers.edge_name(),
    )


def _answer(world: World, group: ConnectionGroup, *, with_tags: bool = False) -> dict[str, Any]:
    body = shown(world, group, world.clock.now())
    if with_tags and group.tags:
        body["Tags"] = tags.as_items(group.tags)
    return {"ConnectionGroup": body, "ETag": group.etag}


def _by_id(world: World, account: str, group_id: str) -> ConnectionGroup:
    group = world.groups.get(account, group_id)
    if group is None:
        raise _not_found(group_id)
    return group


def _in_use(world: World, group: ConnectionGroup) -> bool:
    return any(tenant.group_id == group.id for tenant in world.tenants.of(group.account))


def _check_anycast(world: World, account: str, list_id: str, group_id: str) -> None:
    """Check that the list exists and has room for the group."""
    if not list_id:
        return
    anycast_ip_lists.find(world, account, list_id)
    groups = world.groups.of(account)
    limit = world.settings.groups_per_anycast_ip_list
    if sum(each.anycast_ip_list_id == list_id and each.id != group_id for each in groups) >= limit:
        message = f"The Anycast static IP list {list_id} exceeds the limit of {limit} connection groups."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)


def _not_found(identifier: str) -> AwsError:
    return AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The connection group {identifier} doesn't exist.")

"""Anycast static IP lists, for connection groups: create, get, update, delete, list.

    Deploying ──▶ Deployed      on the virtual clock, like a connection group
    delete                      requires Deployed (else IllegalDelete) and no users (else
                                CannotDeleteEntityWhileInUse)

Addresses are from 198.18.0.0/15 and 2001:db8::/32, which are reserved for benchmarks and documentation.
Custom addresses (IpamCidrConfigs) are not supported (UnsupportedOperation).
"""

from __future__ import annotations

import ipaddress
import secrets
from collections.abc import Mapping
from typing import Any

from edgetenants_emulator.cloudfront import paging, tags
from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state import durations, etag, identifiers
from edgetenants_emulator.state.records import AnycastIpList
from edgetenants_emulator.state.world import World

__all__ = ["create", "delete", "find", "get", "list_page", "shown", "update"]

Params = Mapping[str, Any]

_COUNTS = (3, 21)
_NETWORKS = {
    "ipv4": ("198.18.0.0/15",),
    "ipv6": ("2001:db8::/64",),
    "dualstack": ("198.18.0.0/15", "2001:db8::/64"),
}


def create(world: World, account: str, params: Params) -> dict[str, Any]:
    """CreateAnycastIpList, with 3 or 21 addresses; `ipv4` by default."""
    given_tags = tags.settled(params.get("Tags"), world.settings.tags_per_resource)
    _check_own_addresses(params)
    if params["IpCount"] not in _COUNTS:
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "IpCount is 21 or 3.")
    if world.anycast_lists.named(account, params["Name"]):
        message = f"An Anycast static IP list named {params['Name']!r} already exists."
        raise AwsError(ErrorCode.ENTITY_ALREADY_EXISTS, message)
    limit = world.settings.anycast_ip_lists_per_account
    if world.anycast_lists.count(account) >= limit:
        message = f"Your request exceeds the limit of {limit} Anycast static IP lists."
        raise AwsError(ErrorCode.ENTITY_LIMIT_EXCEEDED, message)
    made = _new(world, account, params)
    made.tags = given_tags
    world.anycast_lists.add(made)
    return _answer(world, made)


def get(world: World, account: str, params: Params) -> dict[str, Any]:
    """GetAnycastIpList, by id."""
    return _answer(world, find(world, account, params["Id"]))


def update(world: World, account: str, params: Params) -> dict[str, Any]:
    """UpdateAnycastIpList. If the list keeps an address type, its addresses do not change."""
    found = find(world, account, params["Id"])
    etag.check(params.get("IfMatch"), found.version, world.settings)
    _check_own_addresses(params)
    found.address_type = params.get("IpAddressType", found.address_type)
    found.addresses = _addresses(found.address_type, found.ip_count, found.addresses)
    found.touch(world.clock.now(), durations.of_group(world))
    return _answer(world, found)


def delete(world: World, account: str, params: Params) -> dict[str, Any]:
    """DeleteAnycastIpList."""
    found = find(world, account, params["Id"])
    etag.check(params.get("IfMatch"), found.version, world.settings)
    groups = [group.id for group in world.groups.of(account) if group.anycast_ip_list_id == found.id]
    uses = world.distributions.of(account)
    using = groups + [each.id for each in uses if each.config.get("AnycastIpListId") == found.id]
    if using:
        message = f"The Anycast static IP list {found.id} is in use by {', '.join(using)}."
        raise AwsError(ErrorCode.CANNOT_DELETE_ENTITY_WHILE_IN_USE, message)
    if found.status(world.clock.now()) != "Deployed":
        message = f"The Anycast static IP list {found.id} is still being deployed."
        raise AwsError(ErrorCode.ILLEGAL_DELETE, message)
    world.anycast_lists.remove(found)
    return {}


def list_page(world: World, account: str, params: Params) -> dict[str, Any]:
    """ListAnycastIpLists. Items have no addresses, but the ETag."""
    limit = paging.size(params.get("MaxItems"), world.settings)
    listed = world.anycast_lists.of(account)
    found, marker = paging.page(listed, params.get("Marker"), limit, world.settings)
    now = world.clock.now()
    rows = [{**shown(world, each, now), "ETag": each.etag} for each in found]
    for row in rows:
        del row["AnycastIps"]
    return {
        "AnycastIpLists": {
            "Marker": params.get("Marker") or "",
            "NextMarker": marker,
            "MaxItems": limit,
            "IsTruncated": marker is not None,
            "Quantity": len(rows),
            "Items": rows or None,
        }
    }


def find(world: World, account: str, list_id: str) -> AnycastIpList:
    """A list by id. Raises AwsError EntityNotFound."""
    found = world.anycast_lists.get(account, list_id)
    if found is None:
        raise AwsError(ErrorCode.ENTITY_NOT_FOUND, f"The Anycast static IP list {list_id} doesn't exist.")
    return found


def shown(world: World, each: AnycastIpList, now: float) -> dict[str, Any]:
    """A list as Get returns it, by the model's names."""
    return {
        "Id": each.id,
        "Name": each.name,
        "Status": each.status(now),
        "Arn": each.arn,
        "IpAddressType": each.address_type,
        "AnycastIps": each.addresses,
        "IpCount": each.ip_count,
        "LastModifiedTime": world.clock.stamp(each.modified),
    }


def _new(world: World, account: str, params: Params) -> AnycastIpList:
    now = world.clock.now()
    address_type = params.get("IpAddressType", "ipv4")
    return AnycastIpList(
        id=identifiers.ksuid("aip", world.clock.unix(now)),
        account=account,
        name=params["Name"],
        enabled=True,
        created=now,
        modified=now,
        deployed_at=now + durations.of_group(world),
        ip_count=params["IpCount"],
        address_type=address_type,
        addresses=_addresses(address_type, params["IpCount"], []),
    )


def _addresses(address_type: str, count: int, before: list[str]) -> list[str]:
    found: list[str] = []
    for text in _NETWORKS[address_type]:
        network = ipaddress.ip_network(text)
        kept = [address for address in before if ipaddress.ip_address(address) in network]
        found += kept or [str(network[n]) for n in sorted(_numbers(count))]
    return found


def _numbers(count: int) -> set[int]:
    numbers: set[int] = set()
    while len(numbers) < count:
        numbers.add(1 + secrets.randbelow(2**16))
    return numbers


def _check_own_addresses(params: Params) -> None:
    if params.get("IpamCidrConfigs"):
        message = "This emulator does not support IPAM and IpamCidrConfigs."
        raise AwsError(ErrorCode.UNSUPPORTED_OPERATION, message)


def _answer(world: World, each: AnycastIpList) -> dict[str, Any]:
    return {"AnycastIpList": shown(world, each, world.clock.now()), "ETag": each.etag}

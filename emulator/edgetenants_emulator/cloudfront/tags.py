"""Tags of tenants, connection groups, distributions and Anycast lists: TagResource, UntagResource,
ListTagsForResource."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.state.identifiers import Arn
from edgetenants_emulator.state.records import AnycastIpList, ConnectionGroup, Distribution, Resource, Tenant
from edgetenants_emulator.state.world import World

__all__ = ["KINDS", "as_items", "list_tags", "settled", "tag", "untag"]

KINDS = frozenset({Tenant.KIND, ConnectionGroup.KIND, Distribution.KIND, AnycastIpList.KIND})
"""The kinds of resources whose tags are stored here. moto stores the tags of other kinds."""
_PUNCTUATION = frozenset("_.:/=+-@")


def settled(given: Mapping[str, Any] | None, limit: int) -> dict[str, str]:
    """The tags of a request, from AWS's wrapper `{"Items": [{"Key", "Value"}]}`.

    Raises AwsError InvalidTagging for a key or value that the model forbids, a duplicate or reserved key, or
    more than `limit` tags.
    """
    items: Sequence[Mapping[str, str]] = (given or {}).get("Items") or []
    found = {item.get("Key", ""): item.get("Value", "") for item in items}
    if len(found) < len(items):
        raise AwsError(ErrorCode.INVALID_TAGGING, "The list of tags contains a key more than once.")
    for key, value in found.items():
        _check(key, value)
    _check_count(found, limit)
    return found


def as_items(tags: Mapping[str, str]) -> dict[str, Any]:
    """The tags in the API's format."""
    return {"Items": [{"Key": key, "Value": value} for key, value in tags.items()]}


def tag(world: World, account: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """TagResource: adds tags, or overwrites them by key. Changes the version if the settings say so."""
    resource = _resource(world, account, params["Resource"])
    added = settled(params.get("Tags"), world.settings.tags_per_resource)
    merged = {**resource.tags, **added}
    _check_count(merged, world.settings.tags_per_resource)
    _retag(world, resource, merged)
    return {}


def untag(world: World, account: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """UntagResource. Missing keys are ignored; invalid keys are refused."""
    resource = _resource(world, account, params["Resource"])
    gone = set((params.get("TagKeys") or {}).get("Items") or [])
    for key in gone:
        _check_key(key)
    _retag(world, resource, {key: value for key, value in resource.tags.items() if key not in gone})
    return {}


def list_tags(world: World, account: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """ListTagsForResource, the only way to read tags after the creation."""
    resource = _resource(world, account, params["Resource"])
    at = world.clock.now() - world.settings.tags_lag_seconds
    return {"Tags": as_items(world.past.tags_at(resource.arn, resource.tags, at))}


def _retag(world: World, resource: Resource, tags: dict[str, str]) -> None:
    lag = world.settings.tags_lag_seconds
    if lag > 0:
        world.past.retags(resource.arn, resource.tags, world.clock.now(), lag)
    resource.tags = tags
    resource.version += world.settings.tags_move_etag


def _resource(world: World, account: str, text: str) -> Resource:
    arn = Arn.parse(text)
    if arn is None:
        raise AwsError(ErrorCode.INVALID_ARGUMENT, f"{text!r} is not the ARN of a CloudFront resource.")
    if arn.account != account:
        raise AwsError(ErrorCode.ACCESS_DENIED, f"Access to {text} is denied: it belongs to another account.")
    found: Resource | None = None
    match arn.kind:
        case Tenant.KIND:
            found = world.tenants.get(account, arn.id)
        case ConnectionGroup.KIND:
            found = world.groups.get(account, arn.id)
        case Distribution.KIND:
            found = world.distributions.get(account, arn.id)
        case AnycastIpList.KIND:
            found = world.anycast_lists.get(account, arn.id)
    if found is None:
        raise AwsError(ErrorCode.NO_SUCH_RESOURCE, f"The resource {text} doesn't exist.")
    return found


def _check(key: str, value: str) -> None:
    _check_key(key)
    if len(value) > 256 or not _allowed(value):
        raise AwsError(ErrorCode.INVALID_TAGGING, f"The value {value!r} of tag {key!r} is not valid.")


def _check_key(key: str) -> None:
    if not 1 <= len(key) <= 128 or not _allowed(key):
        raise AwsError(ErrorCode.INVALID_TAGGING, f"The tag key {key!r} is not valid.")
    if key.lower().startswith("aws:"):
        raise AwsError(ErrorCode.INVALID_TAGGING, f"The tag key {key!r} is reserved: it starts with aws:.")


def _allowed(text: str) -> bool:
    """The model's pattern: letters, separators and numbers of any script, and some punctuation."""
    return all(char in _PUNCTUATION or unicodedata.category(char)[0] in "LZN" for char in text)


def _check_count(tags: Mapping[str, str], limit: int) -> None:
    if len(tags) > limit:
        raise AwsError(ErrorCode.INVALID_TAGGING, f"A resource can have at most {limit} tags.")

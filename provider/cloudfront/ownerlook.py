"""Looking whose the tenant or connection group is that an external name leads to: at its tags, where status
does not tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import structlog

from edgetenants_runtime.managed import Managed
from provider.cloudfront import conditions, guards, identity, ownership
from provider.cloudfront.context import Context
from provider.cloudfront.errors import AwsError, explain
from provider.cloudfront.groupstate import ObservedGroup
from provider.cloudfront.observed import ObservedTenant
from provider.cloudfront.ownership import Ownership

__all__ = ["look", "with_known_tags"]

_log = structlog.get_logger("provider.cloudfront.ownerlook")

Seen = TypeVar("Seen", ObservedTenant, ObservedGroup)


def with_known_tags(mr: Managed, seen: Seen) -> Seen:
    """With the tags that status has of it, which a Get does not tell."""
    return replace(seen, tags=mr.at_provider.get("tags")) if seen.id == mr.at_provider.get("id") else seen


def look(mr: Managed, seen: Seen, having: Context) -> Seen | None:
    """What was seen, with its tags, when it is ours or is only looked at; None when it is not ours and is let
    go, as the managed resource is being deleted.

    Raises:
        NotYet: another resource that has it is being deleted.
        ExternalError: it is not ours (AdoptionRefused), or its tags cannot be read.
    """
    if not ownership.writes(mr) or ownership.recorded(mr, seen):
        return seen
    tags = _read_tags(mr, seen, having)
    peers = tuple(having.peers(mr, ownership.names(seen)))
    verdict = ownership.judge(mr, seen, tags, having.installation, peers)
    if mr.deleted:
        ours = verdict is Ownership.OURS and ownership.rival(mr, seen, peers) is None
        return replace(seen, tags=tags) if ours else None
    owner = tags.get(identity.OWNER_TAG)
    if having.unseen and owner and verdict in (Ownership.LEFT, Ownership.GIVEN):
        raise guards.owner_unseen(mr, having.unseen)
    if verdict in (Ownership.OURS, Ownership.GIVEN):
        guards.check_peers(mr, seen, peers)
        return replace(seen, tags=tags)
    if having.memory.is_news(mr.uid, "owner", (seen.id, owner)):
        _log.warning("it exists and is not ours", resource=seen.name, resource_id=seen.id, owner=owner)
    raise guards.adoption_refused(mr, seen, verdict, owner, having.installation)


def _read_tags(mr: Managed, seen: Seen, having: Context) -> dict[str, str]:
    try:
        return having.cloudfront.tags(seen.arn)
    except AwsError as error:
        what = f"read tags of {identity.noun(mr)} {seen.name}"
        raise explain(error, what, serving=conditions.was_ready(mr)) from error

"""What the tenants of a connection group need to know of it: where their domains must lead, and whether it
serves (pure).

What cannot be told is unknown, and an unknown group takes nothing from its tenants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from provider.cloudfront.aws.errors import AwsError, ErrorClass
from provider.cloudfront.state.group import ObservedGroup

__all__ = ["UNKNOWN", "GroupLook", "failed", "of"]


@dataclass(frozen=True)
class GroupLook:
    """A connection group at one moment, as far as it is known."""

    id: str | None = None
    endpoint: str | None = None
    """Its routing endpoint, which it keeps for life."""
    disabled: bool = False
    """CloudFront serves no tenant of it."""
    rolling_out: bool = False
    """Its last change is not everywhere yet."""
    refused: str = ""
    """Why it may not be looked at, in AWS's words; empty where it may."""


UNKNOWN: Final = GroupLook()


def of(seen: ObservedGroup) -> GroupLook:
    """As AWS has just shown it."""
    rolling_out = bool(seen.status) and not seen.deployed
    return GroupLook(seen.id, seen.routing_endpoint, not seen.enabled, rolling_out)


def failed(before: GroupLook, error: AwsError) -> GroupLook:
    """What is left of a look when the next one fails: all of it while AWS takes no requests, else what does
    not change."""
    if error.verdict.class_ in (ErrorClass.THROTTLED, ErrorClass.WAIT):
        return before
    refused = str(error) if error.not_permitted else ""
    return replace(before, disabled=False, rolling_out=False, refused=refused)

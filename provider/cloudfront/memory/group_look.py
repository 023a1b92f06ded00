"""What the tenants of a connection group need to know about it: where their domains must point, and whether
it serves (pure).

What cannot be read is unknown, and an unknown group does not affect its tenants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from provider.cloudfront.aws.errors import AwsError, ErrorClass
from provider.cloudfront.state.group import ObservedGroup

__all__ = ["UNKNOWN", "GroupLook", "failed", "of"]


@dataclass(frozen=True)
class GroupLook:
    """A connection group at one time, as far as it is known."""

    id: str | None = None
    endpoint: str | None = None
    """Its routing endpoint, which never changes."""
    disabled: bool = False
    """CloudFront does not serve its tenants."""
    rolling_out: bool = False
    """Its last change is still being deployed."""
    refused: str = ""
    """Why the provider may not read it, as AWS's message; "" if it may."""


UNKNOWN: Final = GroupLook()


def of(seen: ObservedGroup) -> GroupLook:
    """Return the state of a group that the provider has just read."""
    rolling_out = bool(seen.status) and not seen.deployed
    return GroupLook(seen.id, seen.routing_endpoint, not seen.enabled, rolling_out)


def failed(before: GroupLook, error: AwsError) -> GroupLook:
    """Return what remains of the last state when the next read fails: all of it while AWS is throttling
    requests, otherwise what never changes."""
    if error.verdict.class_ in (ErrorClass.THROTTLED, ErrorClass.WAIT):
        return before
    refused = str(error) if error.not_permitted else ""
    return replace(before, disabled=False, rolling_out=False, refused=refused)

"""Which fields to send in the update that disables a tenant before its deletion: as few as AWS accepts.

AWS checks every field of an update. If an update repeats a tenant's parameters or domains, AWS refuses it
forever once the distribution defines others. AWS's example sends only the fields that change, but no document
promises that this works. So if AWS refuses a short update as invalid, the provider sends more fields:

    Enabled alone ──refused──▶ with distribution and domains ──refused──▶ all fields
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Final, TypeVar

from apis.conditions import TenantReadyReason as Reason
from provider.cloudfront.aws.errors import FORBIDDEN, AwsError, ErrorClass

__all__ = ["Said", "first_taken", "order"]

_REFUSALS: Final = frozenset(
    {Reason.INVALID_SPEC, Reason.DOMAIN_CONFLICT, Reason.DOMAIN_VALIDATION_PENDING, Reason.QUOTA_EXCEEDED}
)
"""Refusals that concern the content of an update, not its sender or its time."""

T = TypeVar("T")


class Said(IntEnum):
    """What an update contains besides Enabled."""

    NOTHING = 0
    """Only Enabled."""
    PARENT = 1
    """Also the distribution and the domains, which the API model requires for a creation."""
    EVERYTHING = 2
    """All fields."""


def order(first: Said) -> tuple[Said, ...]:
    """Return the variants in the order to try, starting with one that AWS accepted before."""
    return (first, *(each for each in Said if each is not first))


def first_taken(ways: tuple[Said, ...], send: Callable[[Said], T]) -> tuple[Said, T]:
    """Send these variants until AWS accepts one; return that variant and the response.

    Raises:
        AwsError: AWS refused all of them as invalid, or one of them for another reason.
    """
    for way in ways[:-1]:
        try:
            return way, send(way)
        except AwsError as error:
            if not _refused(error, way):
                raise
    return ways[-1], send(ways[-1])


def _refused(error: AwsError, way: Said) -> bool:
    if error.absent:
        # AWS may mean the distribution, or a parameter.
        return way is not Said.NOTHING
    malformed = error.verdict.class_ is ErrorClass.BUG and error.code != FORBIDDEN
    return malformed or error.verdict.reason in _REFUSALS

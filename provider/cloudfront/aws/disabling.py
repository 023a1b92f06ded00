"""How much an update says that disables what is to be deleted: as little as AWS takes.

AWS checks all that an update says, so one that repeats a tenant's parameters or domains is refused for ever
once its distribution defines others. AWS's example changes a tenant by what changes alone, yet no document
promises that. So where less is refused as invalid, more is said:

    Enabled alone ──refused──▶ with distribution and domains ──refused──▶ the whole
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
"""Of what an update says, and not of who says it or when."""

T = TypeVar("T")


class Said(IntEnum):
    """What an update says beside that it disables."""

    NOTHING = 0
    """Enabled alone."""
    PARENT = 1
    """The distribution and the domains too, which the API model has as required for a creation."""
    EVERYTHING = 2
    """All that is there."""


def order(first: Said) -> tuple[Said, ...]:
    """The ways to say it, from one on that was taken before."""
    return (first, *(each for each in Said if each is not first))


def first_taken(ways: tuple[Said, ...], send: Callable[[Said], T]) -> tuple[Said, T]:
    """Send the first of these that AWS takes; which it was, and the answer.

    Raises:
        AwsError: all are refused as invalid, or one for another reason.
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
        # It may be the distribution, or a parameter, that is meant.
        return way is not Said.NOTHING
    malformed = error.verdict.class_ is ErrorClass.BUG and error.code != FORBIDDEN
    return malformed or error.verdict.reason in _REFUSALS

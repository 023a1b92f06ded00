"""Lists all tenants of a distribution, even if its pages skip or repeat some.

AWS does not document whether a marker may skip or repeat a tenant while others are created and deleted, or
how long a marker is valid. So the list is read again, with another page size, until it has nothing new.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from edgetenants_runtime.clock import Clock, pause
from provider.cloudfront.aws.calls import CloudFront, Page
from provider.cloudfront.aws.errors import AwsError, ErrorClass
from provider.cloudfront.state.observed import ObservedTenant

__all__ = ["patiently", "tenants"]

_T = TypeVar("_T")
_SIZES: Final = (1.0, 0.89, 0.97, 0.83, 0.79)
"""The page size of each sweep, relative to AWS' default, so that page boundaries differ."""
_TRIES: Final = 8
_LONGEST_PAUSE: Final = 30.0
_BROKEN: Final = 3


def tenants(
    cloudfront: CloudFront, distribution: str, clock: Clock, progress: Callable[[int], None] = lambda _: None
) -> tuple[ObservedTenant, ...]:
    """Every tenant of a distribution, sorted by name, without parameters and tags.

    Args:
        cloudfront: the account.
        distribution: its id.
        clock: for the pauses after a throttling.
        progress: is called with the number of known tenants.

    Raises:
        AwsError: AWS refuses the list, or eight tries fail.
    """
    known: dict[str, ObservedTenant] = {}
    usual = 0
    for part in _SIZES:
        before = len(known)
        pages = _sweep(cloudfront, distribution, clock, int(usual * part), known)
        usual = usual or len(pages[0].tenants)
        progress(len(known))
        if len(known) == before or len(pages) == 1:
            break
    return tuple(sorted(known.values(), key=lambda tenant: tenant.name))


def patiently(call: Callable[[], _T], clock: Clock) -> _T:
    """Make a call, and retry it while AWS is throttling requests, at most eight times in all.

    Raises:
        AwsError: AWS refuses the call, or keeps throttling it.
    """
    for number in range(_TRIES - 1):
        try:
            return call()
        except AwsError as error:
            if error.after is None and error.verdict.class_ is not ErrorClass.THROTTLED:
                raise
            pause(clock, error.after or min(_LONGEST_PAUSE, 2.0**number))
    return call()


def _sweep(
    cloudfront: CloudFront, distribution: str, clock: Clock, size: int, known: dict[str, ObservedTenant]
) -> list[Page]:
    """Read the whole list once; start over if a marker is no longer valid."""
    for tries_left in reversed(range(_BROKEN)):
        try:
            return _pages(cloudfront, distribution, clock, size, known)
        except AwsError as error:
            if error.code != "InvalidArgument" or not tries_left:
                raise
    raise AssertionError("unreachable: the last try returns or raises")


def _pages(
    cloudfront: CloudFront, distribution: str, clock: Clock, size: int, known: dict[str, ObservedTenant]
) -> list[Page]:
    pages: list[Page] = []
    marker, passed = "", set[str]()
    # A repeated marker would loop forever.
    while marker not in passed:
        passed.add(marker)
        page = patiently(partial(cloudfront.tenants_of, distribution, marker, size or None), clock)
        known.update((tenant.id, tenant) for tenant in page.tenants)
        pages.append(page)
        marker = page.marker
        if not marker:
            break
    return pages

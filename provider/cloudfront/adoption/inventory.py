"""All tenants of a distribution, whatever its pages do.

AWS does not say whether a marker may skip or repeat a tenant while others come and go, nor how long it is
good. So a list is read again, with pages of another size, until one brings nothing new.
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
"""Of the pages of each sweep, as a part of what AWS gives by itself: boundaries that do not fall together."""
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
        progress: is told how many are known by now.

    Raises:
        AwsError: the list is refused, or does not come in eight tries.
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
    """Make a call again while AWS takes no requests, at most eight times.

    Raises:
        AwsError: it is refused, or goes on not being taken.
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
    """One list from its beginning to its end; again when a marker is not good any more."""
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
    # A marker that comes again would go round for ever.
    while marker not in passed:
        passed.add(marker)
        page = patiently(partial(cloudfront.tenants_of, distribution, marker, size or None), clock)
        known.update((tenant.id, tenant) for tenant in page.tenants)
        pages.append(page)
        marker = page.marker
        if not marker:
            break
    return pages

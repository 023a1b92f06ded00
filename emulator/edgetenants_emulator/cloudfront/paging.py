"""Pages of a list: Marker, NextMarker, MaxItems."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.protocol import model_values
from edgetenants_emulator.settings import Settings
from edgetenants_emulator.state.records import Resource

__all__ = ["page", "page_by_key", "size"]

R = TypeVar("R", bound=Resource)
T = TypeVar("T")


def page(
    resources: Iterable[R], marker: str | None, limit: int, settings: Settings
) -> tuple[list[R], str | None]:
    """One page of resources ordered by creation, and the marker of the next page; None at the end.

    A marker is a position in the order of creation, so creations and deletions between two pages neither skip
    nor repeat other items, unless the settings ask for it.
    Raises AwsError InvalidArgument for an invalid marker, or, if the settings say so, for one whose item was
    deleted.
    """
    after = _place(marker)
    listed = list(resources)
    if after and settings.list_marker_needs_its_item and all(each.number != after for each in listed):
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "The Marker is not valid any more.")
    start = next((i for i, each in enumerate(listed) if each.number > after), len(listed))
    if after:
        start = max(0, start + settings.list_marker_skips - min(settings.list_marker_repeats, limit - 1))
    taken = listed[start : start + limit]
    more = start + limit < len(listed)
    return taken, _marker(taken[-1].number) if more else None


def page_by_key(
    items: Sequence[T], key: Callable[[T], str], marker: str | None, limit: int
) -> tuple[list[T], str | None]:
    """One page of items that are not resources. A marker is the key of the previous page's last item.

    Raises AwsError InvalidArgument for an invalid marker.
    """
    keys = [key(item) for item in items]
    if marker and marker not in keys:
        raise AwsError(ErrorCode.INVALID_ARGUMENT, "The Marker is not valid.")
    start = keys.index(marker) + 1 if marker else 0
    taken = list(items[start : start + limit])
    return taken, keys[start + limit - 1] if start + limit < len(items) else None


def size(max_items: Any, settings: Settings) -> int:
    """The size of a page. Raises AwsError InvalidArgument for anything but a positive number, or, if the
    settings say so, for more than the maximum."""
    if max_items is None:
        return settings.page_size_default
    try:
        # botocore's model has a string in some operations, an integer in others.
        number = model_values.integer(str(max_items))
    except ValueError:
        number = 0
    if number < 1:
        message = f"MaxItems must be a number greater than 0, not {str(max_items)[:80]}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    if number > settings.page_size_max and settings.max_items_above_max_refused:
        message = f"MaxItems must be at most {settings.page_size_max}, not {number}."
        raise AwsError(ErrorCode.INVALID_ARGUMENT, message)
    return min(number, settings.page_size_max)


def _marker(number: int) -> str:
    return base64.urlsafe_b64encode(f"after:{number}".encode()).decode()


def _place(marker: str | None) -> int:
    if not marker:
        return 0
    try:
        word, _, number = base64.urlsafe_b64decode(marker.encode()).decode().partition(":")
        if word == "after":
            return int(number)
    except (binascii.Error, UnicodeError, ValueError):
        pass
    raise AwsError(ErrorCode.INVALID_ARGUMENT, "The Marker is not valid.")

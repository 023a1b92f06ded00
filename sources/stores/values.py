"""How values of databases become those of JSON, one rule for all stores. What has no exact form is refused:
a silent approximation would end in another customer's domain."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Any, Final
from uuid import UUID

from sources.stores.store import StoreError, StoreReason, Value

__all__ = ["MAX_COLUMNS", "MAX_DEPTH", "MAX_ROWS", "as_json"]

MAX_ROWS: Final = 1_000_000
MAX_COLUMNS: Final = 200
MAX_DEPTH: Final = 16
"""Of lists and objects within a value."""
_ADDRESSES: Final = (IPv4Address, IPv6Address, IPv4Interface, IPv6Interface, IPv4Network, IPv6Network)


class _UnfitError(Exception):
    """What the value is, without its contents."""


def as_json(value: object, where: str) -> Value:
    """The value as JSON has it. Numbers keep their value, times become RFC 3339 (in UTC where they have a
    zone), bytes become base64.

    Raises:
        StoreError: InvalidData; the message has `where` and the type, never the value.
    """
    try:
        return _converted(value, MAX_DEPTH)
    except _UnfitError as error:
        message = f"{where}: {error}; select it as text instead"
        # Without the cause: it may hold the value.
        raise StoreError(StoreReason.INVALID_DATA, message) from None


def _converted(value: Any, depth: int) -> Value:
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, Enum)):
        return value
    if depth == 0:
        raise _UnfitError(f"lists and objects are nested more than {MAX_DEPTH} deep")
    if isinstance(value, list | tuple):
        return [_converted(item, depth - 1) for item in value]
    if isinstance(value, Mapping):
        return {_name(name): _converted(item, depth - 1) for name, item in value.items()}
    return _scalar(value)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise _UnfitError("an object has a name that is no text")
    return name


def _scalar(value: Any) -> Value:
    for types, convert in _SCALARS:
        if isinstance(value, types):
            return convert(value)
    raise _UnfitError(f"JSON has no form for values of type {type(value).__name__}")


def _float(value: float) -> float:
    if not math.isfinite(value):
        raise _UnfitError("the number is not finite")
    return value


def _decimal(value: Decimal) -> int | float:
    if not value.is_finite():
        raise _UnfitError("the number is not finite")
    if abs(value.adjusted()) > 300:
        raise _UnfitError("the number is too large")
    if value == value.to_integral_value():
        return int(value)
    if Decimal(repr(float(value))) != value:
        raise _UnfitError("the number has more digits than JSON's readers keep")
    return float(value)


def _moment(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat()
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


_SCALARS: Final[tuple[tuple[Any, Callable[[Any], Value]], ...]] = (
    (float, _float),
    (Decimal, _decimal),
    (datetime, _moment),
    ((date, time), lambda value: value.isoformat()),
    (UUID, str),
    (_ADDRESSES, str),
    ((bytes, bytearray, memoryview), lambda value: b64encode(bytes(value)).decode()),
)

"""How values of databases become those of JSON, one rule for all stores. What has no exact form is refused:
a silent approximation would end in another customer's domain."""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from ipaddress import IPv4Address, IPv4Interface, IPv4Network, IPv6Address, IPv6Interface, IPv6Network
from typing import Any, Final
from uuid import UUID

from sources.stores.store import Row, Value

__all__ = [
    "DEEP",
    "DIGITS",
    "FINITE",
    "MAX_COLUMNS",
    "MAX_DEPTH",
    "MAX_ROWS",
    "NAMES",
    "REPEATED",
    "Unfit",
    "fraction",
    "integer",
    "parsed",
    "parsed_cell",
    "row_of",
]

MAX_ROWS: Final = 1_000_000
MAX_COLUMNS: Final = 200
MAX_DEPTH: Final = 16
"""Of lists and objects within a value."""
_PARSED_DEPTH: Final = 64
"""Of what is parsed, if a parser gives up; it includes the levels of a page around its rows."""
_LONGEST_CELL: Final = 2**20
"""Bytes, or characters, of the JSON text of one column."""
_ADDRESSES: Final = (IPv4Address, IPv6Address, IPv4Interface, IPv6Interface, IPv4Network, IPv6Network)


@dataclass(frozen=True)
class Unfit:
    """Stands for a value that has no exact form in JSON, so that only its own row is invalid."""

    expected: str
    """In words, without the value."""


FINITE: Final = Unfit("a finite number")
DEEP: Final = Unfit(f"lists and objects that are nested at most {MAX_DEPTH} deep")
DIGITS: Final = Unfit("a number with fewer digits, or the number as text")
NAMES: Final = Unfit("names that are text")
REPEATED: Final = Unfit("names that are not repeated")
UNICODE: Final = Unfit("text of whole Unicode characters")
_LONG: Final = Unfit("JSON of at most 1 MiB")


class _UnfitError(Exception):
    def __init__(self, what: Unfit) -> None:
        super().__init__(what.expected)
        self.what = what


def row_of(
    cells: Iterable[tuple[str, object]], place: str, version: str | None = None, *, most: int = MAX_COLUMNS
) -> Row:
    """The row with these columns, as JSON has them. Numbers keep their value, times become RFC 3339 (in UTC
    where they have a zone), bytes become base64. A value without an exact form is in `Row.unfit`; with more
    than `most` columns, the row has none, and so no key."""
    columns: dict[str, Value] = {}
    unfit: dict[str, str] = {}
    for name, cell in cells:
        try:
            columns[name] = _converted(cell, MAX_DEPTH)
        except _UnfitError as error:
            unfit[name] = error.what.expected
    if len(columns) + len(unfit) > most:
        return Row({}, version, place=place)
    return Row(columns, version, unfit, place)


def parsed(text: str | bytes) -> object:
    """What a JSON text says. In place of a number or object that JSON's readers understand differently, it
    has an `Unfit`. Raises ValueError if the text is no JSON."""
    try:
        return _parsed(text)
    except RecursionError:
        return _parsed(_shallow(text if isinstance(text, str) else text.decode()))


def parsed_cell(text: str | bytes) -> object:
    """What the JSON text of one column says; an `Unfit` if it is too long. Raises ValueError if the text
    is no JSON."""
    # Lists of small values take fifty times the memory of their text.
    return parsed(text) if len(text) <= _LONGEST_CELL else _LONG


def _parsed(text: str | bytes) -> object:
    try:
        return json.loads(text, **_EXACT)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError:
        # Python's limit of digits.
        return json.loads(text, **_EXACT, parse_int=integer)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            found[name] = REPEATED
        seen.add(name)
    return found


def _constant(_: str) -> Unfit:
    return FINITE


def integer(digits: str) -> int | Unfit:
    """The number that the digits are."""
    try:
        return int(digits)
    except ValueError:
        return DIGITS


def fraction(text: str) -> Decimal | Unfit:
    """The number with all digits that the text has: a float would round them."""
    try:
        return Decimal(text)
    except InvalidOperation:
        # The exponent has more digits than a processor's word.
        return DIGITS


_EXACT: Final[Mapping[str, Any]] = {
    "object_pairs_hook": _distinct,
    "parse_constant": _constant,
    "parse_float": fraction,
}
_BRACKET: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A string that does not end, also one that ends in half an escape, goes to the end of the text: from each of
its quotes, another search would go there too, and hold the interpreter for minutes."""


def _shallow(text: str) -> str:
    """The text, with NaN in place of what is nested too deep for a parser."""
    kept: list[str] = []
    depth = end = 0
    for match in _BRACKET.finditer(text):
        found = match[0]
        if found in "[{":
            depth += 1
            if depth == _PARSED_DEPTH + 1:
                kept += [text[end : match.start()], "NaN"]
        elif found in "]}":
            depth -= 1
            if depth == _PARSED_DEPTH:
                end = match.end()
    return "".join([*kept, text[end:]]) if depth <= _PARSED_DEPTH else "".join(kept)


def _converted(value: Any, depth: int) -> Value:
    if isinstance(value, str) and not isinstance(value, Enum):
        return _text(value)
    if value is None or (isinstance(value, bool | int) and not isinstance(value, Enum)):
        return value
    if depth == 0:
        raise _UnfitError(DEEP)
    if isinstance(value, list | tuple):
        return [_converted(item, depth - 1) for item in value]
    if isinstance(value, Mapping):
        return {_name(name): _converted(item, depth - 1) for name, item in value.items()}
    return _scalar(value)


def _text(value: str) -> str:
    # Half of a character, as JSON's escapes can have it. No server takes it.
    if not value.isascii() and re.search("[\ud800-\udfff]", value):
        raise _UnfitError(UNICODE)
    return value


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise _UnfitError(NAMES)
    return _text(name)


def _scalar(value: Any) -> Value:
    if isinstance(value, Unfit):
        raise _UnfitError(value)
    for types, convert in _SCALARS:
        if isinstance(value, types):
            return convert(value)
    kind = type(value).__name__
    raise _UnfitError(Unfit(f"a value that JSON has, not one of type {kind}, which can be selected as text"))


def _float(value: float) -> float:
    if not math.isfinite(value):
        raise _UnfitError(FINITE)
    return value


def _decimal(value: Decimal) -> int | float:
    if not value.is_finite():
        raise _UnfitError(FINITE)
    if abs(value.adjusted()) > 300:
        raise _UnfitError(DIGITS)
    if value == value.to_integral_value():
        return int(value)
    found = float(value)
    # The shortest digits of a float, and the seventeen of C's %.17g, as many servers write it.
    if value not in (Decimal(repr(found)), Decimal(format(found, ".17g"))):
        raise _UnfitError(DIGITS)
    return found


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

"""How cells of MySQL and MariaDB become values: the protocol has text, and the type of the column."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

from pymysql.constants import FIELD_TYPE

from sources.stores.values import UNICODE, Unfit, parsed_cell

__all__ = ["JSON", "Field", "cell"]

JSON: Final = FIELD_TYPE.JSON
_BINARY: Final = 63
"""The collation of columns that hold bytes."""


@dataclass(frozen=True)
class Field:
    """What the server says of a column."""

    name: str
    type: int
    binary: bool
    length: int

    @staticmethod
    def of(packet: Any) -> Field:
        """From the description that the driver has parsed."""
        return Field(packet.name, packet.type_code, packet.charsetnr == _BINARY, packet.length)

    def as_(self, kind: int) -> Field:
        """The same column, if it has text, with its text read as that type."""
        is_text = self.type in _TEXTS and not self.binary
        return replace(self, type=kind) if is_text else self


def cell(field: Field, data: bytes | None) -> object:
    """The value, or an `Unfit`."""
    if data is None:
        return None
    if field.type == FIELD_TYPE.BIT:
        return _bit(field, data)
    if field.type in _TEXTS:
        return data if field.binary else _text(data)
    if field.type not in _KINDS:
        return data
    convert, expected = _KINDS[field.type]
    if field.type == FIELD_TYPE.TINY and field.length == 1:
        convert, expected = _boolean, _TRUTH
    try:
        return convert(data.decode())
    except (ValueError, ArithmeticError, LookupError):
        return expected


def _text(data: bytes) -> object:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return UNICODE


def _bit(field: Field, data: bytes) -> object:
    number = int.from_bytes(data, "big")
    return bool(number) if field.length == 1 else number


def _boolean(text: str) -> bool:
    return {"0": False, "1": True}[text]


def _float(_: str) -> object:
    return _ROUNDED


def _zoned(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


_NUMBER: Final = Unfit("a number")
_ROUNDED: Final = Unfit(
    "a DOUBLE or DECIMAL: the server rounds a FLOAT to six digits, so others look the same"
)
_TRUTH: Final = Unfit("0 or 1 in a column of type BOOLEAN, which is TINYINT(1)")
_TIME: Final = Unfit("a time in the years 1 to 9999")
_TIME_OF_DAY: Final = Unfit("a time of a day; other times can be selected as text")
_JSON: Final = Unfit("JSON")

_TEXTS: Final = frozenset(
    {
        FIELD_TYPE.VARCHAR,
        FIELD_TYPE.ENUM,
        FIELD_TYPE.SET,
        FIELD_TYPE.TINY_BLOB,
        FIELD_TYPE.MEDIUM_BLOB,
        FIELD_TYPE.LONG_BLOB,
        FIELD_TYPE.BLOB,
        FIELD_TYPE.VAR_STRING,
        FIELD_TYPE.STRING,
    }
)
_KINDS: Final[Mapping[int, tuple[Callable[[str], object], Unfit]]] = {
    **dict.fromkeys(
        (
            FIELD_TYPE.TINY,
            FIELD_TYPE.SHORT,
            FIELD_TYPE.LONG,
            FIELD_TYPE.LONGLONG,
            FIELD_TYPE.INT24,
            FIELD_TYPE.YEAR,
        ),
        (int, _NUMBER),
    ),
    **dict.fromkeys((FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL), (Decimal, _NUMBER)),
    FIELD_TYPE.FLOAT: (_float, _NUMBER),
    FIELD_TYPE.DOUBLE: (float, _NUMBER),
    **dict.fromkeys((FIELD_TYPE.DATE, FIELD_TYPE.NEWDATE), (date.fromisoformat, _TIME)),
    FIELD_TYPE.DATETIME: (datetime.fromisoformat, _TIME),
    FIELD_TYPE.TIMESTAMP: (_zoned, _TIME),
    FIELD_TYPE.TIME: (time.fromisoformat, _TIME_OF_DAY),
    JSON: (parsed_cell, _JSON),
}

"""A table in one text, as a ConfigMap holds it: CSV with a header, JSON lines, or a YAML list. Read
strictly: what two readers would understand differently is refused. Messages name line and column, never the
contents."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import yaml

from sources.stores.store import Row, StoreError, StoreReason
from sources.stores.values import (
    FINITE,
    MAX_COLUMNS,
    NAMES,
    REPEATED,
    Unfit,
    fraction,
    integer,
    parsed,
    row_of,
)

__all__ = ["MAX_BYTES", "MAX_ROWS", "TextStore", "rows_of"]

MAX_BYTES: Final = 2**20
"""Kubernetes refuses larger ConfigMaps."""
MAX_ROWS: Final = 50_000


class TextStore:
    """A table in a text. `form` is csv, jsonl or yaml. Two texts with one position are equal."""

    def __init__(self, text: str, form: str, position: str | None = None) -> None:
        self._text, self._form, self._position = text, form, position

    @contextmanager
    def read(self) -> Iterator[TextReading]:
        """See `Store`. Raises StoreError."""
        yield TextReading(self._text, self._form, self._position)

    @contextmanager
    def read_since(self, position: str) -> Iterator[TextReading | None]:
        """See `Conditional`. Raises StoreError."""
        yield None if position == self._position else TextReading(self._text, self._form, self._position)

    def close(self) -> None:
        """See `Store`."""


@dataclass(frozen=True)
class TextReading:
    """The rows of a text."""

    text: str
    form: str
    position: str | None

    def __iter__(self) -> Iterator[Row]:
        """See `rows_of`."""
        return rows_of(self.text, self.form)


def rows_of(text: str, form: str) -> Iterator[Row]:
    """Yield the rows of a text.

    Raises:
        StoreError: InvalidData, or InvalidConfiguration for a form that does not exist.
    """
    read = _FORMS.get(form)
    if read is None:
        raise StoreError(StoreReason.INVALID_CONFIGURATION, "the format is csv, jsonl or yaml")
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise _invalid(f"the text has more than {MAX_BYTES} bytes")
    # Spreadsheets write a byte order mark; within the text it is an invisible part of a name.
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    for bad in ("\ufeff", "\r", "\0"):
        _refuse(text, bad)
    for number, row in enumerate(read(text), 1):
        if number > MAX_ROWS:
            raise _invalid(f"there are more than {MAX_ROWS} rows")
        yield row


def _refuse(text: str, bad: str) -> None:
    at = text.find(bad)
    if at >= 0:
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        raise _invalid(f"line {line}, column {column}: the character U+{ord(bad):04X} is not allowed")


def _csv(text: str) -> Iterator[Row]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    try:
        for cells in lines:
            if header is None:
                header = _header(cells)
            elif cells:
                yield _csv_row(header, cells, lines.line_num)
    except csv.Error:
        raise _invalid(f"line {lines.line_num}: expected comma-separated values (RFC 4180)") from None
    if header is None:
        raise _invalid("line 1: expected a header with the names of the columns")


def _header(cells: list[str]) -> list[str]:
    if not 0 < len(cells) <= MAX_COLUMNS:
        raise _invalid(f"line 1: expected 1 to {MAX_COLUMNS} columns")
    for number, name in enumerate(cells, 1):
        if not name.strip() or name != name.strip():
            raise _invalid(f"line 1, column {number}: expected a name without spaces around it")
        if name in cells[: number - 1]:
            raise _invalid(f"line 1, column {number}: a column before it has the same name")
    return cells


def _csv_row(header: list[str], cells: list[str], line: int) -> Row:
    if len(cells) != len(header):
        # Whose cell is missing is unknown, and so is whose row it is.
        return Row({}, place=f"line {line}")
    return Row({name: cell or None for name, cell in zip(header, cells, strict=True)}, place=f"line {line}")


def _json_lines(text: str) -> Iterator[Row]:
    # splitlines would also split at U+2028, which JSON allows within text.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _row(_json(line, number), f"line {number}")


def _json(line: str, number: int) -> object:
    try:
        return parsed(line)
    except json.JSONDecodeError as error:
        raise _invalid(f"line {number}, column {error.colno}: expected a JSON object") from None
    except ValueError:
        raise _invalid(f"line {number}: expected a JSON object") from None


def _row(item: object, place: str) -> Row:
    return row_of(item.items() if isinstance(item, dict) else (), place)


def _yaml(text: str) -> Iterator[Row]:
    directive = _DIRECTIVE.search(text)
    if directive is not None:
        line = len(_LINE_END.findall(text, 0, directive.end())) + 1
        raise _invalid(f"line {line}, column 1: expected no line that begins with %, as directives do")
    try:
        yield from _items(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        raise _invalid(f"{_place(error.problem_mark)}: expected YAML") from None
    except (yaml.YAMLError, ValueError):
        raise _invalid("expected YAML") from None


def _items(events: Iterator[Any]) -> Iterator[Row]:
    """Values are made from the events themselves: a tree of nodes would need fifty times the memory of the
    text, and a few lines of aliases more than there is."""
    for expected in (yaml.StreamStartEvent, yaml.DocumentStartEvent, yaml.SequenceStartEvent):
        if not isinstance(next(events), expected):
            raise _invalid("line 1: expected a YAML list")
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            break
        yield _row(_node(event, events, _DEEPEST), _place(event.start_mark))
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            raise _invalid(f"{_place(event.start_mark)}: expected one YAML document")


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else "line 1"


def _node(event: Any, events: Iterator[Any], depth: int) -> object:
    """The value that begins with this event."""
    if isinstance(event, yaml.AliasEvent):
        raise _invalid(f"{_place(event.start_mark)}: aliases are not allowed")
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if depth == 0:
        # Each further level costs the parser more than the one before.
        raise _invalid(f"{_place(event.start_mark)}: nested more than {_DEEPEST} deep")
    found = (_sequence if isinstance(event, yaml.SequenceStartEvent) else _mapping)(events, depth)
    return found if event.tag is None else _TAGGED


def _sequence(events: Iterator[Any], depth: int) -> list[object]:
    found: list[object] = []
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            break
        found.append(_node(event, events, depth - 1))
    return found


def _mapping(events: Iterator[Any], depth: int) -> dict[str, object] | Unfit:
    found: dict[str, object] = {}
    others = 0
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            break
        name = _node(event, events, depth - 1)
        value = _node(next(events), events, depth - 1)
        if isinstance(name, str):
            found[name] = REPEATED if name in found else value
        else:
            others += 1
    return NAMES if others else found


def _scalar(event: Any) -> object:
    """By the core schema of YAML 1.2, so that `no` and a date stay text, as a customer's name would be."""
    if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
        return _TAGGED
    if event.tag is not None or event.style in ("'", '"', "|", ">"):
        return event.value
    for pattern, convert in _CORE:
        if re.fullmatch(pattern, event.value):
            return convert(event.value)
    return event.value


_LINE_END: Final = re.compile("[\n\x85\u2028\u2029]")
_DIRECTIVE: Final = re.compile("(?:\\A|[\n\x85\u2028\u2029])%")
"""What each one costs grows with their number: 70,000 lines of them would hold the interpreter for seconds.
No table needs one."""
_TAGGED: Final = Unfit("a value without a tag")
_DEEPEST: Final = 64
"""Levels that are parsed at all; a value with more than MAX_DEPTH of them makes its row invalid."""
_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE: Final[tuple[tuple[str, Callable[[str], object]], ...]] = (
    ("|~|null|Null|NULL", lambda _: None),
    ("true|True|TRUE", lambda _: True),
    ("false|False|FALSE", lambda _: False),
    (r"[-+]?[0-9]+", integer),
    (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", fraction),
    (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", lambda _: FINITE),
)


def _invalid(message: str) -> StoreError:
    return StoreError(StoreReason.INVALID_DATA, message)


_FORMS: Final[dict[str, Callable[[str], Iterator[Row]]]] = {"csv": _csv, "jsonl": _json_lines, "yaml": _yaml}

"""A table in one text, as a ConfigMap holds it: CSV with a header, JSON lines, or a YAML list. Read
strictly: what two readers would understand differently is refused. Messages name line and column, never the
contents."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import yaml

from sources.stores.store import Row, StoreError, StoreReason
from sources.stores.values import MAX_COLUMNS, MAX_DEPTH, as_json

__all__ = ["MAX_BYTES", "MAX_ROWS", "TextStore", "rows_of"]

MAX_BYTES: Final = 2**20
"""Kubernetes refuses larger ConfigMaps."""
MAX_ROWS: Final = 50_000


class TextStore:
    """A table in a text. `form` is csv, jsonl or yaml."""

    def __init__(self, text: str, form: str) -> None:
        self._text, self._form = text, form

    @contextmanager
    def read(self) -> Iterator[Iterator[Row]]:
        """See `Store`. Raises StoreError."""
        yield rows_of(self._text, self._form)

    def close(self) -> None:
        """See `Store`."""


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
        raise _invalid(f"line {line}: expected {len(header)} values, got {len(cells)}")
    return Row({name: cell or None for name, cell in zip(header, cells, strict=True)})


def _json_lines(text: str) -> Iterator[Row]:
    # splitlines would also split at U+2028, which JSON allows within text.
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _row(_json(line, number), f"line {number}")


def _json(line: str, number: int) -> Any:
    try:
        return json.loads(line, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise _invalid(f"line {number}, column {error.colno}: expected a JSON object") from None
    except (ValueError, RecursionError):
        message = "expected a JSON object without repeated names, NaN, or too many digits or levels"
        raise _invalid(f"line {number}: {message}") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is repeated")
    return found


def _no_constant(_: str) -> float:
    raise ValueError("no JSON")


def _yaml(text: str) -> Iterator[Row]:
    try:
        # Only the structure, without values that YAML makes of text, and without aliases: a few lines of
        # them stand for more than memory holds.
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise _invalid(f"{_place(event.start_mark)}: aliases are not allowed")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        raise _invalid(f"{_place(error.problem_mark)}: expected YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _invalid("expected YAML") from None
    if not isinstance(node, yaml.SequenceNode):
        raise _invalid("line 1: expected a YAML list")
    for item in node.value:
        yield _row(_plain(item, MAX_DEPTH), _place(item.start_mark))


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else "line 1"


def _plain(node: Any, depth: int) -> Any:
    if depth < 0:
        raise _invalid(f"{_place(node.start_mark)}: nested more than {MAX_DEPTH} deep")
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, depth - 1) for item in node.value]
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, depth)
    return _scalar(node)


def _mapping(node: Any, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = _plain(key, 0)
        if not isinstance(name, str):
            raise _invalid(f"{_place(key.start_mark)}: expected a name that is text; put it in quotes")
        if name in found:
            raise _invalid(f"{_place(key.start_mark)}: the name is repeated")
        found[name] = _plain(value, depth - 1)
    return found


def _scalar(node: Any) -> Any:
    """By the core schema of YAML 1.2, so that `no` and a date stay text, as a customer's name would be."""
    if node.tag == "tag:yaml.org,2002:str" or node.style in ("'", '"', "|", ">"):
        return node.value
    if node.tag.removeprefix("tag:yaml.org,2002:") not in _TAGS:
        raise _invalid(f"{_place(node.start_mark)}: tags are not allowed")
    for pattern, convert in _CORE:
        if re.fullmatch(pattern, node.value):
            return _converted(node, convert)
    return node.value


def _converted(node: Any, convert: Callable[[str], Any]) -> Any:
    try:
        value = convert(node.value)
    except ValueError:
        value = math.nan
    if isinstance(value, float) and not math.isfinite(value):
        raise _invalid(f"{_place(node.start_mark)}: the number is not finite, or too long")
    return value


_TAGS: Final = ("bool", "float", "int", "merge", "null", "timestamp", "value")
"""Of plain values, as PyYAML guesses them."""
_CORE: Final[tuple[tuple[str, Callable[[str], Any]], ...]] = (
    ("|~|null|Null|NULL", lambda _: None),
    ("true|True|TRUE", lambda _: True),
    ("false|False|FALSE", lambda _: False),
    (r"[-+]?[0-9]+", int),
    (r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", float),
    (r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", lambda _: math.nan),
)


def _row(item: Any, where: str) -> Row:
    if not isinstance(item, dict):
        raise _invalid(f"{where}: expected an object with the names of columns")
    if len(item) > MAX_COLUMNS:
        raise _invalid(f"{where}: there are more than {MAX_COLUMNS} columns")
    return Row({name: as_json(value, where) for name, value in item.items()})


def _invalid(message: str) -> StoreError:
    return StoreError(StoreReason.INVALID_DATA, message)


_FORMS: Final[dict[str, Callable[[str], Iterator[Row]]]] = {"csv": _csv, "jsonl": _json_lines, "yaml": _yaml}

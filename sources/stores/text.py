"""Tables in text: CSV, JSON lines and YAML."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import yaml

from apis.tenantsource import Format
from sources.stores.store import Reading, Row, StoreError, StoreReason

__all__ = ["TextStore"]


@dataclass(frozen=True)
class TextStore:
    """A table in a text."""

    text: str
    format: Format

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """See `Store`."""
        yield _READERS[self.format](self.text)

    def close(self) -> None:
        """See `Store`."""


def _csv(text: str) -> Iterator[Row]:
    lines = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        header = next(lines, None)
        if header is None:
            raise _invalid("expected a header line")
        _check_header(header)
        for cells in lines:
            if cells:
                yield _row(header, cells, lines.line_num)
    except csv.Error as error:
        raise _invalid(f"line {lines.line_num}: expected comma-separated values (RFC 4180)") from error


def _check_header(header: list[str]) -> None:
    if len(set(header)) != len(header) or not all(header):
        raise _invalid("line 1: expected a distinct name of each column")


def _row(header: list[str], cells: list[str], line: int) -> Row:
    if len(cells) != len(header):
        raise _invalid(f"line {line}: expected {len(header)} values, got {len(cells)}")
    return Row({name: cell or None for name, cell in zip(header, cells, strict=True)})


def _jsonl(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield _object(json.loads(line), f"line {number}")
            except (ValueError, RecursionError) as error:
                raise _invalid(f"line {number}: expected a JSON object") from error


def _yaml(text: str) -> Iterator[Row]:
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            # A few lines of them stand for more than memory holds.
            raise _invalid("expected YAML without aliases")
        items = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise _invalid(f"line {mark.line + 1 if mark else '?'}: expected YAML") from error
    for number, item in enumerate(items if isinstance(items, list) else [items], 1):
        yield _object(item, f"item {number}")


def _object(value: Any, where: str) -> Row:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise _invalid(f"{where}: expected an object with the names of columns")
    return Row({name: _plain(item) for name, item in value.items()})


def _plain(value: Any) -> Any:
    """As JSON has it: YAML also has dates."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _invalid(message: str) -> StoreError:
    return StoreError(StoreReason.INVALID_DATA, message)


_READERS = {Format.CSV: _csv, Format.JSONL: _jsonl, Format.YAML: _yaml}

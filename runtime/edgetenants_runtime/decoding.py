"""Decodes the API server's JSON, without `metadata.managedFields`.

Any user who may write an object can send managedFields, and the API server stores almost 10,000 levels of
them. Python's parser reads less than 1,000, and a copy of an object fails at fewer. Without this, one such
object would end each list and watch of its kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["MOST_LEVELS", "decode"]

MOST_LEVELS: Final = 100
"""Levels that are decoded where the parser fails; deeper values are null. All but managedFields have less
than thirty."""
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[{]|[\]}]', re.DOTALL)
"""A string that does not end, also one that ends in half an escape, goes to the end of the text: what is not
JSON must not take longer."""


def decode(data: bytes) -> Any:
    """Decode an object, a list or an event of a watch from JSON in UTF-8.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        decoded = json.loads(data)
    except RecursionError:
        decoded = json.loads(b"".join(_shallow(data)))
    if isinstance(decoded, dict):
        items = decoded.get("items")
        for each in (decoded, decoded.get("object"), *(items if isinstance(items, list) else ())):
            _drop_managed_fields(each)
    return decoded


def _drop_managed_fields(value: object) -> None:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)


def _shallow(data: bytes) -> Iterator[bytes]:
    """The text with null instead of what is too deep."""
    depth = kept = 0
    for token in _TOKEN.finditer(data):
        sign = token[0]
        if sign in b"[{":
            depth += 1
            if depth == MOST_LEVELS + 1:
                yield data[kept : token.start()]
                yield b"null"
        elif sign in b"]}":
            if depth == MOST_LEVELS + 1:
                kept = token.end()
            depth -= 1
    yield data[kept:]

"""Parses values of botocore's types. Only the format that AWS's SDKs write is accepted.

Python's own parsers accept more: full-width digits, underscores, spaces and numbers of any length.
"""

from __future__ import annotations

import re

__all__ = ["boolean", "integer"]

_INTEGER = re.compile(r"-?[0-9]{1,19}")
_BITS = {"integer": 32, "long": 64}
_BOOLEANS = {"true": True, "false": False}


def integer(text: str, type_name: str = "integer") -> int:
    """A number of the model's `integer` (32 bits) or `long` (64 bits). Raises ValueError for any other text.

    >>> integer("-7"), integer("2147483647")
    (-7, 2147483647)
    """
    number = int(text) if _INTEGER.fullmatch(text) else None
    limit = 1 << (_BITS[type_name] - 1)
    if number is None or not -limit <= number < limit:
        raise ValueError(f"{text[:80]!r} is not of type {type_name}")
    return number


def boolean(text: str) -> bool:
    """A boolean. Raises ValueError for any other text."""
    if text not in _BOOLEANS:
        raise ValueError(f"{text[:80]!r} is not of type boolean")
    return _BOOLEANS[text]

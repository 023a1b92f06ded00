"""How much memory a value from JSON takes, and what is left of one that takes too much."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from sys import getsizeof
from typing import Any

__all__ = ["memory", "within"]

_Path = tuple[str, ...]

_DEEPEST = 8
_MOST_FIELDS = 100
"""A mapping that is deeper, or has more members, is a whole: one of 100,000 names has no large members."""


def memory(value: Any) -> int:
    """The bytes of memory of a value from JSON. Names of fields count once: the parser shares them."""
    names: set[str] = set()
    total, left = 0, [value]
    while left:
        each = left.pop()
        total += getsizeof(each)
        if isinstance(each, dict):
            names.update(each)
            left.extend(each.values())
        elif isinstance(each, list):
            left.extend(each)
    return total + sum(map(getsizeof, names))


def within(value: Mapping[str, Any], most: int) -> Mapping[str, Any]:
    """The value, with its largest lists, texts and maps empty if it takes more than `most` bytes.

    Small ones stay, such as an id. They are empty and not absent, so that a writer that compares with the
    value replaces or removes what it does not want.

    >>> within({"id": "E1", "log": ["x" * 9_000], "at": {"note": "short"}}, 8_000)
    {'id': 'E1', 'log': [], 'at': {'note': 'short'}}
    """
    excess = memory(value) - most
    if excess <= 0:
        return value
    empty: set[_Path] = set()
    for size, path in sorted(_leaves(value, ()), reverse=True):
        if excess <= 0:
            break
        empty.add(path)
        excess -= size
    return _without(value, (), empty)


def _leaves(value: Mapping[str, Any], at: _Path) -> Iterator[tuple[int, _Path]]:
    """What can be emptied, with the bytes that this saves."""
    for name, member in value.items():
        if _has_fields(member, at):
            yield from _leaves(member, (*at, name))
        elif isinstance(member, (dict, list, str)):
            yield memory(member) - getsizeof(type(member)()), (*at, name)


def _without(value: Mapping[str, Any], at: _Path, empty: set[_Path]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, member in value.items():
        path = (*at, name)
        if _has_fields(member, at):
            kept[name] = _without(member, path, empty)
        else:
            kept[name] = type(member)() if path in empty else member
    return kept


def _has_fields(member: Any, at: _Path) -> bool:
    return isinstance(member, dict) and len(member) <= _MOST_FIELDS and len(at) < _DEEPEST

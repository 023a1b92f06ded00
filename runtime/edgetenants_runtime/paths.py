"""Dotted paths into JSON objects (pure). A path passes through objects only, never through lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["at", "nested", "overlaid", "patched"]


def at(obj: Mapping[str, Any], path: str) -> Any:
    """The value at the path; None if there is none. The empty path returns the object itself.

    >>> at({"customizations": {"webAcl": {"arn": "a"}}}, "customizations.webAcl.arn")
    'a'
    """
    found: Any = obj
    for name in filter(None, path.split(".")):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def nested(path: str, value: Any) -> dict[str, Any]:
    """An object with only the value at the path.

    >>> nested("webAcl.arn", "a")
    {'webAcl': {'arn': 'a'}}
    """
    for name in reversed(path.split(".")):
        value = {name: value}
    made: dict[str, Any] = value
    return made


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two objects: nested objects are merged key by key, any other value is taken from `above`.

    >>> overlaid({"a": 1, "b": {"c": 1}}, {"a": None, "b": {"d": [2]}})
    {'a': None, 'b': {'c': 1, 'd': [2]}}
    """
    result = dict(below)
    for name, value in above.items():
        before = result.get(name)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        result[name] = overlaid(before or {}, value) if both else value
    return result


def patched(obj: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """The object after a JSON merge patch (RFC 7386).

    >>> patched({"a": 1, "b": {"c": 1}}, {"a": None, "b": {"d": 2}})
    {'b': {'c': 1, 'd': 2}}
    """
    result = dict(obj)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, Mapping):
            before = result.get(name)
            result[name] = patched(before if isinstance(before, Mapping) else {}, value)
        else:
            result[name] = value
    return result

"""Reads YAML like kubectl: as JSON values, and reports what JSON does not have.

Words and numbers are read as by sigs.k8s.io/yaml, with which kubectl converts YAML to JSON
(go.yaml.in/yaml/v2, resolve.go): `y` is true, `1e3` is a number, and dates are strings. What kubectl silently
decodes or drops, such as a `!!binary` value or the first of two equal keys, is reported as a flaw.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from apis.errors import Problem, step

__all__ = ["Reading", "nodes"]

_FASTEST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_PLAIN: Final = f"{_TAG}plain"
"""Our own tag: a scalar without quotes or a tag, of any type."""
_DEEPEST: Final = 200
"""Maximum depth of a document. CustomResourceDefinitions have about fifty levels."""
_EXPLAINED: Final = 200_000
"""Maximum characters of a file for which the slower parser locates an error."""
_TOO_DEEP: Final = f"nested deeper than {_DEEPEST} levels"
_MOST_REPEATED: Final = 100_000
"""Maximum number of values that aliases may add to a file."""

_WORDS: Final[Mapping[str, bool | None]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_WHOLE: Final = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER: Final = re.compile(r"\.(nan|NaN|NAN)|[-+]?\.(inf|Inf|INF)")
_LONGEST_WHOLE: Final = 70
"""Maximum characters of an integer: 64 bits, with sign and prefix."""
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    f"{_TAG}bool": (bool,),
    f"{_TAG}int": (int,),
    f"{_TAG}float": (int, float),
    f"{_TAG}null": (type(None),),
}
"""Tags that set the type of a plain scalar."""
_TEXTS: Final = frozenset({f"{_TAG}str", f"{_TAG}timestamp"})


class _TooMuch(yaml.MarkedYAMLError):
    """The YAML is valid, but too deep or too large."""


class _Loader(_FASTEST):  # type: ignore[misc]  # either of two
    """Composes nodes; does not resolve the type of plain scalars."""

    _depth = 0

    def descend_resolver(self, parent: yaml.Node | None, index: Any) -> None:  # noqa: ARG002 - PyYAML's
        self._depth += 1
        # Without this limit, the C parser overflows the stack and the process crashes.
        if parent is not None and self._depth > _DEEPEST + 1:
            raise _refused(parent, _TOO_DEEP)

    def ascend_resolver(self) -> None:
        self._depth -= 1

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:  # noqa: ARG002 - PyYAML's
        if kind is yaml.ScalarNode:
            return _PLAIN if implicit[0] else f"{_TAG}str"
        return f"{_TAG}map" if kind is yaml.MappingNode else f"{_TAG}seq"


def nodes(text: str) -> Iterator[yaml.Node]:
    """The documents of a file.

    Raises:
        yaml.YAMLError: the text is not valid YAML.
    """
    try:
        yield from yaml.compose_all(text, Loader=_Loader)
    except _TooMuch:
        raise
    except yaml.YAMLError:
        # The C parser sometimes reports a wrong place. PyYAML's own parser is slow, but its errors say more.
        for _ in yaml.parse(text, Loader=yaml.SafeLoader) if len(text) <= _EXPLAINED else ():
            pass
        raise


@dataclass
class Reading:
    """Converts the nodes of one file to values."""

    most: int
    """Maximum number of values without aliases: the number of characters in the file."""
    flaws: list[Problem] = field(default_factory=list)
    """What JSON does not have, each with its path."""
    _seen: int = 0

    def value(self, node: yaml.Node, path: str = "", depth: int = 0) -> Any:
        """The node as a JSON value in Python; a flaw is replaced by None.

        Raises:
            yaml.YAMLError: it is nested too deeply, or aliases expand it too much.
        """
        self._seen += 1
        if depth > _DEEPEST:
            raise _refused(node, _TOO_DEEP)
        if self._seen > self.most + _MOST_REPEATED:
            raise _refused(node, f"aliases repeat more than {_MOST_REPEATED} values")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if node.tag not in (f"{_TAG}map", f"{_TAG}seq"):
            self._flaw(path, "a JSON value", f"the tag {_short(node.tag)}")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._object(node, path, depth)
        return [self.value(each, f"{path}[{n}]", depth + 1) for n, each in enumerate(node.value)]

    def _object(self, node: yaml.MappingNode, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _PLAIN and key_node.value == "<<":
                # A key of the object itself wins over a merged one, an earlier merged key over a later one.
                merged = {**self._merged(value_node, path, depth), **merged}
                continue
            key = self._key(key_node, path)
            if key is None:
                continue
            below = f"{path}{step(key)}".removeprefix(".")
            if key in lines:
                self._flaw(below, "each field once", f"it twice (first on line {lines[key]})")
            lines.setdefault(key, key_node.start_mark.line + 1)
            found[key] = self.value(value_node, below, depth + 1)
        return {**merged, **found}

    def _merged(self, node: yaml.Node, path: str, depth: int) -> dict[str, Any]:
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for part in parts:
            value = self.value(part, path, depth + 1)
            if isinstance(value, dict):
                merged = {**value, **merged}
            else:
                self._flaw(path, "an object or a list of objects after <<", "something else")
        return merged

    def _key(self, node: yaml.Node, path: str) -> str | None:
        """A key as kubectl writes it in JSON, where keys are always strings."""
        if not isinstance(node, yaml.ScalarNode):
            self._flaw(path, "strings as keys", "an object or a list")
            return None
        key = self._scalar(node, path)
        if key is None:
            self._flaw(path, "strings as keys", node.value or "nothing")
            return None
        return key if isinstance(key, str) else json.dumps(key)

    def _scalar(self, node: yaml.ScalarNode, path: str) -> Any:
        text, tag = str(node.value), node.tag
        if tag in _TEXTS:
            return text
        if tag != _PLAIN and tag not in _TYPES:
            self._flaw(path, "a JSON value", f"the tag {_short(tag)}")
            return None
        value = _plain(text)
        if isinstance(value, float) and not math.isfinite(value):
            self._flaw(path, "a JSON number", text)
            return None
        if tag in _TYPES and type(value) not in _TYPES[tag]:
            self._flaw(path, f"a value of {_short(tag)}", text)
            return None
        return value

    def _flaw(self, path: str, expected: str, got: str) -> None:
        self.flaws.append(Problem(path, expected, got))


def _plain(text: str) -> Any:
    """
    >>> [_plain(text) for text in ("acme", "Yes", "0o17", "1_000", "1e3", "1.50", "2026-11-22", "1:30")]
    ['acme', True, 15, 1000, 1000, 1.5, '2026-11-22', '1:30']
    """
    if text in _WORDS:
        return _WORDS[text]
    if not text[0].isascii() or text[0].isalpha() or text[0] == "_":
        return text
    if _NO_NUMBER.fullmatch(text):
        return math.nan
    digits = text.replace("_", "")
    if _WHOLE.fullmatch(digits) and len(digits) <= _LONGEST_WHOLE:
        number = _whole(digits)
        if -(2**63) <= number < 2**64:
            return number
    return _number(digits, text)


def _whole(digits: str) -> int:
    unsigned = digits.lstrip("+-").lower()
    octal = unsigned[0] == "0" and unsigned[1:].isdecimal()
    number = int(unsigned, 8 if octal else 0)
    return -number if digits[0] == "-" else number


def _number(digits: str, text: str) -> Any:
    if not _NUMBER.fullmatch(digits):
        return text
    number = float(digits)
    if not math.isfinite(number):  # Go reads a number that is out of range as a string
        return text
    # As in JSON, where 1.0 and 1 are the same number.
    return int(number) if number.is_integer() and abs(number) < 2**63 else number


def _short(tag: str) -> str:
    return f"!!{tag.removeprefix(_TAG)}" if tag.startswith(_TAG) else tag


def _refused(node: yaml.Node, why: str) -> yaml.YAMLError:
    return _TooMuch(problem=why, problem_mark=node.start_mark)

"""Errors in user-written objects, each with the path of the field.

`path: expected …, got …`, one line for each problem, and all problems at once.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from . import schema

Model = TypeVar("Model", bound=BaseModel)

LONGEST_VALUE: Final = 80
"""Characters of an invalid value that a message shows. A value may be large, and a message should fit on a
line."""


_UNKNOWN: Final = "extra_forbidden"
"""pydantic's error type for a field that the model does not have."""
_SUGGESTED: Final = 20
"""Number of unknown fields that get a suggestion: finding one takes time, and no one reads more."""


@dataclass(frozen=True)
class Problem:
    """One error in an object."""

    path: str
    """The path of the field: `plans.standard.domains[0]`. Empty: the whole object."""
    expected: str
    """The expected value, in words."""
    got: str
    """The actual value, cut to a readable length."""

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}expected {self.expected}, got {self.got}"


class InvalidInput(ValueError):  # noqa: N818 - more specific than ValueError
    """An object is invalid; `problems` has all its errors, in the object's order."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


def parse(model: type[Model], value: Any, root: str = "") -> Model:
    """Parse `value` (JSON as Python objects) as `model`.

    Args:
        model: the expected model.
        value: the JSON object.
        root: prefix of the problems' paths.

    Raises:
        InvalidInput: with all problems.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        details = _causes(error.errors(include_url=False))
        unknown = [detail for detail in details if detail["type"] == _UNKNOWN]
        suggested = frozenset(detail["loc"] for detail in unknown[:_SUGGESTED])
        raise InvalidInput(tuple(_problem(model, each, root, suggested) for each in details)) from None


@dataclass(frozen=True)
class Finding:
    """One error in an object, with nothing of the object's values."""

    location: tuple[str | int, ...]
    """The path of the field, step by step."""
    problem: Problem
    """The same error for people who may see the values."""
    expected: str
    """What was expected, without any value."""
    structural: bool
    """A field is unknown or missing: no value of another field can correct that."""


def findings(model: type[BaseModel], value: Any, root: str = "") -> tuple[Finding, ...]:
    """All errors of `value` as `model`, for callers that must not show its values, or that know only some of
    them. Empty if there are none. Only the names of JSON count, as for the API server."""
    try:
        model.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as error:
        details = _causes(error.errors(include_url=False))
        return tuple(_finding(model, each, root) for each in details)
    return ()


def _finding(model: type[BaseModel], detail: ErrorDetails, root: str) -> Finding:
    unknown = detail["type"] == _UNKNOWN
    shown_all = _problem(model, detail, root, frozenset({detail["loc"]}) if unknown else frozenset())
    return Finding(detail["loc"], shown_all, _without_values(detail), unknown or detail["type"] == "missing")


def _without_values(detail: ErrorDetails) -> str:
    # A duplicate's message names it, and that of an unknown field's suggestion the fields.
    fixed = {_UNKNOWN: "a known field", "duplicate": "no duplicates"}
    return fixed.get(detail["type"]) or _expected(detail)


def step(key: str | int) -> str:
    """One step of a path: `.name`, `[0]`, or `["a b"]` for a key that is not an identifier."""
    if isinstance(key, int):
        return f"[{key}]"
    return (
        f".{key}"
        if re.fullmatch("[A-Za-z_][A-Za-z0-9_-]*", key)
        else f"[{visible(json.dumps(key, ensure_ascii=False))}]"
    )


def _causes(details: list[ErrorDetails]) -> list[ErrorDetails]:
    """Leave out lists that are too short only because their items are invalid."""
    places = [detail["loc"] for detail in details]
    return [
        detail
        for detail in details
        if detail["type"] != "too_short"
        or not any(len(p) > len(detail["loc"]) and p[: len(detail["loc"])] == detail["loc"] for p in places)
    ]


def _problem(
    model: type[BaseModel], detail: ErrorDetails, root: str, suggested: frozenset[tuple[str | int, ...]]
) -> Problem:
    unknown = detail["type"] == _UNKNOWN
    # pydantic's marker for a map's key, unless a field has that name.
    location = tuple(
        k for n, k in enumerate(detail["loc"], 1) if k != "[key]" or (unknown and n == len(detail["loc"]))
    )
    below = str(detail.get("ctx", {}).get("field", ""))
    path = (root + "".join(map(step, location)) + below).removeprefix(".")
    if unknown:
        known = _known_field(model, location) if detail["loc"] in suggested else "a known field"
        return Problem(path, known, "an unknown field")
    if detail["type"] == "missing":
        return Problem(path, _expected(detail), "nothing")
    why = detail.get("ctx", {}).get("why")
    got = _got(detail["input"], below)
    return Problem(path, _expected(detail), f"{got} ({why})" if why else got)


def _got(value: Any, below: str) -> str:
    for key in below.split(".")[1:]:
        if not isinstance(value, Mapping) or value.get(key) is None:
            return "nothing"
        value = value[key]
    return shown(value)


def shown(value: Any) -> str:
    """An invalid value as JSON, cut to a readable length."""
    # Cut first: a user may write very many invisible characters.
    text = visible(json.dumps(value, ensure_ascii=False, default=str)[: LONGEST_VALUE + 1])
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"


def visible(text: str) -> str:
    """The text with invisible characters, such as line breaks and bidirectional controls, as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_EXPECTED: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "missing": lambda _: "a value",
    "bool_type": lambda _: "true or false",
    "string_type": lambda _: "a string",
    "int_type": lambda _: "an integer",
    "int_from_float": lambda _: "an integer",
    "float_type": lambda _: "a number",
    "dict_type": lambda _: "an object",
    "model_type": lambda _: "an object",
    "model_attributes_type": lambda _: "an object",
    "tuple_type": lambda _: "a list",
    "enum": lambda c: str(c["expected"]),
    "literal_error": lambda c: str(c["expected"]),
    "string_pattern_mismatch": lambda c: f"a string that matches {c['pattern']}",
    "string_too_short": lambda c: f"at least {_count(c['min_length'], 'character')}",
    "string_too_long": lambda c: f"at most {_count(c['max_length'], 'character')}",
    "too_short": lambda c: f"at least {_count(c['min_length'], 'item')}",
    "too_long": lambda c: f"at most {_count(c['max_length'], 'item')}",
    "greater_than_equal": lambda c: f"at least {c['ge']}",
    "less_than_equal": lambda c: f"at most {c['le']}",
}
"""For each of pydantic's error types: the expected value, from the error's context."""


def _expected(detail: ErrorDetails) -> str:
    words = _EXPECTED.get(detail["type"])
    return words(detail.get("ctx", {})) if words else detail["msg"].removeprefix("expected ")


def _known_field(model: type[BaseModel], location: tuple[str | int, ...]) -> str:
    known = sorted(_fields(model, location[:-1]))
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    return f"{close[0]} (did you mean that?)" if close else f"one of {', '.join(known)}"


def _fields(model: type[BaseModel], location: tuple[str | int, ...]) -> list[str]:
    whole = _json_schema(model)
    node: Mapping[str, Any] = whole
    for key in location:
        node = _child(_resolve(whole, node), key)
    return list(_resolve(whole, node).get("properties", {}))


def _child(node: Mapping[str, Any], key: str | int) -> Mapping[str, Any]:
    if isinstance(key, int):
        return dict(node.get("items", {}))
    return dict(node.get("properties", {}).get(key) or schema.map_values(node) or {})


def _resolve(whole: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    for option in node.get("anyOf", ()):
        if option.get("type") != "null":
            return _resolve(whole, option)
    if "$ref" in node:
        return _resolve(whole, whole["$defs"][node["$ref"].removeprefix("#/$defs/")])
    return node


@cache
def _json_schema(model: type[BaseModel]) -> dict[str, Any]:
    return model.model_json_schema()

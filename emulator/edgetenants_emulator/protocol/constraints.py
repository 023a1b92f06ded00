"""The constraints of botocore's model: required members, closed enums, lengths, patterns.

AWS's SDKs check only few of them, so the service checks them. Tags and protocol versions have their own
errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from botocore.model import ListShape, OperationModel, Shape, StringShape, StructureShape

from edgetenants_emulator.errors import AwsError, ErrorCode

__all__ = ["check", "join"]

_OWN_RULES = frozenset({"Tags", "TagKeys", "MinimumProtocolVersion"})
# The XML parser always returns these types; the admin API's JSON may not.
_PYTHON: dict[str, type] = {
    "structure": dict,
    "list": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "long": int,
}
_NUMBERS = frozenset({"integer", "long"})
"""The model declares no ranges for them, but all are quantities, ports, seconds or HTTP statuses."""


def check(operation: OperationModel, params: Mapping[str, Any]) -> None:
    """Check a request against the model.

    Header members are not checked: a missing If-Match is InvalidIfMatchVersion.
    Raises AwsError InvalidArgument with all violations, in AWS's wording.
    """
    shape = operation.input_shape
    if not isinstance(shape, StructureShape) or not _declares_invalid_argument(operation):
        return
    headers = {k for k, v in shape.members.items() if v.serialization.get("location") == "header"}
    inside = {k: v for k, v in params.items() if k not in headers}
    found = list(_structure("", shape, inside))
    if found:
        errors = f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected: {'; '.join(found)}"
        raise AwsError(ErrorCode.INVALID_ARGUMENT, errors)


@lru_cache(maxsize=256)
def _declares_invalid_argument(operation: OperationModel) -> bool:
    return any(shape.name == ErrorCode.INVALID_ARGUMENT for shape in operation.error_shapes)


def _violations(path: str, shape: Shape, value: Any) -> Iterator[str]:
    if shape.name in _OWN_RULES:
        return
    expected = _PYTHON.get(shape.type_name)
    if expected and not isinstance(value, expected):
        yield f"Value at '{path}' failed to satisfy constraint: Member must be a {shape.type_name}"
    elif isinstance(shape, StructureShape):
        yield from _structure(path, shape, value)
    elif isinstance(shape, ListShape):
        for number, item in enumerate(value, start=1):
            yield from _violations(f"{path}.{number}.member", shape.member, item)
    elif isinstance(shape, StringShape):
        yield from _string(path, shape, value)
    elif shape.type_name in _NUMBERS and value < 0:
        says = f"Value '{value}' at '{path}' failed to satisfy constraint: Member must"
        yield f"{says} have value greater than or equal to 0"


def _structure(path: str, shape: StructureShape, value: Mapping[str, Any]) -> Iterator[str]:
    for name in shape.required_members:
        if name not in value and shape.members[name].serialization.get("location") != "header":
            yield f"Value null at '{join(path, name)}' failed to satisfy constraint: Member must not be null"
    for name, member in value.items():
        if name not in shape.members:
            yield f"'{join(path, name)}' is not a member; members: {', '.join(shape.members)}"
        else:
            yield from _violations(join(path, name), shape.members[name], member)


def _string(path: str, shape: StringShape, value: str) -> Iterator[str]:
    says = f"Value '{value}' at '{path}' failed to satisfy constraint: Member must"
    if shape.enum and value not in shape.enum:
        yield f"{says} satisfy enum value set: [{', '.join(shape.enum)}]"
    low, high = shape.metadata.get("min", 0), shape.metadata.get("max", len(value))
    if len(value) < low:
        yield f"{says} have length greater than or equal to {low}"
    if len(value) > high:
        yield f"{says} have length less than or equal to {high}"
    pattern = shape.metadata.get("pattern", "")
    # Only the shapes of tags use Java's character classes (\p{L}).
    if pattern and "\\p{" not in pattern and not re.fullmatch(pattern, value):
        yield f"{says} satisfy regular expression pattern: {pattern}"


def join(path: str, name: str) -> str:
    """The path of a member, in AWS's format."""
    own = name[0].lower() + name[1:]
    return f"{path}.{own}" if path else own

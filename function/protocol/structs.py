"""Read JSON objects directly from protobuf's Struct, field by field.

Converting a whole object would cost more than everything else that the function does, so it reads only the
fields that it needs. Indexing a protobuf map creates a missing key, so this module always checks for the key
first. Both steps together are faster than the map's `get`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from google.protobuf.struct_pb2 import Struct, Value

from function.protocol import wire


def value(struct: Struct | None, *path: str) -> Value | None:
    """The value at `path`; None if there is none, or a part of the path is not an object."""
    return _field(child(struct, *path[:-1]) if len(path) > 1 else struct, path[-1])


def child(struct: Struct | None, *path: str) -> Struct | None:
    """The object at `path`; None if there is none."""
    for key in path:
        # Not _field: a call reads dozens of objects.
        if struct is None:
            return None
        fields = struct.fields
        if key not in fields:
            return None
        found = fields[key]
        struct = found.struct_value if found.HasField("struct_value") else None
    return struct


def _field(struct: Struct | None, key: str) -> Value | None:
    if struct is None:
        return None
    fields = struct.fields
    return fields[key] if key in fields else None  # noqa: SIM401  # the map's get takes twice as long


def text(struct: Struct | None, *path: str) -> str:
    """The string at `path`; empty if there is none."""
    # Most strings are fields of the object itself, and a call reads dozens.
    found = _field(struct, path[0]) if len(path) == 1 else value(struct, *path)
    return found.string_value if found is not None else ""


def texts_at(struct: Struct | None, keys: Sequence[str]) -> list[str]:
    """The strings in the object's own fields, in the order of `keys`; empty if there is none."""
    if struct is None:
        return [""] * len(keys)
    fields = struct.fields
    return [fields[key].string_value if key in fields else "" for key in keys]


def whole_number(struct: Struct | None, key: str) -> int | None:
    """The integer in the object's own field; None if there is none."""
    found = _field(struct, key)
    if found is None or not found.HasField("number_value"):
        return None
    number = found.number_value
    return int(number) if number.is_integer() else None


def flag(struct: Struct | None, *path: str) -> bool | None:
    """The boolean at `path`; None if there is none."""
    found = value(struct, *path)
    return found.bool_value if found is not None and found.HasField("bool_value") else None


def objects(struct: Struct | None, *path: str) -> Iterator[Struct]:
    """The objects in the list at `path`, in order; other items are skipped."""
    return objects_of(value(struct, *path))


def objects_of(listed: Value | None) -> Iterator[Struct]:
    """The objects in a list, in order; other items are skipped."""
    for item in listed.list_value.values if listed is not None else ():
        if item.HasField("struct_value"):
            yield item.struct_value


def texts(struct: Struct | None, *path: str) -> Iterator[str]:
    """The strings in the list at `path`, in order; other items are skipped."""
    found = value(struct, *path)
    for item in found.list_value.values if found is not None else ():
        if item.HasField("string_value"):
            yield item.string_value


def text_map(struct: Struct | None, *path: str) -> dict[str, str]:
    """The map of strings at `path`, such as labels; other values are skipped."""
    found = child(struct, *path)
    if found is None:
        return {}
    return {key: item.string_value for key, item in found.fields.items() if item.HasField("string_value")}


def of(json: Mapping[str, Any]) -> Struct:
    """The object as a Struct."""
    return Struct.FromString(wire.struct(json))


def plain_object(struct: Struct) -> dict[str, Any]:
    """The whole object as a Python dict with sorted keys. Their order in protobuf differs between processes,
    and messages about an object follow the order of its keys."""
    return {key: plain(struct.fields[key]) for key in sorted(struct.fields)}


def plain(item: Value) -> Any:
    """The value as Python's JSON. A number without a fraction becomes an int: Struct has only doubles, and a
    message should not show 3 as 3.0."""
    match item.WhichOneof("kind"):
        case "string_value":
            return item.string_value
        case "number_value":
            number = item.number_value
            return int(number) if number.is_integer() else number
        case "bool_value":
            return item.bool_value
        case "struct_value":
            return plain_object(item.struct_value)
        case "list_value":
            return [plain(each) for each in item.list_value.values]
        case _:
            return None

"""Write JSON in protobuf's wire format, as a Struct.

`Struct.update` of the protobuf library creates a message for each value, which took a fifth of the time for a
response. The format is defined in google/protobuf/struct.proto and
https://protobuf.dev/programming-guides/encoding/, and does not change.
"""

from collections.abc import Mapping
from functools import lru_cache
from struct import pack
from typing import Any, Final

_SHORT: Final = 0x80
"""The smallest length that takes more than one byte."""
_MEDIUM: Final = 0x4000
"""The smallest length that takes more than two bytes."""
_LENGTHS: Final = tuple(bytes([length]) for length in range(_SHORT))

# Tags of fields: field number and wire type.
_ENTRY: Final = b"\x0a"
_KEY: Final = b"\x0a"
_VALUE: Final = b"\x12"
_ITEM: Final = b"\x0a"
_STRING: Final = b"\x1a"
_NUMBER: Final = b"\x11"
_STRUCT: Final = b"\x2a"
_LIST: Final = b"\x32"
_NULL: Final = b"\x08\x00"
_TRUE: Final = b"\x20\x01"
_FALSE: Final = b"\x20\x00"

_TEXTS: Final = tuple(bytes([length + 2]) + _STRING + bytes([length]) for length in range(_SHORT - 2))
"""The bytes before a short string that is the value of an entry, by its length."""
_OBJECT: Final = (dict, Mapping)
"""A dict is recognized much faster than any other Mapping."""
_ARRAY: Final = (list, tuple)
_KEYS: Final = 1024
"""Encoded keys that are cached: those of our own objects, and common ones of parameters and tags."""


def struct(json: Mapping[str, Any]) -> bytes:
    """The object as a Struct, serialized.

    Raises:
        TypeError: it contains a value that is not JSON.
        UnicodeEncodeError: a string is not valid Unicode.
    """
    written: list[bytes] = []
    for key, item in json.items():
        entry = _key(key) + _sized_value(item)
        length = len(entry)
        written += (_ENTRY, _LENGTHS[length] if length < _SHORT else _varint(length), entry)
    return b"".join(written)


def field(key: str, fields: bytes) -> bytes:
    """A Struct with one field, an object. Concatenating such bytes merges the Structs; of two fields with one
    name, the last one counts.

    Args:
        key: the field's name.
        fields: the object, as a serialized Struct.
    """
    value = _STRUCT + _varint(len(fields)) + fields
    entry = _key(key) + _varint(len(value)) + value
    return _ENTRY + _varint(len(entry)) + entry


@lru_cache(maxsize=_KEYS)
def _key(key: str) -> bytes:
    name = key.encode()
    return _KEY + _varint(len(name)) + name + _VALUE


def _sized_value(item: Any) -> bytes:
    if isinstance(item, str):
        # Most values are short strings.
        text = item.encode()
        length = len(text)
        if length < len(_TEXTS):
            return _TEXTS[length] + text
    value = _value(item)
    length = len(value)
    return (_LENGTHS[length] if length < _SHORT else _varint(length)) + value


def _value(item: Any) -> bytes:
    if isinstance(item, str):
        text = item.encode()
        return _STRING + _varint(len(text)) + text
    if item is None:
        return _NULL
    if isinstance(item, bool):
        return _TRUE if item else _FALSE
    if isinstance(item, _OBJECT):
        fields = struct(item)
        return _STRUCT + _varint(len(fields)) + fields
    if isinstance(item, _ARRAY):
        items = b"".join([_ITEM + _sized_value(each) for each in item])
        return _LIST + _varint(len(items)) + items
    if isinstance(item, int | float):
        return _NUMBER + pack("<d", item)
    raise TypeError(f"expected a JSON value, got {type(item).__name__}")


def sized(number: int, content: bytes) -> bytes:
    """A length-delimited field: a string, bytes, or a message.

    Args:
        number: the field number, at most 15.
        content: the value.
    """
    return _LENGTHS[number << 3 | _SIZED] + _varint(len(content)) + content


_SIZED: Final = 2
"""Wire type of a length-delimited field."""


def _varint(number: int) -> bytes:
    if number < _SHORT:
        return _LENGTHS[number]
    if number < _MEDIUM:
        return bytes((number & 0x7F | 0x80, number >> 7))
    written = bytearray()
    while number >= _SHORT:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)

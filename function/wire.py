"""JSON in protobuf's wire format, as a Struct has it.

`Struct.update` of protobuf's own library makes a message of each value, which was a fifth of what an answer
costs. The format stands in google/protobuf/struct.proto and
https://protobuf.dev/programming-guides/encoding/, and does not change.
"""

from collections.abc import Mapping
from functools import lru_cache
from struct import pack
from typing import Any, Final

_SHORT: Final = 0x80
"""The length from which on it takes more than one byte to write it."""
_LENGTHS: Final = tuple(bytes([length]) for length in range(_SHORT))

# Tags of fields: the number, and how the value is written.
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
"""What stands before a text of some length that is the value of an entry, with the value's own length."""
_KEYS: Final = 1024
"""Keys of objects that are kept written: those of our own objects, and common ones of parameters and tags."""


def struct(json: Mapping[str, Any]) -> bytes:
    """A Struct.

    Raises:
        TypeError: there is something in it that JSON does not have.
        UnicodeEncodeError: a text is none.
    """
    written: list[bytes] = []
    for key, item in json.items():
        entry = _key(key) + _sized_value(item)
        length = len(entry)
        written += (_ENTRY, _LENGTHS[length] if length < _SHORT else _varint(length), entry)
    return b"".join(written)


def field(key: str, fields: bytes) -> bytes:
    """A Struct with one field, an object. Structs are joined like bytes; of two fields of one name the last
    counts.

    Args:
        key: the field's name.
        fields: the object, as a Struct.
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
        # Most values are short texts.
        text = item.encode()
        length = len(text)
        if length < len(_TEXTS):
            return _TEXTS[length] + text
    value = _value(item)
    return _varint(len(value)) + value


def _value(item: Any) -> bytes:
    if isinstance(item, str):
        text = item.encode()
        return _STRING + _varint(len(text)) + text
    if isinstance(item, Mapping):
        fields = struct(item)
        return _STRUCT + _varint(len(fields)) + fields
    if isinstance(item, list | tuple):
        items = b"".join([_ITEM + _sized_value(each) for each in item])
        return _LIST + _varint(len(items)) + items
    if item is None:
        return _NULL
    if isinstance(item, bool):
        return _TRUE if item else _FALSE
    if isinstance(item, int | float):
        return _NUMBER + pack("<d", item)
    raise TypeError(f"expected a value of JSON, got {type(item).__name__}")


def sized(number: int, content: bytes) -> bytes:
    """A field with a length: a text, bytes, or a message.

    Args:
        number: of the field, at most 15.
        content: what stands in it.
    """
    return _LENGTHS[number << 3 | _SIZED] + _varint(len(content)) + content


_SIZED: Final = 2
"""Wire type of a field with a length."""


def _varint(number: int) -> bytes:
    if number < _SHORT:
        return _LENGTHS[number]
    written = bytearray()
    while number >= _SHORT:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)

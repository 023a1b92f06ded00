"""Requests that are nested too deeply to be read. Crossplane sends objects of any depth, but protobuf for
Python reads at most a hundred nested messages, and each level of JSON takes three. The readable part shows
which composite the request is for, and which object is nested too deeply.

Users can nest `metadata.managedFields` of their objects as they like, and the function does not need it. So
it is left out: a report on all claims must not fail because of one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import Struct, Value

from function.protocol.wire import sized

LEVELS: Final = 30
"""Levels of JSON that are readable anywhere in a request."""
_NAMED: Final = 2
"""Levels of the path that a message shows for an object that is nested too deeply:
`metadata.managedFields`."""

_AROUND: Final = 3
"""Number of lists, of two messages each, that simulate the messages around an object in a request, with some
to spare."""

_META, _OBSERVED, _DESIRED, _INPUT, _CONTEXT, _EXTRA, _REQUIRED = 1, 2, 3, 4, 5, 6, 8
_COMPOSITE, _RESOURCES = 1, 2
_KEY, _VALUE = 1, 2
_FIRST: Final = 1
_STRUCT_VALUE, _LIST_VALUE = 5, 6
"""Field numbers in RunFunctionRequest, State, a map's entry, a message with one field, and Value."""
_LONGEST: Final = 63
_Edit = Callable[[bytes], bytes]
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
"""Wire types (Protocol Buffers Documentation, "Encoding")."""


@dataclass
class Remains:
    """The readable part of a request."""

    tag: str = ""
    composite: Struct = field(default_factory=Struct)
    """The composite, without the fields that are nested too deeply."""
    deep: set[str] = field(default_factory=set)

    @property
    def message(self) -> str:
        """What is nested too deeply, and the limit."""
        where = min(self.deep, default="An object of the request")
        return f"{where} has more than {LEVELS} levels of objects and lists, which the function cannot read."


def without_managed_fields(request: bytes) -> bytes:
    """Leave out who manages which field of all objects.

    Raises:
        DecodeError: it is not a request.
    """
    metadata = _in_struct("metadata", _without_managers)
    resource = _each(_FIRST, metadata)
    state = _each(_COMPOSITE, resource), _each(_RESOURCES, _each(_VALUE, resource))
    required = _each(_VALUE, _each(_FIRST, resource))
    try:
        for number in (_OBSERVED, _DESIRED):
            for edit in state:
                request = _each(number, edit)(request)
        for number in (_EXTRA, _REQUIRED):
            request = _each(number, required)(request)
    except (IndexError, UnicodeDecodeError) as error:
        raise DecodeError(str(error)) from error
    return request


def _each(number: int, edit: _Edit) -> _Edit:
    """Edit each field of that number of a message."""

    def edited(message: bytes) -> bytes:
        parts = _parts(message)
        return b"".join(
            sized(number, edit(inner)) if found == number and inner is not None else raw
            for found, inner, raw in parts
        )

    return edited


def _in_struct(key: str, edit: _Edit) -> _Edit:
    """Edit the object under a key of a Struct."""
    inside = _each(_VALUE, _each(_STRUCT_VALUE, edit))
    return _each(_FIRST, lambda entry: inside(entry) if _key(entry) == key else entry)


def _without_managers(metadata: bytes) -> bytes:
    parts = _parts(metadata)
    return b"".join(raw for _, entry, raw in parts if entry is None or _key(entry) != "managedFields")


def _key(entry: bytes) -> str:
    return b"".join(_all(entry, _KEY)).decode()


def salvage(request: bytes) -> Remains:
    """Read the readable part of a request.

    Raises:
        DecodeError: it is not a request.
    """
    remains = Remains()
    try:
        for number, content in _fields(request):
            if number == _META:
                remains.tag = fnv1.RequestMeta.FromString(content).tag
            elif number in (_OBSERVED, _DESIRED):
                _read_state(content, remains, observed=number == _OBSERVED)
            elif number in (_INPUT, _CONTEXT):
                _read(content, "The function's input" if number == _INPUT else "The context", remains)
    except (IndexError, UnicodeDecodeError) as error:
        raise DecodeError(str(error)) from error
    return remains


def _read_state(state: bytes, remains: Remains, *, observed: bool) -> None:
    whose = "" if observed else " of an earlier step"
    for number, content in _fields(state):
        if number == _COMPOSITE:
            for struct in _all(content, _FIRST):
                read = _read(struct, f"The composite{whose}", remains)
                if observed:
                    remains.composite.MergeFrom(read)
        elif number == _RESOURCES:
            name = b"".join(_all(content, _KEY)).decode()
            for resource in _all(content, _VALUE):
                for struct in _all(resource, _FIRST):
                    _read(struct, f"The resource {name}{whose}", remains)


def _read(struct: bytes, where: str, remains: Remains, path: str = "", levels: int = _NAMED) -> Struct:
    """The object without the fields that are nested too deeply; those are recorded in `remains`."""
    if _fits(sized(_STRUCT_VALUE, struct), levels):
        return Struct.FromString(struct)
    read = Struct()
    for entry in _all(struct, _FIRST):
        key = b"".join(_all(entry, _KEY)).decode()
        for value in _all(entry, _VALUE):
            _read_value(value, read.fields[key], where, remains, f"{path}.{key}", levels)
    return read


def _read_value(value: bytes, into: Value, where: str, remains: Remains, path: str, levels: int) -> None:
    if _fits(value, levels):
        into.MergeFromString(value)
        return
    inner = list(_all(value, _STRUCT_VALUE))
    if not inner or not levels:
        remains.deep.add(f"{where}, {path.removeprefix('.')},")
    for struct in inner if levels else ():
        into.struct_value.MergeFrom(_read(struct, where, remains, path, levels - 1))


def _fits(value: bytes, levels: int) -> bool:
    """Whether it is readable inside as many messages as in its request."""
    for _ in range(_AROUND + 2 * (_NAMED - levels)):
        value = sized(_LIST_VALUE, sized(_FIRST, value))
    try:
        Value.FromString(value)
    except DecodeError:
        return False
    return True


def _all(message: bytes, wanted: int) -> Iterator[bytes]:
    return (content for number, content in _fields(message) if number == wanted)


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of a message, by number; all others are skipped."""
    return ((number, content) for number, content, _ in _parts(message) if content is not None)


def _parts(message: bytes) -> Iterator[tuple[int, bytes | None, bytes]]:
    """The fields of a message: the number, the content if it is length-delimited, and all of its bytes."""
    place = 0
    while place < len(message):
        begins = place
        tag, place = _varint(message, place)
        wire = tag & 7
        if wire == _BYTES:
            length, place = _varint(message, place)
            if place + length > len(message):
                raise IndexError("a field ends after its message")
            yield tag >> 3, message[place : place + length], message[begins : place + length]
            place += length
            continue
        if wire == _VARINT:
            _, place = _varint(message, place)
        elif wire in (_FIXED_32, _FIXED_64):
            place += 4 if wire == _FIXED_32 else 8
        else:
            raise IndexError(f"no field has the type {wire}")
        yield tag >> 3, None, message[begins:place]


def _varint(message: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7
        if shift > _LONGEST:
            raise IndexError("a number has more than 64 bits")

"""Random requests from botocore's model of CloudFront: almost valid, with one invalid member, or hostile.

    a valid request, or one from shapes ──▶ change members ──▶ serialize like an SDK ──▶ change bytes

The same seed and the same state give the same request.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

from botocore.model import ListShape, OperationModel, Shape, StructureShape
from botocore.serialize import create_serializer

__all__ = ["Known", "RawRequest", "by_chance"]

_TEXTS = (
    "",
    " ",
    "a",
    "null",
    "*",
    "../..",
    "%00",
    "a\x0bb",
    "a\r\nX: b",
    "<a>&amp;\"'",
    "]]>",
    "\uff11\uff12",
    "\u202egnp.\U0001f600",
    "\ufffe",
    "{{tenantName}}",
    "a" * 300,
    "a" * 20_000,
    "*.example.com",
    "arn:aws:cloudfront::123456789012:distribution-tenant/dt_none",
    "arn:aws:acm:us-east-1:123456789012:certificate/none",
)
_NUMBERS = (0, 1, 2, 3, 7, 80, 443, -1, 100, 404, 2**31 - 1, 2**31, -(2**31), 2**63, 10**30)
_WORDS_FOR_NUMBERS = ("", "many", "1.5", " 1", "+1", "1_0", "\uff11", "1e9", "NaN", "0x1", "9" * 5000)
_MOST_ITEMS = 3
_DEEP = 6
"""The depth below which only required members are generated."""


@dataclass(frozen=True)
class Known:
    """Existing values, for requests that should find something."""

    ids: tuple[str, ...] = ()
    """Ids, names and ARNs."""
    etags: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Possible values, by member name."""
    valid: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Valid requests, by operation."""


@dataclass(frozen=True)
class RawRequest:
    """A serialized request."""

    operation: str
    method: str
    path: str
    """The path with the query string."""
    headers: Mapping[str, str]
    body: bytes
    elsewhere: bool = False
    """Whether the path was changed, so that it may belong to another operation."""


def by_chance(chance: random.Random, operation: OperationModel, known: Known) -> RawRequest:
    """A random request for an operation."""
    maker = _Maker(chance, known)
    shape = operation.input_shape
    params: dict[str, Any] = {}
    if isinstance(shape, StructureShape):
        if operation.name in known.valid and chance.random() < 0.7:
            params = maker.resolved(copy.deepcopy(dict(known.valid[operation.name])))
            maker.change(shape, params, times=chance.choice((0, 0, 1, 1, 2, 3)))
        else:
            params = maker.structure(shape, 0)
    request = _written(operation, params)
    return _broken(chance, request) if chance.random() < 0.25 else request


@dataclass
class _Maker:
    """Generates values from the shapes of the model."""

    chance: random.Random
    known: Known

    def value(self, name: str, shape: Shape, depth: int) -> Any:
        if isinstance(shape, StructureShape):
            return self.structure(shape, depth + 1)
        if isinstance(shape, ListShape):
            count = self.chance.choice((0, 1, 1, 2, _MOST_ITEMS, 120 if self.chance.random() < 0.02 else 1))
            return [self.value(name, shape.member, depth + 1) for _ in range(count)]
        if shape.type_name in ("integer", "long"):
            odd = self.chance.random() < 0.1
            return self.chance.choice(_WORDS_FOR_NUMBERS if odd else _NUMBERS)
        others: dict[str, tuple[Any, ...]] = {
            "boolean": (True, False),
            "float": (0.0, 1.5, -1.0, 1e300),
            "double": (0.0, 1.5, -1.0, 1e300),
            "timestamp": (0, 1_800_000_000),
            "blob": (b"", b"blob", b"\xff\x00"),
        }
        found = others.get(shape.type_name)
        return self.chance.choice(found) if found else self.text(name, shape)

    def structure(self, shape: StructureShape, depth: int) -> dict[str, Any]:
        """A structure. Required members are usually present, others at random; Quantity is usually
        correct."""
        wanted = 0.35 if depth < _DEEP else 0.0
        made = {
            name: self.value(name, member, depth)
            for name, member in shape.members.items()
            if self.chance.random() < (0.97 if name in shape.required_members else wanted)
        }
        if "Quantity" in made and self.chance.random() < 0.9:
            made["Quantity"] = len(made.get("Items", ()))
        return made

    def text(self, name: str, shape: Shape) -> str:
        """A valid, existing or hostile string."""
        roll = self.chance.random()
        enum = getattr(shape, "enum", None)
        if roll < 0.2:
            return self.chance.choice(_TEXTS)
        if enum:
            return str(self.chance.choice(enum))
        if name == "IfMatch" and self.known.etags:
            return self.chance.choice(self.known.etags)
        fitting = self.known.values.get(name) or self.known.ids
        return self.chance.choice(fitting) if fitting else f"x{self.chance.randrange(1000)}"

    def change(self, shape: StructureShape, params: dict[str, Any], times: int) -> None:
        """Change or remove some members of a request."""
        for _ in range(times):
            inside, name, member = self.chance.choice(list(_places(shape, params)))
            if self.chance.random() < 0.2:
                inside.pop(name, None)
            else:
                inside[name] = self.value(name, member, _DEEP - 2)

    def resolved(self, value: Any, name: str = "") -> Any:
        """A valid request, with `?` replaced by an existing value and `#` by a new one."""
        if isinstance(value, dict):
            return {key: self.resolved(inside, key) for key, inside in value.items()}
        if isinstance(value, list):
            return [self.resolved(item, name) for item in value]
        if value == "?":
            pool = self.known.etags if name == "IfMatch" else self.known.values.get(name, self.known.ids)
            return self.chance.choice(pool or ("none",))
        return value.replace("#", f"{self.chance.randrange(10**6)}") if isinstance(value, str) else value


def _places(shape: StructureShape, params: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, Shape]]:
    """Each structure of a request, with the name and shape of each present or possible member."""
    for name, member in shape.members.items():
        yield params, name, member
        yield from _inside(member, params.get(name))


def _inside(shape: Shape, value: Any) -> Iterator[tuple[dict[str, Any], str, Shape]]:
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        yield from _places(shape, value)
    elif isinstance(shape, ListShape) and isinstance(value, list):
        for item in value:
            yield from _inside(shape.member, item)


def _written(operation: OperationModel, params: dict[str, Any]) -> RawRequest:
    """Serialize a request like botocore, without its checks."""
    shape = operation.input_shape
    members = shape.members if isinstance(shape, StructureShape) else {}
    labels = [name for name, each in members.items() if each.serialization.get("location") == "uri"]
    serializer = create_serializer("rest-xml", include_validation=False)
    made = serializer.serialize_to_request({**dict.fromkeys(labels, ""), **params}, operation)
    query = made["query_string"]
    text = urlencode(query, doseq=True) if isinstance(query, dict) else query
    path = made["url_path"] + (("&" if "?" in made["url_path"] else "?") + text if text else "")
    body = made["body"]
    headers = {name: _header(str(value)) for name, value in made["headers"].items()}
    content = body.encode() if isinstance(body, str) else body
    # Without a label, the path belongs to another operation.
    elsewhere = any(not params.get(name) for name in labels)
    return RawRequest(operation.name, made["method"], path, headers, content, elsewhere)


def _header(value: str) -> str:
    """A header value that an HTTP client can send."""
    return re.sub(r"[^\x20-\x7e]", "?", value)[:1000]


def _broken(chance: random.Random, request: RawRequest) -> RawRequest:
    """Change some bytes, in the body if there is one."""
    if request.body and chance.random() < 0.8:
        change = chance.choice(_CHANGES)
        return replace(request, body=change(chance, request.body))
    text = quote(chance.choice(_TEXTS)[:500], safe="")
    joint = "&" if "?" in request.path else "?"
    path = chance.choice(
        (
            f"{request.path}/{text}",
            f"{request.path}{joint}MaxItems={quote(chance.choice(_WORDS_FOR_NUMBERS))}",
            f"{request.path}{joint}Marker={text}",
            request.path.replace("/", "//", 1),
            f"{request.path}%zz%ff%00",
        )
    )
    return replace(request, path=path, elsewhere=True)


def _cut(chance: random.Random, body: bytes) -> bytes:
    return body[: chance.randrange(len(body))]


def _flip(chance: random.Random, body: bytes) -> bytes:
    at = chance.randrange(len(body))
    return body[:at] + bytes([chance.randrange(256)]) + body[at + 1 :]


def _double(chance: random.Random, body: bytes) -> bytes:
    """Duplicate an element or the whole body."""
    elements = re.findall(rb"<(\w+)>[^<]*</\1>", body)
    if not elements:
        return body * 2
    found = re.search(rb"<%s>[^<]*</%s>" % ((name := chance.choice(elements)), name), body)
    return body.replace(found[0], found[0] * 2, 1) if found else body


def _rename(chance: random.Random, body: bytes) -> bytes:
    name = chance.choice(re.findall(rb"<(\w+)", body) or [b"a"])
    return re.sub(rb"(</?)%s\b" % name, rb"\1Unknown", body)


def _number(chance: random.Random, body: bytes) -> bytes:
    word = chance.choice([*_WORDS_FOR_NUMBERS, *map(str, _NUMBERS)])
    return re.sub(rb">\d+<", f">{word}<".encode(), body, count=1)


def _truth(chance: random.Random, body: bytes) -> bytes:
    return re.sub(rb">(true|false)<", chance.choice((b">True<", b">1<", b"><", b"> true <")), body, count=1)


def _prolog(chance: random.Random, body: bytes) -> bytes:
    prologs = (
        b'<!DOCTYPE a [<!ENTITY b "c">]>',
        b'<?xml version="1.0" encoding="nothing"?>',
        b'<?xml version="1.0" encoding="utf-16"?>',
        b"\xff\xfe",
        b"\x00",
        b"<a>" * 1000,
    )
    return chance.choice(prologs) + body


_CHANGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _cut,
    _flip,
    _double,
    _rename,
    _number,
    _truth,
    _prolog,
)

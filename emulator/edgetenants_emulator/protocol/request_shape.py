"""Checks a request's XML against its operation in botocore's model.

The root element must be the operation's. Each element below it must be a member in the right structure, at
most once. Only values may contain text.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import chain

from botocore.model import ListShape, OperationModel, Shape, StructureShape

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.protocol import restxml
from edgetenants_emulator.protocol.constraints import join
from edgetenants_emulator.settings import Settings

__all__ = ["check"]

_NAMESPACES = ("", restxml.NAMESPACE)


def check(operation: OperationModel, body: bytes, settings: Settings) -> None:
    """Check that a body matches its operation, if the operation has a body.

    Raises AwsError MalformedXML with all violations.
    """
    shape = operation.input_shape
    if not body.strip() or not isinstance(shape, StructureShape):
        return
    payload = shape.serialization.get("payload")
    top = shape.members[payload] if payload else shape
    expected = top.serialization.get("name")
    if not expected:
        return
    root = restxml.root(body)
    if _name(root) != expected:
        raise _malformed([f"The root element is {expected} of {restxml.NAMESPACE}, not {root.tag}"])
    if found := list(_element("", top, root, refuse_unknown=settings.unknown_members_refused)):
        raise _malformed(found)


def _element(path: str, shape: Shape, element: ET.Element, *, refuse_unknown: bool) -> Iterator[str]:
    if isinstance(shape, StructureShape):
        yield from _no_text(path, element)
        yield from _structure(path, shape, element, refuse_unknown=refuse_unknown)
    elif isinstance(shape, ListShape):
        yield from _no_text(path, element)
        for number, child in enumerate(element, start=1):
            inside = f"{path}.{number}.member"
            yield from _element(inside, shape.member, child, refuse_unknown=refuse_unknown)
    elif len(element):
        yield f"'{path}' is a {shape.type_name}, without elements inside"


def _structure(
    path: str, shape: StructureShape, element: ET.Element, *, refuse_unknown: bool
) -> Iterator[str]:
    members = {each.serialization.get("name", name): (name, each) for name, each in shape.members.items()}
    seen: set[str] = set()
    for child in element:
        tag = _name(child)
        name, member = members.get(tag, ("", None))
        if member is None:
            if refuse_unknown:
                yield f"'{join(path, tag or child.tag)}' is not a member; members: {', '.join(members)}"
        elif tag in seen:
            yield f"'{join(path, name)}' occurs twice"
        else:
            seen.add(tag)
            yield from _element(join(path, name), member, child, refuse_unknown=refuse_unknown)


def _no_text(path: str, element: ET.Element) -> Iterator[str]:
    texts = chain([element.text], (child.tail for child in element))
    if any(text and text.strip() for text in texts):
        yield f"'{path or element.tag}' has text between its elements"


def _name(element: ET.Element) -> str:
    """An element's name; empty for another namespace."""
    namespace, _, name = element.tag.rpartition("}")
    return name if namespace.lstrip("{") in _NAMESPACES else ""


def _malformed(found: list[str]) -> AwsError:
    return AwsError(
        ErrorCode.MALFORMED_XML, f"The request body does not match its operation: {'; '.join(found)}."
    )

"""Parses and writes AWS's rest-xml protocol for CloudFront and Route 53, with the shapes of botocore's
model."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from botocore.model import ListShape, OperationModel, Shape, StructureShape

from edgetenants_emulator.errors import AwsError, ErrorCode
from edgetenants_emulator.protocol import model_values
from edgetenants_emulator.protocol.exchange import Request, Response

__all__ = ["NAMESPACE", "NOT_IN_XML", "error_body", "parse", "root", "serialize"]

NAMESPACE = "http://cloudfront.amazonaws.com/doc/2020-05-31/"
_PROLOG = '<?xml version="1.0" encoding="UTF-8"?>\n'
_ITEM = "member"
"""The element of a list's item if the model declares no name. These services have no flattened lists."""
_ESCAPED = {"\r": "&#xD;"}
"""Escapes in addition to `<`, `>` and `&`. XML parsers read an unescaped carriage return as a newline."""
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot contain, even escaped. A path or a JSON body may contain them."""


def parse(operation: OperationModel, request: Request, labels: Mapping[str, str]) -> dict[str, Any]:
    """The members of a request, by the model's names. Absent members are omitted.

    An empty element of a list or structure is an empty list or dict, which differs from an absent one.
    Raises AwsError MalformedXML.
    """
    shape = operation.input_shape
    if not isinstance(shape, StructureShape):
        return {}
    params: dict[str, Any] = {}
    for name, member in shape.members.items():
        text = _outside_body(name, member, request, labels)
        if text is not None:
            params[name] = _outside_scalar(member, text)
    params.update(_body_members(shape, request.body))
    return params


def _outside_body(name: str, member: Shape, request: Request, labels: Mapping[str, str]) -> str | None:
    key = member.serialization.get("name", name)
    match member.serialization.get("location"):
        case "uri":
            return labels.get(key)
        case "querystring":
            return request.query.get(key)
        case "header":
            return request.headers.get(key.lower())
        case _:
            return None


def _outside_scalar(shape: Shape, text: str) -> Any:
    try:
        return _scalar(shape, text)
    except AwsError as error:
        # Only bodies are XML.
        raise AwsError(ErrorCode.INVALID_ARGUMENT, error.message) from error


def _body_members(shape: StructureShape, body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    payload = shape.serialization.get("payload")
    inside = {n: m for n, m in shape.members.items() if "location" not in m.serialization}
    if not inside:
        return {}
    top = root(body)
    if payload:
        return {payload: _element(shape.members[payload], top)}
    return _members(inside, top)


def root(body: bytes) -> ET.Element:
    """The root element of a document. Raises AwsError MalformedXML for invalid XML."""
    try:
        # Without document types, there are no entities that could expand.
        return ET.fromstring(body, ET.XMLParser(target=_Builder()))  # noqa: S314
    except (ET.ParseError, LookupError, ValueError) as error:  # the last two: an unknown encoding
        message = f"The request body is not well-formed XML: {error}."
        raise AwsError(ErrorCode.MALFORMED_XML, message) from error


class _Builder(ET.TreeBuilder):
    def doctype(self, name: str, _: str | None, __: str | None) -> None:
        raise ET.ParseError(f"a document type ({name}) is not accepted")


def _members(members: Mapping[str, Shape], element: ET.Element) -> dict[str, Any]:
    children = {child.tag.rpartition("}")[2]: child for child in element}
    found: dict[str, Any] = {}
    for name, member in members.items():
        child = children.get(member.serialization.get("name", name))
        if child is not None:
            found[name] = _element(member, child)
    return found


def _element(shape: Shape, element: ET.Element) -> Any:
    if isinstance(shape, StructureShape):
        return _members(shape.members, element)
    if isinstance(shape, ListShape):
        # If the model declares no name, SDKs write `member`, AWS's reference the item's type; both are valid.
        return [_element(shape.member, child) for child in element]
    return _scalar(shape, element.text or "")


def _scalar(shape: Shape, text: str) -> Any:
    try:
        match shape.type_name:
            case "integer" | "long":
                return model_values.integer(text, shape.type_name)
            case "float" | "double":
                return float(text)
            case "boolean":
                return model_values.boolean(text)
            case _:
                return text
    except ValueError as error:
        message = f"The value {text[:80]!r} is not of type {shape.type_name}."
        raise AwsError(ErrorCode.MALFORMED_XML, message) from error


def serialize(
    operation: OperationModel, result: Mapping[str, Any], request_id: str, namespace: str = NAMESPACE
) -> Response:
    """The response for a result by the members of the output shape. None counts as absent."""
    headers = {"x-amzn-RequestId": request_id}
    status = int(operation.http.get("responseCode", 200))
    shape = operation.output_shape
    if not isinstance(shape, StructureShape):
        return Response(status, headers)
    for name, member in shape.members.items():
        if member.serialization.get("location") == "header" and result.get(name) is not None:
            headers[member.serialization.get("name", name)] = str(result[name])
    headers["Content-Type"] = "text/xml"
    return Response(status, headers, _root(shape, result, namespace).encode())


def _root(shape: StructureShape, result: Mapping[str, Any], namespace: str) -> str:
    payload = shape.serialization.get("payload")
    out: list[str] = []
    if payload:
        member = shape.members[payload]
        name = member.serialization.get("name", payload)
        _write(out, name, member, result.get(payload) or {})
    else:
        name = shape.name
        inside = {k: v for k, v in result.items() if "location" not in shape.members[k].serialization}
        _write(out, name, shape, inside)
    out[0] = f'<{name} xmlns="{namespace}">'
    return _PROLOG + "".join(out)


def _write(out: list[str], name: str, shape: Shape, value: Any) -> None:
    if isinstance(shape, StructureShape):
        out.append(f"<{name}>")
        for key, member in shape.members.items():
            if value.get(key) is not None:
                _write(out, member.serialization.get("name", key), member, value[key])
        out.append(f"</{name}>")
    elif isinstance(shape, ListShape):
        out.append(f"<{name}>")
        item = shape.member.serialization.get("name", _ITEM)
        for each in value:
            _write(out, item, shape.member, each)
        out.append(f"</{name}>")
    elif shape.type_name == "boolean":
        out.append(f"<{name}>{'true' if value else 'false'}</{name}>")
    else:
        out.append(f"<{name}>{_text(str(value))}</{name}>")


def _text(value: str) -> str:
    return escape(NOT_IN_XML.sub("\ufffd", value), _ESCAPED)


def error_body(
    code: str, message: str, request_id: str, sender: str = "Sender", namespace: str = NAMESPACE
) -> bytes:
    """An error in the format of CloudFront, Route 53 and the services with the query protocol."""
    return (
        f'<?xml version="1.0"?>\n<ErrorResponse xmlns="{namespace}"><Error><Type>{sender}</Type>'
        f"<Code>{_text(code)}</Code><Message>{_text(message)}</Message></Error>"
        f"<RequestId>{request_id}</RequestId></ErrorResponse>"
    ).encode()

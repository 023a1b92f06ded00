"""Crossplane's own composition engine: `crossplane internal render`, one reconcile on an in-memory cluster.

It reads a RenderRequest in protobuf from standard input and writes a RenderResponse to standard output
(Crossplane, proto/render/v1alpha1/render.proto). The few messages that are needed are described here; fields
that are not described are passed over, as protobuf does.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, struct_pb2

FATAL = 3
"""Exit code: a function answered with a FATAL result; the output is there all the same."""

_PACKAGE = "crossplane.render.v1alpha1"
_STRUCT = ".google.protobuf.Struct"
_ONE, _MANY = (
    descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL,
    descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED,
)
_MESSAGES: Mapping[str, tuple[tuple[str, int, str, int], ...]] = {
    "FunctionInput": (("name", 1, "", _ONE), ("address", 2, "", _ONE)),
    "Event": (("type", 1, "", _ONE), ("reason", 2, "", _ONE), ("message", 3, "", _ONE)),
    "CompositeInput": (
        ("composite_resource", 1, _STRUCT, _ONE),
        ("composition", 2, _STRUCT, _ONE),
        ("functions", 3, f".{_PACKAGE}.FunctionInput", _MANY),
        ("observed_resources", 4, _STRUCT, _MANY),
        ("required_resources", 5, _STRUCT, _MANY),
        ("composite_resource_definition", 8, _STRUCT, _ONE),
    ),
    "CompositeOutput": (
        ("composite_resource", 1, _STRUCT, _ONE),
        ("composed_resources", 2, _STRUCT, _MANY),
        ("deleted_resources", 3, _STRUCT, _MANY),
        ("events", 4, f".{_PACKAGE}.Event", _MANY),
    ),
    "OperationInput": (
        ("operation", 1, _STRUCT, _ONE),
        ("functions", 2, f".{_PACKAGE}.FunctionInput", _MANY),
        ("required_resources", 3, _STRUCT, _MANY),
    ),
    "OperationOutput": (("operation", 1, _STRUCT, _ONE), ("events", 3, f".{_PACKAGE}.Event", _MANY)),
    "RenderRequest": (
        ("composite", 2, f".{_PACKAGE}.CompositeInput", _ONE),
        ("operation", 3, f".{_PACKAGE}.OperationInput", _ONE),
    ),
    "RenderResponse": (
        ("composite", 2, f".{_PACKAGE}.CompositeOutput", _ONE),
        ("operation", 3, f".{_PACKAGE}.OperationOutput", _ONE),
    ),
}


def _pool() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto(name="render.proto", package=_PACKAGE, syntax="proto3")
    file.dependency.append(struct_pb2.DESCRIPTOR.name)
    for message, fields in _MESSAGES.items():
        added = file.message_type.add(name=message)
        for name, number, type_name, label in fields:
            kind = descriptor_pb2.FieldDescriptorProto
            type_ = kind.TYPE_MESSAGE if type_name else kind.TYPE_STRING
            added.field.add(name=name, number=number, type=type_, type_name=type_name or None, label=label)
    pool.AddSerializedFile(file.SerializeToString())
    return pool


_POOL = _pool()


def _message(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


@dataclass(frozen=True)
class Rendered:
    """What the engine would have done."""

    exit_code: int
    composite: dict[str, Any]
    composed: list[dict[str, Any]]
    deleted: list[dict[str, Any]]
    events: list[dict[str, str]]
    stderr: str

    def condition(self, type_: str) -> dict[str, Any]:
        return next(each for each in self.composite["status"]["conditions"] if each["type"] == type_)


@dataclass(frozen=True)
class Engine:
    """The engine, with a function that it calls."""

    binary: Path
    address: str

    def render(
        self,
        xr: Mapping[str, Any],
        composition: Mapping[str, Any],
        *,
        observed: Iterable[Mapping[str, Any]] = (),
        required: Iterable[Mapping[str, Any]] = (),
        xrd: Mapping[str, Any] | None = None,
    ) -> Rendered:
        """One reconcile of `xr`."""
        asked = {
            "composite_resource": xr,
            "composition": composition,
            "functions": [{"name": "function-edgetenants", "address": self.address}],
            "observed_resources": list(observed),
            "required_resources": list(required),
            **({"composite_resource_definition": xrd} if xrd else {}),
        }
        done, output = self._run({"composite": asked})
        answer = output.get("composite", {})
        return Rendered(
            exit_code=done.returncode,
            composite=answer.get("composite_resource", {}),
            composed=answer.get("composed_resources", []),
            deleted=answer.get("deleted_resources", []),
            events=answer.get("events", []),
            stderr=done.stderr.decode(),
        )

    def operate(
        self, operation: Mapping[str, Any], required: Iterable[Mapping[str, Any]] = ()
    ) -> dict[str, Any]:
        """One run of an Operation; the Operation as it stands afterwards. Fails with the engine's words."""
        asked = {
            "operation": operation,
            "functions": [{"name": "function-edgetenants", "address": self.address}],
            "required_resources": list(required),
        }
        done, output = self._run({"operation": asked})
        assert done.returncode == 0, done.stderr.decode()
        found: dict[str, Any] = output["operation"]["operation"]
        return found

    def _run(self, asked: Mapping[str, Any]) -> tuple[subprocess.CompletedProcess[bytes], dict[str, Any]]:
        request = json_format.ParseDict(dict(asked), _message("RenderRequest")())
        done = subprocess.run(
            [self.binary, "internal", "render", "--timeout=30s"],
            input=request.SerializeToString(),
            capture_output=True,
            timeout=60,
            check=False,
        )
        answer = _message("RenderResponse").FromString(done.stdout)
        return done, json_format.MessageToDict(answer, preserving_proto_field_name=True)

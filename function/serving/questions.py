"""The parts of a request that determine the response."""

import hashlib
from collections.abc import Iterable
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from function.composed import compose, strangers
from function.protocol import structs
from function.protocol.remembered import Question

_UNREAD_METADATA: Final = ("resourceVersion", "managedFields")
_UNREAD_SPEC: Final = ("resourceRefs",)
_UNREAD_AT_PROVIDER: Final = ("etag", "parameters")
_READ_STATUS: Final = "conditions"


def question(req: fnv1.RunFunctionRequest) -> Question:
    """The question of a request. It removes everything from the request that cannot affect the response,
    except the tag."""
    composite = req.observed.composite.resource
    _drop(structs.child(composite, "metadata"), _UNREAD_METADATA)
    for spec in (structs.child(composite, "spec"), structs.child(composite, "spec", "crossplane")):
        refs = structs.value(spec, "resourceRefs")
        if refs is None or len(refs.list_value.values) <= len(req.observed.resources):
            # All of them exist.
            _drop(spec, _UNREAD_SPEC)
    status = structs.child(composite, "status")
    if status is not None:
        _drop(status, [key for key in status.fields if key != _READ_STATUS])
    resources = req.observed.resources
    if others := [each for each in resources if not compose.OURS.fullmatch(each)]:
        for name in set(others).difference(strangers.find(req)):
            del resources[name]
    for each in resources.values():
        resource = each.resource
        _drop(structs.child(resource, "metadata"), _UNREAD_METADATA)
        _drop(structs.child(resource, "status", "atProvider"), _UNREAD_AT_PROVIDER)
    asker = structs.text(composite, "metadata", "uid")
    if not asker:
        # The request for a report has no composite and contains all claims; it is not repeated.
        return Question("", b"")
    tag = req.meta.tag
    req.meta.tag = ""
    serialized = req.SerializeToString(deterministic=True)
    req.meta.tag = tag
    return Question(asker, hashlib.sha256(serialized).digest())


def _drop(struct: Struct | None, keys: Iterable[str]) -> None:
    if struct is None:
        return
    fields = struct.fields
    for key in keys:
        if key in fields:
            del fields[key]

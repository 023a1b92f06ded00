"""What a request asks, without what no answer is made from."""

import hashlib
from collections.abc import Iterable
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from function import compose, structs
from function.remembered import Question

_UNREAD_METADATA: Final = ("resourceVersion", "managedFields", "ownerReferences")
_UNREAD_SPEC: Final = ("crossplane", "resourceRefs")
_UNREAD_AT_PROVIDER: Final = ("etag", "parameters")
_READ_STATUS: Final = "conditions"


def question(req: fnv1.RunFunctionRequest) -> Question:
    """The question that a request asks. What is no part of it is gone from the request after that, but for
    the tag."""
    composite = req.observed.composite.resource
    _drop(composite, ("metadata",), _UNREAD_METADATA)
    _drop(composite, ("spec",), _UNREAD_SPEC)
    status = structs.child(composite, "status")
    if status is not None:
        _drop(status, (), [key for key in status.fields if key != _READ_STATUS])
    resources = req.observed.resources
    for name in [each for each in resources if not compose.OURS.fullmatch(each)]:
        del resources[name]
    for each in resources.values():
        _drop(each.resource, ("metadata",), _UNREAD_METADATA)
        _drop(each.resource, ("status", "atProvider"), _UNREAD_AT_PROVIDER)
    asker = structs.text(composite, "metadata", "uid")
    if not asker:
        # A report has no composite, and holds all claims: it is asked for once.
        return Question("", b"")
    tag = req.meta.tag
    req.meta.tag = ""
    serialized = req.SerializeToString(deterministic=True)
    req.meta.tag = tag
    return Question(asker, hashlib.sha256(serialized).digest())


def _drop(struct: Struct, path: tuple[str, ...], keys: Iterable[str]) -> None:
    inner = structs.child(struct, *path)
    if inner is None:
        return
    fields = inner.fields
    for key in keys:
        if key in fields:
            del fields[key]

"""Observed resources that the claim does not control.

Crossplane reads the resources in the composite's `resourceRefs`, which the claim's author can edit, and skips
those that another object controls. An object without a controller counts as composed by the claim, and is
deleted if no function wants it: with Crossplane's rights, and whatever its kind. Crossplane does not look in
the claim's namespace only: cluster-scoped objects have none (v2.3.4, internal/controller/apiextensions/
composite, composition_functions.go and GarbageCollectComposedResources). So the function refuses such a
claim, after which Crossplane changes and deletes nothing.
"""

from collections.abc import Container, Iterable
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis import kinds
from apis.errors import Problem
from edgetenants_runtime.api.annotations import LABEL_COMPOSITE
from function.protocol import structs

__all__ = ["find", "problems"]

_OURS: Final = frozenset({kinds.MANAGED_GROUP, kinds.LEGACY_MANAGED_GROUP})


def find(req: fnv1.RunFunctionRequest) -> list[str]:
    """Return the composed resource names of what the claim does not control, in order.

    For a namespaced claim, these are all cluster-scoped objects, which Crossplane never composes for it; and
    for each claim, resources of this function's kinds without a controller, unless Crossplane once composed
    them for it: a restore may drop owner references, and the label stays. Users who may write that label may
    delete the resource, too. Objects without a uid are not from an API server (`crossplane render`), and do
    not count.
    """
    composite = req.observed.composite.resource
    observed = req.observed.resources
    return sorted(name for name in observed if _is_strange(observed[name].resource, composite))


def problems(req: fnv1.RunFunctionRequest, strange: Iterable[str], wanted: Container[str]) -> list[Problem]:
    """Return a problem for each of these resources that Crossplane would delete, or cannot compose.

    A wanted one that no other composite composed gets the claim as its controller when Crossplane applies it.

    Args:
        req: the request.
        strange: the result of `find`.
        wanted: the names of all desired resources.
    """
    composite = req.observed.composite.resource
    found = ((name, req.observed.resources[name].resource) for name in strange)
    return [
        _problem(resource, composite)
        for name, resource in found
        if name not in wanted or not _may_be_taken(structs.child(resource, "metadata"), composite)
    ]


def _is_strange(resource: Struct, composite: Struct) -> bool:
    metadata = structs.child(resource, "metadata")
    if not structs.text(metadata, "uid"):
        return False
    if _is_out_of_reach(metadata, structs.child(composite, "metadata")):
        return True
    if structs.text(resource, "apiVersion").partition("/")[0] not in _OURS:
        return False
    owners = structs.objects(metadata, "ownerReferences")
    return not any(structs.flag(each, "controller") for each in owners) and not _was_composed(
        metadata, composite
    )


def _is_out_of_reach(metadata: Struct | None, composite: Struct | None) -> bool:
    """Whether it is cluster-scoped, and the claim is not."""
    return bool(structs.text(composite, "namespace")) and not structs.text(metadata, "namespace")


def _was_composed(metadata: Struct | None, composite: Struct) -> bool:
    """Whether the claim once composed it. A composite of another kind may have the claim's name."""
    mine = (structs.text(composite, "kind"), structs.text(composite, "metadata", "name"))
    owners = structs.objects(metadata, "ownerReferences")
    told = [(structs.text(each, "kind"), structs.text(each, "name")) for each in owners]
    return _label(metadata) == mine[1] != "" and all(each == mine for each in told)


def _may_be_taken(metadata: Struct | None, composite: Struct) -> bool:
    """Whether the claim may become its controller: no other composite once composed it."""
    name = structs.text(composite, "metadata", "name")
    out_of_reach = _is_out_of_reach(metadata, structs.child(composite, "metadata"))
    return not out_of_reach and _label(metadata) in ("", name)


def _label(metadata: Struct | None) -> str:
    return structs.text(structs.child(metadata, "labels"), LABEL_COMPOSITE)


def _problem(resource: Struct, composite: Struct) -> Problem:
    kind, name = structs.text(resource, "kind"), structs.text(resource, "metadata", "name")
    path = (
        "spec.crossplane.resourceRefs"
        if structs.text(composite, "metadata", "namespace")
        else "spec.resourceRefs"
    )
    metadata, of_composite = structs.child(resource, "metadata"), structs.child(composite, "metadata")
    label = _label(metadata)
    got = f"{kind} {name}, which Crossplane would delete; remove it from the list"
    # The claim's author may not know the label of a cluster-scoped object.
    if label not in ("", structs.text(of_composite, "name")) and not _is_out_of_reach(metadata, of_composite):
        got = (
            f"{kind} {name}, which has no controller, and is {label}'s by its label {LABEL_COMPOSITE}; "
            "remove it from the list"
        )
    return Problem(path, "resources that this claim composed and controls", got)

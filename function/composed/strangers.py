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
from function.protocol import structs

__all__ = ["find", "problems"]

_OURS: Final = frozenset({kinds.MANAGED_GROUP, kinds.LEGACY_MANAGED_GROUP})


def find(req: fnv1.RunFunctionRequest, *, namespaced: bool) -> list[str]:
    """Return the composed resource names of what the claim does not control, in order.

    These are resources of this function's kinds without a controller, as after a restore that drops owner
    references, and for a namespaced claim all cluster-scoped ones, which Crossplane never composes for it.
    Objects without a uid are not from an API server (`crossplane render`) and do not count.

    Args:
        req: the request.
        namespaced: whether the claim's composite is.
    """
    observed = req.observed.resources
    return sorted(name for name in observed if _is_strange(observed[name].resource, namespaced=namespaced))


def problems(
    req: fnv1.RunFunctionRequest, strange: Iterable[str], wanted: Container[str], *, namespaced: bool
) -> list[Problem]:
    """Return a problem for each of these resources that Crossplane would delete, or cannot compose.

    A wanted one gets the claim as its controller when Crossplane applies it.

    Args:
        req: the request.
        strange: the result of `find`.
        wanted: the names of all desired resources.
        namespaced: whether the claim's composite is.
    """
    found = ((name, req.observed.resources[name].resource) for name in strange)
    return [
        _problem(resource, namespaced=namespaced)
        for name, resource in found
        if name not in wanted or _is_out_of_reach(resource, namespaced=namespaced)
    ]


def _is_strange(resource: Struct, *, namespaced: bool) -> bool:
    metadata = structs.child(resource, "metadata")
    if not structs.text(metadata, "uid"):
        return False
    if _is_out_of_reach(resource, namespaced=namespaced):
        return True
    if structs.text(resource, "apiVersion").partition("/")[0] not in _OURS:
        return False
    return not any(structs.flag(each, "controller") for each in structs.objects(metadata, "ownerReferences"))


def _is_out_of_reach(resource: Struct, *, namespaced: bool) -> bool:
    """Whether it is cluster-scoped, and the claim is not."""
    return namespaced and not structs.text(resource, "metadata", "namespace")


def _problem(resource: Struct, *, namespaced: bool) -> Problem:
    kind, name = structs.text(resource, "kind"), structs.text(resource, "metadata", "name")
    path = "spec.crossplane.resourceRefs" if namespaced else "spec.resourceRefs"
    got = f"{kind} {name}, which Crossplane would delete; remove it from the list"
    return Problem(path, "resources that this claim composed and controls", got)

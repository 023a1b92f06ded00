"""Composed resources of the claim that Crossplane does not list: `resourceRefs` of the composite lack them.

`kubectl replace` with a manifest from a repository removes the list, and so do GitOps tools that replace
objects. Crossplane may also read a composite from before it noted a name. It would then create a second
object for the composed resource. So before a resource gets a new name, the function requires the resources
with the claim's label, and composes those that exist under their names. Those that are being deleted are not
composed again.

What Crossplane reads may be outdated: it may have deleted a resource a moment ago. So such a resource is
composed with the version that was read, and the API server refuses it if it has changed since. The API server
would create one that is gone. So what the claim does not want is listed again, for Crossplane to delete it,
only if the whole list is lost.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis import kinds
from edgetenants_runtime.api.annotations import COMPOSED_NAME, LABEL_COMPOSITE
from function.claims.claim import LONGEST_LABEL, Composite
from function.composed import compose
from function.composed.compose import Order
from function.composed.observed import ObservedTenant, controller, read
from function.protocol import requirements, structs

_TENANTS: Final = {True: kinds.DISTRIBUTION_TENANT, False: kinds.LEGACY_DISTRIBUTION_TENANT}
_GROUPS: Final = {True: kinds.CONNECTION_GROUP, False: kinds.LEGACY_CONNECTION_GROUP}
"""By whether they are namespaced."""


def find(
    req: fnv1.RunFunctionRequest,
    rsp: fnv1.RunFunctionResponse,
    order: Order,
    seen: Mapping[str, ObservedTenant],
) -> dict[str, Struct]:
    """The unlisted resources by their composed resource names. Adds what the function requires for that to
    the response; Crossplane then calls again.

    Args:
        req: the request.
        rsp: the response.
        order: the claim with its plan and terms.
        seen: the claim's managed resources that Crossplane observed.
    """
    composite = order.composite
    if not composite.generation or not requirements.readable(req):
        return {}
    wanted = frozenset(_wanted(order, seen))
    if all(name in seen or order.is_noted(name) for name in wanted):
        return {}
    tenants = _present(req, rsp, composite, "unlisted-tenants", _TENANTS[composite.namespaced])
    groups: dict[str, Struct] = {}
    if order.terms.dedicated or any(read(each).asked.own_group for each in tenants.values()):
        # Only then: an installation without such claims may not serve the kind.
        kind = _GROUPS[composite.namespaced]
        groups = _present(req, rsp, composite, "unlisted-connection-groups", kind)
    found: dict[str, Struct] = {}
    for resource in sorted((*tenants.values(), *groups.values()), key=_rank):
        found.setdefault(structs.text(resource, "metadata", "annotations", COMPOSED_NAME), resource)
    is_lost = not order.noted_names
    return {name: each for name, each in found.items() if name not in seen and (is_lost or name in wanted)}


def pin(metadata: Struct, resource: Struct) -> None:
    """Give the metadata of a desired resource the name of the one that exists, and the version that makes the
    API server refuse it if that one has changed since it was read. Crossplane (v2.3.4) cannot note a uid."""
    for key in ("name", "resourceVersion"):
        if value := structs.text(resource, "metadata", key):
            metadata[key] = value


def _wanted(order: Order, seen: Mapping[str, ObservedTenant]) -> Iterator[str]:
    """The composed resource names of what the claim asks for, without what changes that wait keep."""
    isolation = order.claim.spec.isolation
    yield from {order.name_of(domain, isolation) for domain in order.claim.domains}
    if order.terms.dedicated:
        yield compose.group_name(seen)


def _present(
    req: fnv1.RunFunctionRequest,
    rsp: fnv1.RunFunctionResponse,
    composite: Composite,
    requirement: str,
    kind: kinds.Kind,
) -> dict[str, Struct]:
    """The composite's resources of a kind that are not being deleted, by name."""
    found: dict[str, Struct] = {}
    for end, labels in _labels(composite).items():
        name = requirement + end
        selector = requirements.with_labels(kind, labels, composite.namespace)
        requirements.require(req, rsp, name, selector)
        answer = requirements.answer(req, name)
        items = (item.resource for item in answer.items) if answer is not None else ()
        found |= {structs.text(each, "metadata", "name"): each for each in items if _is_own(each, composite)}
    return found


def _labels(composite: Composite) -> dict[str, dict[str, str]]:
    """The labels to look for, by the end of the requirement's name. What an earlier version composed has only
    Crossplane's, until the function composes it again."""
    own = {"": compose.claim_label(composite)}
    theirs = dict(composite.labels).get(LABEL_COMPOSITE) or composite.name
    return own | ({"-by-composite": {LABEL_COMPOSITE: theirs}} if len(theirs) <= LONGEST_LABEL else {})


def _is_own(resource: Struct, composite: Composite) -> bool:
    name = structs.text(resource, "metadata", "annotations", COMPOSED_NAME)
    owner = structs.text(controller(resource), "uid")
    gone = structs.text(resource, "metadata", "deletionTimestamp")
    return bool(compose.OURS.fullmatch(name)) and owner == composite.uid and not gone


def _rank(resource: Struct) -> tuple[bool, str, str]:
    """First what exists in AWS, then what is older: of two with one composed resource name, only the first is
    composed."""
    created, name = structs.texts_at(structs.child(resource, "metadata"), ("creationTimestamp", "name"))
    return not read(resource).exists, created, name

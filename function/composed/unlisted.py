"""Composed resources of the claim that Crossplane does not list: `resourceRefs` of the composite lack them.

`kubectl replace` with a manifest from a repository removes the list, and so do GitOps tools that replace
objects. Crossplane may also read a composite from before it noted a name. It would then create a second
object for the composed resource. So before a resource gets a new name, the function requires the resources
with the claim's label, and composes those that exist under their names. Those that are being deleted are not
composed again.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis import kinds
from function.claims.claim import Composite
from function.composed import compose
from function.composed.compose import Order
from function.composed.observed import ObservedTenant, controller
from function.protocol import requirements, structs

_NAME: Final = "crossplane.io/composition-resource-name"
"""Annotation that Crossplane sets on composed resources (internal/xcrd)."""
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
    if all(name in seen or order.is_noted(name) for name in _wanted(order, seen)):
        return {}
    found: dict[str, Struct] = {}
    required = {"unlisted-tenants": _TENANTS[composite.namespaced]}
    if order.terms.dedicated:
        # Only then: an installation without such claims may not serve the kind.
        required["unlisted-connection-groups"] = _GROUPS[composite.namespaced]
    for name, kind in required.items():
        selector = fnv1.ResourceSelector(api_version=kind.api_version, kind=kind.kind)
        selector.match_labels.labels.update(compose.claim_label(composite))
        if composite.namespaced:
            selector.namespace = composite.namespace
        requirements.require(req, rsp, name, selector)
        found |= dict(_own(requirements.answer(req, name), composite))
    return {name: resource for name, resource in found.items() if name not in seen}


def _wanted(order: Order, seen: Mapping[str, ObservedTenant]) -> Iterator[str]:
    """The composed resource names of what the claim asks for, without what changes that wait keep."""
    isolation = order.claim.spec.isolation
    yield from {order.name_of(domain, isolation) for domain in order.claim.domains}
    if order.terms.dedicated:
        yield compose.group_name(seen)


def _own(answer: fnv1.Resources | None, composite: Composite) -> Iterator[tuple[str, Struct]]:
    for item in answer.items if answer is not None else ():
        name = structs.text(item.resource, "metadata", "annotations", _NAME)
        owner = controller(item.resource)
        gone = structs.text(item.resource, "metadata", "deletionTimestamp")
        if compose.OURS.fullmatch(name) and structs.text(owner, "uid") == composite.uid and not gone:
            yield name, item.resource

"""Composed resources of the claim that Crossplane does not list: `resourceRefs` of the composite were lost.

`kubectl replace` with a manifest from a repository removes them, and so do GitOps tools that replace objects.
Crossplane then observes nothing, and would create a second object for each composed resource. So if a
composite lists nothing, the function requires the resources with the claim's label and composes them under
the names that they have. Those that are being deleted are not composed again.
"""

from collections.abc import Iterator
from typing import Final

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.struct_pb2 import Struct

from apis import kinds
from function.claims.claim import Composite
from function.composed import compose, observed
from function.protocol import requirements, structs

_NAME: Final = "crossplane.io/composition-resource-name"
"""Annotation that Crossplane sets on composed resources (internal/xcrd)."""
_KINDS: Final = {
    True: {
        "unlisted-tenants": kinds.DISTRIBUTION_TENANT,
        "unlisted-connection-groups": kinds.CONNECTION_GROUP,
    },
    False: {
        "unlisted-tenants": kinds.LEGACY_DISTRIBUTION_TENANT,
        "unlisted-connection-groups": kinds.LEGACY_CONNECTION_GROUP,
    },
}


def find(
    req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse, composite: Composite
) -> dict[str, Struct]:
    """The unlisted resources by their composed resource names. Adds what the function requires for that to
    the response; Crossplane then calls again.

    Args:
        req: the request.
        rsp: the response.
        composite: the claim's composite.
    """
    if req.observed.resources or observed.noted_names(req.observed.composite.resource):
        return {}
    if composite.live is None or not composite.name or not requirements.readable(req):
        # A new claim, which no response was for, has nothing to find.
        return {}
    found: dict[str, Struct] = {}
    for name, kind in _KINDS[composite.namespaced].items():
        selector = fnv1.ResourceSelector(api_version=kind.api_version, kind=kind.kind)
        selector.match_labels.labels.update(compose.claim_label(composite))
        if composite.namespaced:
            selector.namespace = composite.namespace
        requirements.require(req, rsp, name, selector)
        found |= dict(_own(requirements.answer(req, name), composite))
    return found


def _own(answer: fnv1.Resources | None, composite: Composite) -> Iterator[tuple[str, Struct]]:
    for item in answer.items if answer is not None else ():
        name = structs.text(item.resource, "metadata", "annotations", _NAME)
        owners = structs.objects(item.resource, "metadata", "ownerReferences")
        owner = next((each for each in owners if structs.flag(each, "controller")), None)
        gone = structs.text(item.resource, "metadata", "deletionTimestamp")
        if compose.OURS.fullmatch(name) and structs.text(owner, "uid") == composite.uid and not gone:
            yield name, item.resource

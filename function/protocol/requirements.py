"""Resources that the function requires, and that Crossplane reads for it. A function must return the same
requirements in every call, until Crossplane calls it with the required resources.

Versions of Crossplane that support `requirements.resources` (from v2.0) also support `extra_resources` (from
v1.15) and read a resource twice if both require it. So the function sets both only if Crossplane does not
list its capabilities (before v2.2).
"""

from collections.abc import Mapping

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from apis.kinds import Kind


def require(
    req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse, name: str, selector: fnv1.ResourceSelector
) -> None:
    """Require the resources of the selector, under a name of the function's own."""
    rsp.requirements.resources[name].CopyFrom(selector)
    if not req.meta.capabilities:
        rsp.requirements.extra_resources[name].CopyFrom(selector)


def with_labels(kind: Kind, labels: Mapping[str, str], namespace: str) -> fnv1.ResourceSelector:
    """Select the resources of a kind with these labels; an empty namespace: cluster-scoped ones."""
    selector = fnv1.ResourceSelector(api_version=kind.api_version, kind=kind.kind)
    selector.match_labels.labels.update(labels)
    if namespace:
        selector.namespace = namespace
    return selector


def readable(req: fnv1.RunFunctionRequest) -> bool:
    """Whether Crossplane reads required resources, as far as it tells. Versions that do not list their
    capabilities do so from v1.15 on."""
    capabilities = req.meta.capabilities
    return not capabilities or fnv1.CAPABILITY_REQUIRED_RESOURCES in capabilities


def answer(req: fnv1.RunFunctionRequest, name: str) -> fnv1.Resources | None:
    """The required resources of this name; None if Crossplane has not read them yet."""
    for answers in (req.required_resources, req.extra_resources):
        if name in answers:
            return answers[name]
    return None

"""The function without a server: it builds requests and resolves requirements from files.

It does what Crossplane does between two calls, so that `render` and `validate` give the result of a cluster.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import Struct

from apis import errors, kinds, tenantplans
from edgetenants_runtime.api.annotations import (
    COMPOSED_NAME,
    LABEL_CLAIM_NAME,
    LABEL_CLAIM_NAMESPACE,
    LABEL_COMPOSITE,
)
from function import fn
from function.claims import claim, plan_sources, plans
from function.composed.compose import Order
from function.protocol import structs

MOST_CALLS: Final = 6
"""Crossplane repeats a call at most five times (internal/xfn/required_resources.go)."""

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Pricelist:
    """The platform team's plans, read from files."""

    input: Json
    """The function's input: TenantPlans."""
    others: tuple[Json, ...] = ()
    """The objects that Crossplane would return when the function requires them."""

    @classmethod
    def of(cls, objects: Sequence[Json]) -> "Pricelist":
        """Build it from one Composition or TenantPlans and any number of EnvironmentConfigs.

        Raises:
            InvalidInput: there is no Composition or TenantPlans, or there are several.
        """
        inputs = [found for value in objects for found in _inputs(value)]
        if len(inputs) != 1:
            expected = f"one {tenantplans.KIND}, or one Composition with a step of function-edgetenants"
            raise errors.InvalidInput((errors.Problem("", expected, f"{len(inputs)} of them"),))
        return cls(inputs[0], tuple(filter(is_required, objects)))


def mapping(value: Json, *path: str) -> Json:
    """The object at a path in a manifest; an empty one if there is none, or another type."""
    found: Any = value
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def has_plans(value: Json) -> bool:
    """Whether it is the function's input, or a Composition with a step of the function."""
    return any(True for _ in _inputs(value))


def is_required(value: Json) -> bool:
    """Whether it is of the kind that the function may require."""
    return bool(value.get("kind") == plan_sources.KIND)


def _inputs(value: Json) -> Iterator[Json]:
    if value.get("kind") == tenantplans.KIND:
        yield value
    if value.get("kind") == "Composition":
        yield from (mapping(step, "input") for step in steps(value) if is_ours(step))


def steps(composition: Json) -> list[Json]:
    """The steps of a Composition's pipeline."""
    found = mapping(composition, "spec").get("pipeline")
    return [step for step in found if isinstance(step, Mapping)] if isinstance(found, list) else []


def is_ours(step: Json) -> bool:
    """Whether a step of a pipeline calls this function, by its input or by the function's usual name."""
    input_, function = mapping(step, "input"), mapping(step, "functionRef")
    return str(input_.get("apiVersion")).partition("/")[0] == kinds.INPUT_GROUP or str(
        function.get("name")
    ).endswith("function-edgetenants")


def request(composite: Json, offered: Pricelist, observed: Iterable[Json] = ()) -> fnv1.RunFunctionRequest:
    """The request that Crossplane would send. Observed resources must have the annotation with their composed
    resource name. It skips those of another composite, by their controller or else their label, and those in
    another namespace.

    Raises:
        InvalidInput: an observed resource has no such annotation or the name of another one, or an object is
            nested too deeply.
    """
    req = fnv1.RunFunctionRequest()
    req.meta.capabilities.extend([fnv1.CAPABILITY_CAPABILITIES, fnv1.CAPABILITY_REQUIRED_RESOURCES])
    req.observed.composite.resource.update(dict(composite))
    req.input.update(dict(offered.input))
    for value in observed:
        metadata = mapping(value, "metadata")
        if not _may_be_composed_by(composite, metadata):
            continue
        name = mapping(metadata, "annotations").get(COMPOSED_NAME)
        if not (name and isinstance(name, str)):
            path, kind = (
                f"metadata.annotations[{COMPOSED_NAME!r}]",
                f"{value.get('kind')} {metadata.get('name')}",
            )
            expected = "the composed resource name"
            got = errors.shown(name) if name else "nothing"
            raise errors.InvalidInput((errors.Problem(f"{kind}: {path}", expected, got),))
        if name in req.observed.resources:
            _refuse_second(req.observed.resources[name].resource, value, name)
        req.observed.resources[name].resource.update(dict(value))
    _check_nesting(req)
    return req


def _check_nesting(req: fnv1.RunFunctionRequest) -> None:
    """Refuse a request that the function could not read: protobuf limits the depth of nested messages.

    Raises:
        InvalidInput: an object in it is nested too deeply.
    """
    try:
        fnv1.RunFunctionRequest.FromString(req.SerializeToString())
    except DecodeError:
        expected = "fewer levels of nesting, because a function cannot read that many"
        raise errors.InvalidInput((errors.Problem("", expected, "about 30 or more"),)) from None


def _refuse_second(first: Struct, second: Json, name: str) -> NoReturn:
    other = f"{structs.text(first, 'kind')} {structs.text(first, 'metadata', 'name')}"
    this = f"{second.get('kind')} {mapping(second, 'metadata').get('name')}"
    path = f"{this}: metadata.annotations[{COMPOSED_NAME!r}]"
    expected = f"a composed resource name that {other} does not have"
    raise errors.InvalidInput((errors.Problem(path, expected, errors.shown(name)),))


def _may_be_composed_by(composite: Json, composed: Json) -> bool:
    metadata = mapping(composite, "metadata")
    namespaces = {str(each.get("namespace")) for each in (metadata, composed)} - {"None"}
    if len(namespaces) > 1:
        return False
    owners = composed.get("ownerReferences")
    owners = [each for each in owners if isinstance(each, Mapping)] if isinstance(owners, list) else []
    controller = next((each for each in owners if each.get("controller") is True), None)
    if controller is None:
        return mapping(composed, "labels").get(LABEL_COMPOSITE) in (None, metadata.get("name"))
    # The author of a claim chooses its labels. Crossplane looks at the controller only, and a claim that was
    # created again has another uid than the one that composed its former tenants.
    mine = {"uid": metadata.get("uid"), "kind": composite.get("kind"), "name": metadata.get("name")}
    return all(controller.get(key) in (None, value) for key, value in mine.items() if value is not None)


def composed(name: str, resource: Json, composite: Json) -> Json:
    """A composed resource as Crossplane would apply it, without name and owner, which only Crossplane can
    set.

    Args:
        name: its composed resource name.
        resource: the desired object.
        composite: its composite.
    """
    asked, of = mapping(composite, "metadata"), mapping(resource, "metadata")
    claim_ref = mapping(composite, "spec", "claimRef")
    prefix = mapping(asked, "labels").get(LABEL_COMPOSITE) or asked.get("name")
    labels = {
        LABEL_COMPOSITE: prefix,
        LABEL_CLAIM_NAME: claim_ref.get("name"),
        LABEL_CLAIM_NAMESPACE: claim_ref.get("namespace"),
    }
    metadata = {
        "generateName": of.get("generateName") or f"{prefix}-",
        "namespace": asked.get("namespace"),
        "labels": {**{key: label for key, label in labels.items() if label}, **mapping(of, "labels")},
        "annotations": {COMPOSED_NAME: name, **mapping(of, "annotations")},
    }
    return {**resource, "metadata": {key: each for key, each in metadata.items() if each}}


def run(req: fnv1.RunFunctionRequest, others: Iterable[Json]) -> fn.Answer:
    """The last response; required resources are taken from `others`.

    Raises:
        InvalidInput: one of them is nested too deeply.
    """
    others = tuple(others)
    answer = fn.run(req)
    for _ in range(MOST_CALLS - 1):
        if not _resolve(req, answer.response, others):
            break
        answer = fn.run(req)
    return answer


def order(composite: Json, offered: Pricelist, observed: Iterable[Json] = ()) -> Order:
    """The order of a claim, given the resources that exist.

    Raises:
        Refused: the function would refuse the claim.
        InvalidInput: see `request` and `run`.
    """
    req = request(composite, offered, observed)
    _resolve(req, fn.run(req).response, offered.others)
    asked = plans.read(req.input)
    found = claim.identify(req.observed.composite.resource)
    return fn.order(req, found, plan_sources.gather(req, asked) or asked, fn.observe(req))


def _resolve(req: fnv1.RunFunctionRequest, rsp: fnv1.RunFunctionResponse, others: Iterable[Json]) -> bool:
    """Add the resources that the response requires to the request; whether there were new ones."""
    added = False
    for name, selector in rsp.requirements.resources.items():
        if name in req.required_resources:
            continue
        added = True
        req.required_resources[name].SetInParent()
        for value in others:
            if _selects(selector, value):
                req.required_resources[name].items.add().resource.update(dict(value))
    if added:
        _check_nesting(req)
    return added


def _selects(selector: fnv1.ResourceSelector, value: Json) -> bool:
    metadata = mapping(value, "metadata")
    if (value.get("apiVersion"), value.get("kind")) != (selector.api_version, selector.kind):
        return False
    if selector.HasField("match_name"):
        return bool(metadata.get("name") == selector.match_name)
    labels = mapping(metadata, "labels")
    return all(labels.get(key) == text for key, text in selector.match_labels.labels.items())

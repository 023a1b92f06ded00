"""Requests with defaults, and what a test asks of their answers."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import fn
from function.protocol import structs
from function.serving import questions

PLAN = {
    "distributionId": "E1EDGETENANTS",
    "parameters": {"tier": "standard"},
    "allow": {"override": ["parameters"]},
}
INPUT = {
    "apiVersion": "edgetenants.fn.crossplane.io/v1alpha1",
    "kind": "TenantPlans",
    "defaultPlan": "standard",
    "plans": {"standard": PLAN},
}
XR = {
    "apiVersion": "platform.edgetenants.io/v1alpha1",
    "kind": "TenantClaim",
    "metadata": {"name": "acme", "namespace": "shop", "uid": "u-1"},
    "spec": {"plan": "standard", "domains": ["acme.example.com", "shop.acme.com"]},
}
TENANT = {
    "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
    "kind": "DistributionTenant",
    "metadata": {
        "name": "acme-x7k2p",
        "namespace": "shop",
        "generation": 1,
        "annotations": {"crossplane.io/external-name": "shop.acme"},
        "ownerReferences": [{"kind": "TenantClaim", "name": "acme", "uid": "u-1", "controller": True}],
    },
    "spec": {
        "forProvider": {
            "distributionId": "E1EDGETENANTS",
            "domains": ["acme.example.com", "shop.acme.com"],
            "enabled": True,
        }
    },
}
ENDPOINT = "d111111abcdef8.cloudfront.net"


def merged(base: Any, changes: Any) -> Any:
    """`base` with `changes` on top, object by object; null removes."""
    if not isinstance(base, Mapping) or not isinstance(changes, Mapping):
        return copy.deepcopy(changes)
    result = {key: copy.deepcopy(value) for key, value in base.items() if key not in changes}
    for key, value in changes.items():
        if value is not None:
            result[key] = merged(base.get(key), value)
    return result


def condition(type_: str, status: str, reason: str, message: str = "", generation: int = 1) -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
    }


def live_status(*domains: str, generation: int = 1) -> dict[str, Any]:
    """The status of a tenant that serves."""
    served = domains or ("acme.example.com", "shop.acme.com")
    return {
        "conditions": [
            condition("Ready", "True", "Available", generation=generation),
            condition("Synced", "True", "ReconcileSuccess", generation=generation),
            condition("CertificateReady", "True", "NotConfigured", generation=generation),
        ],
        "atProvider": {
            "id": "dt_1",
            "enabled": True,
            "routingEndpoint": ENDPOINT,
            "domains": [{"domain": each, "status": "active"} for each in served],
        },
    }


def request(
    *,
    xr: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    input_: Mapping[str, Any] | None = None,
    observed: Mapping[str, Mapping[str, Any]] | None = None,
) -> fnv1.RunFunctionRequest:
    """A request; what is given goes on top of the example claim, its plan and, for each observed resource, a
    tenant as composed and not yet looked at. `spec` replaces the claim's."""
    whole = merged(XR, xr or {})
    if spec is not None:
        whole["spec"] = spec
    req = fnv1.RunFunctionRequest(meta=fnv1.RequestMeta(tag="t"))
    req.observed.composite.resource.update(whole)
    req.input.update(merged(INPUT, input_ or {}))
    for name, changes in (observed or {}).items():
        req.observed.resources[name].resource.update(merged(TENANT, changes))
    return req


def desired(rsp: fnv1.RunFunctionResponse) -> dict[str, dict[str, Any]]:
    """The composed resources that are wanted."""
    return {
        name: structs.plain_object(resource.resource)
        for name, resource in sorted(rsp.desired.resources.items())
    }


def status(rsp: fnv1.RunFunctionResponse) -> dict[str, Any]:
    """The composite's status that is wanted."""
    found = structs.child(rsp.desired.composite.resource, "status")
    return structs.plain_object(found) if found is not None else {}


def conditions(rsp: fnv1.RunFunctionResponse) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message of each condition; one that is told twice fails the test."""
    assert len({each.type for each in rsp.conditions}) == len(rsp.conditions)
    names = {
        fnv1.STATUS_CONDITION_TRUE: "True",
        fnv1.STATUS_CONDITION_FALSE: "False",
        fnv1.STATUS_CONDITION_UNKNOWN: "Unknown",
    }
    return {each.type: (names[each.status], each.reason, each.message) for each in rsp.conditions}


def live(rsp: fnv1.RunFunctionResponse) -> tuple[str, str, str]:
    """Status, reason and message of Live."""
    return conditions(rsp)["Live"]


def results(rsp: fnv1.RunFunctionResponse) -> list[list[str]]:
    """Severity and reason of each result."""
    return [
        [fnv1.Severity.Name(each.severity).removeprefix("SEVERITY_"), each.reason] for each in rsp.results
    ]


def ready(rsp: fnv1.RunFunctionResponse) -> dict[str, bool]:
    """Which composed resources are ready; one that says nothing fails the test."""
    assert all(each.ready != fnv1.READY_UNSPECIFIED for each in rsp.desired.resources.values())
    return {name: each.ready == fnv1.READY_TRUE for name, each in sorted(rsp.desired.resources.items())}


def reconcile(
    req: fnv1.RunFunctionRequest, present: Mapping[str, Iterable[Mapping[str, Any]]] | None = None
) -> fnv1.RunFunctionResponse:
    """The last answer under core's rule: it reads what an answer requires and calls again, until the
    requirements stay the same or an answer has a FATAL result. `present` is what there is to read, by the
    names of the requirements."""
    asked, before = copy.deepcopy(req), fnv1.Requirements()
    while True:
        rsp = run(asked)
        fatal = any(each.severity == fnv1.SEVERITY_FATAL for each in rsp.results)
        if fatal or rsp.requirements == before:
            return rsp
        before = rsp.requirements
        for name in before.resources:
            asked.required_resources[name].SetInParent()
            del asked.required_resources[name].items[:]
            for each in (present or {}).get(name, ()):
                asked.required_resources[name].items.add().resource.update(each)


def run(req: fnv1.RunFunctionRequest) -> fnv1.RunFunctionResponse:
    """The answer, made from what the server leaves of a request."""
    asked = copy.deepcopy(req)
    questions.question(asked)
    return fn.run(asked).response

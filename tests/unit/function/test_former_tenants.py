"""A claim's suspension, while AWS still serves tenants that the claim composes no more."""

from __future__ import annotations

from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function.formertenants import REQUIREMENT
from tests.unit.function import building
from tests.unit.function.test_cases import LEGACY

HELD = "spec.deletionProtection is on. To delete it, set the annotation edgetenants.io/confirm to 04e9b605"


def asked(xr: dict[str, Any] | None = None) -> fnv1.RunFunctionRequest:
    disabled = building.condition("Ready", "False", "Disabled")
    tenant = {
        "metadata": {"name": "acme-now"},
        "spec": {"forProvider": {"enabled": False}},
        "status": building.merged(
            building.live_status(), {"atProvider": {"enabled": False}, "conditions": [disabled]}
        ),
    }
    whole = building.merged({"spec": {"suspended": True}}, xr or {})
    return building.request(xr=whole, observed={"tenant": tenant})


def former(name: str = "acme-before", **status: Any) -> dict[str, Any]:
    told = building.condition("Ready", "False", "DeletionHeld", HELD)
    return {
        "metadata": {"name": name, "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "status": building.merged(building.live_status(), {"conditions": [told], **status}),
    }


def suspended(req: fnv1.RunFunctionRequest, *found: dict[str, Any]) -> tuple[str, str, str]:
    req.required_resources[REQUIREMENT].SetInParent()
    for each in found:
        req.required_resources[REQUIREMENT].items.add().resource.update(each)
    return building.conditions(building.run(req))["Suspended"]


def test_a_suspended_claim_requires_the_tenants_with_its_label() -> None:
    selector = building.run(asked()).requirements.resources[REQUIREMENT]

    assert (selector.kind, selector.namespace) == ("DistributionTenant", "shop")
    assert dict(selector.match_labels.labels) == {"crossplane.io/composite": "acme"}


def test_a_legacy_claim_requires_them_by_the_claims_labels() -> None:
    rsp = building.run(asked(xr=LEGACY))

    selector = rsp.requirements.extra_resources[REQUIREMENT]
    assert not selector.HasField("namespace")
    assert dict(selector.match_labels.labels) == {
        "crossplane.io/claim-namespace": "shop",
        "crossplane.io/claim-name": "acme",
    }


def test_a_claim_that_serves_requires_nothing() -> None:
    assert not building.run(building.request()).requirements.resources


def test_a_name_that_no_label_can_have_is_not_asked_for() -> None:
    rsp = building.run(asked(xr={"metadata": {"name": "a" * 64}}))

    assert not rsp.requirements.resources


def test_it_is_not_suspended_while_a_former_tenant_serves() -> None:
    req = asked()

    told = suspended(req, former("acme-now"), former())

    assert told == ("False", "Active", "A former tenant of the claim still serves. Live says why.")
    holds, reason, message = building.live(building.run(req))
    assert (holds, reason) == ("False", "DeletionHeld")
    assert "DistributionTenant acme-before, a former tenant of the claim, still serves" in message
    assert (
        "set the annotation edgetenants.io/confirm of DistributionTenant acme-before to 04e9b605" in message
    )
    assert building.run(req).meta.ttl.seconds == 60
    assert building.run(req).desired.composite.ready == fnv1.READY_FALSE
    assert building.status(building.run(req))["phase"] == "Failed"


def test_nor_while_one_serves_that_nobody_deletes() -> None:
    left = former()
    del left["metadata"]["deletionTimestamp"]

    req = asked()
    assert suspended(req, left)[0] == "False"
    assert "Delete it, or set its spec.forProvider.enabled to false" in building.live(building.run(req))[2]


def test_a_refused_claim_says_so_too() -> None:
    req = asked({"spec": {"domains": []}})

    holds, _, message = suspended(req, former())

    assert holds == "False"
    assert "DistributionTenant acme-before, a former tenant of the claim, still serves" in message
    assert building.run(req).meta.ttl.seconds == 60


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(former("acme-now"), id="its tenant of now"),
        pytest.param(former(atProvider={"enabled": False}), id="one that is disabled"),
        pytest.param({"metadata": {"name": "acme-before"}}, id="one that is not in AWS"),
    ],
)
def test_it_is_suspended_once_nothing_serves(found: dict[str, Any]) -> None:
    assert suspended(asked(), found)[:2] == ("True", "ManuallySuspended")

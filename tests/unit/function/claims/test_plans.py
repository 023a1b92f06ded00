from __future__ import annotations

from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function.claims import plans
from tests.unit.function import building


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [("1h", 3600), ("1h30m", 5400), ("90s", 90), ("0s", 0), ("500ms", 0.5), ("1m1s", 61)],
)
def test_ttl(duration: str, seconds: float) -> None:
    rsp = building.run(building.request(input_={"ttl": duration}, observed=SERVING))

    assert rsp.meta.ttl.ToMilliseconds() == seconds * 1000


SERVING = {"tenant": {"status": building.live_status()}}


def test_ttl_is_an_hour_where_nobody_says() -> None:
    assert building.run(building.request(observed=SERVING)).meta.ttl.seconds == 3600


WAITING = {
    "conditions": [
        building.condition("Ready", "False", "DomainValidationPending"),
        building.condition("Synced", "True", "ReconcileSuccess"),
    ]
}


@pytest.mark.parametrize(
    ("observed", "seconds"),
    [
        pytest.param({}, 60, id="being created"),
        pytest.param({"tenant": {"status": WAITING}}, 600, id="waiting for somebody"),
        pytest.param(
            {
                "tenant": building.merged(
                    SERVING["tenant"],
                    {"status": {"conditions": [building.condition("Deployed", "False", "Deploying")]}},
                )
            },
            60,
            id="rolling out",
        ),
    ],
)
def test_a_claim_that_is_not_settled_is_looked_at_again_soon(observed: Any, seconds: int) -> None:
    """Core's circuit breaker drops what wakes it while much happens."""
    assert building.run(building.request(observed=observed)).meta.ttl.seconds == seconds
    short = building.request(observed=observed, input_={"ttl": "30s"})
    assert building.run(short).meta.ttl.seconds == 30


@pytest.mark.parametrize(("status", "seconds"), [("False", 60), ("True", 3600), ("Unknown", 3600)])
def test_a_claim_whose_edits_core_may_drop_is_looked_at_again_soon(status: str, seconds: int) -> None:
    """Core sets the condition before it calls the function."""
    told = {"conditions": [building.condition("Responsive", status, "WatchCircuitOpen")]}
    req = building.request(xr={"status": told}, observed=SERVING)
    assert building.run(req).meta.ttl.seconds == seconds
    short = building.request(xr={"status": told}, observed=SERVING, input_={"ttl": "30s"})
    assert building.run(short).meta.ttl.seconds == 30


@pytest.mark.parametrize(("generation", "seconds"), [(2, 60), (1, 3600)])
def test_a_claim_that_was_edited_is_looked_at_again_soon(generation: int, seconds: int) -> None:
    """Core's circuit breaker may open right after this call, and drop the next edit."""
    told = {"conditions": [building.condition("Synced", "True", "ReconcileSuccess", generation=1)]}
    xr = {"metadata": {"generation": generation}, "status": told}
    assert building.run(building.request(xr=xr, observed=SERVING)).meta.ttl.seconds == seconds


@pytest.mark.parametrize("ttl", ["1d", "", "1", "-1h", 60, "8760h1s", "999999999999999h"])
def test_a_ttl_that_is_none_is_refused(ttl: object) -> None:
    rsp = building.run(building.request(input_={"ttl": ttl}))

    assert building.live(rsp)[1] == "PlanInvalid"
    assert "ttl: expected" in building.live(rsp)[2]


def test_a_step_without_input_is_refused() -> None:
    req = building.request()
    req.ClearField("input")

    status, reason, message = building.live(building.run(req))

    assert (status, reason) == ("False", "PlanInvalid")
    assert "TenantPlans" in message
    assert "got nothing" in message


@pytest.mark.parametrize(
    ("plan", "path"),
    [
        ({"distributionId": "no id!"}, "plans.standard.distributionId"),
        ({"distributionId": None}, "plans.standard.distributionId"),
        ({"distributonId": "E1"}, "plans.standard.distributonId"),
        ({"name": "{uid}"}, "plans.standard.name"),
        ({"allow": {"maxDomains": 0}}, "plans.standard.allow.maxDomains"),
        ({"allow": {"override": ["domains"]}}, "plans.standard.allow.override[0]"),
        ({"certificate": {"mode": "Custom"}}, "plans.standard.certificate.arn"),
        ({"dns": {"mode": "Managed"}}, "plans.standard.dns.configRef"),
        ({"parameters": {"a": 1}}, "plans.standard.parameters.a"),
    ],
)
def test_a_broken_plan_is_told_with_its_field(plan: dict[str, object], path: str) -> None:
    rsp = building.run(building.request(input_={"plans": {"standard": plan}}))

    assert building.results(rsp) == [["FATAL", "PlanInvalid"]]
    assert f"{path}: expected" in rsp.results[0].message


def test_a_plan_that_is_no_object_harms_no_other() -> None:
    offered = building.request(input_={"plans": {"bad": "x"}})

    assert building.live(building.run(offered))[1] == "Creating"


def test_plans_are_read_once() -> None:
    req = building.request(input_={"ttl": "17m"})
    first = plans.read(req.input)

    again = plans.read(fnv1.RunFunctionRequest.FromString(req.SerializeToString()).input)

    assert again is first


@pytest.mark.parametrize(
    "wrong", ["parking.example.com", "*.Parking.example.com", "*.com", "**.example.com", "*", 7]
)
def test_a_parking_domain_is_a_wildcard(wrong: Any) -> None:
    rsp = building.run(building.request(input_={"plans": {"standard": {"parkingDomain": wrong}}}))

    assert building.live(rsp)[1] == "PlanInvalid"
    assert "plans.standard.parkingDomain" in building.live(rsp)[2]

"""A plan no longer allows a domain that a managed resource of the claim still waits for."""

from __future__ import annotations

from typing import Any

from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from tests.unit.function import building
from tests.unit.function.building import condition, live_status

MINE, THEIRS = "acme.shop.example.com", "blue.example.com"
CONFLICT = {"conditions": [condition("Ready", "False", "DomainConflict"), condition("Synced", "True", "x")]}


def asked(*domains: str, **changes: Any) -> dict[str, Any]:
    return {"spec": {"forProvider": {"domains": list(domains)}}, **changes}


def answer(observed: dict[str, Any], *domains: str, allowed: str = "**.shop.example.com") -> Any:
    tight = {"plans": {"standard": {"allow": {"domains": [allowed]}}}}
    spec = {"plan": "standard", "domains": list(domains)}
    return building.run(building.request(spec=spec, input_=tight, observed=observed))


def fatal(rsp: fnv1.RunFunctionResponse) -> bool:
    return any(each.severity == fnv1.SEVERITY_FATAL for each in rsp.results)


def domains_of(rsp: fnv1.RunFunctionResponse) -> dict[str, list[str]]:
    return {name: each["spec"]["forProvider"]["domains"] for name, each in building.desired(rsp).items()}


def test_a_resource_that_only_waits_for_it_goes() -> None:
    rsp = answer({"tenant": asked(THEIRS, status=CONFLICT)}, THEIRS)
    assert not fatal(rsp)
    assert domains_of(rsp) == {}
    assert building.live(rsp)[:2] == ("False", "InvalidClaim")
    assert building.conditions(rsp)["Blocked"][:2] == ("True", "PolicyDenied")
    assert rsp.desired.composite.ready == fnv1.READY_FALSE


def test_a_resource_keeps_what_is_allowed_and_what_it_has() -> None:
    rsp = answer({"tenant": asked(MINE, THEIRS, status=live_status(MINE))}, MINE, THEIRS)
    assert not fatal(rsp)
    assert domains_of(rsp) == {"tenant": [MINE]}
    old = "old.example.com"
    rsp = answer({"tenant": asked(THEIRS, status=live_status(old))}, THEIRS)
    assert domains_of(rsp) == {"tenant": [old]}


def test_other_resources_of_the_claim_stay_as_they_are() -> None:
    observed = {
        "tenant": asked(THEIRS, status=CONFLICT),
        "tenant-0a1b2c3d4e": asked(MINE, status=live_status(MINE)),
        "connection-group": {"kind": "ConnectionGroup", "spec": {"forProvider": None}},
    }
    rsp = answer(observed, THEIRS)
    assert sorted(rsp.desired.resources) == ["connection-group", "tenant-0a1b2c3d4e"]
    assert domains_of(answer({**observed, "connection-group": {}}, THEIRS))["tenant-0a1b2c3d4e"] == [MINE]


def test_after_that_the_claim_is_refused_as_ever() -> None:
    assert fatal(answer({}, THEIRS))
    assert fatal(answer({"tenant": asked(MINE, status=live_status(MINE))}, MINE, THEIRS))


def test_what_is_deleted_anyway_is_left_alone() -> None:
    going = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert fatal(answer({"tenant": asked(THEIRS, status=CONFLICT, **going)}, THEIRS))


def test_a_tenant_with_unknown_domains_is_never_deleted() -> None:
    rsp = answer({"tenant": asked(THEIRS, status={"atProvider": {"id": "dt_1"}})}, THEIRS)
    assert fatal(rsp)


def test_a_domain_that_the_claim_has_stays() -> None:
    rsp = answer({"tenant": asked(THEIRS, status=live_status(THEIRS))}, THEIRS)
    assert not fatal(rsp)
    assert domains_of(rsp) == {"tenant": [THEIRS]}
    assert building.conditions(rsp)["NeedsReview"][1] == "PlanExceeded"

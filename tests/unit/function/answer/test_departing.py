"""A resource that the claim no longer wants is deleted or left in AWS as the claim says now."""

from __future__ import annotations

from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function.composed import compose, naming
from tests.unit.function import building

STAYS, GOES = "a.example.com", "b.example.com"
GOING = f"tenant-{naming.digest(GOES)}"
KEEP = list(compose.KEEP)
PROTECTED = "spec.deletionProtection is on: tenant acme is kept. To delete it, set the annotation X"


def tenant(domain: str, *, legacy: bool = False, **spec: Any) -> dict[str, Any]:
    group = "cloudfront.edgetenants.io" if legacy else "cloudfront.m.edgetenants.io"
    return {
        "apiVersion": f"{group}/v1alpha1",
        "spec": {"forProvider": {"domains": [domain]}, **spec},
        "status": building.live_status(domain),
    }


def ask(on_delete: str, observed: dict[str, Any], **changes: Any) -> fnv1.RunFunctionResponse:
    spec = {"domains": [STAYS], "isolation": "PerDomain", "onDelete": on_delete}
    allow = {"maxPerDomain": 10, "onDelete": ["Delete", "Orphan"]}
    req = building.request(
        spec=spec, input_={"plans": {"standard": {"allow": allow}}}, observed=observed, **changes
    )
    return building.run(req)


def going(observed: dict[str, Any], on_delete: str, **changes: Any) -> dict[str, Any] | None:
    """What the answer wants of the tenant whose domain the claim no longer has."""
    stays = f"tenant-{naming.digest(STAYS)}"
    rsp = ask(on_delete, {stays: tenant(STAYS), GOING: observed}, **changes)
    assert stays in building.desired(rsp)
    return building.desired(rsp).get(GOING)


def test_an_orphaning_tenant_gets_the_policy_to_delete_before_it_goes() -> None:
    observed = tenant(GOES, managementPolicies=KEEP)
    found = going(observed, "Delete")
    assert found is not None
    assert found["spec"] == {
        "forProvider": {"distributionId": "E1EDGETENANTS", "domains": [GOES], "enabled": True},
        "managementPolicies": ["*"],
    }, "nothing but the policy changes"
    assert found["metadata"]["annotations"]["crossplane.io/external-name"] == "shop.acme"
    assert going(tenant(GOES, managementPolicies=["*"]), "Delete") is None


@pytest.mark.parametrize("before", [{}, {"managementPolicies": ["*"]}, {"managementPolicies": ["Delete"]}])
def test_a_tenant_that_would_be_deleted_gets_the_policy_to_stay_before_it_goes(before: Any) -> None:
    found = going(tenant(GOES, **before), "Orphan")
    assert found is not None
    assert found["spec"]["managementPolicies"] == KEEP
    assert going(tenant(GOES, managementPolicies=KEEP), "Orphan") is None


@pytest.mark.parametrize("policies", [[], ["Observe"], ["Observe", "Update"]])
@pytest.mark.parametrize("on_delete", ["Delete", "Orphan"])
def test_policies_that_a_user_set_stay(policies: list[str], on_delete: str) -> None:
    assert going(tenant(GOES, managementPolicies=policies), on_delete) is None


def test_a_tenant_that_is_being_deleted_already_is_let_go() -> None:
    observed = tenant(GOES, managementPolicies=KEEP)
    observed["metadata"] = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert going(observed, "Delete") is None


@pytest.mark.parametrize(
    ("message", "name", "advice"),
    [
        (PROTECTED, f"shop.acme-{naming.digest(GOES)}", "[Observe]"),
        (PROTECTED, "shop.acme", "First revert what gives the claim's tenant another name in CloudFront"),
        ("the provider may have lost its installation id", "shop.acme", ""),
    ],
)
def test_a_claim_that_wants_a_protected_tenant_again_says_how_it_serves_on(
    message: str, name: str, advice: str
) -> None:
    """A deletion cannot be taken back, and the confirmation that it waits for would end the service."""
    observed = tenant(GOES)
    annotations = {"crossplane.io/external-name": name}
    observed["metadata"] = {
        "name": "acme-b",
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "annotations": annotations,
    }
    observed["status"]["conditions"] = [building.condition("Ready", "False", "DeletionHeld", message)]
    spec = {"domains": [GOES], "isolation": "PerDomain"}
    plan = {"deletionProtection": True, "allow": {"maxPerDomain": 10}}
    req = building.request(spec=spec, input_={"plans": {"standard": plan}}, observed={GOING: observed})
    _, reason, told = building.live(building.run(req))
    assert reason == "DeletionHeld"
    assert ("do not confirm" in told) is bool(advice)
    assert advice in told
    assert ("set spec.managementPolicies of DistributionTenant acme-b to" in told) is (advice == "[Observe]")


def test_a_tenant_that_only_parks_is_deleted_whatever_the_claim_says() -> None:
    """It never served the claim, and nothing would find it in AWS again."""
    parked = naming.parked("*.parked.example.com", "u-1", GOING, "some change")
    stays = f"tenant-{naming.digest(STAYS)}"
    plan = {"parkingDomain": "*.parked.example.com", "allow": {"maxPerDomain": 10, "onDelete": ["Orphan"]}}
    for domains, kept in (([parked], False), ([parked, GOES], True)):
        observed = tenant(GOES)
        observed["spec"]["forProvider"]["domains"] = domains
        req = building.request(
            spec={"domains": [STAYS], "isolation": "PerDomain"},
            input_={"plans": {"standard": plan}},
            observed={stays: tenant(STAYS, managementPolicies=KEEP), GOING: observed},
        )
        assert (GOING in building.desired(building.run(req))) is kept


def test_crossplane_calls_again_soon() -> None:
    stays = tenant(STAYS)
    rsp = ask(
        "Delete", {f"tenant-{naming.digest(STAYS)}": stays, GOING: tenant(GOES, managementPolicies=KEEP)}
    )
    assert rsp.meta.ttl.ToSeconds() == 60


def test_a_tenant_that_an_earlier_step_composes_is_that_steps() -> None:
    observed = {GOING: tenant(GOES, managementPolicies=KEEP)}
    req = building.request(
        spec={"domains": [STAYS], "isolation": "PerDomain", "onDelete": "Delete"},
        input_={"plans": {"standard": {"allow": {"maxPerDomain": 10, "onDelete": ["Delete", "Orphan"]}}}},
        observed=observed,
    )
    req.desired.resources[GOING].resource.update({"kind": "ConfigMap"})
    assert building.desired(building.run(req))[GOING] == {"kind": "ConfigMap"}


@pytest.mark.parametrize(("before", "now"), [("Orphan", "Delete"), ("Delete", "Orphan"), (None, "Orphan")])
def test_a_cluster_scoped_tenant_has_a_deletion_policy(before: str | None, now: str) -> None:
    xr = {
        "kind": "XTenant",
        "metadata": {
            "name": "acme-x",
            "namespace": None,
            "labels": {"crossplane.io/claim-namespace": "shop", "crossplane.io/claim-name": "acme"},
        },
        "spec": {"claimRef": {"namespace": "shop", "name": "acme"}},
    }
    policy = {} if before is None else {"deletionPolicy": before}
    req = building.request(
        xr=building.merged(
            xr, {"spec": {"domains": [STAYS], "isolation": "PerDomain", "onDelete": now, "plan": "standard"}}
        ),
        input_={"plans": {"standard": {"allow": {"maxPerDomain": 10, "onDelete": ["Delete", "Orphan"]}}}},
        observed={GOING: tenant(GOES, legacy=True, **policy)},
    )
    assert building.desired(building.run(req))[GOING]["spec"]["deletionPolicy"] == now
    req.observed.resources[GOING].resource["spec"]["deletionPolicy"] = now
    assert GOING not in building.desired(building.run(req))

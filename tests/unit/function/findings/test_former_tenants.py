"""A claim's suspension, while AWS still serves tenants that the claim composes no more."""

from __future__ import annotations

from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function import fn
from function.findings.former_tenants import NESTED_REQUIREMENT, OWN_REQUIREMENT, REQUIREMENT
from tests.unit.function import building
from tests.unit.function.test_cases import LEGACY

HELD = "spec.deletionProtection is on. To delete it, set the annotation edgetenants.io/confirm to 04e9b605"

PAUSED = (
    building.condition("Ready", "False", "DeletionHeld", HELD),
    building.condition("Synced", "False", "ReconcilePaused"),
)


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


NEW = "tenant shop.acme waits for DistributionTenant acme-before, which manages it and is being deleted."


def again(reason: str = "DeletionHeld", *domains: str, **xr: Any) -> fnv1.RunFunctionRequest:
    """A claim that is not suspended, whose tenant cannot get its domains."""
    told = [
        building.condition("Ready", "False", reason, NEW),
        building.condition("Synced", "False", "ReconcileError", NEW),
    ]
    named = {"name": "acme-now", "annotations": {"crossplane.io/external-name": "shop.acme"}}
    tenant = {"metadata": named, "status": {"conditions": told}}
    return building.request(xr=xr, observed={"tenant": tenant})


@pytest.mark.parametrize("reason", ["DeletionHeld", "DomainConflict"])
def test_domains_that_a_former_tenant_serves_are_not_told_to_be_down(reason: str) -> None:
    rsp = reconciled(again(reason), former())

    holds, found, message = building.live(rsp)
    assert (holds, found) == ("False", "DeletionHeld")
    assert message == (
        "DistributionTenant acme-before, a former tenant of the claim, still serves acme.example.com, "
        "shop.acme.com. DistributionTenant acme-before: its deletionProtection is on. To delete "
        "it, set the annotation edgetenants.io/confirm of DistributionTenant acme-before to 04e9b605. The "
        "claim needs its domains: after the deletion, they are not served until another tenant has them. To "
        "keep them served, do not confirm. Instead, set spec.managementPolicies of DistributionTenant "
        "acme-before to [Observe]. Then only the resource goes, and the claim's new resource gets the tenant"
    )
    assert building.conditions(rsp)["Degraded"] == (
        "True",
        "TenantFailed",
        "Former tenants of the claim serve acme.example.com, shop.acme.com. Live says what is wrong.",
    )
    assert suspended(rsp)[:2] == ("False", "Active")
    assert rsp.meta.ttl.seconds == 60


@pytest.mark.parametrize(
    "changes",
    [
        {"status": {"conditions": [building.condition("Ready", "False", "DeletionHeld", "AWS is silent.")]}},
        {"status": {"conditions": [*PAUSED]}},
    ],
)
def test_one_that_nothing_protects_is_not_to_be_kept(
    changes: dict[str, Any],
) -> None:
    message = building.live(reconciled(again(), building.merged(former(), changes)))[2]
    assert "acme-before, a former tenant of the claim, still serves" in message
    assert "managementPolicies" not in message


def test_one_that_the_new_resource_would_not_find_is_not_to_be_observed() -> None:
    other = {"metadata": {"annotations": {"crossplane.io/external-name": "shop.other"}}}
    message = building.live(reconciled(again(), building.merged(former(), other)))[2]
    assert "managementPolicies" not in message
    assert "do not confirm. First revert what gives the claim's tenant another name in CloudFront" in message


def test_each_of_several_tenants_names_the_former_one() -> None:
    told = {"conditions": [building.condition("Ready", "False", "DomainConflict", "served")]}
    req = building.request(
        xr={"spec": {"isolation": "PerDomain"}},
        input_={"plans": {"standard": {"allow": {"maxPerDomain": 5}}}},
    )
    for name, tenant in building.desired(building.run(req)).items():
        req.observed.resources[name].resource.update(
            building.merged(tenant, {"metadata": {"name": f"acme-{name}"}, "status": told})
        )

    rsp = reconciled(req, former())

    assert (
        "DistributionTenant acme-before, a former tenant of the claim, still serves" in building.live(rsp)[2]
    )
    assert "Not served" not in building.conditions(rsp)["Degraded"][2]


def test_a_domain_that_others_have_is_told_as_well() -> None:
    only = {"id": "dt_0", "enabled": True, "domains": [{"domain": "shop.acme.com", "status": "active"}]}

    rsp = reconciled(again("DomainConflict"), former(atProvider=only))

    holds, reason, message = building.live(rsp)
    assert (holds, reason) == ("False", "DomainConflict")
    assert "a former tenant of the claim, still serves shop.acme.com." in message
    assert NEW in message
    assert building.conditions(rsp)["Degraded"][2] == "Not served: acme.example.com. Live says why."


def test_one_that_is_disabled_only_has_them() -> None:
    rsp = reconciled(again(), former(atProvider={"enabled": False}))

    assert "still has acme.example.com, shop.acme.com." in building.live(rsp)[2]
    assert building.conditions(rsp)["Degraded"][2].startswith("Not served: ")


def test_one_whose_deletion_proceeds_needs_no_action() -> None:
    going = former(conditions=[building.condition("Ready", "False", "Disabling")])

    assert building.live(reconciled(again("DomainConflict"), going))[1:] == (
        "Creating",
        "The claim's former tenant is being deleted; this one then gets its domains. No action is needed.",
    )


def test_one_that_nobody_deletes_is_to_be_deleted() -> None:
    left = former()
    del left["metadata"]["deletionTimestamp"]

    holds, reason, message = building.live(reconciled(again("DomainConflict"), left))

    assert (holds, reason) == ("False", "Failed")
    assert message.endswith("Delete it, and the claim's new tenant gets its domains.")


@pytest.mark.parametrize(
    ("ready", "synced"), [(("True", "Available"), "False"), (("False", "Creating"), "True")]
)
def test_a_claim_requires_them_only_while_a_tenant_fails_to_get_domains(
    ready: tuple[str, str], synced: str
) -> None:
    told = [building.condition("Ready", *ready), building.condition("Synced", synced, "Any", "update failed")]
    status = building.merged(building.live_status(), {"conditions": told})

    rsp = building.run(building.request(observed={"tenant": {"status": status}}))

    assert not rsp.requirements.resources


OWNER = {
    "apiVersion": "platform.edgetenants.io/v1alpha1",
    "kind": "TenantClaim",
    "name": "acme",
    "uid": "u-0",
    "controller": True,
}


def former(name: str = "acme-before", **status: Any) -> dict[str, Any]:
    told = building.condition("Ready", "False", "DeletionHeld", HELD)
    return {
        "metadata": {
            "name": name,
            "annotations": {"crossplane.io/external-name": "shop.acme"},
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [OWNER],
        },
        "status": building.merged(building.live_status(), {"conditions": [told], **status}),
    }


def reconciled(req: fnv1.RunFunctionRequest, *found: dict[str, Any]) -> fnv1.RunFunctionResponse:
    return building.reconcile(req, {OWN_REQUIREMENT: found})


def suspended(rsp: fnv1.RunFunctionResponse) -> tuple[str, str, str]:
    return building.conditions(rsp)["Suspended"]


def test_a_suspended_claim_requires_the_tenants_with_its_label() -> None:
    """By Crossplane's label, which tenants of earlier versions have, and by the function's, which those have
    that Crossplane deletes."""
    found = building.run(asked()).requirements.resources
    for each in found.values():
        assert (each.kind, each.namespace) == ("DistributionTenant", "shop")
    tenant = building.desired(building.run(asked()))["tenant"]
    assert dict(found[REQUIREMENT].match_labels.labels) == {"crossplane.io/composite": "acme"}
    assert dict(found[OWN_REQUIREMENT].match_labels.labels) == tenant["metadata"]["labels"]


def test_a_composite_with_the_label_of_another_one_requires_those_with_its_name_too() -> None:
    controller = {"kind": "App", "name": "parent", "uid": "u-2", "controller": True}
    nested = {"labels": {"crossplane.io/composite": "parent"}, "ownerReferences": [controller]}
    req = asked(xr={"metadata": nested})
    required = building.run(req).requirements.resources
    label = "crossplane.io/composite"
    labels = {name: dict(each.match_labels.labels).get(label) for name, each in required.items()}
    assert labels == {OWN_REQUIREMENT: None, REQUIREMENT: "acme", NESTED_REQUIREMENT: "parent"}

    for name in labels:
        assert suspended(building.reconcile(req, {name: [former()]}))[0] == "False"
    assert suspended(building.reconcile(req))[0] == "True"


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
    rsp = reconciled(asked(), former("acme-now"), former())

    told = suspended(rsp)
    assert told == ("False", "Active", "A former tenant of the claim still serves. Live says why.")
    holds, reason, message = building.live(rsp)
    assert (holds, reason) == ("False", "DeletionHeld")
    assert "DistributionTenant acme-before, a former tenant of the claim, still serves" in message
    assert (
        "set the annotation edgetenants.io/confirm of DistributionTenant acme-before to 04e9b605" in message
    )
    assert rsp.meta.ttl.seconds == 60
    assert rsp.desired.composite.ready == fnv1.READY_FALSE
    assert building.status(rsp)["phase"] == "Failed"


def test_nor_while_one_serves_that_nobody_deletes() -> None:
    left = former()
    del left["metadata"]["deletionTimestamp"]

    rsp = reconciled(asked(), left)

    assert suspended(rsp)[0] == "False"
    assert "Delete it, or set its spec.forProvider.enabled to false" in building.live(rsp)[2]


WAITS = (
    "Waiting for other finalizers: backup.example.com/one. The controllers that set them must remove them."
)


@pytest.mark.parametrize(
    ("ready", "synced", "reason", "says"),
    [
        pytest.param("Deleting", WAITS, "Failed", WAITS, id="another controller's finalizer"),
        pytest.param("Frozen", "", "Frozen", "frozen by the platform team", id="frozen writes"),
        pytest.param("Deleting", "", "Deleting", "No action is needed", id="nothing"),
        pytest.param("Deleting", "It may appear. No action is needed.", "Deleting", "No action", id="time"),
    ],
)
def test_it_says_what_the_deletion_waits_for(ready: str, synced: str, reason: str, says: str) -> None:
    told = [
        building.condition("Ready", "False", ready, "frozen by the platform team"),
        building.condition("Synced", "True", "ReconcileSuccess", synced),
    ]

    holds, found, message = building.live(reconciled(asked(), former(conditions=told)))

    assert (holds, found) == ("False", reason)
    assert says in message
    assert ("No action is needed" in message) == (reason == "Deleting")


def owned(owner: dict[str, Any] | None) -> dict[str, Any]:
    tenant = former()
    tenant["metadata"]["ownerReferences"] = [] if owner is None else [owner]
    return tenant


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param({**OWNER, "kind": "App"}, id="another kind"),
        pytest.param({**OWNER, "apiVersion": "apps.example.com/v1alpha1"}, id="another API group"),
        pytest.param({**OWNER, "name": "other"}, id="another name"),
        pytest.param({**OWNER, "controller": False}, id="not its controller"),
        pytest.param(None, id="no owner, like a copied manifest"),
    ],
)
def test_a_tenant_that_the_claim_did_not_compose_is_no_former_one(owner: dict[str, Any] | None) -> None:
    assert suspended(reconciled(asked(), owned(owner)))[0] == "True"


def test_the_owner_may_have_another_version() -> None:
    tenant = owned({**OWNER, "apiVersion": "platform.edgetenants.io/v1"})

    assert suspended(reconciled(asked(), tenant))[0] == "False"


@pytest.mark.parametrize(("kind", "status"), [("XTenantClaim", "False"), ("TenantClaim", "True")])
def test_a_legacy_claims_earlier_composite_had_another_name(kind: str, status: str) -> None:
    tenant = owned({**OWNER, "kind": kind, "name": "acme-2w9xk"})

    assert suspended(reconciled(asked(LEGACY), tenant))[0] == status


NO_PLANS = {"apiVersion": "edgetenants.fn.crossplane.io/v1alpha1", "kind": "TenantPlans", "plans": 3}


def refused(how: str) -> fnv1.RunFunctionRequest:
    req = asked({"spec": {"plan": "none"}} if how == "by its plan" else None)
    if how == "by the Composition's input":
        req.input.Clear()
        req.input.update(NO_PLANS)
    return req


REFUSALS = pytest.mark.parametrize("how", ["by its plan", "by the Composition's input"])


@REFUSALS
def test_a_refused_claim_says_so_too(how: str) -> None:
    """Core reads nothing more after a FATAL result."""
    rsp = reconciled(refused(how), former())

    holds, _, message = suspended(rsp)
    assert holds == "False"
    assert "DistributionTenant acme-before, a former tenant of the claim, still serves" in message
    assert rsp.meta.ttl.seconds == 60
    assert [severity for severity, _ in building.results(rsp)] == ["FATAL"]


@REFUSALS
def test_a_refused_claim_without_former_tenants_is_suspended(how: str) -> None:
    assert suspended(reconciled(refused(how)))[:2] == ("True", "ManuallySuspended")


@REFUSALS
def test_before_core_has_read_them_a_refusal_changes_nothing(how: str) -> None:
    """Cores before v1.15 take this for the last answer."""
    rsp = building.run(refused(how))

    assert not rsp.results
    assert building.desired(rsp)["tenant"]["spec"]["forProvider"]["enabled"] is False
    assert building.conditions(rsp)["Degraded"][1] == "ClaimRefused"
    assert suspended(rsp)[0] == "Unknown"
    assert "Crossplane has not read the former tenants" in suspended(rsp)[2]


def test_a_response_that_is_too_large_does_not_say_that_nothing_serves() -> None:
    req = asked()

    answer = fn.refuse_too_large(req, fn.run(req), 1, 0)

    assert building.results(answer.response) == [["FATAL", "Failed"]]
    assert suspended(answer.response)[0] == "Unknown"


def test_a_core_that_reads_none_refuses_at_once() -> None:
    req = refused("by its plan")
    req.meta.capabilities.append(fnv1.CAPABILITY_CAPABILITIES)

    rsp = building.run(req)

    assert not rsp.requirements.resources
    assert building.results(rsp) == [["FATAL", "PlanNotFound"]]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(former("acme-now"), id="its tenant of now"),
        pytest.param(former(atProvider={"enabled": False}), id="one that is disabled"),
        pytest.param({"metadata": former()["metadata"]}, id="one that is not in AWS"),
    ],
)
def test_it_is_suspended_once_nothing_serves(found: dict[str, Any]) -> None:
    assert suspended(reconciled(asked(), found))[:2] == ("True", "ManuallySuspended")


DEDICATED = {"plans": {"standard": {"connection": {"dedicated": True}}}}


@pytest.mark.parametrize(
    ("ready", "synced", "found"),
    [
        (("False", "DeletionHeld", NEW), ("True", "ReconcileSuccess", ""), "DeletionHeld"),
        (("False", "AdoptionRefused", NEW), ("False", "ReconcileError", NEW), "AdoptionRefused"),
        (("False", "Creating", ""), ("True", "ReconcileSuccess", ""), "Creating"),
    ],
)
def test_what_the_claims_own_group_waits_for_is_told(
    ready: tuple[str, str, str], synced: tuple[str, str, str], found: str
) -> None:
    waits = [
        building.condition("Ready", "False", "Creating"),
        building.condition("Synced", "True", "ReconcileSuccess", "waiting for ConnectionGroup acme-group"),
    ]
    told = [building.condition("Ready", *ready), building.condition("Synced", *synced)]
    observed = {
        "tenant": {"status": {"conditions": waits}},
        "connection-group": {
            "kind": "ConnectionGroup",
            "metadata": {"name": "acme-group"},
            "status": {"conditions": told},
        },
    }

    rsp = building.run(building.request(input_=DEDICATED, observed=observed))

    holds, reason, message = building.live(rsp)
    assert (holds, reason) == ("False", found)
    if found == "Creating":
        return
    assert message == f"ConnectionGroup acme-group: {NEW}"
    assert building.conditions(rsp)["Degraded"][0] == "True"


def test_a_former_tenant_serves_while_the_claims_own_group_waits_for_its_predecessor() -> None:
    group = "connection group shop.acme waits for ConnectionGroup acme-group, which is being deleted."
    observed = {
        "tenant": {
            "metadata": {"annotations": {"crossplane.io/external-name": "shop.acme"}},
            "status": {"conditions": [building.condition("Ready", "False", "Creating")]},
        },
        "connection-group": {
            "kind": "ConnectionGroup",
            "spec": {"forProvider": {"domains": []}},
            "status": {"conditions": [building.condition("Ready", "False", "DeletionHeld", group)]},
        },
    }
    req = building.request(input_=DEDICATED, observed=observed)
    assert REQUIREMENT in building.run(req).requirements.resources

    rsp = reconciled(req, former())

    assert "acme-before, a former tenant of the claim, still serves" in building.live(rsp)[2]
    assert "managementPolicies of DistributionTenant acme-before to [Observe]" in building.live(rsp)[2]
    assert "Not served" not in building.conditions(rsp)["Degraded"][2]

"""A suspended claim, whose tenants the provider does not observe in AWS: their status may be outdated."""

from __future__ import annotations

from typing import Any

import pytest
from crossplane.function.proto.v1 import run_function_pb2 as fnv1

from function.findings.former_tenants import REQUIREMENT
from function.protocol import structs
from function.report import ReportedClaim
from tests.unit.function import building
from tests.unit.function.findings.test_former_tenants import asked, former

PAUSED = (
    "Reconciliation is paused via the annotation crossplane.io/paused. Remove it to resume reconciliation."
)
NO_SECRET = "connect failed: Secret crossplane-system/aws does not exist"
LAST_DISABLED = "The tenants were disabled when the provider last observed them. It does not observe "


def synced(reason: str, message: str) -> dict[str, Any]:
    return building.condition("Synced", "False", reason, message)


def suspension(*told: dict[str, Any], spec: dict[str, Any] | None = None) -> fnv1.RunFunctionRequest:
    """A suspended claim; its tenant is disabled according to its status, and has these conditions."""
    kept = {
        "Ready": building.condition("Ready", "False", "Disabled"),
        **{each["type"]: each for each in told},
    }
    req = asked({"spec": spec or {}})
    req.observed.resources["tenant"].resource["status"]["conditions"] = list(kept.values())
    return req


def conditions(req: fnv1.RunFunctionRequest, *found: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    return building.conditions(building.reconcile(req, {REQUIREMENT: found}))


def test_a_tenant_that_waits_for_its_group_alone_is_observed() -> None:
    rest = "references cannot be resolved, and the rest of the spec does not wait for them: no group"
    told = conditions(suspension(synced("ReconcileError", rest)))
    assert told["Suspended"][:2] == ("True", "ManuallySuspended")


@pytest.mark.parametrize(
    ("reason", "message", "says"),
    [
        ("ReconcilePaused", PAUSED, f"DistributionTenant acme-now: {PAUSED}"),
        ("ReconcileError", NO_SECRET, NO_SECRET),
    ],
)
def test_it_says_what_was_seen_last(reason: str, message: str, says: str) -> None:
    told = conditions(suspension(synced(reason, message)))

    assert told["Suspended"] == (
        "Unknown",
        "Active",
        f"{LAST_DISABLED}DistributionTenant acme-now at present. Degraded says why.",
    )
    assert told["Live"][:2] == ("False", "Suspended")
    assert told["Live"][2] == (
        "The tenant was disabled when the provider last observed it. To serve again, set spec.suspended to "
        "false. Degraded says what needs attention."
    )
    named = "acme.example.com, shop.acme.com"
    assert told["Degraded"] == ("True", "TenantFailed", f"{named}: {says}")


def test_a_tenant_that_may_not_be_read() -> None:
    denied = "get tenant shop.acme: AccessDenied: not any more."
    req = suspension(
        building.condition("Ready", "False", "AccessDenied", denied),
        synced("ReconcileError", f"observe failed: {denied}"),
    )

    told = conditions(req)

    assert told["Suspended"][0] == "Unknown"
    assert told["Suspended"][2].endswith("at present. Live says why.")
    assert told["Live"] == ("False", "AccessDenied", denied)
    assert told["Degraded"] == ("True", "TenantFailed", "A tenant needs attention. Live says why.")


def test_an_update_that_fails_after_the_look_is_no_doubt() -> None:
    told = conditions(suspension(synced("ReconcileError", "update failed: InvalidArgument")))

    assert told["Suspended"][:2] == ("True", "ManuallySuspended")
    assert told["Degraded"][:2] == ("True", "TenantFailed")
    assert "is disabled and kept, as requested" in told["Live"][2]


def test_a_pause_during_the_roll_out_is_no_change_under_way() -> None:
    rolling = building.condition("Deployed", "False", "Deploying")

    told = conditions(suspension(synced("ReconcilePaused", PAUSED), rolling))

    assert told["Reconciling"] == ("True", "Updating", "A change waits. Degraded says why.")


def test_a_refused_claim_says_it_itself() -> None:
    told = conditions(suspension(synced("ReconcilePaused", PAUSED), spec={"plan": "none"}))

    assert told["Suspended"][0] == "Unknown"
    assert told["Suspended"][2].endswith(f"DistributionTenant acme-now: {PAUSED}")


def test_a_former_tenant_that_is_paused() -> None:
    left = former(atProvider={"enabled": False}, conditions=[synced("ReconcilePaused", PAUSED)])

    holds, _, message = conditions(suspension(), left)["Suspended"]

    assert holds == "Unknown"
    assert message.startswith(
        "DistributionTenant acme-before, a former tenant of the claim, was disabled when"
    )
    assert message.endswith(f"DistributionTenant acme-before: {PAUSED}")


def test_of_several_tenants_live_tells_of_the_one_in_doubt() -> None:
    domains = ["a.example.com", "b.example.com"]
    req = building.request(
        spec={"domains": domains, "isolation": "PerDomain", "suspended": True},
        input_={"plans": {"standard": {"allow": {"maxPerDomain": 5}}}},
    )
    told = [building.condition("Ready", "False", "Disabled")], [synced("ReconcilePaused", PAUSED)]
    for number, (name, tenant) in enumerate(building.desired(building.run(req)).items()):
        status = {"atProvider": {"id": name, "enabled": False}, "conditions": [*told[0], *told[1][:number]]}
        whole = building.merged(tenant, {"metadata": {"name": f"acme-{number}"}, "status": status})
        req.observed.resources[name].resource.update(whole)

    found = conditions(req)

    assert "was disabled when the provider last observed it" in found["Live"][2]
    assert found["Suspended"][0] == "Unknown"


def test_a_report_has_the_cause() -> None:
    told = conditions(suspension(synced("ReconcilePaused", PAUSED)))
    written = {
        type_: structs.of({"status": holds, "reason": reason, "message": message})
        for type_, (holds, reason, message) in told.items()
    }

    row = ReportedClaim("shop", "acme", "standard", "Suspended", written).row()

    assert row["message"] == told["Degraded"][2]

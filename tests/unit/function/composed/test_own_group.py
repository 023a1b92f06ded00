"""A claim whose tenants serve while its own connection group cannot be created."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.function import building

PLAN = {"plans": {"standard": {"connection": {"dedicated": True}}}}
REFUSED = "create failed: too many connection groups"
WAITS = (
    "A field whose reference cannot be resolved keeps its value in AWS. Not done yet: waiting for the group"
)
NOTHING = ("False", "Recovered", "Nothing needs attention.")


def group(status: str, message: str, **at_provider: Any) -> dict[str, Any]:
    reason = "ReconcileSuccess" if status == "True" else "ReconcileError"
    told = {"conditions": [building.condition("Synced", status, reason, message)], "atProvider": at_provider}
    return {"kind": "ConnectionGroup", "metadata": {"name": "acme-group"}, "status": told}


def tenant(*more: dict[str, Any]) -> dict[str, Any]:
    status = building.live_status()
    kept = [each for each in status["conditions"] if each["type"] not in {one["type"] for one in more}]
    status["conditions"] = [*kept, *more]
    return {"status": status}


def told(**observed: Any) -> dict[str, tuple[str, str, str]]:
    named = {name.replace("_", "-"): each for name, each in observed.items()}
    return building.conditions(building.run(building.request(input_=PLAN, observed=named)))


def test_a_claim_that_is_served_says_why_its_group_cannot_be_created() -> None:
    waits = building.condition("InSync", "False", "UpdatePending", WAITS)
    found = told(tenant=tenant(waits), connection_group=group("False", REFUSED))
    assert found["Live"][:2] == ("True", "Live")
    assert "Degraded says what needs attention" in found["Live"][2]
    assert found["Degraded"][:2] == ("True", "TenantFailed")
    assert found["Degraded"][2].endswith(f"ConnectionGroup acme-group: {REFUSED}")
    assert found["Reconciling"] == ("True", "Updating", "A change waits. Degraded says why.")


@pytest.mark.parametrize(
    "harmless",
    [group("True", ""), group("False", "update failed: throttled", id="cg_1")],
    ids=["it is being created", "it exists"],
)
def test_a_group_that_comes_or_exists_needs_no_attention(harmless: dict[str, Any]) -> None:
    assert told(tenant=tenant(), connection_group=harmless)["Degraded"] == NOTHING


def test_a_change_that_waits_for_the_group_says_so() -> None:
    waits = building.condition("InSync", "False", "UpdatePending", WAITS)
    found = told(tenant=tenant(waits), connection_group=group("True", ""))
    assert found["Reconciling"] == ("True", "Updating", "A change waits: waiting for the group")


FROZEN = "spec.writes of ClusterProviderConfig default is Frozen"
PAUSED = (
    "Reconciliation is paused via the annotation crossplane.io/paused. Remove it to resume reconciliation."
)
REST = "references cannot be resolved, and the rest of the spec does not wait for them: no group"


def group_with(*told: dict[str, Any]) -> dict[str, Any]:
    return group("True", "") | {"status": {"conditions": list(told)}}


def test_a_group_that_waits_for_a_freeze_is_no_failure() -> None:
    ready = building.condition("Ready", "False", "Frozen", FROZEN)
    frozen = group_with(ready, building.condition("Synced", "True", "ReconcileSuccess"))
    found = told(tenant=tenant(), connection_group=frozen)
    assert found["Degraded"] == NOTHING
    assert found["Blocked"][:2] == ("True", "WritesFrozen")


def test_a_group_that_is_paused_says_how_to_go_on() -> None:
    paused = group_with(building.condition("Synced", "False", "ReconcilePaused", PAUSED))
    found = told(tenant=tenant(), connection_group=paused)
    assert found["Degraded"][2].endswith(f"ConnectionGroup acme-group: {PAUSED}")
    new = {"status": {"conditions": [building.condition("Ready", "False", "Creating", "waits")]}}
    assert PAUSED in told(tenant=new, connection_group=paused)["Live"][2]


def test_a_roll_out_without_the_group_has_not_failed() -> None:
    ready = building.condition("Ready", "False", "Deploying", "CloudFront is rolling out the tenant.")
    waits = building.condition("Synced", "False", "ReconcileError", REST)
    found = told(tenant=tenant(ready, waits), connection_group=group("False", REFUSED))
    assert found["Live"][:2] == ("False", "Deploying")


def test_settings_that_are_kept_stay_under_review() -> None:
    kept = "AWS has a web ACL that the spec does not set"
    waits = building.condition("InSync", "False", "UpdatePending", f"{kept}. {WAITS}")
    found = told(tenant=tenant(waits), connection_group=group("True", ""))
    assert found["NeedsReview"][:2] == ("True", "SettingsKept")
    assert found["NeedsReview"][2].endswith(f": {kept}.")
    other = building.condition("InSync", "False", "UpdatePending", kept)
    assert "NeedsReview" not in told(tenant=tenant(other), connection_group=group("True", ""))

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

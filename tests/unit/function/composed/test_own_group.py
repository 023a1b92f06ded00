"""A tenant that exists moves to the claim's own connection group once that exists."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.function import building

DEDICATED = {"connection": {"dedicated": True}}
SELECTOR = "connectionGroupIdSelector"
PROBLEM = "QuotaExceeded: the account has its maximum of connection groups"


def asked(observed: dict[str, Any], plan: dict[str, Any] = DEDICATED, **spec: Any) -> tuple[Any, Any]:
    """`spec.forProvider` of the tenant, and the response."""
    input_ = {"plans": {"standard": plan}}
    rsp = building.run(building.request(input_=input_, observed=observed, xr={"spec": spec} if spec else {}))
    return building.desired(rsp)["tenant"]["spec"]["forProvider"], rsp


def tenant(*, selects: bool = False) -> dict[str, Any]:
    parameters = {SELECTOR: {"matchControllerRef": True}} if selects else {}
    return {"spec": {"forProvider": parameters}, "status": building.live_status()}


def group(*conditions: dict[str, Any], id_: str = "") -> dict[str, Any]:
    status: dict[str, Any] = {"conditions": list(conditions)}
    if id_:
        status["atProvider"] = {"id": id_}
    return {"kind": "ConnectionGroup", "metadata": {"name": "acme-group"}, "status": status}


FAILING = group(
    building.condition("Ready", "False", "QuotaExceeded", PROBLEM),
    building.condition("Synced", "False", "ReconcileError", PROBLEM),
)


@pytest.mark.parametrize("before", [{}, {"connection-group": group()}, {"connection-group": FAILING}])
def test_it_stays_where_it_is_until_the_group_exists(before: dict[str, Any]) -> None:
    """Else the provider would wait for the group with everything, such as a suspension."""
    found, rsp = asked({"tenant": tenant(), **before})
    assert SELECTOR not in found
    assert building.live(rsp)[0] == "True"
    assert building.conditions(rsp)["Reconciling"][0] == "True"
    assert "connection-group" in building.desired(rsp)


def test_a_suspension_reaches_it_meanwhile() -> None:
    found, _ = asked({"tenant": tenant(), "connection-group": FAILING}, suspended=True)
    assert found["enabled"] is False
    assert SELECTOR not in found


def test_why_the_group_does_not_come_is_told() -> None:
    _, rsp = asked({"tenant": tenant(), "connection-group": FAILING})
    told = building.conditions(rsp)
    assert told["Degraded"][:2] == ("True", "TenantFailed")
    assert f"ConnectionGroup acme-group: {PROBLEM}" in told["Degraded"][2]
    assert told["Reconciling"][2] == "A change waits. Degraded says why."
    _, rsp = asked({"tenant": tenant(), "connection-group": group()})
    told = building.conditions(rsp)
    assert told["Degraded"][0] == "False"
    assert "own connection group does not exist yet" in told["Reconciling"][2]


def test_then_it_moves() -> None:
    found, _ = asked({"tenant": tenant(), "connection-group": group(id_="cg_1")})
    assert SELECTOR in found


def test_one_that_is_in_it_stays_in_it_and_a_new_one_waits_for_it() -> None:
    """The plan's group has another routing endpoint, and visitors follow the records to this one."""
    plan = {"connection": {"dedicated": True, "connectionGroupId": None}}
    assert SELECTOR in asked({"tenant": tenant(selects=True), "connection-group": group()}, plan)[0]
    assert SELECTOR in asked({"connection-group": group()})[0]

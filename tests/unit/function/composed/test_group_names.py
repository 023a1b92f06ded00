"""A claim that asks for its connection group again gets another object than the one that is being deleted."""

from __future__ import annotations

from typing import Any

from function.composed.naming import digest
from tests.unit.function import building

GROUP = "connection-group"
PLAN = {"plans": {"standard": {"connection": {"dedicated": True}}}}
OWN = {"connectionGroupIdSelector": {"matchControllerRef": True, "policy": {"resolve": "Always"}}}


def group(uid: str, *, deleted: bool = False) -> dict[str, Any]:
    metadata: dict[str, Any] = {"uid": uid}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"kind": "ConnectionGroup", "metadata": metadata, "status": building.live_status()}


def composed(**observed: Any) -> list[str]:
    """The composed resource names of connection groups."""
    named = {name.replace("_", "-"): each for name, each in observed.items()}
    found = building.desired(building.run(building.request(input_=PLAN, observed=named)))
    assert OWN.items() <= found["tenant"]["spec"]["forProvider"].items()
    return [name for name, each in found.items() if each["kind"] == "ConnectionGroup"]


def test_a_group_keeps_its_name() -> None:
    assert composed() == [GROUP]
    assert composed(connection_group=group("u-1")) == [GROUP]


def test_one_that_is_being_deleted_has_a_successor_that_keeps_its_name() -> None:
    second = f"{GROUP}-{digest('u-1')}"
    assert composed(connection_group=group("u-1", deleted=True)) == [second]
    assert composed(**{second: group("u-2")}) == [second]
    assert composed(connection_group=group("u-1", deleted=True), **{second: group("u-2")}) == [second]


def test_so_has_the_successor() -> None:
    second = f"{GROUP}-{digest('u-1')}"
    assert composed(**{second: group("u-2", deleted=True)}) == [f"{GROUP}-{digest('u-2')}"]


def test_a_successor_is_no_tenant() -> None:
    """Otherwise the claim would report it, and an isolation change would move domains to it."""
    second = f"{GROUP}-{digest('u-1')}"
    req = building.request(observed={second: group("u-2"), "tenant": {"status": building.live_status()}})
    rsp = building.run(req)
    assert building.live(rsp)[:2] == ("True", "Live")
    # The plan has no group, so its end waits for the author.
    assert building.conditions(rsp)["Blocked"][:2] == ("True", "AwaitingApproval")
    assert second in building.desired(rsp)

"""What people get wrong, what they are told, and that the right claim or plan heals it without a restart."""

import json

import pytest

from sandbox.world import World, WorldError
from tests.integration.claims import Claims
from tests.integration.watching import Object, condition

REFUSED = {
    "no domains": ({"domains": None}, "spec.domains"),
    "an empty list of domains": ({"domains": []}, "spec.domains"),
    "a URL for a domain": ({"domains": ["https://acme.example.com/"]}, "spec.domains[0]"),
    "an unknown field": ({"domian": ["acme.example.com"]}, "domian"),
    "an unknown choice": ({"certificate": {"mode": "Magic"}}, "spec.certificate.mode"),
}
SHOWN = {
    "a label that is too long": ({"domains": [f"{'a' * 64}.example.com"]}, "InvalidClaim", "spec.domains[0]"),
    "an unknown plan": ({"plan": "platinum"}, "PlanNotFound", "spec.plan"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_field_named(claims: Claims, case: str) -> None:
    spec, field = REFUSED[case]
    with pytest.raises(WorldError) as refusal:
        claims.apply(claims.claim("wrong", **spec))
    assert field in str(refusal.value)
    assert r"\p{" not in str(refusal.value)


@pytest.mark.parametrize("case", SHOWN)
def test_shown_on_the_claim_with_the_field_named_and_healed_by_a_right_claim(
    claims: Claims, case: str
) -> None:
    spec, reason, field = SHOWN[case]
    claims.apply(claims.claim("wrong", **spec))

    live = claims.wait("Live to tell", lambda: told(claims.get("wrong"), reason))
    assert field in live["message"]
    assert claims.tenants("wrong") == []

    claims.apply(claims.claim("wrong"))
    claims.wait_ready("wrong")


def test_a_distribution_that_does_not_exist_is_named_and_a_right_plan_heals_it(
    claims: Claims, world: World
) -> None:
    plans = {"ghost": {"distributionId": "E0DOESNOTEXIST"}}
    with added_plans(world, plans):
        claims.apply(claims.claim("haunted", plan="ghost"))
        live = claims.wait("Live to tell", lambda: told(claims.get("haunted"), "ParentNotFound"))
        assert "plans.ghost.distributionId" in live["message"]
        assert "E0DOESNOTEXIST" in live["message"]
        managed = claims.managed("haunted")
        assert "spec.forProvider.distributionId" in condition(managed, "Ready")["message"]
        assert "spec.forProvider.distributionId" in condition(managed, "Synced")["message"]

        plans["ghost"]["distributionId"] = "E1EDGETENANTS"
        set_plans(world, plans)
        claims.wait_ready("haunted")
        claims.delete("haunted")
        claims.wait_gone(["haunted"])


def test_a_broken_plan_stops_only_the_claims_that_use_it(claims: Claims, world: World) -> None:
    with added_plans(world, {"broken": {"distributionId": 7}}):
        claims.apply(claims.claim("unlucky", plan="broken"), claims.claim("lucky"))
        live = claims.wait("Live to tell", lambda: told(claims.get("unlucky"), "PlanInvalid"))
        assert "plans.broken.distributionId" in live["message"]
        claims.wait_ready("lucky")


def told(claim: Object, reason: str) -> Object | None:
    live = condition(claim, "Live")
    return live if live.get("reason") == reason else None


class added_plans:  # noqa: N801 - reads as the context manager that it is
    """Plans beside the installed ones, taken away again at the end."""

    def __init__(self, world: World, plans: Object) -> None:
        self._world, self._plans = world, plans
        self._before = composition(world)["spec"]["pipeline"]

    def __enter__(self) -> None:
        set_plans(self._world, self._plans)

    def __exit__(self, *_: object) -> None:
        patch(self._world, self._before)


def composition(world: World) -> Object:
    found: Object = json.loads(world.kubectl("get", "compositions", "-o", "json"))["items"][0]
    return found


def set_plans(world: World, plans: Object) -> None:
    pipeline = composition(world)["spec"]["pipeline"]
    pipeline[0]["input"]["plans"].update(plans)
    patch(world, pipeline)


def patch(world: World, pipeline: list[Object]) -> None:
    name = composition(world)["metadata"]["name"]
    world.kubectl(
        "patch", "composition", name, "--type=merge", "-p", json.dumps({"spec": {"pipeline": pipeline}})
    )

"""A tenant for each domain: a bad one holds up no other."""

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.test_bad_claims import added_plans
from tests.integration.watching import Object, Watch, condition, is_true

LIMIT = 10
PLANS: Object = {"many": {"distributionId": "E1EDGETENANTS", "allow": {"maxPerDomain": LIMIT}}}


def test_at_its_limit_with_one_bad_domain_the_others_are_live(claims: Claims, world: World) -> None:
    taken = f"taken-{claims.namespace}.example.com"
    good = [f"d{n}-{claims.namespace}.example.com" for n in range(LIMIT - 1)]
    with added_plans(world, PLANS), Watch(world, "tenantclaims") as watched:
        claims.apply(claims.claim("holder", domains=[taken]))
        claims.wait_ready("holder")
        claims.apply(claims.claim("many", plan="many", isolation="PerDomain", domains=[*good, taken]))

        claims.wait("all but one to be active", lambda: active(claims) == sorted(good), seconds=240)
        claims.wait("the bad one to be told", lambda: reason(claims) == "DomainConflict")
        many = claims.get("many")
        live = condition(many, "Live")
        assert live["status"] == "False"
        assert live["message"].startswith(f"{taken}: ")
        assert is_true(many, "Degraded")

        claims.delete("holder")
        claims.wait_gone(["holder"])
        claims.wait_ready("many", seconds=120)

        claims.apply(claims.claim("toomany", plan="many", isolation="PerDomain", domains=[
            f"x{n}-{claims.namespace}.example.com" for n in range(LIMIT + 1)
        ]))  # fmt: skip
        claims.wait("the limit to be told", lambda: is_true(claims.get("toomany"), "Blocked"))
        assert condition(claims.get("toomany"), "Blocked")["reason"] == "PolicyDenied"
        claims.delete_all()
    assert [o for _, o in watched.events if condition(o, "Responsive").get("status") == "False"] == []


def reason(claims: Claims) -> str:
    return str(condition(claims.get("many"), "Live").get("reason"))


def active(claims: Claims) -> list[str]:
    """The claim's domains for which CloudFront answers, as its status tells."""
    found = claims.get("many").get("status", {}).get("domains", [])
    return sorted(each["domain"] for each in found if each.get("state") == "active")


@pytest.mark.parametrize(("first", "then"), [("Orphan", "Delete"), ("Delete", "Orphan")])
def test_a_dropped_tenant_goes_as_the_same_edit_says(
    claims: Claims, world: World, first: str, then: str
) -> None:
    """Crossplane deletes a composed resource as it is, so it first needs the claim's new policy."""
    stays, goes = (f"{name}-{claims.namespace}.example.com" for name in ("stays", "goes"))
    plan = {"distributionId": "E1EDGETENANTS", "allow": {"maxPerDomain": 2, "onDelete": ["Orphan", "Delete"]}}
    asked = claims.claim("one", plan="both", isolation="PerDomain", domains=[stays, goes], onDelete=first)

    def served() -> set[str]:
        """Those of the two domains that any tenant in the account has."""
        tenants = world.emulator.state()["tenants"]
        return {each["Domain"] for t in tenants for each in t["Domains"]} & {stays, goes}

    with added_plans(world, {"both": plan}):
        claims.apply(asked)
        claims.wait_ready("one")
        assert served() == {stays, goes}
        claims.apply({**asked, "spec": {**asked["spec"], "onDelete": then, "domains": [stays]}})
        # Two minutes, as core's circuit breaker may drop the events of a claim that changes this fast.
        claims.wait("the resource to go", lambda: len(claims.all_managed()) == 1, 120)
        assert served() == ({stays} if then == "Delete" else {stays, goes})
        claims.delete_all()

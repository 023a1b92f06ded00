"""Plans that come from elsewhere, and plans that change under claims that are live."""

import json
from collections.abc import Iterator

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.test_bad_claims import added_plans, composition, patch, set_plans
from tests.integration.watching import Object, condition, is_true

OTHER = "E1OTHER"
LABEL = "edgetenants.io/plans"
PLAN = {"distributionId": "E1EDGETENANTS", "tags": {"plan": "shelf"}}


@pytest.fixture
def other_distribution(world: World) -> str:
    """A second multi-tenant distribution in the seeded account."""
    domains = ["example.com", "*.example.com"]
    world.emulator.seed(
        {
            "account": "123456789012",
            "distributions": [{"id": OTHER, "certificateDomains": domains, "parameters": []}],
        }
    )
    return OTHER


@pytest.fixture
def sources(world: World) -> Iterator[None]:
    """The installed Composition reads plans from EnvironmentConfigs with a label."""
    before = composition(world)["spec"]["pipeline"]
    pipeline = composition(world)["spec"]["pipeline"]
    pipeline[0]["input"]["plansFrom"] = [{"environmentConfig": {"matchLabels": {LABEL: "true"}}}]
    patch(world, pipeline)
    try:
        yield
    finally:
        patch(world, before)
        world.kubectl("delete", "environmentconfigs", "-l", LABEL, "--wait=false")


def shelf(**changes: object) -> Object:
    return {
        "apiVersion": "apiextensions.crossplane.io/v1beta1",
        "kind": "EnvironmentConfig",
        "metadata": {"name": "shelf", "labels": {LABEL: "true"}},
        "data": {"plans": {"shelf": {**PLAN, **changes}}},
    }


def touch(claims: Claims, name: str, word: str = "once") -> None:
    """Have core look at a claim: one that watches what functions require needs no such help."""
    claims.world.kubectl(
        "annotate", "tenantclaim", name, "-n", claims.namespace, "--overwrite", f"looked={word}"
    )


def test_a_plan_from_an_environment_config(claims: Claims, world: World, sources: None) -> None:
    claims.apply(shelf(), claims.claim("read", plan="shelf"))
    claims.wait_ready("read")
    assert claims.managed("read")["spec"]["forProvider"]["tags"]["plan"] == "shelf"

    world.kubectl("delete", "environmentconfig", "shelf")
    touch(claims, "read")
    degraded = claims.wait("the refusal", lambda: told(claims.get("read"), "Degraded", "ClaimRefused"))
    assert "spec.plan" in degraded["message"]
    assert is_true(claims.get("read"), "Live")
    assert len(claims.tenants("read")) == 1
    assert claims.managed("read")["spec"]["forProvider"]["tags"]["plan"] == "shelf"

    claims.apply(shelf(tags={"plan": "mended"}))
    touch(claims, "read", "twice")
    claims.wait_ready("read")
    claims.wait(
        "the plan's tag", lambda: claims.managed("read")["spec"]["forProvider"]["tags"]["plan"] == "mended"
    )


def test_a_move_to_another_distribution_waits_for_the_claims_word(
    claims: Claims, world: World, other_distribution: str
) -> None:
    plans = {"moving": {"distributionId": "E1EDGETENANTS"}}
    with added_plans(world, plans):
        claims.apply(claims.claim("mover", plan="moving"))
        claims.wait_ready("mover")
        plans["moving"]["distributionId"] = other_distribution
        set_plans(world, plans)

        blocked = claims.wait(
            "Blocked to tell", lambda: told(claims.get("mover"), "Blocked", "AwaitingApproval")
        )
        assert is_true(claims.get("mover"), "Live")
        assert claims.tenants("mover")[0]["DistributionId"] == "E1EDGETENANTS"

        token = blocked["message"].partition("edgetenants.io/confirm: ")[2].split()[0]
        world.kubectl(
            "annotate", "tenantclaim", "mover", "-n", claims.namespace, f"edgetenants.io/confirm={token}"
        )
        before = claims.tenants("mover")[0]["Id"]
        claims.wait(
            "the tenant to be moved",
            lambda: claims.tenants("mover")[0]["DistributionId"] == other_distribution,
        )
        assert [tenant["Id"] for tenant in claims.tenants("mover")] == [before]
        claims.wait("nothing to be blocked", lambda: told(claims.get("mover"), "Blocked", "Unblocked"))
        claims.wait_ready("mover")
        claims.delete("mover")
        claims.wait_gone(["mover"])


def test_a_claim_does_not_take_its_rights_to_the_distribution_of_another_plan(
    claims: Claims, world: World, other_distribution: str
) -> None:
    strict = {"distributionId": "E1EDGETENANTS", "allow": {"domains": ["*.example.com"]}}
    lax = {"distributionId": other_distribution, "allow": {"override": ["parameters"], "wildcards": True}}
    with added_plans(world, {"strict": strict, "lax": lax}):
        claims.apply(claims.claim("acme", plan="strict"))
        claims.wait_ready("acme")
        before, spec = claims.tenants("acme"), claims.managed("acme")["spec"]
        more = {"plan": "lax", "domains": ["acme.example.com", "*.acme.com"], "parameters": {"tier": "blue"}}
        claims.patch("acme", more)
        claims.wait("it to be blocked", lambda: told(claims.get("acme"), "Blocked", "AwaitingApproval"))
        assert claims.managed("acme")["spec"] == spec
        claims.patch("acme", {"suspended": True})
        claims.wait("the suspension", lambda: not claims.tenants("acme")[0]["Enabled"])
        assert [tenant["Domains"] for tenant in claims.tenants("acme")] == [
            each["Domains"] for each in before
        ]
        assert claims.tenants("acme")[0]["Parameters"] == before[0]["Parameters"]
        claims.delete("acme")
        claims.wait_gone(["acme"])


def told(claim: Object, type_: str, reason: str) -> Object | None:
    found = condition(claim, type_)
    return found if found.get("reason") == reason else None


def test_a_narrower_plan_takes_nothing_down_and_lets_nothing_new_in(claims: Claims, world: World) -> None:
    claims.apply(claims.claim("acme"))
    claims.wait_ready("acme")
    narrow = {"distributionId": "E1EDGETENANTS", "allow": {"domains": ["**.{namespace}.example.com"]}}
    with added_plans(world, {"narrow": narrow}):
        claims.patch("acme", {"plan": "narrow"})
        claims.wait("the review", lambda: reviewed(claims)["reason"] == "PlanExceeded")
        assert is_true(claims.get("acme"), "Live")
        assert "does not allow acme.example.com" in reviewed(claims)["message"]
        claims.patch("acme", {"domains": ["acme.example.com", "more.example.com"]})
        claims.wait("the refusal", lambda: condition(claims.get("acme"), "Live")["reason"] == "InvalidClaim")
        message = condition(claims.get("acme"), "Live")["message"]
        assert f"spec.domains[1]: expected one of **.{claims.namespace}.example.com" in message
        [there] = claims.tenants("acme")
        assert [each["Domain"] for each in there["Domains"]] == ["acme.example.com"]
        claims.patch("acme", {"plan": "standard", "domains": ["acme.example.com"]})
        claims.wait("nothing to review", lambda: reviewed(claims)["status"] == "False")


def reviewed(claims: Claims) -> Object:
    return condition(claims.get("acme"), "NeedsReview") or {"reason": "", "status": "", "message": ""}


def test_a_live_claim_that_changes_to_orphan_goes_and_leaves_its_tenant(claims: Claims, world: World) -> None:
    """The policies of its resource are replaced as a whole. Merged with the default, they are a combination
    that no provider takes, and the deletion never ends."""
    either = {**PLAN, "allow": {"onDelete": ["Delete", "Orphan"]}}
    with added_plans(world, {"either": either}):
        claims.apply(claims.claim("turned", plan="either"))
        claims.wait_ready("turned")
        domains = ["turned.example.com", "more.example.com"]
        claims.apply(claims.claim("turned", plan="either", onDelete="Orphan", domains=domains))
        claims.wait("the second domain", lambda: len(claims.tenants("turned")[0]["Domains"]) == 2)
        policies = claims.managed("turned")["spec"]["managementPolicies"]
        assert policies == ["Observe", "Create", "Update", "LateInitialize"]
        claims.delete("turned")
        claims.wait("its resource to go", lambda: not claims.managed("turned"))
        [left] = claims.tenants("turned")
        assert left["Enabled"]

        claims.apply(claims.claim("turned", plan="either", onDelete="Delete", domains=domains))
        claims.wait_ready("turned")
        assert claims.managed("turned")["spec"]["managementPolicies"] == ["*"]
        claims.delete("turned")
        claims.wait("the tenant to go", lambda: not claims.tenants("turned"))


def waits_for_plan(claims: Claims, plan: str) -> str:
    """The token of the move to the plan's distribution; empty if the claim names none."""
    message = (told(claims.get("back"), "Blocked", "AwaitingApproval") or {}).get("message", "")
    return (
        message.partition("edgetenants.io/confirm: ")[2].split(" ")[0] if f"plans.{plan}." in message else ""
    )


def test_a_tenant_that_is_being_deleted_does_not_get_another_plan(
    claims: Claims, world: World, other_distribution: str
) -> None:
    """The claim takes a change of isolation back, with a plan that lets it leave tenants in AWS. Crossplane
    applies the new resource to the object of its name, even if that is being deleted."""
    strict = {
        "distributionId": "E1EDGETENANTS",
        "deletionProtection": True,
        "allow": {"maxPerDomain": 2},
    }
    lax = {"distributionId": other_distribution, "allow": {"onDelete": ["Delete", "Orphan"]}}
    with added_plans(world, {"strict": strict, "lax": lax}):
        claims.apply(claims.claim("back", plan="strict"))
        claims.wait_ready("back", seconds=90)
        [tenant] = claims.tenants("back")
        old = claims.managed("back")["metadata"]["name"]
        claims.patch("back", {"isolation": "PerDomain"})
        blocked = claims.wait("the token", lambda: told(claims.get("back"), "Blocked", "AwaitingApproval"))
        token = blocked["message"].partition("edgetenants.io/confirm: ")[2].split()[0]
        confirm = {"metadata": {"annotations": {"edgetenants.io/confirm": token}}}
        claims.reader.patch("tenantclaim", "back", claims.namespace, confirm)
        reads = lambda name: claims.get(name, "edt")  # noqa: E731
        claims.wait("the deletion", lambda: reads(old)["metadata"].get("deletionTimestamp"), 60)
        before = reads(old)["spec"]

        claims.patch("back", {"isolation": "Shared", "plan": "lax", "onDelete": "Orphan"})
        # In the gap, too, the move to another distribution has a token of its own.
        moves = claims.wait("its token", lambda: waits_for_plan(claims, "lax"), 60)
        confirm = {"metadata": {"annotations": {"edgetenants.io/confirm": moves}}}
        claims.reader.patch("tenantclaim", "back", claims.namespace, confirm)
        others = lambda: [each for each in claims.reader.names("edt", claims.namespace) if each != old]  # noqa: E731
        lax_one = lambda: any(  # noqa: E731
            reads(each)["spec"]["forProvider"]["distributionId"] == other_distribution for each in others()
        )
        claims.wait("the other plan's resource", lax_one, 60)
        assert reads(old)["spec"] == before
        claims.reader.delete("tenantclaim", "back", claims.namespace)
        claims.wait("the claim to go", lambda: not claims.get("back"), 120)
        assert reads(old)["spec"] == before
        assert [each["Id"] for each in claims.tenants("back")] == [tenant["Id"]]

        held = condition(reads(old), "Ready")
        assert held["reason"] == "DeletionHeld"
        word = held["message"].partition("edgetenants.io/confirm to ")[2].split()[0]
        confirm = {"metadata": {"annotations": {"edgetenants.io/confirm": word}}}
        claims.reader.patch("edt", old, claims.namespace, confirm)
        claims.wait("the tenant to go", lambda: not claims.tenants("back"), 120)


def test_what_a_claim_says_of_a_tenant_whose_deletion_is_held_under_its_former_plan(
    claims: Claims, world: World
) -> None:
    """The claim takes its change of isolation back, with the plan under which the tenant was created."""
    strict = {"distributionId": "E1EDGETENANTS", "deletionProtection": True, "allow": {"maxPerDomain": 2}}
    lax = {"distributionId": "E1EDGETENANTS", "allow": {"onDelete": ["Delete", "Orphan"]}}
    with added_plans(world, {"strict": strict, "lax": lax}):
        claims.apply(claims.claim("held", plan="lax"))
        claims.wait_ready("held", seconds=90)
        old = claims.managed("held")["metadata"]["name"]
        read = lambda: claims.get(old, "edt")  # noqa: E731
        claims.patch("held", {"plan": "strict"})
        claims.wait("the protection", lambda: read()["spec"].get("deletionProtection"))
        claims.wait_ready("held", seconds=90)
        claims.patch("held", {"isolation": "PerDomain"})
        blocked = claims.wait("the token", lambda: told(claims.get("held"), "Blocked", "AwaitingApproval"))
        token = blocked["message"].partition("edgetenants.io/confirm: ")[2].split()[0]
        confirm = {"metadata": {"annotations": {"edgetenants.io/confirm": token}}}
        claims.reader.patch("tenantclaim", "held", claims.namespace, confirm)
        claims.wait("the hold", lambda: told(read(), "Ready", "DeletionHeld"), 60)
        before = read()["spec"]

        claims.patch("held", {"isolation": "Shared", "plan": "lax", "onDelete": "Orphan", "suspended": True})
        says = lambda type_: condition(claims.get("held"), type_).get("message", "")  # noqa: E731
        claims.wait("the claim to say so", lambda: "still serves" in says("Suspended"), 60)
        assert f"DistributionTenant {old}, a former tenant of the claim" in says("Suspended")
        assert "plans.lax.deletionProtection" not in says("Suspended"), "another plan has it"
        claims.wait("it to say what waits", lambda: f"waits for DistributionTenant {old}" in says("Live"), 60)
        claims.patch("held", {"suspended": False})
        claims.wait("the claim to say who serves", lambda: "Former tenants" in says("Degraded"), 60)
        assert claims.get("held")["status"]["domainsReady"] == "1/1"
        assert read()["spec"] == before, "the deletion goes on under another plan"

        # The way out that the claim describes.
        claims.reader.patch("edt", old, claims.namespace, {"spec": {"managementPolicies": ["Observe"]}})
        claims.wait_ready("held", seconds=120)
        assert len(claims.tenants("held")) == 1
        claims.patch("held", {"onDelete": "Delete"})
        delete = lambda: claims.managed("held")["spec"].get("managementPolicies") == ["*"]  # noqa: E731
        claims.wait("the policy", delete, 120)
        claims.delete("held")
        claims.wait_gone(["held"])


def test_a_claim_that_was_replaced_keeps_its_resources(claims: Claims, world: World) -> None:
    """`kubectl replace` removes Crossplane's list of them, if an administrator does it."""
    domains = ["one.example.com", "two.example.com"]
    plan = {
        "distributionId": "E1EDGETENANTS",
        "connection": {"dedicated": True},
        "allow": {"maxPerDomain": 2},
    }
    with added_plans(world, {"listed": plan}):
        claims.apply(claims.claim("replaced", plan="listed", isolation="PerDomain", domains=domains))
        claims.wait_ready("replaced", seconds=120)
        names = lambda: {  # noqa: E731
            (kind, name) for kind in ("edt", "ecg") for name in claims.reader.names(kind, claims.namespace)
        }
        before, [stays, goes] = (
            names(),
            sorted(claims.all_managed(), key=lambda e: e["spec"]["forProvider"]["domains"]),
        )
        less = claims.claim("replaced", plan="listed", isolation="PerDomain", domains=domains[:1])
        world.kubectl("replace", "-f", "-", input=json.dumps(less))
        kept = before - {("edt", goes["metadata"]["name"])}
        claims.wait("the tenant that is not listed any more to go", lambda: names() == kept, 120)
        claims.wait_ready("replaced", seconds=60)
        world.kubectl(
            "replace", "-f", "-", input=json.dumps(less | {"spec": less["spec"] | {"suspended": True}})
        )
        mine = f"{claims.namespace}."

        def disabled() -> bool:
            tenants = [t for t in world.emulator.state()["tenants"] if t["Name"].startswith(mine)]
            return [tenant["Enabled"] for tenant in tenants] == [False]

        claims.wait("the suspension", disabled, 60)
        assert names() == kept
        assert claims.get(stays["metadata"]["name"], "edt")["metadata"]["uid"] == stays["metadata"]["uid"]
        claims.delete("replaced")
        claims.wait_gone(["replaced"])

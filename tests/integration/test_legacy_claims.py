"""Claims of Crossplane v1: a composite beside the namespaces for each claim, with cluster-scoped tenants.

Crossplane v2 serves them still, by its LegacyCluster composites. test_crossplane_v1.py has these cases on v1.
"""

import base64
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from sandbox.choice import Options
from sandbox.manifests import Package
from sandbox.world import World
from tests.integration.claims import Claims, LegacyClaims
from tests.integration.conftest import CACHE, FAST, ROOT
from tests.integration.hostile import CLAIMS_ONLY, Team, roles
from tests.integration.test_bad_claims import added_plans, composition, patch, set_plans
from tests.integration.test_references import applied
from tests.integration.watching import Watch, condition, is_true

COMPOSITES = LegacyClaims.COMPOSITES
MODERN = "tenantclaims.platform.edgetenants.io"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A world that has the legacy claim in the place of the namespaced composite of the same name."""
    running = World.up(
        name=f"legacy-{os.getpid()}",
        cache=CACHE,
        progress=lambda line: print(line, flush=True),
        options=Options(legacy=True),
    )
    try:
        running.emulator.set_rate(FAST)
        install(running, "xrds/legacy/xtenantclaim.yaml", "composition-legacy.yaml", instead_of=MODERN)
        running.kubectl("wait", "xrd", COMPOSITES, "--for=condition=Offered", "--timeout=60s")
        yield running
    finally:
        running.down()


@pytest.fixture
def kind_of_claims() -> type[Claims]:
    return LegacyClaims


def test_a_claims_whole_life(claims: LegacyClaims, world: World) -> None:
    claim = claims.claim("acme", writeConnectionSecretToRef={"name": "acme-edge"})
    with Watch(world, COMPOSITES) as watched:
        claims.apply(claim)
        told = claims.wait_ready("acme")

        assert condition(told, "Live")["message"].startswith("CloudFront serves every domain")
        assert condition(told, "Reconciling")["reason"] == "Stable"
        managed = claims.managed("acme")
        assert managed["apiVersion"].startswith("cloudfront.edgetenants.io/")
        assert "namespace" not in managed["metadata"]
        assert [tenant["Id"] for tenant in claims.tenants("acme")] == [managed["status"]["atProvider"]["id"]]

        details = claims.wait("the claim's Secret", lambda: secret(claims, "acme-edge"))
        assert details["distributionTenantId"] == managed["status"]["atProvider"]["id"]
        assert details["endpoint"] == managed["status"]["atProvider"]["routingEndpoint"]

        claims.patch("acme", {"suspended": True})
        claims.wait("the suspension", lambda: is_true(claims.get("acme"), "Suspended"))
        claims.wait("Live to tell", lambda: reason(claims, "acme") == "Suspended")
        [tenant] = claims.tenants("acme")
        assert not tenant["Enabled"]
        claims.delete("acme")
        claims.wait_gone(["acme"])
        claims.wait("the Secret to go", lambda: not claims.get("acme-edge", "secret"))
    assert len(watched.events) > 2
    # Only v2 has a circuit breaker, and this condition.
    assert [o for _, o in watched.events if condition(o, "Responsive").get("status") == "False"] == []


def test_a_refusal_is_told_on_the_claim(claims: LegacyClaims) -> None:
    claims.apply(claims.claim("lost", plan="nowhere"))

    claims.wait("Live to tell", lambda: reason(claims, "lost") == "PlanNotFound")
    assert "spec.plan: expected one of standard" in condition(claims.get("lost"), "Live")["message"]
    assert is_true(claims.get("lost"), "Degraded")
    assert claims.managed("lost") == {}

    claims.patch("lost", {"plan": "standard"})
    claims.wait_ready("lost")


def test_what_serves_serves_on_without_the_function(claims: LegacyClaims, world: World) -> None:
    claims.apply(claims.claim("steady"))
    [before] = claims.wait_ready("steady") and claims.tenants("steady")
    world.processes.kill("function")
    try:
        claims.patch("steady", {"parameters": {"tenantName": "changed"}})
        world.kubectl("annotate", "ledt", "--all", "crossplane.io/reconcile-requested-at=now")
        claims.wait(
            "the provider to look",
            lambda: claims.managed("steady")["status"].get("lastHandledReconcileAt") == "now",
        )
        assert claims.tenants("steady") == [before]
    finally:
        world.processes.ensure_running("function")
    claims.wait("the change", lambda: parameters(claims, "steady").get("tenantName") == "changed")
    claims.wait_ready("steady")


def test_claims_of_one_name_in_two_namespaces_have_a_tenant_each(claims: LegacyClaims, world: World) -> None:
    other = LegacyClaims(world, f"{claims.namespace}-too")
    try:
        for each, domain in ((claims, "one.example.com"), (other, "two.example.com")):
            each.apply(each.claim("shop", domains=[domain]))
        for each in (claims, other):
            each.wait_ready("shop")
            assert len(each.tenants("shop")) == 1
            assert each.managed("shop")["status"]["atProvider"]["id"] == each.tenants("shop")[0]["Id"]
    finally:
        other.delete_all()


def test_tenants_with_a_connection_group_of_their_own(claims: LegacyClaims, world: World) -> None:
    groups = lambda: json.loads(world.kubectl("get", "lecg", "-o", "json"))["items"]  # noqa: E731
    plan = {"distributionId": "E1EDGETENANTS", "connection": {"dedicated": True}}
    with added_plans(world, {"own": plan}):
        domains = [f"{name}.example.com" for name in ("left", "right")]
        secret_of_pair = {"writeConnectionSecretToRef": {"name": "pair-edge"}}
        claims.apply(
            claims.claim("pair", plan="own", isolation="PerDomain", domains=domains, **secret_of_pair)
        )
        claims.wait_ready("pair")
        assert secret(claims, "pair-edge") == {}, "of two tenants neither is the one"

        [group] = groups()
        assert group["metadata"]["labels"]["crossplane.io/claim-name"] == "pair"
        made = claims.all_managed()
        assert sorted(each["spec"]["forProvider"]["domains"] for each in made) == [[d] for d in domains]
        assert {each["spec"]["forProvider"]["connectionGroupId"] for each in made} == {
            group["status"]["atProvider"]["id"]
        }
        claims.delete("pair")
        claims.wait("everything to go", lambda: not (claims.all_managed() or groups() or claims.get("pair")))


def test_a_domain_that_is_taken_out_takes_its_tenant_along(claims: LegacyClaims, world: World) -> None:
    """Crossplane v1 takes the claim's labels off a resource before it deletes it: whose the tenant is must be
    known all the same, or it serves on without a resource."""
    stays, goes = "stays.example.com", "goes.example.com"

    def served() -> set[str]:
        tenants = world.emulator.state()["tenants"]
        own = [each for each in tenants if each["Name"].startswith(f"{claims.namespace}.fewer")]
        return {row["Domain"] for each in own for row in each["Domains"]}

    claims.apply(claims.claim("fewer", isolation="PerDomain", domains=[stays, goes]))
    claims.wait_ready("fewer")
    assert served() == {stays, goes}
    claims.patch("fewer", {"domains": [stays]})
    claims.wait("its tenant to go", lambda: served() == {stays})
    claims.wait("its resource to go", lambda: len(claims.all_managed()) == 1)
    claims.delete("fewer")
    claims.wait("everything to go", lambda: not (claims.all_managed() or served()))


@pytest.mark.parametrize(
    ("file", "fields", "words"),
    [
        (
            "compositions.yaml",
            (
                {"compositionRef": {"name": "others"}},
                {"compositionRevisionRef": {"name": "others-1"}},
                {"compositionSelector": {"matchLabels": {"a": "b"}}},
                {"compositionUpdatePolicy": "Manual"},
            ),
            "choose the Composition of a claim",
        ),
        (
            "resource-references.yaml",
            ({"resourceRef": {"apiVersion": "a/v1", "kind": "A", "name": "b"}},),
            "may change the composite of a claim",
        ),
    ],
)
def test_the_policies_know_where_a_legacy_claim_has_the_fields(
    claims: LegacyClaims, world: World, file: str, fields: tuple[Mapping[str, Any], ...], words: str
) -> None:
    """Without them, an author gets the plans of any Composition, or lets the claim forget a composite that
    serves on."""
    for each in roles(Package.load(ROOT, legacy=False)):
        world.kubectl("apply", "-f", "-", input=json.dumps(each))
    team = Team(world, f"{claims.namespace}-author", CLAIMS_ONLY)
    name = file.partition(".")[0]
    with applied(world, (ROOT / "package" / file).read_text()):
        dry = ("create", "--dry-run=server", "-f", "-")
        for field in fields:
            asks = team.claim(f"{name}-asks", **field)
            team.wait("the policy", lambda asks=asks: words in team.tried(*dry, given=asks), 30)
        steady = f"{name}-steady"
        team.apply(team.claim(steady))
        admin = LegacyClaims(world, team.namespace)
        admin.wait_ready(steady)
        patch_ = ("patch", "tenantclaim", steady, "-n", team.namespace, "--type=merge", "-p")
        for field in fields:
            assert words in team.refused(*patch_, json.dumps({"spec": field}))
        team.world.kubectl(*patch_, json.dumps({"spec": {"suspended": True}}))
        admin.wait("the edit to arrive", lambda: not admin.tenants(steady)[0]["Enabled"], 60)
        team.delete(steady)
        admin.wait("its tenant to go", lambda: not admin.tenants(steady), 60)


def test_the_author_of_a_legacy_claim_leaves_no_composite_behind(claims: LegacyClaims, world: World) -> None:
    """Nothing but Crossplane's finalizer makes the deletion of a legacy claim delete its composite."""
    for each in roles(Package.load(ROOT, legacy=False)):
        world.kubectl("apply", "-f", "-", input=json.dumps(each))
    team = Team(world, f"{claims.namespace}-leaver", CLAIMS_ONLY)
    with applied(world, (ROOT / "package" / "no-orphans.yaml").read_text()):
        team.apply(team.claim("leaves"))
        admin = LegacyClaims(world, team.namespace)
        admin.wait_ready("leaves")
        patch_ = ("patch", "tenantclaim", "leaves", "-n", team.namespace, "--type=merge", "-p")
        paused = {"metadata": {"annotations": {"crossplane.io/paused": "true"}}}
        team.world.kubectl(*patch_, json.dumps(paused))
        without = json.dumps({"metadata": {"finalizers": []}})
        words = "only Crossplane and administrators may remove finalizer.apiextensions.crossplane.io"
        team.wait(
            "the policy", lambda: words in team.tried(*patch_, without, "--dry-run=server", given={}), 30
        )
        assert words in team.refused(*patch_, without)
        paused["metadata"]["annotations"]["crossplane.io/paused"] = None  # type: ignore[assignment]
        team.world.kubectl(*patch_, json.dumps(paused))
        team.delete("leaves")
        admin.wait("its tenant to go", lambda: not admin.tenants("leaves"), 60)


def test_at_last_a_claim_of_v2_takes_the_tenant_over(claims: LegacyClaims, world: World) -> None:
    """As docs/how-to/use-crossplane-v1.md says."""
    moving = {"distributionId": "E1EDGETENANTS", "allow": {"onDelete": ["Orphan"], "adopt": True}}
    set_plans(world, {"moving": moving})
    claims.apply(claims.claim("mover", plan="moving"))
    claims.wait_ready("mover")
    [before] = claims.tenants("mover")
    claims.delete("mover")
    claims.wait("the claim to go", lambda: not (claims.get("mover") or claims.managed("mover")))
    assert claims.tenants("mover") == [before]

    pipeline = composition(world)["spec"]["pipeline"]
    install(world, "xrds/tenantclaim.yaml", "composition.yaml", instead_of=COMPOSITES)
    world.kubectl("wait", "xrd", MODERN, "--for=condition=Established", "--timeout=60s")
    patch(world, pipeline)
    modern = Claims(world, claims.namespace)
    modern.apply(modern.claim("mover", plan="moving", adopt={"tenantId": before["Id"]}))
    modern.wait_ready("mover")
    assert modern.managed("mover")["apiVersion"].startswith("cloudfront.m.edgetenants.io/")
    [after] = modern.tenants("mover")
    assert (after["Id"], after["Domains"]) == (before["Id"], before["Domains"])


def install(world: World, *files: str, instead_of: str) -> None:
    """Put an XRD of package/ and its Composition in the place of another XRD and all Compositions."""
    world.kubectl("delete", "compositions", "--all")
    world.kubectl("delete", "xrd", instead_of, "--timeout=60s")
    for file in files:
        world.kubectl("apply", "-f", str(ROOT / "package" / file))


def reason(claims: LegacyClaims, name: str) -> str:
    return str(condition(claims.get(name), "Live").get("reason"))


def parameters(claims: LegacyClaims, name: str) -> dict[str, str]:
    [tenant] = claims.tenants(name)
    return {each["Name"]: each["Value"] for each in tenant["Parameters"]}


def secret(claims: LegacyClaims, name: str) -> dict[str, str]:
    data = claims.get(name, "secret").get("data", {})
    return {key: base64.b64decode(value).decode() for key, value in data.items()}

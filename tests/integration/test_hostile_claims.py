"""Who may write claims alone gets what the plan allows, in the own namespace, and nothing by the way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from sandbox.errors import WorldError
from sandbox.world import World
from tests.integration.hostile import CLAIMS_ONLY, CONFIGS, ROOT, USAGES, Team, Teams
from tests.integration.reading import reader
from tests.integration.test_references import applied
from tests.integration.watching import Object, condition

OWN = "edgetenants.io/"


@pytest.fixture(scope="module")
def green(world: World, teams: Teams) -> Iterator[Team]:
    """A team with claims alone."""
    made = Team(world, "green-claims", CLAIMS_ONLY)
    yield made
    made.clear()
    made.leave()


def claim(team: Team, name: str, **spec: Any) -> Object:
    return team.claim(name, **{"domains": [f"{name}-{team.namespace}.example.com"], **spec})


def managed(team: Team, name: str) -> Object:
    """The managed resource of a claim, which the user may not read."""
    found = team.admin.kubectl(
        "get", "edt", "-n", team.namespace, "-l", f"crossplane.io/composite={name}", "-o", "json"
    )
    items: list[Object] = json.loads(found)["items"]
    return items[0] if items else {}


def refusal(team: Team, name: str, *words: str) -> str:
    """What the claim says of a field that it may not have; nothing is made of it."""

    def said() -> str | None:
        text = " ".join(c.get("message", "") for c in team.get(name).get("status", {}).get("conditions", []))
        return text if all(word in text for word in words) else None

    text = str(team.wait(f"the claim to say {words}", said, 30))
    assert team.tenants(name) == []
    return text


NOT_THEIRS = ["edt", "ecg", CONFIGS, USAGES, "secrets", "configmaps"]


def test_no_more_than_claims_is_granted(green: Team) -> None:
    assert green.may("create", "tenantclaims", green.namespace)
    assert [r for r in NOT_THEIRS if green.may("create", r, green.namespace)] == []
    assert [r for r in NOT_THEIRS if green.may("list", r, green.namespace)] == []
    assert not green.may("patch", "tenantclaims", green.namespace, subresource="status")


REFUSED: dict[str, Object] = {
    "adopt": {"adopt": {"tenantId": "dt_another"}},
    "tags": {"tags": {"cost": "mine"}},
    "connection": {"connection": {"dedicated": True}},
    "security": {"security": {"webAcl": {"mode": "Disabled"}}},
    "certificate": {"certificate": {"mode": "Managed"}},
    "domains": {"domains": ["*.example.com"]},
}


@pytest.mark.parametrize("field", REFUSED)
def test_what_the_plan_does_not_allow_is_refused_by_its_field(green: Team, field: str) -> None:
    green.apply(claim(green, f"asks-{field}", **REFUSED[field]))
    refusal(green, f"asks-{field}", f"spec.{field}")


@pytest.mark.parametrize("field", ["distributionId", "connectionGroupId", "providerConfigRef", "namespace"])
def test_a_claim_has_no_field_for_what_is_the_plans(green: Team, field: str) -> None:
    said = green.refused("apply", "-f", "-", input=json.dumps(claim(green, "reaches", **{field: "E1OTHER"})))
    assert field in said


def test_annotations_and_labels_of_a_claim_are_not_those_of_its_tenant(green: Team) -> None:
    asked = claim(green, "decorated")
    annotations = {
        f"{OWN}adopt": "dt_another",
        f"{OWN}take-domains-from": "dt_another",
        f"{OWN}give-domains-to": "red.any",
        f"{OWN}dry-run": "true",
        "crossplane.io/external-name": "blue-claims.shop",
    }
    asked["metadata"] |= {
        "annotations": annotations,
        "labels": {"crossplane.io/claim-namespace": "blue-claims"},
    }
    green.apply(asked)
    green.wait_ready("decorated")
    metadata = managed(green, "decorated")["metadata"]
    assert metadata["annotations"]["crossplane.io/external-name"] == f"{green.namespace}.decorated"
    assert [key for key in annotations if key.startswith(OWN) and key in metadata["annotations"]] == []
    assert metadata["labels"].get("crossplane.io/claim-namespace") != "blue-claims"


def test_references_of_the_composite_lead_to_nothing_of_anothers(teams: Teams, green: Team) -> None:
    """spec.crossplane.resourceRefs is core's own; anyone who writes claims may write it."""
    blue = teams.blue
    blue.apply(claim(blue, "shop"))
    blue.wait_ready("shop")
    before, name = blue.tenants("shop"), blue.managed("shop")["metadata"]["name"]
    theirs = {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "DistributionTenant",
        "name": name,
    }
    asked = claim(green, "refers", crossplane={"resourceRefs": [theirs]})
    green.apply(asked)
    green.wait("it to be composed", lambda: green.tenants("refers"))
    green.delete("refers")
    green.wait("it to go", lambda: not green.get("refers") and not green.tenants("refers"))
    assert blue.tenants("shop") == before
    assert blue.ready("shop")


CLUSTER_ROLE: Object = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {
        "name": "uncontrolled",
        "annotations": {"crossplane.io/composition-resource-name": "role"},
    },
    "rules": [],
}


def uncontrolled(team: Team, name: str) -> Object:
    """A tenant that Crossplane once composed, and that lost its owner."""
    composed = {"crossplane.io/composition-resource-name": "tenant-0a1b2c3d4e"}
    return team.tenant(name, annotations=composed, forProvider={"domains": [f"{name}.example.com"]})


def reference(listed: Object) -> Object:
    return {key: listed[key] for key in ("apiVersion", "kind")} | {"name": listed["metadata"]["name"]}


def test_core_deletes_nothing_for_a_claim_that_lists_what_has_no_controller(
    world: World, green: Team
) -> None:
    """Core looks for cluster-scoped objects, too, and deletes with its own rights what no function wants."""
    lost = uncontrolled(green, "lost")
    with applied(world, json.dumps(CLUSTER_ROLE)), applied(world, json.dumps(lost)):
        world.wait_for_condition("edt", "lost", "Ready", namespace=green.namespace)
        for number, listed in enumerate((CLUSTER_ROLE, lost)):
            name = f"lists-{number}"
            green.apply(claim(green, name, crossplane={"resourceRefs": [reference(listed)]}))
            said = refusal(green, name, "spec.crossplane.resourceRefs")
            assert f"{listed['kind']} {listed['metadata']['name']}, which Crossplane would delete" in said
        assert world.kubectl("get", "clusterrole", "uncontrolled")
        assert green.tenants("lost")[0]["Enabled"]
        kept = json.loads(world.kubectl("get", "edt", "lost", "-n", green.namespace, "-o", "json"))
        assert "deletionTimestamp" not in kept["metadata"]
        green.clear()


def test_a_claim_of_anothers_domain_says_nothing_of_whose_it_is(teams: Teams, green: Team) -> None:
    blue = teams.blue
    shop = blue.served("seller", forProvider={"domains": ["seller.example.com"]})
    green.apply(claim(green, "wants", domains=["seller.example.com"]))
    said = refusal(green, "wants", "seller.example.com")
    everything = said + green.everything_said("wants", kind="tenantclaim")
    assert [word for word in (blue.namespace, shop["Id"], "seller.blue") if word in everything] == []
    assert blue.tenants("seller") == [shop]


def test_tenants_that_an_editor_deletes_under_a_claim_are_made_anew_for_it(teams: Teams) -> None:
    red = teams.red
    red.apply(claim(red, "durable"))
    red.wait_ready("durable")
    former = red.managed("durable")["metadata"]
    red.remove(former["name"])
    red.wait(
        "another", lambda: red.managed("durable").get("metadata", {}).get("uid") not in (None, former["uid"])
    )
    red.wait_ready("durable", 90)
    assert [domain["Domain"] for domain in red.tenants("durable")[0]["Domains"]] == [
        f"durable-{red.namespace}.example.com"
    ]


def test_a_forged_status_of_a_claim_is_put_right(teams: Teams) -> None:
    red = teams.red
    red.apply(claim(red, "proud", tags={"not": "allowed"}))
    refusal(red, "proud", "spec.tags")
    now = "2026-01-01T00:00:00Z"
    live = {"type": "Live", "status": "True", "reason": "Available", "lastTransitionTime": now}
    red.forge(
        "proud", {"conditions": [live], "phase": "Live", "url": "https://blue.example.com"}, "tenantclaim"
    )
    red.change("proud", {"spec": {"tags": {"not": "allowed either"}}}, "tenantclaim")
    red.wait("the truth", lambda: condition(red.get("proud"), "Live").get("status") == "False", 30)
    assert red.tenants("proud") == []


def test_an_older_revision_of_a_composition_is_had_until_it_is_deleted(world: World, green: Team) -> None:
    """Crossplane lets each claim choose its revision, and so the plans as they were."""
    made = yaml.safe_load((ROOT / "package" / "composition.yaml").read_text())
    made["metadata"]["name"] = "tightened"
    allowed = made["spec"]["pipeline"][0]["input"]["plans"]["standard"]["allow"]["override"]
    allowed.append("tags")
    world.kubectl("apply", "-f", "-", input=json.dumps(made))
    revision = green.wait("its revision", lambda: revisions(world, "tightened"))[0]
    allowed.remove("tags")
    world.kubectl("apply", "-f", "-", input=json.dumps(made))
    green.wait("the next revision", lambda: len(revisions(world, "tightened")) == 2)

    newest = {"compositionRef": {"name": "tightened"}}
    former = {**newest, "compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": revision}}
    mine = {"tags": {"cost": "mine"}}
    green.apply(claim(green, "modern", crossplane=newest, **mine))
    refusal(green, "modern", "spec.tags")
    green.apply(claim(green, "former", crossplane=former, **mine))
    green.wait("it to be made", lambda: green.tenants("former"))

    world.kubectl("delete", "compositionrevision", revision)
    green.apply(claim(green, "late", crossplane=former, **mine))
    green.wait("core to say that it is gone", lambda: revision in json.dumps(green.get("late").get("status")))
    assert green.tenants("late") == []
    green.delete("former")
    world.kubectl("delete", "composition", "tightened", "--wait=false")


def revisions(world: World, composition: str) -> list[str]:
    """Its revisions, oldest first."""
    selector = f"crossplane.io/composition-name={composition}"
    items = json.loads(world.kubectl("get", "compositionrevisions", "-l", selector, "-o", "json"))["items"]
    return [each["metadata"]["name"] for each in sorted(items, key=lambda each: each["spec"]["revision"])]


def domains_of(team: Team, name: str) -> list[str]:
    """Those that CloudFront has for it."""
    return [row["Domain"] for tenant in team.tenants(name) for row in tenant["Domains"]]


def policy(file: str) -> str:
    """The manifests of a policy that a platform team may apply."""
    return (ROOT / "package" / file).read_text()


@pytest.fixture
def no_orphans(world: World) -> Iterator[None]:
    with applied(world, policy("no-orphans.yaml")):
        yield


@pytest.fixture
def protected_references(world: World) -> Iterator[None]:
    with applied(world, policy("resource-references.yaml")):
        yield


@pytest.fixture
def enforced_compositions(world: World) -> Iterator[None]:
    with applied(world, policy("compositions.yaml")):
        yield


@pytest.mark.usefixtures("enforced_compositions")
def test_a_claim_does_not_choose_its_composition(green: Team) -> None:
    """Without the policy, core follows a revision of any Composition that the claim names."""
    revision = {"compositionUpdatePolicy": "Manual", "compositionRevisionRef": {"name": "others-1"}}
    asks = claim(green, "chooses", crossplane=revision)
    dry, words = ("create", "--dry-run=server", "-f", "-"), "choose the Composition of a claim"
    green.wait("the policy", lambda: words in green.tried(*dry, given=asks), 30)
    green.apply(claim(green, "steady"))
    green.wait_ready("steady")
    patch = ("patch", "tenantclaim", "steady", "-n", green.namespace, "--type=merge", "-p")
    for field, value in (*revision.items(), ("compositionRef", {"name": "others"})):
        assert words in green.refused(*patch, json.dumps({"spec": {"crossplane": {field: value}}}))
    green.world.kubectl(*patch, json.dumps({"spec": {"suspended": True}}))
    green.delete("steady")
    green.wait("its tenant to go", lambda: not green.tenants("steady"), 60)


@pytest.mark.usefixtures("protected_references")
def test_only_core_writes_the_list_of_a_claims_resources(world: World, green: Team) -> None:
    """Without the policy, a tenant that is taken from the list serves on, and its claim shows nothing."""
    listing = claim(green, "lists", crossplane={"resourceRefs": [reference(CLUSTER_ROLE)]})
    dry, words = ("create", "--dry-run=server", "-f", "-"), "only Crossplane and administrators"
    # The API server takes it in after a moment.
    green.wait("the policy", lambda: words in green.tried(*dry, given=listing), 30)
    green.apply(claim(green, "stays"))
    green.wait_ready("stays")
    patch = ("patch", "tenantclaim", "stays", "-n", green.namespace, "--type=merge", "-p")
    forgotten = json.dumps({"spec": {"crossplane": {"resourceRefs": []}}})
    assert words in green.refused(*patch, forgotten)
    green.world.kubectl(*patch, json.dumps({"spec": {"domains": ["other-stays.example.com"]}}))
    green.wait("the edit to arrive", lambda: domains_of(green, "stays") == ["other-stays.example.com"], 60)

    core = "--as=system:serviceaccount:crossplane-system:crossplane"
    lost = uncontrolled(green, "listed")
    with applied(world, json.dumps(lost)):
        deletion = (
            "delete",
            "edt",
            "listed",
            "-n",
            green.namespace,
            "--dry-run=server",
            "--as-group=system:masters",
        )
        world.kubectl(*deletion, "--as=admin")
        with pytest.raises(WorldError, match="no composite controls this managed resource"):
            world.kubectl(*deletion, core)
        attempt = "usage.crossplane.io/deletion-attempt-with-policy=Background"
        world.kubectl("annotate", "edt", "listed", "-n", green.namespace, attempt)
        world.kubectl(*deletion, core)
        composed = managed(green, "stays")["metadata"]["name"]
        world.kubectl("delete", "edt", composed, *deletion[3:], core)
    green.delete("stays")
    green.wait("its tenant to go", lambda: not green.tenants("stays"), 60)


def test_a_claim_that_its_author_paused_is_stopped_at_its_managed_resource(world: World, green: Team) -> None:
    green.apply(claim(green, "pauses"))
    green.wait_ready("pauses")
    green.change("pauses", {"metadata": {"annotations": {"crossplane.io/paused": "true"}}}, "tenantclaim")
    paused = lambda: condition(green.get("pauses"), "Synced").get("reason") == "ReconcilePaused"  # noqa: E731
    green.wait("the pause", paused, 30)
    name = managed(green, "pauses")["metadata"]["name"]
    admin, disabled = reader(world.kubeconfig), {"spec": {"forProvider": {"enabled": False}}}
    admin.patch("edt", name, green.namespace, disabled)
    green.wait("its tenant to be stopped", lambda: not any(t["Enabled"] for t in green.tenants("pauses")), 60)
    # Core hears of the change, and leaves it.
    ready = lambda: condition(admin.get("edt", name, green.namespace), "Ready").get("reason")  # noqa: E731
    green.wait("its resource to say so", lambda: ready() == "Disabled", 60)
    assert admin.get("edt", name, green.namespace)["spec"]["forProvider"]["enabled"] is False


@pytest.mark.usefixtures("no_orphans")
def test_a_claim_leaves_no_tenants_behind_but_as_its_plan_allows(green: Team) -> None:
    """Without the policy, what --cascade=orphan leaves goes on serving, and the team cannot get at it."""
    green.apply(claim(green, "leaves"))
    green.wait("its tenant", lambda: managed(green, "leaves"), 30)
    finalizer = json.dumps({"metadata": {"finalizers": ["orphan"]}})
    patch = ("patch", "tenantclaim", "leaves", "-n", green.namespace, "--type=merge", "-p", finalizer)

    def policy_holds() -> bool:
        """The API server takes it in after a moment."""
        try:
            green.world.kubectl(*patch, "--dry-run=server")
        except WorldError as error:
            return "no-orphans" in str(error)
        return False

    green.wait("the policy", policy_holds, 30)
    assert 'cannot have the finalizer "orphan"' in green.refused(*patch)
    deletion = ("delete", "tenantclaim", "leaves", "-n", green.namespace)
    assert "--cascade=orphan" in green.refused(*deletion, "--cascade=orphan")
    everything = ("delete", "tenantclaim", "--all", "-n", green.namespace, "--cascade=orphan")
    assert "--cascade=orphan" in green.refused(*everything)
    green.world.kubectl(*deletion, "--wait=false")
    green.wait("its tenant to go", lambda: not green.tenants("leaves"), 60)

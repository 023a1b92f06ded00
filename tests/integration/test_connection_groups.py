"""Connection groups of our own on the real control plane, and the tenants that are reached by them."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from botocore.exceptions import ClientError

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.conftest import leaving
from tests.integration.test_bad_claims import added_plans, told
from tests.integration.test_guards import DEFAULT_CONFIG, cloudfront
from tests.integration.test_references import ROOT, applied, tenant
from tests.integration.watching import Object, condition, is_true

ORPHAN = json.dumps({"spec": {"managementPolicies": ["Observe", "Create", "Update", "LateInitialize"]}})


def group(claims: Claims, name: str, **fields: Any) -> Object:
    return {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "ConnectionGroup",
        "metadata": {
            "name": name,
            "namespace": claims.namespace,
            "annotations": {"crossplane.io/external-name": f"{claims.namespace}.{name}"},
        },
        "spec": {"forProvider": fields},
    }


def in_aws(world: World, claims: Claims, name: str) -> Object:
    """The connection group in CloudFront; empty when there is none."""
    groups = world.emulator.state()["connectionGroups"]
    return next((each for each in groups if each["Name"] == f"{claims.namespace}.{name}"), {})


def edit(claims: Claims, kind: str, name: str, body: Object) -> None:
    claims.world.kubectl("patch", kind, name, "-n", claims.namespace, "--type=merge", "-p", json.dumps(body))


def warnings(claims: Claims, kind: str) -> list[str]:
    return [
        e["message"]
        for e in claims.events()
        if e["type"] == "Warning" and e["involvedObject"]["kind"] == kind
    ]


@pytest.fixture
def groups(claims: Claims) -> Iterator[Claims]:
    yield claims
    for kind in ("edt", "ecg"):
        claims.world.kubectl("delete", kind, "--all", "-n", claims.namespace, "--wait=false")


def test_a_group_lives_with_its_tenant(groups: Claims, world: World) -> None:
    groups.apply(
        tenant(groups, "late", connectionGroupIdRef={"name": "front"}),
        group(groups, "front", ipv6Enabled=False, tags={"team": "edge"}),
    )
    groups.wait("the group", lambda: is_true(groups.get("front", "ecg"), "Ready"))
    groups.wait("the tenant", lambda: is_true(groups.get("late", "edt"), "Ready"))
    made = in_aws(world, groups, "front")
    assert made["Ipv6Enabled"] is False
    assert groups.tenants("late")[0]["ConnectionGroupId"] == made["Id"]
    shown = groups.get("front", "ecg")
    assert shown["status"]["atProvider"]["routingEndpoint"] == made["RoutingEndpoint"]
    assert shown["spec"]["forProvider"]["enabled"] is True
    assert made["RoutingEndpoint"] == groups.get("late", "edt")["status"]["atProvider"]["routingEndpoint"]

    edit(groups, "ecg", "front", {"spec": {"forProvider": {"ipv6Enabled": True}}})
    groups.wait("the change", lambda: in_aws(world, groups, "front")["Ipv6Enabled"])

    # Deleted first, and it waits: quietly, and enabled as long as the tenant needs it.
    world.kubectl("delete", "ecg", "front", "-n", groups.namespace, "--wait=false")
    waits = lambda: "waits for its tenants" in " ".join(e["message"] for e in groups.events())  # noqa: E731
    groups.wait("the wait to be told", waits)
    assert in_aws(world, groups, "front")["Enabled"] is True
    assert is_true(groups.get("front", "ecg"), "Synced")
    world.kubectl("delete", "edt", "late", "-n", groups.namespace, "--wait=false")
    groups.wait("both to go", lambda: not groups.get("front", "ecg") and not groups.get("late", "edt"))
    assert in_aws(world, groups, "front") == {}
    assert warnings(groups, "ConnectionGroup") == []


def test_a_group_of_somebody_else_is_refused(groups: Claims, world: World) -> None:
    default = next(g for g in world.emulator.state()["connectionGroups"] if g["IsDefault"])
    wanted = group(groups, "taken")
    wanted["metadata"]["annotations"]["crossplane.io/external-name"] = default["Name"]
    groups.apply(wanted, tenant(groups, "neighbour"))
    groups.wait("a tenant in the group", lambda: is_true(groups.get("neighbour", "edt"), "Ready"))
    world.kubectl("patch", "edt", "neighbour", "-n", groups.namespace, "--type=merge", "-p", ORPHAN)
    world.kubectl("delete", "edt", "neighbour", "-n", groups.namespace)
    groups.wait(
        "AdoptionRefused",
        lambda: condition(groups.get("taken", "ecg"), "Ready").get("reason") == "AdoptionRefused",
    )
    assert default["Id"] in condition(groups.get("taken", "ecg"), "Ready")["message"]

    # Given to it, the default group is managed, and survives. Earlier tests may have left tenants in it, too.
    remove_tenants(groups, cloudfront(world), default["Id"])
    body = {"metadata": {"annotations": {"edgetenants.io/adopt": default["Id"]}}}
    edit(groups, "ecg", "taken", body)
    groups.wait("Ready", lambda: is_true(groups.get("taken", "ecg"), "Ready"))
    world.kubectl("delete", "ecg", "taken", "-n", groups.namespace, "--wait=false")
    groups.wait("the object to go", lambda: not groups.get("taken", "ecg"))
    after = next(g for g in world.emulator.state()["connectionGroups"] if g["IsDefault"])
    assert (after["Id"], after["Enabled"]) == (default["Id"], True)
    # Other tests of this account expect a default group that no one owns.
    cloudfront(world).untag_resource(Resource=after["Arn"], TagKeys={"Items": ["edgetenants.io/owner"]})


def remove_tenants(groups: Claims, console: Any, group_id: str) -> None:
    """Remove all tenants of a connection group at the console."""

    def left() -> list[Object]:
        tenants: list[Object] = groups.world.emulator.state()["tenants"]
        return [each for each in tenants if each["ConnectionGroupId"] == group_id]

    def removed() -> bool:
        for tenant_ in left():
            with contextlib.suppress(ClientError):
                found = console.get_distribution_tenant(Identifier=tenant_["Id"])
                given = {"Id": tenant_["Id"], "IfMatch": found["ETag"]}
                if found["DistributionTenant"]["Enabled"]:
                    console.update_distribution_tenant(Enabled=False, **given)
                else:
                    console.delete_distribution_tenant(**given)
        return not left()

    with leaving(groups.world):
        groups.wait("the tenants of others to go", removed)


def test_a_claim_with_a_connection_of_its_own(claims: Claims, world: World) -> None:
    made = yaml.safe_load((ROOT / "package" / "composition.yaml").read_text())
    made["metadata"]["name"] = "own-connection"
    made["spec"]["pipeline"][0]["input"]["plans"]["standard"]["connection"] = {"dedicated": True}
    with applied(world, yaml.safe_dump(made)):
        claims.apply(
            claims.claim("pair", crossplane={"compositionRef": {"name": "own-connection"}}),
        )
        claims.wait_ready("pair", seconds=90)
        [tenant_] = claims.tenants("pair")
        own = in_aws(world, claims, "pair")
        assert tenant_["ConnectionGroupId"] == own["Id"]
        claims.delete("pair")
        claims.wait_gone(["pair"], seconds=90)
        claims.wait("the group to go", lambda: in_aws(world, claims, "pair") == {})
        assert warnings(claims, "ConnectionGroup") == []


def test_a_claim_finds_its_own_group_again_when_both_went_in_aws(claims: Claims, world: World) -> None:
    made = yaml.safe_load((ROOT / "package" / "composition.yaml").read_text())
    made["metadata"]["name"] = "own-group"
    made["spec"]["pipeline"][0]["input"]["plans"]["standard"]["connection"] = {"dedicated": True}
    with applied(world, yaml.safe_dump(made)):
        claims.apply(claims.claim("twin", crossplane={"compositionRef": {"name": "own-group"}}))
        claims.wait_ready("twin", seconds=90)
        [tenant_], before = claims.tenants("twin"), in_aws(world, claims, "twin")
        console = cloudfront(world)
        freeze = {"spec": {"writes": "Frozen"}}
        patch_config(world, freeze)
        delete_in_console(world, console, tenant_["Id"], before["Id"])
        patch_config(world, {"spec": {"writes": None}})

        def again() -> Object:
            here = in_aws(world, claims, "twin")
            return here if here and here["Id"] != before["Id"] else {}

        group_ = claims.wait("the group", again, seconds=120)
        claims.wait(
            "the tenant in the new group",
            lambda: [each["ConnectionGroupId"] for each in claims.tenants("twin")] == [group_["Id"]],
            seconds=120,
        )
        claims.wait_ready("twin", seconds=90)
        claims.delete("twin")
        claims.wait_gone(["twin"], seconds=90)


@pytest.fixture
def disables_used_groups(world: World) -> Iterator[None]:
    """AWS disables a connection group under its tenants."""
    world.emulator.change_settings({"group_disable_needs_no_tenants": False})
    yield
    world.emulator.change_settings({"group_disable_needs_no_tenants": True})


@pytest.mark.usefixtures("disables_used_groups")
def test_claims_in_a_group_that_somebody_disables_are_not_live(claims: Claims, world: World) -> None:
    console = cloudfront(world)
    shared = console.create_connection_group(Name=f"{claims.namespace}.console")["ConnectionGroup"]["Id"]
    plan = {"distributionId": "E1EDGETENANTS", "connection": {"connectionGroupId": shared}}
    disabled = lambda name: told(claims.get(name), "ConnectionGroupDisabled")  # noqa: E731
    with added_plans(world, {"in-group": plan}):
        claims.apply(claims.claim("own", plan="in-group"))
        claims.wait_ready("own")
        switch_in_console(console, shared, enabled=False)
        claims.wait("the claim to say it", lambda: disabled("own"))
        claims.apply(claims.claim("new", plan="in-group"))
        claims.wait("a new claim to say it", lambda: disabled("new"))
        world.processes.restart("provider")
        world.emulator.step(24 * 3600)
        claims.wait_quiet("own")
        assert disabled("own")
        assert disabled("new")
        switch_in_console(console, shared, enabled=True)
        claims.wait_ready("own", seconds=90)
        claims.delete("own")
        claims.delete("new")
        claims.wait_gone(["own", "new"], seconds=90)


def switch_in_console(console: Any, group_id: str, *, enabled: bool) -> None:
    etag = console.get_connection_group(Identifier=group_id)["ETag"]
    console.update_connection_group(Id=group_id, IfMatch=etag, Enabled=enabled)


def patch_config(world: World, body: Object) -> None:
    world.kubectl("patch", DEFAULT_CONFIG, "default", "--type=merge", "-p", json.dumps(body))


def delete_in_console(world: World, console: Any, tenant_id: str, group_id: str) -> None:
    """As a user does who empties the account: each is disabled first."""
    asked = console.get_distribution_tenant(Identifier=tenant_id)
    console.update_distribution_tenant(Id=tenant_id, IfMatch=asked["ETag"], Enabled=False)
    world.emulator.step(300)
    etag = console.get_distribution_tenant(Identifier=tenant_id)["ETag"]
    console.delete_distribution_tenant(Id=tenant_id, IfMatch=etag)
    switch_in_console(console, group_id, enabled=False)
    world.emulator.step(300)
    etag = console.get_connection_group(Identifier=group_id)["ETag"]
    console.delete_connection_group(Id=group_id, IfMatch=etag)

"""What stops the provider before it writes: each with its condition and its way out."""

from __future__ import annotations

import copy

import pytest

from apis.conditions import InSyncReason, TenantReadyReason
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.memory.account_memory import AccountMemory
from provider.cloudfront.memory.sightings import Sightings
from provider.cloudfront.state.identity import OWNER_TAG
from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import World, managed

WRITES = {"CreateDistributionTenant", "UpdateDistributionTenant", "DeleteDistributionTenant", "TagResource"}
LEFT = ". The drift policy keeps it so: change it back in AWS, or set spec.driftPolicy to Enforce"


def settled(**spec) -> World:
    world = World(managed(**spec))
    world.settle()
    world.cloudfront.journal.clear()
    return world


def protected() -> World:
    world = settled(deletionProtection=True)
    world.delete()
    return world


def frozen() -> World:
    return World(frozen="spec.writes of ClusterProviderConfig default is Frozen")


def read_only() -> World:
    return World(frozen="the provider runs with --read-only")


def astray() -> World:
    world = settled()
    world.cloudfront.edit("dt_1", enabled=False)
    world.reconcile()
    world.cloudfront.edit("dt_1", enabled=False)
    world.obj["status"]["conditions"] = []
    world.cloudfront.journal.clear()
    world.context["account"] = "999999999999"
    return world


def somebody_elses() -> World:
    cloudfront = FakeCloudFront()
    cloudfront.add(tags={"edgetenants.io/owner": "other/DistributionTenant/shop/shop.acme"})
    return World(cloudfront=cloudfront)


def nobodys() -> World:
    cloudfront = FakeCloudFront()
    cloudfront.add(tags={})
    return World(cloudfront=cloudfront)


@pytest.mark.parametrize(
    ("stage", "reason", "way_out"),
    [
        pytest.param(protected, TenantReadyReason.DELETION_HELD, "edgetenants.io/confirm to 0a1b2c3d"),
        pytest.param(
            frozen, TenantReadyReason.FROZEN, "spec.writes of ClusterProviderConfig default is Frozen"
        ),
        pytest.param(read_only, TenantReadyReason.FROZEN, "--read-only"),
        pytest.param(astray, TenantReadyReason.ACCOUNT_MISMATCH, "Use credentials of account 123456789012"),
        pytest.param(somebody_elses, TenantReadyReason.ADOPTION_REFUSED, "Choose another name"),
        pytest.param(nobodys, TenantReadyReason.ADOPTION_REFUSED, "edgetenants.io/adopt to dt_1"),
    ],
)
def test_a_guard_says_what_it_is_and_how_to_go_on(stage, reason, way_out):
    world = stage()
    world.reconcile()
    status, told, message = world.condition("Ready")
    assert (status, told) == ("False", reason)
    assert way_out in message
    assert not WRITES & set(world.cloudfront.journal)


MARK = "crossplane.io/external-create-succeeded"
OWNER = {"kind": "TenantClaim", "name": "acme", "uid": "of-another-cluster", "controller": True}


def restored(mark: str = "2025-06-01T00:00:00Z", *, owner=OWNER, deleted: str) -> World:
    """A resource that was created at the beginning of 2026, with the annotation of an earlier creation of its
    tenant, and deleted."""
    world = settled()
    world.obj["metadata"] |= {"ownerReferences": [owner] if owner else [], "deletionTimestamp": deleted}
    world.obj["metadata"]["annotations"][MARK] = mark
    return world


def test_a_restored_resource_that_soon_goes_keeps_its_tenant_until_that_is_confirmed():
    world = restored(deleted="2026-01-01T00:59:59Z")
    world.reconcile()
    world.reconcile()
    assert world.ready() == ("False", TenantReadyReason.DELETION_HELD)
    message = world.condition("Ready")[2]
    assert "set spec.managementPolicies to [Observe]" in message
    assert "edgetenants.io/confirm to 0a1b2c3d" in message
    assert world.condition("Deployed")[:2] == ("True", "Deployed")
    assert not WRITES & set(world.cloudfront.journal)
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = "0a1b2c3d"
    world.reconcile()
    assert not world.cloudfront.tenants


@pytest.mark.parametrize(
    "copied",
    [
        pytest.param({"deleted": "2026-01-01T01:00:00Z"}, id="an hour later"),
        pytest.param({"deleted": "2026-01-01T00:00:09Z", "owner": None}, id="without a claim"),
        pytest.param(
            {"deleted": "2026-01-01T00:00:09Z", "owner": {**OWNER, "controller": False}},
            id="with an owner that is no controller",
        ),
        pytest.param(
            {"deleted": "2026-01-01T00:00:09Z", "mark": "2025-12-31T23:55:00Z"}, id="clocks that differ"
        ),
        pytest.param({"deleted": "2026-01-01T00:00:09Z", "mark": "2026-01-01T00:00:01Z"}, id="created here"),
        pytest.param({"deleted": "2026-01-01T00:00:09Z", "mark": "long ago"}, id="an invalid annotation"),
    ],
)
def test_other_deletions_do_not_wait_for_a_confirmation(copied):
    world = restored(**copied)
    world.reconcile()
    assert not world.cloudfront.tenants


def test_a_changed_external_name_says_how_to_revert_and_how_to_let_go():
    world = settled()
    world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = "shop.other"
    world.reconcile()
    assert "Set it back to shop.acme" in world.error.message
    assert "managementPolicies that lack Delete" in world.error.message
    assert world.ready() == ("True", "Available"), "it goes on to serve"
    assert not world.cloudfront.journal


@pytest.mark.parametrize(
    ("ineffective", "ready"),
    [
        pytest.param("enabled", ("False", TenantReadyReason.UPDATE_INEFFECTIVE), id="it would serve by it"),
        pytest.param("parameters", ("True", "Available"), id="it serves all the same"),
    ],
)
def test_an_update_that_changes_nothing_is_why_a_tenant_does_not_serve(ineffective, ready):
    world = settled()
    world.cloudfront.keeps_ineffective = frozenset({ineffective})
    world.cloudfront.edit("dt_1", **{ineffective: {"enabled": False, "parameters": {}}[ineffective]})
    for _ in range(4):
        world.reconcile()
    assert world.condition("InSync")[:2] == ("False", InSyncReason.UPDATE_INEFFECTIVE)
    assert ineffective in world.condition("InSync")[2]
    assert world.ready() == ready


@pytest.mark.parametrize("default", ["Enforce", "Report", "Suspend"])
@pytest.mark.parametrize("own", [None, "Enforce", "Report", "Suspend"])
def test_a_resource_has_its_own_drift_policy_or_the_providers(default, own):
    world = World(managed(**({"driftPolicy": own} if own else {})), drift_policy=default)
    world.settle()
    world.cloudfront.edit("dt_1", parameters={"tenantName": "theirs"})
    world.reconcile()
    policy = own or default
    repaired = world.cloudfront.only.parameters == {"tenantName": "acme"}
    assert repaired is (policy == "Enforce")
    shown = world.status.get("drift") or []
    assert [(d["field"], d["desired"], d["observed"]) for d in shown] == (
        [("parameters.tenantName", "acme", "theirs")] if policy == "Report" else []
    )
    if policy == "Report":
        differs = "parameters.tenantName: desired acme, AWS has theirs"
        assert world.condition("InSync")[2] == f"{differs}{LEFT}"
        writes = world.status_writes
        world.reconcile()
        assert world.status_writes == writes, "told once"
    # A change of the spec is rolled out in any case, and takes nothing else along.
    world.edit(tags={"stage": "live"})
    world.reconcile()
    assert world.cloudfront.only.tags["stage"] == "live"


def test_drift_is_told_once_and_again_when_it_moves():
    world = settled(driftPolicy="Report")
    told = []
    for values in (["a"], ["a"], ["b"], ["b"], ["acme"], ["acme"], ["b"]):
        if world.cloudfront.only.parameters != {"tenantName": values[0]}:
            world.cloudfront.edit("dt_1", parameters={"tenantName": values[0]})
        told.append(world.client.observe(world.mr).drifted)
        world.reconcile()
    a, b = (f"parameters.tenantName: desired acme, AWS has {value}{LEFT}" for value in "ab")
    assert told == [a, "", b, "", "", "", b]


@pytest.mark.parametrize(
    ("ignored", "changed"),
    [
        ("parameters", {"parameters": {"tenantName": "x"}}),
        ("parameters.tenantName", {"parameters": {"tenantName": "x"}}),
        ("enabled", {"enabled": False}),
        ("domains", {"domains": {"acme.example.com": "active"}}),
    ],
)
def test_what_is_ignored_is_neither_shown_nor_repaired(ignored, changed):
    world = settled(ignoreDrift=[ignored])
    world.cloudfront.edit("dt_1", **changed)
    world.settle()
    assert not WRITES & set(world.cloudfront.journal)
    assert "drift" not in world.status
    assert world.condition("InSync")[0] == "True"


@pytest.mark.parametrize("cluster", [False, True])
def test_a_restored_cluster_finds_its_tenant_again_and_updates_nothing(cluster):
    before = settled()
    world = World(managed(uid="another-uid", cluster=cluster), before.cloudfront)
    world.settle()
    assert world.ready() == ("True", "Available")
    assert "UpdateDistributionTenant" not in world.cloudfront.journal
    assert "CreateDistributionTenant" not in world.cloudfront.journal
    assert len(world.cloudfront.tenants) == 1


def test_a_tenant_is_looked_at_first_and_taken_over_then():
    cloudfront = FakeCloudFront()
    cloudfront.add(tags={}, domains={"acme.example.com": "active", "shop.acme.com": "active"},
                   parameters={"tenantName": "acme"})  # fmt: skip
    world = World(managed({}, managementPolicies=["Observe"]), cloudfront)
    world.settle()
    assert world.ready() == ("True", "Available")
    seen = world.status["atProvider"]
    world.obj["spec"]["managementPolicies"] = ["*"]
    world.edit(distributionId=seen["distributionId"], domains=[d["domain"] for d in seen["domains"]])
    world.reconcile()
    assert "edgetenants.io/adopt to dt_1" in world.error.message
    world.obj["metadata"]["annotations"]["edgetenants.io/adopt"] = "dt_1"
    world.settle()
    assert "UpdateDistributionTenant" not in cloudfront.journal
    assert cloudfront.only.parameters == {"tenantName": "acme"}
    assert cloudfront.only.tags["crossplane-name"] == "acme"


def test_a_status_of_another_tenant_does_not_stay_ready() -> None:
    """A user who may write it copied it from a live resource. The provider does not look at that tenant."""
    forged, live = World(managed(uid="forged")), World()
    live.settle()
    forged.obj["status"] = copy.deepcopy(live.obj["status"])
    forged.obj["status"]["atProvider"]["name"] = "shop.other"
    forged.reconcile()
    assert "is not the tenant shop.other" in str(forged.error)
    assert forged.ready() == ("False", "ValidationFailed")


def test_a_resource_that_is_renamed_stays_ready_while_the_provider_knows_its_tenant() -> None:
    world = World()
    world.settle()
    world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = "shop.other"
    world.reconcile()
    assert "is not the tenant shop.acme" in str(world.error)
    assert world.ready() == ("True", "Available")


def renamed_after_a_restart(**policies) -> World:
    """Nothing was proven or observed yet, and the external name leads elsewhere."""
    world = settled(**policies)
    world.restart()
    world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = "shop.other"
    return world


@pytest.mark.parametrize("policies", [["*"], ["Observe"]])
def test_a_resource_that_is_renamed_stays_ready_after_a_restart_while_its_tenant_is_there(policies) -> None:
    world = renamed_after_a_restart(managementPolicies=["*"])
    world.obj["spec"]["managementPolicies"] = policies
    for _ in range(3):
        world.reconcile()
        assert "is not the tenant shop.acme" in str(world.error)
        assert world.ready() == ("True", "Available")
    assert set(world.cloudfront.journal) <= {"GetDistributionTenant", "ListTagsForResource"}
    world.cloudfront.tenants.clear()
    world.reconcile()
    assert "is not the tenant shop.acme" in str(world.error)
    assert world.ready() == ("False", "ValidationFailed")


@pytest.mark.parametrize(
    ("code", "status", "ready"),
    [("Throttling", 400, "True"), ("AccessDenied", 403, "True"), ("InvalidArgument", 400, "False")],
)
def test_an_answer_that_says_nothing_of_its_tenant_takes_no_ready_away(code, status, ready) -> None:
    world = renamed_after_a_restart()
    world.cloudfront.refuse["GetDistributionTenant"] = AwsError("Get", code, "words", status=status)
    world.reconcile()
    assert "is not the tenant shop.acme" in str(world.error)
    assert world.ready()[0] == ready


def test_a_renamed_resource_does_not_stay_ready_if_its_tenant_is_disabled() -> None:
    world = renamed_after_a_restart()
    world.cloudfront.edit("dt_1", enabled=False)
    world.reconcile()
    assert world.ready() == ("False", "ValidationFailed")


@pytest.mark.parametrize("policies", [["*"], ["Observe"]])
def test_a_renamed_resource_does_not_stay_ready_by_the_tenant_of_another(policies) -> None:
    """Its status may be a copy of that one's."""
    world = renamed_after_a_restart()
    world.obj["spec"]["managementPolicies"] = policies
    world.cloudfront.edit("dt_1", tags={OWNER_TAG: "cluster-1/DistributionTenant/blue/shop.acme"})
    world.reconcile()
    assert world.ready() == ("False", "ValidationFailed")


def test_nor_by_that_of_a_resource_in_its_namespace_that_has_the_name() -> None:
    world = renamed_after_a_restart()
    other = World(managed(uid="other"), world.cloudfront)
    other.settle()
    world.context["peers"] = lambda *_: (other.mr,)
    world.reconcile()
    assert world.ready() == ("False", "ValidationFailed")


HOME, FOREIGN = "123456789012", "999999999999"


def test_a_status_with_the_account_of_another_does_not_stay_ready() -> None:
    """A user who may write it copied it from a live resource, and wrote another account into its ARN."""
    forged, live = World(managed(uid="forged")), World()
    live.settle()
    forged.obj["status"] = copy.deepcopy(live.obj["status"])
    at_provider = forged.obj["status"]["atProvider"]
    at_provider["arn"] = at_provider["arn"].replace(HOME, FOREIGN)
    forged.reconcile()
    assert f"but the tenant is in account {FOREIGN}" in str(forged.error)
    assert forged.ready() == ("False", "AccountMismatch")
    assert not forged.cloudfront.journal


def other_account(world: World, sightings: Sightings) -> None:
    """The credentials are replaced with those of another account, which has its own memory."""
    world.memory = AccountMemory(world.clock, sightings=sightings)
    world.context["account"] = FOREIGN


def restarted() -> tuple[World, Sightings]:
    """A new process observes the tenant, which it proves only before a write."""
    world, sightings = settled(), Sightings()
    world.memory = AccountMemory(world.clock, sightings=sightings)
    world.reconcile()
    return world, sightings


@pytest.mark.parametrize("name", ["shop.acme", "shop.other"])
def test_who_was_observed_stays_ready_with_the_credentials_of_another_account(name) -> None:
    world, sightings = restarted()
    other_account(world, sightings)
    world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = name
    world.cloudfront.journal.clear()
    world.reconcile()
    assert world.error is not None
    assert world.ready() == ("True", "Available")
    assert not world.cloudfront.journal
    world.obj["status"]["atProvider"]["arn"] += "0"
    world.reconcile()
    assert world.ready()[0] == "False", "that was not observed"


def test_what_was_found_gone_or_of_another_owner_was_not_observed() -> None:
    gone, of_another = restarted(), restarted()
    before = copy.deepcopy(gone[0].obj["status"])
    gone[0].cloudfront.tenants.clear()
    of_another[0].cloudfront.edit("dt_1", tags={OWNER_TAG: "cluster-1/DistributionTenant/blue/shop.acme"})
    of_another[0].edit(parameters={"tenantName": "changed"})
    for world, sightings in (gone, of_another):
        world.reconcile()
        world.obj["status"] = copy.deepcopy(before)
        other_account(world, sightings)
        world.reconcile()
        assert world.ready() == ("False", "AccountMismatch")

"""The life of a tenant over the wire: boto3 against the emulator."""

from __future__ import annotations

import pytest

from tests.contract.emulated import ACCOUNT, Emulated
from tests.unit.provider.world import World, managed

WEB_ACL = f"arn:aws:wafv2:us-east-1:{ACCOUNT}:global/webacl/edge/0a1b2c3d-1111-2222-3333-444455556666"


PREFLIGHT = ("GetDistribution", "DescribeCertificate")


def world_of(aws: Emulated, **spec) -> World:
    return World(managed(**spec), aws)


def settled(aws: Emulated) -> World:
    world = world_of(aws)
    world.settle()
    return world


def test_the_account_is_known(aws):
    assert aws.account_of_config.id == ACCOUNT


def test_create_change_repair_delete(aws):
    world = world_of(aws)
    assert world.reconcile() == [
        "GetDistributionTenant",
        "ListConnectionGroups",
        *PREFLIGHT,
        "CreateDistributionTenant",
    ]
    assert world.ready() == ("False", "Deploying")
    assert world.reconcile() == ["GetDistributionTenant"]
    aws.deploy()
    assert world.reconcile() == ["GetDistributionTenant", "VerifyDnsConfiguration"]
    assert world.ready() == ("True", "Available")
    assert world.status["atProvider"]["routingEndpoint"].endswith(".cloudfront.net")

    world.edit(
        parameters={"tenantName": "b", "tier": "gold"},
        domains=["acme.example.com"],
        customizations={
            "webAcl": {"action": "override", "arn": WEB_ACL},
            "geoRestrictions": {"restrictionType": "whitelist", "locations": ["FR", "DE"]},
        },
        tags={"stage": "live"},
    )
    world.settle()
    assert world.condition("InSync")[0] == "True"
    assert world.status["atProvider"]["parameters"] == {"tenantName": "b", "tier": "gold"}
    assert world.status["atProvider"]["customizations"]["geoRestrictions"]["locations"] == ["DE", "FR"]
    tags = aws.calls.tags(world.status["atProvider"]["arn"])
    assert tags["stage"] == "live"
    assert "team" not in tags
    assert world.reconcile() == ["GetDistributionTenant"]

    aws.edit("shop.acme", Enabled=False)
    world.reconcile()
    assert world.events[-1] == "update: repaired drift: updated tenant shop.acme: enabled false → true"
    world.settle()
    assert world.ready() == ("True", "Available")

    world.delete()
    world.settle()
    assert world.gone
    assert aws.tenants == []


def test_parameters_and_customizations_can_be_taken_back(aws):
    world = world_of(aws)
    world.edit(customizations={"webAcl": {"action": "override", "arn": WEB_ACL}})
    world.settle()
    world.edit(parameters=None, customizations=None)
    world.settle()
    assert "parameters" not in world.status["atProvider"]
    assert "customizations" not in world.status["atProvider"]


def test_two_that_want_one_domain(aws):
    settled(aws)
    other = managed(annotations={"crossplane.io/external-name": "shop.other"}, uid="other")
    world = World(other, aws)
    world.reconcile()
    assert world.ready() == ("False", "DomainConflict")
    assert "acme.example.com is served by tenant shop.acme (dt_" in world.error.message
    assert "belongs to cluster-1/DistributionTenant/shop/shop.acme" in world.error.message


@pytest.mark.parametrize(
    ("asked", "reason", "words"),
    [
        ({"distributionId": "E1GONE"}, "ParentNotFound", "distribution E1GONE does not exist"),
        (
            {"connectionGroupId": "cg_gone"},
            "ConnectionGroupNotFound",
            "connection group cg_gone does not exist",
        ),
    ],
)
def test_a_missing_parent_is_named(aws, asked, reason, words):
    world = world_of(aws)
    world.edit(**asked)
    world.reconcile()
    assert world.ready() == ("False", reason)
    assert words in world.error.message


def test_a_restored_cluster_finds_its_tenant(aws):
    settled(aws)
    restored = World(managed(uid="another-uid"), aws)
    before = len(aws.journal)
    restored.settle()
    assert restored.ready() == ("True", "Available")
    assert "UpdateDistributionTenant" not in aws.journal[before:]
    assert len(aws.tenants) == 1


def test_another_clusters_tenant_is_left_alone(aws):
    settled(aws)
    stranger = World(managed(), aws, installation="cluster-2")
    stranger.reconcile()
    assert stranger.ready() == ("False", "AdoptionRefused")
    stranger.delete()
    stranger.reconcile()
    assert stranger.gone
    assert [tenant["Enabled"] for tenant in aws.tenants] == [True]


LIFE = [
    "CreateDistributionTenant",
    "GetDistributionTenant",
    "GetConnectionGroup",
    "UpdateDistributionTenant",
    "TagResource",
    "UntagResource",
    "ListTagsForResource",
    "DeleteDistributionTenant",
]
FAULTS = [
    pytest.param({"action": "reset", "when": "before"}, id="the request is lost"),
    pytest.param({"action": "reset", "when": "after"}, id="the answer is lost"),
    pytest.param({"code": "Throttling", "status": 400, "message": "Rate exceeded"}, id="throttled"),
    pytest.param({"code": "ServiceUnavailable", "status": 503, "message": "later"}, id="unavailable"),
    pytest.param({"code": "AccessDenied", "status": 403, "message": "no"}, id="denied"),
]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("operation", LIFE)
def test_each_call_may_fail_once(aws, operation, fault):
    """Through create, change and delete: one tenant or none, as asked."""
    world = world_of(aws)
    aws.fault(operation, **fault)
    world.settle(passes=20)
    assert world.ready() == ("True", "Available")
    world.edit(parameters={"tenantName": "b"}, tags={"stage": "live"})
    world.settle(passes=20)
    (tenant,) = aws.tenants
    assert {p["Name"]: p["Value"] for p in tenant["Parameters"]} == {"tenantName": "b"}
    assert aws.calls.tags(tenant["Arn"])["stage"] == "live"
    world.delete()
    world.settle(passes=20)
    assert world.gone
    assert aws.tenants == []

"""The life of a tenant against CloudFront in memory: each call counted, each story told."""

from __future__ import annotations

import pytest

from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS
from provider.cloudfront.state.customizations import Customizations, GeoRestrictions, WebAcl
from provider.cloudfront.state.identity import OWNER_TAG
from tests.unit.provider.fake_cloudfront import DEFAULT_GROUP, ENDPOINT, FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, INSTALLATION, World, managed

OWNER = f"{INSTALLATION}/DistributionTenant/shop/shop.acme"
WEB_ACL = "arn:aws:wafv2:us-east-1:123456789012:global/webacl/edge/0123"


def settled(**spec) -> World:
    world = World(managed(**spec))
    world.settle()
    return world


def test_a_tenant_is_created_with_its_owner_and_becomes_ready():
    world = World(cloudfront=FakeCloudFront(deploys=False))
    calls = world.reconcile()
    assert calls == [
        "GetDistributionTenant",
        "ListConnectionGroups",
        "GetDistribution",
        "DescribeCertificate",
        "CreateDistributionTenant",
    ]
    assert world.events == ["create: created tenant shop.acme (dt_1)"]
    assert world.cloudfront.only.tags == {
        OWNER_TAG: OWNER,
        "crossplane-kind": "distributiontenant.cloudfront.m.edgetenants.io",
        "crossplane-name": "acme",
        "crossplane-namespace": "shop",
        "crossplane-providerconfig": "default",
        "crossplane-providerconfig-kind": "ClusterProviderConfig",
        "team": "shop",
    }
    assert world.ready() == ("False", "Deploying")
    assert world.condition("Deployed")[:2] == ("False", "Deploying")

    world.cloudfront.deploy()
    world.reconcile()
    assert world.ready() == ("True", "Available")
    assert {c["type"]: c["status"] for c in world.status["conditions"]} == {
        "Ready": "True",
        "Deployed": "True",
        "InSync": "True",
        "CertificateReady": "True",
        "DNSReady": "True",
    }
    assert world.status["domainsReady"] == "2/2"
    assert world.status["dnsInstructions"][0] == {
        "type": "CNAME",
        "name": "acme.example.com",
        "value": ENDPOINT,
        "purpose": "Routing",
        "state": "Missing",
    }


def test_looks_while_it_rolls_out_write_nothing():
    world = World(cloudfront=FakeCloudFront(deploys=False))
    world.reconcile()
    writes = world.status_writes
    for _ in range(5):
        assert world.reconcile() == ["GetDistributionTenant"]
    assert world.status_writes == writes


def test_a_look_in_the_steady_state_is_one_call_and_no_write():
    world = settled()
    writes = world.status_writes
    assert world.reconcile() == ["GetDistributionTenant"]
    world.restart()
    assert world.reconcile() == ["GetDistributionTenant", "GetConnectionGroup"]
    assert world.reconcile() == ["GetDistributionTenant"]
    assert world.status_writes == writes


def test_tags_are_looked_at_once_a_day():
    world = settled()
    world.cloudfront.edit("dt_1", tags={**world.cloudfront.only.tags, "team": "other", "cost": "42"})
    assert world.reconcile() == ["GetDistributionTenant"]
    world.clock.advance(DEEP_CHECK_SECONDS)
    calls = world.reconcile()
    assert [call for call in calls if "Tag" in call] == ["ListTagsForResource", "TagResource"]
    assert world.cloudfront.only.tags["team"] == "shop"
    assert world.cloudfront.only.tags["cost"] == "42", "a tag of somebody else's is never removed"


def test_tags_that_could_not_be_read_are_read_ten_minutes_later():
    world = settled()
    world.cloudfront.edit("dt_1", tags={**world.cloudfront.only.tags, "team": "other"})
    world.clock.advance(DEEP_CHECK_SECONDS)
    world.cloudfront.refuse["ListTagsForResource"] = AwsError(
        "ListTagsForResource", "ServiceUnavailable", "down", status=503
    )
    assert "ListTagsForResource" in world.reconcile()
    assert "ListTagsForResource" not in world.reconcile(), "not at each poll"
    world.cloudfront.refuse.clear()
    world.clock.advance(600)
    world.settle()
    assert world.cloudfront.only.tags["team"] == "shop"
    world.clock.advance(601)
    assert "ListTagsForResource" not in world.reconcile(), "it is done"


def test_tags_that_may_not_be_read_are_tried_once_a_day():
    world = settled()
    world.clock.advance(DEEP_CHECK_SECONDS)
    world.cloudfront.refuse["ListTagsForResource"] = AwsError(
        "ListTagsForResource", "AccessDenied", "no", status=403
    )
    assert "ListTagsForResource" in world.reconcile()
    for _ in range(6):
        world.clock.advance(601)
        assert "ListTagsForResource" not in world.reconcile()


EDITS = [
    pytest.param({"parameters": {"tenantName": "b"}}, "parameters", {"tenantName": "b"}, id="a parameter"),
    pytest.param({"parameters": None}, "parameters", {}, id="the last parameter is removed"),
    pytest.param(
        {"domains": ["acme.example.com"]}, "domains", {"acme.example.com": "active"}, id="a domain less"
    ),
    pytest.param({"enabled": False}, "enabled", False, id="disabled"),
    pytest.param(
        {"customizations": {"webAcl": {"action": "override", "arn": WEB_ACL}}},
        "customizations",
        Customizations(WebAcl("override", WEB_ACL)),
        id="a web ACL",
    ),
    pytest.param(
        {"customizations": {"geoRestrictions": {"restrictionType": "whitelist", "locations": ["FR", "DE"]}}},
        "customizations",
        Customizations(geo_restrictions=GeoRestrictions("whitelist", frozenset({"DE", "FR"}))),
        id="countries",
    ),
]


@pytest.mark.parametrize(("edit", "field", "expected"), EDITS)
def test_an_edit_is_rolled_out_once_and_leaves_the_rest(edit, field, expected):
    world = settled()
    before = world.cloudfront.only
    world.edit(**edit)
    assert world.reconcile()[-1] == "UpdateDistributionTenant"
    after = world.cloudfront.only
    assert getattr(after, field) == expected
    for other in {"parameters", "domains", "enabled", "customizations", "distribution_id", "tags"} - {field}:
        assert getattr(after, other) == getattr(before, other)
    assert world.reconcile() == ["GetDistributionTenant"]


@pytest.mark.parametrize(("edit", "field", "expected"), EDITS)
def test_taking_an_edit_back_takes_it_back_in_aws(edit, field, expected):
    world = settled()
    before = world.cloudfront.only
    world.edit(**edit)
    world.settle()
    world.edit(**{key: FOR_PROVIDER.get(key) for key in edit})
    world.settle()
    assert getattr(world.cloudfront.only, field) == getattr(before, field)


def test_ready_stays_true_while_an_update_rolls_out():
    world = settled()
    world.cloudfront.deploys = False
    world.edit(parameters={"tenantName": "b"})
    world.reconcile()
    assert world.ready() == ("True", "Available")
    assert world.condition("Deployed")[:2] == ("False", "Deploying")
    assert world.condition("InSync")[:2] == ("False", "UpdatePending")
    world.reconcile()
    assert world.ready() == ("True", "Available")


def test_what_nobody_asked_for_is_no_drift():
    world = settled()
    geo = GeoRestrictions("blacklist", frozenset({"KP"}))
    certificate = "arn:aws:acm:us-east-1:123456789012:certificate/1"
    world.cloudfront.edit(
        "dt_1",
        customizations=Customizations(WebAcl("override", WEB_ACL), certificate, geo),
        parameters={"tenantName": "acme", "tier": "gold"},
    )
    assert world.reconcile() == ["GetDistributionTenant"]
    assert world.condition("InSync")[0] == "True"
    world.edit(parameters={"tenantName": "b"})
    world.reconcile()
    assert world.cloudfront.only.customizations == Customizations(
        WebAcl("override", WEB_ACL), certificate, geo
    )
    assert world.cloudfront.only.parameters == {"tenantName": "b", "tier": "gold"}


def test_a_tenant_that_is_disabled_in_aws_is_noticed_and_repaired():
    world = settled()
    world.cloudfront.deploys = False
    world.cloudfront.edit("dt_1", enabled=False, status="InProgress")
    world.reconcile()
    assert world.events[-1] == "update: repaired drift: updated tenant shop.acme: enabled false → true"
    assert world.cloudfront.only.enabled
    assert world.ready() == ("False", "Deploying"), "it serves only once that is rolled out"
    world.cloudfront.deploy()
    world.reconcile()
    assert world.ready() == ("True", "Available")


@pytest.mark.parametrize(
    ("policy", "in_sync", "shown"),
    [("Report", ("False", "DriftDetected"), True), ("Suspend", ("True", "InSync"), False)],
)
def test_drift_is_left_where_the_policy_says_so(policy, in_sync, shown):
    world = settled(driftPolicy=policy)
    world.cloudfront.edit("dt_1", parameters={"tenantName": "x"})
    assert world.reconcile() == ["GetDistributionTenant"]
    assert world.condition("InSync")[:2] == in_sync
    assert bool(world.status.get("drift")) is shown
    world.edit(enabled=False)
    world.reconcile()
    assert not world.cloudfront.only.enabled, "a change of the spec is rolled out all the same"
    assert world.cloudfront.only.parameters == {"tenantName": "x"}


def test_ignored_fields_may_differ_but_are_set_at_creation():
    world = settled(ignoreDrift=["parameters.tenantName", "tags.team"])
    assert world.cloudfront.only.parameters == {"tenantName": "acme"}
    world.cloudfront.edit("dt_1", parameters={"tenantName": "x"})
    assert world.reconcile() == ["GetDistributionTenant"]
    assert world.condition("InSync")[0] == "True"


def test_init_provider_counts_at_creation_only():
    spec = {"forProvider": {**FOR_PROVIDER, "enabled": None}}
    asked = {key: value for key, value in spec["forProvider"].items() if value is not None}
    world = World(managed(asked, initProvider={"enabled": False, "parameters": {"tier": "gold"}}))
    world.settle()
    assert world.cloudfront.only.enabled is False
    assert world.cloudfront.only.parameters == {"tenantName": "acme", "tier": "gold"}
    world.cloudfront.edit("dt_1", enabled=True, parameters={"tenantName": "acme", "tier": "silver"})
    assert world.reconcile() == ["GetDistributionTenant"]


def test_enabled_is_sent_although_unset():
    asked = {key: value for key, value in FOR_PROVIDER.items() if key != "enabled"}
    world = World(managed(asked))
    world.settle()
    assert world.cloudfront.only.enabled is True


def test_desired_disabled_is_said_and_not_ready():
    world = settled()
    world.edit(enabled=False)
    world.settle()
    assert world.ready() == ("False", "Disabled")
    assert world.condition("InSync")[0] == "True"
    assert world.status["domainsReady"] == "0/2"


def test_an_inactive_domain_is_not_served():
    world = settled()
    world.cloudfront.edit("dt_1", domains={"acme.example.com": "active", "shop.acme.com": "inactive"})
    world.reconcile()
    assert world.ready() == ("False", "DomainInactive")
    assert "shop.acme.com" in world.condition("Ready")[2]
    assert world.status["domainsReady"] == "1/2"


def test_a_stale_version_is_looked_at_again():
    world = settled()
    world.edit(parameters={"tenantName": "b"})
    real = world.cloudfront.get_tenant
    stale = real("shop.acme")
    world.cloudfront.edit("dt_1", customizations=Customizations(WebAcl("disable")))
    answers = iter([stale])
    world.cloudfront.get_tenant = lambda identifier: next(answers, None) or real(identifier)
    world.reconcile()
    assert world.cloudfront.only.parameters == {"tenantName": "b"}
    assert world.cloudfront.only.customizations.web_acl == WebAcl("disable"), "what moved meanwhile is kept"


def test_an_update_that_changes_nothing_is_made_twice_and_not_again():
    world = settled()
    world.cloudfront.keeps_ineffective = frozenset({"parameters"})
    world.edit(parameters={"tenantName": "b"})
    for _ in range(6):
        world.reconcile()
    assert world.cloudfront.journal.count("UpdateDistributionTenant") == 2
    assert world.condition("InSync")[:2] == ("False", "UpdateIneffective")
    assert world.ready() == ("True", "Available")
    world.cloudfront.keeps_ineffective = frozenset()
    world.cloudfront.edit("dt_1")
    world.reconcile()
    assert world.cloudfront.only.parameters == {"tenantName": "b"}, "the ETag moved, so it is tried again"


def test_a_removal_that_aws_ignores_stays_ours():
    world = settled()
    world.cloudfront.keeps_ineffective = frozenset({"parameters"})
    world.edit(parameters=None)
    for _ in range(6):
        world.reconcile()
    assert world.condition("InSync")[:2] == ("False", "UpdateIneffective")
    world.cloudfront.keeps_ineffective = frozenset()
    world.restart()
    world.reconcile()
    assert world.cloudfront.only.parameters == {}


def test_tags_of_the_spec_are_set_and_removed_by_their_own_calls():
    world = settled()
    world.cloudfront.edit("dt_1", tags={**world.cloudfront.only.tags, "foreign": "1"})
    world.edit(tags={"stage": "live"})
    calls = world.reconcile()
    assert calls == ["GetDistributionTenant", "ListTagsForResource", "TagResource", "UntagResource"]
    tags = world.cloudfront.only.tags
    assert tags["stage"] == "live"
    assert "team" not in tags
    assert tags["foreign"] == "1"
    assert world.reconcile() == ["GetDistributionTenant"]


def test_a_move_to_another_connection_group_shows_its_endpoint():
    world = settled()
    world.cloudfront.put_group("cg_own", "d222.cloudfront.net")
    world.edit(connectionGroupId="cg_own")
    world.settle()
    assert world.status["atProvider"]["routingEndpoint"] == "d222.cloudfront.net"
    assert world.cloudfront.only.connection_group_id == "cg_own"


def test_an_endpoint_that_may_not_be_read_holds_up_nothing():
    world = World()
    for operation in ("GetConnectionGroup", "ListConnectionGroups"):
        world.cloudfront.refuse[operation] = AwsError(operation, "AccessDenied", "no")
    world.settle()
    assert world.ready() == ("True", "Available")
    assert "routingEndpoint" not in world.status["atProvider"]
    assert world.status["atProvider"]["connectionGroupId"] == DEFAULT_GROUP


# Deletion.


def test_it_is_disabled_and_deleted_at_once():
    world = settled()
    world.delete()
    calls = world.reconcile()
    assert calls == [
        "GetDistributionTenant",
        "ListTagsForResource",
        "UpdateDistributionTenant",
        "DeleteDistributionTenant",
    ]
    assert world.events[-1] == "delete: disabled tenant shop.acme, deleted tenant shop.acme"
    world.reconcile()
    assert world.gone


def test_a_refused_deletion_waits_for_cloudfront():
    world = settled()
    world.cloudfront.deploys = world.cloudfront.deletes_in_progress = False
    world.delete()
    world.reconcile()
    assert world.error.message == "disabled tenant shop.acme; waiting for CloudFront before deleting it"
    assert world.events[-1] == "create: created tenant shop.acme (dt_1)", "nothing is deleted yet"
    assert world.ready() == ("False", "Disabling")
    assert world.condition("Deployed")[:2] == ("False", "Disabling")
    assert world.reconcile() == ["GetDistributionTenant"]
    assert world.error.after == 5.0
    assert world.ready() == ("False", "Disabling")
    world.cloudfront.deploy()
    world.reconcile()
    assert world.events[-1] == "delete: deleted tenant shop.acme"
    assert world.ready() == ("False", "Deleting")


def test_a_deletion_that_aws_refuses_says_why():
    world = settled()
    denied = AwsError("DeleteDistributionTenant", "AccessDenied", "no", status=403)
    world.cloudfront.refuse["DeleteDistributionTenant"] = denied
    world.delete()
    world.reconcile()
    assert world.ready() == ("False", "AccessDenied")
    assert not world.cloudfront.only.enabled
    assert world.condition("Deployed")[1] in ("Disabling", "Deleting")


def test_a_deletion_disables_what_is_there_and_not_what_is_asked():
    world = settled()
    world.cloudfront.deletes_in_progress = world.cloudfront.deploys = False
    world.edit(domains=["taken.example.com"], distributionId="EGONE")
    world.delete()
    world.reconcile()
    assert not world.cloudfront.only.enabled
    assert set(world.cloudfront.only.domains) == {"acme.example.com", "shop.acme.com"}
    assert world.cloudfront.only.parameters == {"tenantName": "acme"}


def test_a_deletion_that_finds_it_gone_is_done():
    world = settled()
    world.delete()
    seen = world.client.observe(world.mr)
    world.cloudfront.tenants.clear()
    assert world.client.delete(world.mr, seen).message == "already deleted in AWS"


def test_a_protected_tenant_is_deleted_only_when_that_is_confirmed():
    world = settled(deletionProtection=True)
    world.delete()
    world.reconcile()
    assert world.ready() == ("False", "DeletionHeld")
    assert "edgetenants.io/confirm to 0a1b2c3d" in world.condition("Ready")[2]
    assert world.condition("Deployed")[:2] == ("True", "Deployed"), "nothing was done to it"
    assert world.cloudfront.only.enabled
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = "0a1b2c3d"
    world.reconcile()
    assert not world.cloudfront.tenants


# Nothing is written.


def test_frozen_writes_nothing_and_says_so():
    world = settled()
    world.context["frozen"] = "spec.writes of ClusterProviderConfig default is Frozen"
    world.edit(parameters={"tenantName": "b"})
    assert world.reconcile() == ["GetDistributionTenant"]
    assert world.condition("InSync")[:2] == ("False", "Frozen")
    world.delete()
    world.reconcile()
    assert world.ready() == ("False", "Frozen")
    assert world.cloudfront.only.enabled


def test_a_frozen_creation_waits():
    world = World(frozen="the provider runs with --read-only")
    assert world.reconcile() == ["GetDistributionTenant", "ListConnectionGroups"]
    assert world.ready() == ("False", "Frozen")


@pytest.mark.parametrize(
    ("for_provider", "external_name", "message"),
    [
        (
            {"domains": ["a.example.com"]},
            "shop.acme",
            "spec.forProvider.distributionId: expected an id, got nothing",
        ),
        ({"distributionId": "E1"}, "shop.acme", "spec.forProvider.domains: expected at least one domain"),
        (FOR_PROVIDER, "a_b", "metadata.annotations[crossplane.io/external-name]: expected 3 to 128"),
        (
            {
                "distributionIdRef": {"name": "edge", "policy": {"resolution": "Optional"}},
                "domains": ["a.example.com"],
            },
            "shop.acme",
            "expected an id, got an optional reference that is not resolved",
        ),
    ],
)
def test_what_cannot_work_is_not_tried(for_provider, external_name, message):
    world = World(managed(for_provider, annotations={"crossplane.io/external-name": external_name}))
    world.reconcile()
    assert message in world.error.message
    assert world.ready() == ("False", "ValidationFailed")
    assert "CreateDistributionTenant" not in world.cloudfront.journal


@pytest.mark.parametrize(
    ("asked", "reason", "message"),
    [
        (
            {"distributionId": "EGONE"},
            "ParentNotFound",
            "spec.forProvider.distributionId: distribution EGONE does not exist",
        ),
        (
            {"connectionGroupId": "cg_gone"},
            "ConnectionGroupNotFound",
            "spec.forProvider.connectionGroupId: connection group cg_gone does not exist",
        ),
    ],
)
def test_a_missing_parent_is_named_and_heals(asked, reason, message):
    world = World(managed({**FOR_PROVIDER, **asked}))
    world.reconcile()
    assert world.error.message.startswith(message)
    assert world.ready() == ("False", reason)
    world.edit(distributionId=FOR_PROVIDER["distributionId"], connectionGroupId=None)
    world.settle()
    assert world.ready() == ("True", "Available")


def test_a_missing_parent_of_an_update_leaves_ready():
    world = settled()
    world.edit(distributionId="EGONE")
    world.reconcile()
    assert "distribution EGONE does not exist" in world.error.message
    assert world.ready() == ("True", "Available")

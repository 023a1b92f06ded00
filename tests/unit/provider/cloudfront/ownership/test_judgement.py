"""Whose tenant it is: adoption, import, and everything that must be left alone."""

from __future__ import annotations

import pytest

from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state import identity
from provider.cloudfront.state.identity import OWNER_TAG, owner_of
from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, INSTALLATION, World, managed

OURS = f"{INSTALLATION}/DistributionTenant/shop/shop.acme"
THEIRS = "other-cluster/DistributionTenant/shop/shop.acme"
LOOKS_LIKE_OURS = {
    "domains": {"acme.example.com": "active", "shop.acme.com": "active"},
    "parameters": {"tenantName": "acme"},
}
WRITES = {"CreateDistributionTenant", "UpdateDistributionTenant", "DeleteDistributionTenant", "TagResource"}


def found(tags, *, obj=None, **context) -> World:
    """A tenant of that name is there, and the managed resource is new."""
    cloudfront = FakeCloudFront()
    cloudfront.add(tags=tags, **LOOKS_LIKE_OURS)
    return World(obj, cloudfront, **context)


def wrote(world: World) -> set[str]:
    return WRITES & set(world.cloudfront.journal)


def test_namespaced_and_cluster_scoped_resources_of_a_claim_are_one_owner():
    namespaced, cluster = Managed(managed()), Managed(managed(cluster=True))
    assert owner_of(namespaced, "i", "n") == owner_of(cluster, "i", "n") == "i/DistributionTenant/shop/n"


def test_an_owner_tag_of_ours_is_enough():
    world = found({OWNER_TAG: OURS})
    world.settle()
    assert world.ready() == ("True", "Available")
    assert "UpdateDistributionTenant" not in world.cloudfront.journal, (
        "as asked already: no update is counted"
    )
    assert world.cloudfront.only.tags["crossplane-name"] == "acme"
    assert world.reconcile() == ["GetDistributionTenant"]


@pytest.mark.parametrize(
    ("tags", "annotations", "words"),
    [
        pytest.param({}, {}, "it has no owner", id="nobody's"),
        pytest.param({OWNER_TAG: THEIRS}, {}, "it belongs to another", id="another owner's"),
        pytest.param(
            {OWNER_TAG: THEIRS},
            {"edgetenants.io/adopt": "dt_1"},
            "it belongs to another",
            id="another owner's although given",
        ),
        pytest.param({}, {"edgetenants.io/adopt": "dt_2"}, "it has no owner", id="another id was given"),
    ],
)
def test_it_is_refused_and_left_alone(tags, annotations, words):
    world = found(tags, obj=managed(annotations=annotations))
    world.reconcile()
    assert words in world.error.message
    assert world.ready() == ("False", "AdoptionRefused")
    assert not wrote(world)
    world.delete()
    world.reconcile()
    if annotations:  # it may have adopted the tenant, so one answer is no proof
        world.clock.advance(world.error.after)
        world.reconcile()
    assert world.gone, "a resource that never owned anything goes without touching it"
    assert not wrote(world)


@pytest.mark.parametrize(
    "owner",
    [
        pytest.param(f"{INSTALLATION}/DistributionTenant/handed-over/shop.acme", id="another namespace's"),
        pytest.param(f"{INSTALLATION}/DistributionTenant//shop.acme", id="a cluster-scoped resource's"),
        pytest.param(f"{INSTALLATION}/DistributionTenant/shop/shop.other", id="another tenant's here"),
    ],
)
def test_an_owner_without_a_resource_is_an_owner(owner):
    """An administrator may have handed the tenant over, and its new owner has no resource yet."""
    world = found({OWNER_TAG: owner}, obj=managed(annotations={"edgetenants.io/adopt": "dt_1"}))
    world.reconcile()
    assert world.ready() == ("False", "AdoptionRefused")
    assert f"have an administrator set its tag edgetenants.io/owner to {OURS} in AWS" in world.error.message
    assert not wrote(world)
    world.cloudfront.only.tags[OWNER_TAG] = OURS
    world.settle()
    assert world.ready() == ("True", "Available")


def test_an_adoption_ends_where_the_tenant_is_handed_over_in_its_pause():
    world = found({}, obj=managed(annotations={"edgetenants.io/adopt": "dt_1"}))
    world.reconcile()
    assert world.cloudfront.only.tags == {OWNER_TAG: OURS}
    other = f"{INSTALLATION}/DistributionTenant/handed-over/shop.acme"
    world.cloudfront.only.tags[OWNER_TAG] = other
    world.clock.advance(world.error.after)
    world.reconcile()
    assert world.ready() == ("False", "AdoptionRefused")
    assert world.cloudfront.only.tags == {OWNER_TAG: other}
    assert "UpdateDistributionTenant" not in world.cloudfront.journal


def test_a_given_tenant_is_marked_before_it_is_changed():
    world = found({}, obj=managed(annotations={"edgetenants.io/adopt": "dt_1"}))
    world.edit(parameters={"tenantName": "b"})
    calls = world.reconcile()
    writes = [call for call in calls if call.startswith(("Tag", "Update"))]
    assert writes == ["TagResource"]
    assert world.cloudfront.only.tags == {OWNER_TAG: OURS}, "and nothing else before that is read again"
    world.clock.advance(world.error.after)
    assert "UpdateDistributionTenant" in world.reconcile()
    assert world.cloudfront.only.parameters == {"tenantName": "b"}


def test_a_given_tenant_that_could_not_be_marked_is_not_deleted():
    world = found({}, obj=managed(annotations={"edgetenants.io/adopt": "dt_1"}))
    world.cloudfront.refuse["TagResource"] = AwsError("TagResource", "AccessDenied", "no", status=403)
    world.reconcile()
    world.delete()
    world.reconcile()
    world.clock.advance(world.error.after)
    world.reconcile()
    assert world.gone
    assert world.cloudfront.only.enabled


def test_an_observe_only_resource_needs_no_ownership_and_gains_none():
    world = found({OWNER_TAG: THEIRS}, obj=managed({}, managementPolicies=["Observe"]))
    assert world.reconcile() == ["GetDistributionTenant", "GetConnectionGroup", "VerifyDnsConfiguration"]
    assert world.ready() == ("True", "Available")
    assert "applied" not in world.status
    world.obj["spec"]["managementPolicies"] = ["*"]
    world.obj["spec"]["forProvider"] = dict(FOR_PROVIDER)
    world.reconcile()
    assert world.ready() == ("False", "AdoptionRefused")
    assert not wrote(world)


@pytest.mark.parametrize("name", ["dt_1", "arn:aws:cloudfront::123456789012:distribution-tenant/dt_1"])
def test_it_is_imported_by_id_and_arn(name):
    obj = managed(annotations={"crossplane.io/external-name": name, "edgetenants.io/adopt": "dt_1"})
    world = found({}, obj=obj)
    world.settle()
    assert world.ready() == ("True", "Available")
    assert world.cloudfront.only.tags[OWNER_TAG] == OURS, "the identity has the tenant's name, not its id"


@pytest.mark.parametrize("name", ["dt_9", "arn:aws:cloudfront::123456789012:distribution-tenant/dt_9"])
def test_an_id_that_leads_nowhere_is_an_error_and_never_a_creation(name):
    world = World(managed(annotations={"crossplane.io/external-name": name}))
    world.reconcile()
    assert f"tenant {name} does not exist" in world.error.message
    assert not wrote(world)


def test_a_changed_external_name_stops_everything():
    world = World()
    world.settle()
    world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = "shop.other"
    before = list(world.cloudfront.journal)
    world.reconcile()
    assert "Set it back to shop.acme" in world.error.message
    world.delete()
    world.reconcile()
    assert not world.gone
    assert world.cloudfront.journal == before
    world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = "dt_1"
    world.settle()
    assert world.gone, "its id names the same tenant"
    assert not world.cloudfront.tenants


def test_credentials_of_another_account_write_nothing():
    world = World()
    world.settle()
    world.context["account"] = "999999999999"
    before = list(world.cloudfront.journal)
    world.reconcile()
    assert world.ready() == ("True", "Available"), "it serves all the same"
    assert "AWS account 999999999999" in world.error.message
    assert world.cloudfront.journal == before


def test_a_tenant_made_anew_by_somebody_else_under_the_name_is_not_ours():
    world = World()
    world.settle()
    world.cloudfront.tenants.clear()
    world.cloudfront.add(tags={OWNER_TAG: THEIRS}, **LOOKS_LIKE_OURS)
    world.reconcile()
    assert "it belongs to another namespace or installation" in world.error.message
    world.delete()
    world.reconcile()
    assert world.gone
    assert world.cloudfront.only.enabled


def test_a_vanished_tenant_is_made_anew():
    world = World()
    world.settle()
    world.cloudfront.tenants.clear()
    world.settle()
    assert world.cloudfront.only.id == "dt_2"
    assert world.status["atProvider"]["id"] == "dt_2"
    assert world.ready() == ("True", "Available")


def rival(*, deleted=False, holds=None, created="2025-01-01T00:00:00Z", namespace="shop"):
    obj = managed(uid="other", created=created)
    obj["metadata"] |= {"name": "older", "namespace": namespace}
    if deleted:
        obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if holds:
        obj["status"] = {"atProvider": {"id": holds}}
    return Managed(obj)


@pytest.mark.parametrize(
    ("other", "refused"),
    [
        pytest.param(rival(), True, id="older"),
        pytest.param(rival(created="2027-01-01T00:00:00Z"), False, id="younger"),
        pytest.param(rival(created="2027-01-01T00:00:00Z", holds="dt_1"), True, id="younger, and holds it"),
        pytest.param(rival(holds="dt_7"), False, id="older, and holds another"),
        pytest.param(rival(namespace="else"), False, id="of another namespace, so of another identity"),
    ],
)
def test_of_two_resources_of_one_identity_one_has_the_tenant(other, refused):
    world = found({OWNER_TAG: OURS}, peers=lambda *_: [other])
    world.reconcile()
    assert (world.ready() == ("False", "AdoptionRefused")) is refused
    if refused:
        assert "DistributionTenant older" in world.error.message
        world.delete()
        world.reconcile()
        assert world.gone
        assert world.cloudfront.only.enabled, "the refused one goes without the other's tenant"


def test_a_predecessor_that_is_being_deleted_is_waited_for():
    world = found({OWNER_TAG: OURS}, peers=lambda *_: [rival(deleted=True, holds="dt_1")])
    world.reconcile()
    assert world.error.after == 5.0
    assert not wrote(world)


def test_tags_that_may_not_be_read_refuse_an_adoption():
    world = found({OWNER_TAG: OURS})
    world.cloudfront.refuse["ListTagsForResource"] = AwsError("ListTagsForResource", "AccessDenied", "no")
    world.reconcile()
    permit = "Permit it in the IAM policy of these credentials (docs/iam.md)"
    assert world.error.message == f"read tags of tenant shop.acme: AccessDenied: no. {permit}"
    assert world.ready() == ("False", "AccessDenied")


def test_what_was_written_says_whose_a_resource_without_labels_is():
    """As Crossplane v1 leaves it before it deletes it."""
    world = World(managed(cluster=True))
    world.settle()
    assert world.status["applied"]["owner"] == "cluster-1/DistributionTenant/shop/shop.acme"
    del world.obj["metadata"]["labels"]
    world.reconcile()
    assert world.error is None
    world.restart()
    world.delete()
    world.settle()
    assert world.gone
    assert not world.cloudfront.tenants


def test_the_status_of_a_resource_in_a_namespace_says_nothing_of_whose_it_is():
    obj = managed()
    obj["status"] = {"applied": {"owner": "cluster-1/DistributionTenant/other/other.acme"}}
    assert identity.namespace_of(Managed(obj)) == "shop"


@pytest.mark.parametrize("owner", [None, "", "x", "a/b/c", 7, ["a/b/c/d"]])
def test_a_record_that_is_none_is_nobodys(owner):
    obj = managed(cluster=True)
    del obj["metadata"]["labels"]
    obj["status"] = {"applied": {"owner": owner}}
    assert identity.namespace_of(Managed(obj)) == ""

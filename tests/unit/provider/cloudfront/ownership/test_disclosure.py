"""What the people of one namespace read about the tenants of others: that they are there."""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.domain_calls import Conflict
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.domain.moves import GIVE_ANNOTATION, TAKE_ANNOTATION
from provider.cloudfront.ownership import disclosure
from provider.cloudfront.rehearsal.recorder import Recorder, rehearse
from provider.cloudfront.state.identity import OWNER_TAG
from tests.unit.provider.cloudfront.clients.test_connection_group import settled
from tests.unit.provider.fake_cloudfront import DISTRIBUTION, FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, INSTALLATION, World, managed

SECRET = "sales.crown-jewels"
HELD = "held.example.com"
OF_SALES = f"{INSTALLATION}/DistributionTenant/sales/{SECRET}"
OF_SHOP = f"{INSTALLATION}/DistributionTenant/shop/shop.other"
ELSEWHERE = f"cluster-2/DistributionTenant/shop/{SECRET}"


def told(world: World) -> str:
    """All that the people of the namespace can read."""
    error = [world.error.message] if world.error else []
    return " ".join([json.dumps(world.status), *world.events, *error])


@pytest.mark.parametrize(
    ("owner", "known"),
    [
        (OF_SHOP, True),
        (f"{INSTALLATION}/ConnectionGroup/shop/front", True),
        (OF_SALES, False),
        (ELSEWHERE, False),
        (f"{INSTALLATION}/DistributionTenant/shop-2/x", False),
        (f"{INSTALLATION}/DistributionTenant/sales/shop", False),
        (f"{INSTALLATION}-2/DistributionTenant/shop/x", False),
        (f"{INSTALLATION}/shop", False),
        ("", False),
        (None, False),
    ],
)
def test_only_what_is_of_the_same_namespace_is_named(owner, known):
    for mr in (Managed(managed()), Managed(managed(cluster=True))):
        assert disclosure.may_know(mr, INSTALLATION, owner) is known


def conflicting(owner: str | None, domains=(*FOR_PROVIDER["domains"], HELD)) -> World:
    cloudfront = FakeCloudFront()
    tags = {OWNER_TAG: owner} if owner else {}
    name = owner.rpartition("/")[2] if owner else SECRET
    cloudfront.add(name=name, domains={HELD: "active"}, tags=tags)
    return World(managed({**FOR_PROVIDER, "domains": list(domains)}), cloudfront)


@pytest.mark.parametrize("owner", [OF_SALES, ELSEWHERE, None])
def test_a_domain_of_others_is_refused_without_their_name_and_the_log_has_it(owner):
    world = conflicting(owner)
    with capture_logs() as logged:
        world.reconcile()
    assert world.ready() == ("False", "DomainConflict")
    assert f"{HELD} is served by another tenant of this account. The provider's log names it" in told(world)
    assert SECRET not in told(world)
    assert "dt_1" not in told(world)
    [line] = [each for each in logged if each.get("domain") == HELD]
    with capture_logs() as again:
        world.reconcile()
    assert not [each for each in again if each.get("domain") == HELD], "one line, not one for each look"
    assert (line["tenant"], line["tenant_id"], line["owner"]) == (SECRET, "dt_1", owner)
    # A team with rights in that account may have set the owner.
    assert line["account"] == "123456789012"


def test_tags_that_may_not_be_read_are_no_leave_to_name_it():
    world = conflicting(OF_SHOP)
    world.cloudfront.refuse["ListTagsForResource"] = AwsError("ListTagsForResource", "AccessDenied", "no")
    world.reconcile()
    assert "is served by another tenant of this account" in told(world)
    assert "shop.other" not in told(world)


def test_a_domain_of_the_same_namespace_is_refused_with_name_and_id():
    world = conflicting(OF_SHOP)
    world.reconcile()
    assert (
        f"{HELD} is served by tenant shop.other (dt_1) of this account, which belongs to {OF_SHOP}"
        in told(world)
    )


def test_a_rehearsal_names_no_more():
    world = conflicting(OF_SALES)
    recorder = Recorder(world.cloudfront)
    world.cloudfront = recorder.as_cloudfront
    shown = json.dumps(rehearse(world.client, world.mr, recorder).to_status())
    assert "another tenant of this account" in shown
    assert SECRET not in shown


def test_a_tenant_that_is_found_by_its_id_is_not_named():
    cloudfront = FakeCloudFront()
    cloudfront.add(name=SECRET, tags={OWNER_TAG: OF_SALES})
    world = World(managed(annotations={"crossplane.io/external-name": "dt_1"}), cloudfront)
    world.context["peers"] = lambda *_: [tenant_of("sales", SECRET)]
    with capture_logs() as logged:
        world.reconcile()
        world.reconcile()
    [line] = [each for each in logged if each["event"] == "it exists and is not ours"]
    assert line["account"] == "123456789012"
    assert world.ready() == ("False", "AdoptionRefused")
    assert "belongs to another namespace or installation" in told(world)
    assert SECRET not in told(world)
    assert SECRET in json.dumps(logged)


def test_whose_a_tenant_was_is_not_told_to_those_who_take_it_over():
    cloudfront = FakeCloudFront()
    # A user removed its owner tag alone.
    tags = {"crossplane-name": SECRET, "crossplane-namespace": "sales"}
    cloudfront.add(name="shop.acme", tags=tags)
    world = World(managed(), cloudfront)
    world.reconcile()
    assert "it has no owner. To adopt it" in told(world)
    world.obj["metadata"]["annotations"]["edgetenants.io/adopt"] = "dt_1"
    world.context["frozen"] = "the test says so"
    world.reconcile()
    assert world.condition("InSync")[1] == "Frozen"
    assert "AWS has (another)" in world.condition("InSync")[2]
    messages = " ".join(each.get("message", "") for each in world.status["conditions"])
    assert "sales" not in messages


def giving(owner: str) -> World:
    """A tenant of its own, and another that has a domain and gives it."""
    cloudfront = FakeCloudFront()
    cloudfront.add(name=SECRET, domains={HELD: "active", "b.example.com": "active"}, tags={OWNER_TAG: owner})
    obj = managed(
        {"distributionId": DISTRIBUTION, "domains": ["a.example.com"]}, annotations={TAKE_ANNOTATION: "dt_1"}
    )
    gives = managed(annotations={GIVE_ANNOTATION: "shop/shop.acme"}, uid="gives")
    gives["metadata"] |= {"namespace": "sales"}
    gives["status"] = {"atProvider": {"id": "dt_1"}, "applied": {"hash": "1"}}
    world = World(obj, cloudfront)
    world.context["everyone"] = lambda: [world.mr, Managed(gives)]
    world.settle()
    world.edit(domains=["a.example.com", HELD])
    return world


def test_the_story_of_a_move_names_the_id_that_was_asked_for():
    world = giving(OF_SALES)
    world.settle()
    assert any(f"moved domain {HELD} from tenant dt_1 to" in event for event in world.events)
    assert SECRET not in told(world)


def test_a_move_that_fails_names_no_more():
    world = giving(OF_SALES)
    world.cloudfront.refuse["UpdateDomainAssociation"] = AwsError(
        "UpdateDomainAssociation", "IllegalUpdate", "must be disabled first", status=400
    )
    world.reconcile()
    assert f"move domain {HELD} from tenant dt_1: IllegalUpdate" in told(world)
    assert SECRET not in told(world)


def test_an_id_of_this_account_is_not_told_where_the_tenant_may_not_be_looked_at():
    world = World()
    world.settle()
    operation = "GetDistributionTenantByDomain"
    world.cloudfront.refuse[operation] = AwsError(operation, "AccessDenied", "no", status=403)
    found = Conflict(HELD, "distribution-tenant", "dt_secret", "123456789012")
    world.cloudfront.elsewhere = {HELD: found}
    world.edit(domains=[*FOR_PROVIDER["domains"], HELD])
    world.reconcile()
    assert f"{HELD} is served by another tenant of this account" in told(world)
    assert "dt_secret" not in told(world)


def tenant_of(namespace: str, name: str, **status) -> Managed:
    obj = managed(annotations={"crossplane.io/external-name": name}, uid=name)
    obj["metadata"]["namespace"] = namespace
    obj["status"] = {"atProvider": {"name": name}} if status.get("held", True) else {}
    return Managed(obj)


def test_a_group_waits_for_its_tenants_and_names_those_of_its_namespace():
    world = settled()
    everyone = [
        tenant_of("shop", "shop.one"),
        tenant_of("sales", SECRET),
        # Anyone who only writes the name of another's tenant down learns nothing by it.
        tenant_of("shop", "sales.guessed", held=False),
    ]
    world.context["everyone"] = lambda: everyone
    for name in ("shop.one", SECRET, "sales.guessed"):
        world.cloudfront.add(connection_group_id=world.group.id, name=name)
    world.delete()
    with capture_logs() as logged:
        world.reconcile()
        world.reconcile()
    assert (
        len(
            [
                each
                for each in logged
                if each["event"] == "deletion waits for the tenants of the connection group"
            ]
        )
        == 1
    )
    assert "to be deleted or moved: shop.one, 2 more, named in the provider's log" in told(world)
    assert "sales" not in told(world)
    assert SECRET in json.dumps(logged)

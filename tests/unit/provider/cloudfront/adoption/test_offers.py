"""An adoption is offered where it would work; elsewhere the message says what does, and names no one."""

from __future__ import annotations

import pytest

from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.testing import FakeObjects, Journal
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.ownership.judgement import ADOPT_ANNOTATION
from provider.cloudfront.safety.name_keys import key_of
from provider.records.life import shard_of
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.cloudfront.safety.test_kept_domains import records
from tests.unit.provider.cloudfront.safety.test_kept_names import rogue, untag
from tests.unit.provider.fake_cloudfront import ACCOUNT, FakeCloudFront
from tests.unit.provider.world import World, managed

OFFER = "To adopt it"
LIST = "ListDistributionTenants"


@pytest.fixture
def kept() -> FakeObjects:
    return FakeObjects(Journal())


def found(world: World) -> str:
    """What is said of what is there; what is said once it is adopted all the same, is said beside it."""
    world.reconcile()
    assert world.ready() == ("False", "AdoptionRefused"), world.error
    return str(world.error.message)


def adopted(world: World, id_: str) -> World:
    world.obj["metadata"]["annotations"][ADOPT_ANNOTATION] = id_
    for _ in range(6):
        world.reconcile()
        world.clock.advance(10)
    return world


def left(kept: FakeObjects, kind: type[World] = World) -> tuple[World, str]:
    """A user's, whose tags were removed in the console; and its id."""
    world = kind()
    world.context["kept"] = records(kept)
    world.settle()
    untag(world)
    return world, world.status["atProvider"]["id"]


@pytest.mark.parametrize("by_id", [False, True], ids=["by name", "by id"])
@pytest.mark.parametrize("kind", [World, Groups])
def test_what_is_kept_for_another_namespace_is_not_offered(kept, kind, by_id):
    world, id_ = left(kept, kind)
    name = world.mr.external_name
    wants = rogue(id_ if by_id else name, world.cloudfront, kind=kind, kept=records(kept))
    said = found(wants)
    assert OFFER not in said
    key = key_of(world.mr.kind, ACCOUNT, name)
    assert "is kept for another namespace, which has or had it. Do not adopt it, or have an" in said
    assert records(kept).place(key) in said
    assert "shop" not in said.replace(name, "").replace(key, "")
    assert adopted(wants, id_).ready() in (("False", "AdoptionRefused"), ("False", "DomainConflict"))
    assert "TagResource" not in wants.cloudfront.journal
    for each in (key, "acme.example.com", "shop.acme.com"):
        records(kept).change(shard_of(each), dict.fromkeys)
    del wants.obj["metadata"]["annotations"][ADOPT_ANNOTATION]
    wants.context["kept"] = records(kept)
    assert OFFER in found(wants), "an administrator released it"
    assert adopted(wants, id_).ready()[1] != "AdoptionRefused"


def test_nor_is_one_with_a_domain_that_is_kept_for_another_namespace(kept):
    world, _ = left(kept)
    key = key_of("DistributionTenant", ACCOUNT, "shop.acme")
    records(kept).change(shard_of(key), lambda held: {key: None})
    wants = rogue("shop.acme", world.cloudfront, kept=records(kept))
    said = found(wants)
    assert OFFER not in said
    assert "one of its domains is kept for another namespace" in said
    assert "acme.example.com" not in said, "it is no business of theirs"


@pytest.mark.parametrize("kind", [World, Groups])
def test_nor_is_what_begins_with_another_namespace(kind):
    cloudfront = FakeCloudFront()
    wants = rogue("shop.iso", cloudfront, kind=kind, everyone=lambda: [Managed(managed())])
    add = cloudfront.add if kind is World else cloudfront.add_group
    id_ = add(name="shop.iso") if kind is World else add("shop.iso", tags={})
    said = found(wants)
    assert OFFER not in said
    assert "its name begins with another namespace" in said
    assert "Have an administrator set its tag edgetenants.io/owner to" in said
    del id_


def test_nor_is_a_group_in_which_others_have_tenants():
    cloudfront = FakeCloudFront()
    cloudfront.add_group("shop.front", tags={})
    wants = Groups(cloudfront=cloudfront)
    id_ = next(group.id for group in cloudfront.groups.values() if group.name == "shop.front")
    cloudfront.add(name="t", connection_group_id=id_)
    said = found(wants)
    assert OFFER not in said
    assert "Use the group by its id without a ConnectionGroup" in said
    assert wants.reconcile().count(LIST) == 0, "it is listed once a minute"


def test_a_group_whose_tenants_cannot_be_listed_is_offered_as_its_adoption_says_why():
    cloudfront = FakeCloudFront()
    cloudfront.add_group("shop.front", tags={})
    cloudfront.refuse[LIST] = AwsError(LIST, "AccessDenied", "no", status=403)
    assert OFFER in found(Groups(cloudfront=cloudfront))


def test_while_the_records_cannot_be_read_it_is_offered_as_its_adoption_waits_for_them(kept, monkeypatch):
    world, _ = left(kept)

    def down(*_):
        raise KubeError(Operation("get", CONFIG_MAPS), 0, "no answer")

    wants = rogue("shop.acme", world.cloudfront, kept=records(kept))
    monkeypatch.setattr(kept, "get", down)
    assert OFFER in found(wants)


def test_nor_is_what_another_resource_here_manages_and_lost_its_tag():
    world = World()
    world.settle()
    untag(world)
    wants = World(managed(uid="younger", created="2026-02-01T00:00:00Z"), world.cloudfront)
    wants.memory = world.memory
    wants.context["peers"] = lambda *_: (world.mr,)
    said = found(wants)
    assert OFFER not in said
    assert "another resource of this cluster manages it" in said


def test_nor_is_what_an_older_resource_of_the_namespace_may_take():
    cloudfront = FakeCloudFront()
    cloudfront.add(name="shop.acme")
    older = Managed(managed(uid="older"))
    wants = World(managed(uid="younger", created="2026-02-01T00:00:00Z"), cloudfront)
    wants.context["peers"] = lambda *_: (older,)
    said = found(wants)
    assert OFFER not in said
    assert "has no owner tag, and DistributionTenant acme, which is older, has its name" in said
    assert "managed by" not in said


def test_a_younger_resource_whose_status_has_it_is_not_called_older():
    """After a restart, nothing is proven."""
    world = World(managed(uid="younger", created="2026-02-01T00:00:00Z"))
    world.settle()
    untag(world)
    wants = World(managed(uid="older"), world.cloudfront)
    wants.context["peers"] = lambda *_: (world.mr,)
    said = found(wants)
    assert OFFER not in said
    assert "which is older" not in said
    assert "is managed by DistributionTenant acme" in said


def test_what_is_nobodys_is_offered(kept):
    cloudfront = FakeCloudFront()
    cloudfront.add(name="shop.acme")
    world = World(cloudfront=cloudfront)
    world.context["kept"] = records(kept)
    assert OFFER in found(world)
    assert adopted(world, "dt_1").ready() == ("True", "Available")


def test_a_status_of_a_tenant_that_another_manages_offers_nothing():
    world = World()
    world.settle()
    untag(world)
    copied = World(managed(uid="copied", annotations={}), world.cloudfront)
    copied.obj["status"] = world.obj["status"]
    copied.memory = world.memory
    copied.context["peers"] = lambda *_: (world.mr,)
    copied.edit(enabled=False)
    said = found(copied)
    assert ADOPT_ANNOTATION not in said
    assert "set the tag edgetenants.io/owner" in said

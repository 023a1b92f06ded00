"""A tenant's name keeps its namespace: who may create a tenant or a connection group of which name."""

from __future__ import annotations

import pytest

from edgetenants_runtime.api.annotations import EXTERNAL_NAME
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import NotYet
from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.testing import FakeObjects, Journal
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.ownership.judgement import ADOPT_ANNOTATION
from provider.cloudfront.safety.name_keys import key_of
from provider.cloudfront.state.identity import OWNER_TAG
from provider.records import config_maps
from provider.records.config_maps import DomainRecords, config_map
from provider.records.life import shard_of
from provider.records.use import Looks, listed_by
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.cloudfront.safety.test_kept_domains import records
from tests.unit.provider.fake_cloudfront import ACCOUNT, DISTRIBUTION, FakeCloudFront
from tests.unit.provider.world import World, managed

KEPT = "is kept for another namespace"
TAGS = "ListTagsForResource"
CREATIONS = {"CreateDistributionTenant", "CreateConnectionGroup"}


def rogue(name: str, cloudfront: FakeCloudFront | None = None, *, kind=World, **context) -> World:
    """A resource of another namespace that wants a name; it lists a domain of its own."""
    world = kind({} if kind is Groups else None, cloudfront)
    if kind is World:
        world.obj = managed({"distributionId": DISTRIBUTION, "domains": ["rogue.example.com"]})
    world.obj["metadata"] |= {"namespace": "rogue", "name": "wants", "uid": "squatter"}
    world.obj["metadata"]["annotations"] = {"crossplane.io/external-name": name}
    world.context |= context
    return world


def refused(world: World) -> str:
    assert not CREATIONS & set(world.reconcile())
    assert world.error is not None
    assert world.ready() == ("False", "AdoptionRefused"), world.error
    assert KEPT in world.error.message
    assert "crossplane.io/external-name" in world.error.message
    return world.error.message


@pytest.fixture
def api() -> FakeObjects:
    return FakeObjects(Journal())


def serving(api: FakeObjects, kind=World, **context) -> World:
    """The holder of a name."""
    world = kind()
    world.context |= {"kept": records(api), **context}
    world.settle()
    assert world.ready() == ("True", "Available")
    return world


def name_of(world: World) -> tuple[str, str]:
    name = world.mr.external_name
    return name, key_of(world.mr.kind, ACCOUNT, name)


def lost(world: World) -> None:
    """A user deletes it in the console."""
    world.cloudfront.tenants.clear()
    for id_ in [id_ for id_, group in world.cloudfront.groups.items() if not group.is_default]:
        del world.cloudfront.groups[id_]


# Names that are recorded.


@pytest.mark.parametrize("kind", [World, Groups])
def test_a_squatter_does_not_get_the_name_of_what_was_deleted_in_the_console(api, kind):
    world = serving(api, kind)
    name, key = name_of(world)
    waits = rogue(name, world.cloudfront, kind=kind, kept=world.context["kept"])
    waits.reconcile()
    assert waits.ready() == ("False", "AdoptionRefused")
    lost(world)
    for _ in range(2):
        message = refused(waits)
        place = f"key {key} of ConfigMap {config_map(shard_of(key))} in namespace crossplane-system"
        assert place in message
        assert "shop" not in message.replace(name, "")
        waits.restart()
        waits.context["kept"] = records(api)
    world.settle()
    assert world.ready() == ("True", "Available")


@pytest.mark.parametrize("kind", [World, Groups])
def test_a_name_costs_no_call_and_no_write_once_it_is_recorded(api, kind):
    plain = kind()
    plain.settle()
    world = serving(api, kind)
    assert world.cloudfront.journal == plain.cloudfront.journal, "a creation is its own proof"
    before = list(api._journal.entries)
    assert TAGS not in world.reconcile()
    world.restart()
    world.context["kept"] = records(api)
    assert TAGS not in world.reconcile()
    assert api._journal.entries == before


@pytest.mark.parametrize("kind", [World, Groups])
def test_what_is_there_from_before_is_recorded_once_by_its_owner_tag(api, kind):
    world = kind()
    world.settle()
    world.restart()
    world.context["kept"] = records(api)
    assert [world.reconcile().count(TAGS) for _ in range(3)] == [1, 0, 0]
    assert records(api).holder(name_of(world)[1]) == "shop"


def test_a_group_whose_tag_says_another_or_cannot_be_read_is_not_recorded(api):
    world = Groups()
    world.settle()
    world.context["kept"] = records(api)
    world.cloudfront.refuse[TAGS] = AwsError(TAGS, "Throttling", "not now", status=400)
    world.reconcile()
    assert world.ready() == ("True", "Available")
    world.cloudfront.refuse.clear()
    id_ = world.group.id
    world.cloudfront.groups[id_].tags[OWNER_TAG] = "cluster-1/ConnectionGroup/rogue/shop.front"
    assert sum(world.reconcile().count(TAGS) for _ in range(5)) == 1
    assert records(api).holder(name_of(world)[1]) is None


def test_what_is_only_looked_at_keeps_no_name(api):
    made = World()
    made.settle()
    looks = World(
        managed(uid=made.mr.uid, managementPolicies=["Observe"]), made.cloudfront, kept=records(api)
    )
    looks.reconcile()
    assert records(api).holder(name_of(made)[1]) is None


# Names of what is taken over.


def untag(world: World) -> None:
    """A user removes all tags in the console."""
    every = (*world.cloudfront.tenants.values(), *world.cloudfront.groups.values())
    for each in [each for each in every if each.tags]:
        each.tags.clear()


def of_the_console(kind=World, **annotations: str) -> World:
    """A resource that adopts what was made in the console, under the name that it has there."""
    world = kind()
    world.settle()
    untag(world)
    name, id_ = world.mr.external_name, world.status["atProvider"]["id"]
    world.restart()
    del world.obj["status"]
    world.obj["metadata"]["annotations"] |= {EXTERNAL_NAME: name, ADOPT_ANNOTATION: id_, **annotations}
    return world


@pytest.mark.parametrize("kind", [World, Groups])
def test_what_was_taken_over_is_recorded_as_soon_as_its_tag_was_read_again(api, kind):
    world = of_the_console(kind)
    world.context["kept"] = records(api)
    name, key = name_of(world)
    world.reconcile()
    assert "is being adopted" in world.error.message
    assert records(api).holder(key) is None, "another provider may be setting the tag, too"
    world.clock.advance(world.error.after)
    world.reconcile()
    assert world.error is None
    assert records(api).holder(key) == "shop"
    if kind is World:
        assert records(api).holder("acme.example.com") == "shop"
    lost(world)
    refused(rogue(name, world.cloudfront, kind=kind, kept=records(api)))


@pytest.mark.parametrize("by_id", [False, True], ids=["by name", "by id"])
@pytest.mark.parametrize("kind", [World, Groups])
def test_what_lost_its_tags_is_not_adopted_by_another_after_a_restart(api, kind, by_id):
    """This process has seen nothing of what was, and status could be anybody's."""
    world = of_the_console(kind)
    world.context["kept"] = records(api)
    id_ = world.obj["metadata"]["annotations"][ADOPT_ANNOTATION]
    name, key = name_of(world)
    if by_id:
        world.obj["metadata"]["annotations"][EXTERNAL_NAME] = id_
    for _ in range(9):
        world.reconcile()
        world.clock.advance(10)
    assert world.ready() == ("True", "Available")
    untag(world)
    if kind is World:
        world.cloudfront.edit(id_, domains={})
    thief = rogue(name, world.cloudfront, kind=kind, kept=records(api))
    thief.obj["metadata"]["annotations"][ADOPT_ANNOTATION] = id_
    assert not {"TagResource", "UpdateConnectionGroup"} & set(thief.reconcile())
    assert thief.ready() == ("False", "AdoptionRefused")
    assert f"{KEPT}, which has or had it. Do not adopt it" in thief.error.message
    assert "shop" not in thief.error.message.replace(name, "").replace("_tenant", "")
    records(api).change(shard_of(key), dict.fromkeys)
    thief.context["kept"] = records(api)
    assert "TagResource" in thief.reconcile(), "an administrator released it"


def test_a_resource_by_id_that_goes_frees_the_name_of_what_it_had(api):
    world = of_the_console()
    world.context["kept"] = records(api)
    world.obj["metadata"]["annotations"][EXTERNAL_NAME] = world.obj["metadata"]["annotations"][
        ADOPT_ANNOTATION
    ]
    for _ in range(5):
        world.reconcile()
        world.clock.advance(10)
    key = key_of("DistributionTenant", ACCOUNT, "shop.acme")
    assert records(api).holder(key) == "shop"
    assert "_tenant.shop.acme" not in listed_by(world.mr), "its record ends with its tenant"


def test_the_same_name_is_another_in_another_account_and_for_another_kind(api):
    world = serving(api)
    other = rogue("shop.acme", kept=world.context["kept"], account="210987654321")
    assert "CreateDistributionTenant" in other.reconcile()
    group = rogue("shop.acme", kind=Groups, kept=world.context["kept"])
    group.settle()
    assert group.ready() == ("True", "Available")


def test_where_the_account_may_not_be_asked_for_no_name_is_kept(api):
    world = serving(api, account=None)
    assert records(api).holder(key_of("DistributionTenant", "None", "shop.acme")) is None
    lost(world)
    other = rogue("shop.acme", world.cloudfront, kept=world.context["kept"], account=None)
    other.settle()
    assert other.ready() == ("True", "Available")


def test_an_administrator_releases_a_name(api):
    world = serving(api)
    lost(world)
    waits = rogue("shop.acme", world.cloudfront, kept=world.context["kept"])
    refused(waits)
    key = name_of(world)[1]
    api.patch(CONFIG_MAPS, ObjectKey("crossplane-system", config_map(shard_of(key))), {"data": {key: None}})
    waits.settle()
    assert waits.ready() == ("True", "Available")
    assert records(api).holder(key) == "rogue"


@pytest.mark.parametrize("kind", [World, Groups])
def test_nothing_is_created_before_it_is_known_who_has_the_name(api, monkeypatch, kind):
    monkeypatch.setattr(config_maps, "_LOADED_SECONDS", 0.01)
    world = kind()
    world.context["kept"] = DomainRecords(api, "crossplane-system", Looks(FakeClock(), 60))
    world.edit(domains=None)
    assert not CREATIONS & set(world.reconcile())
    assert isinstance(world.error, NotYet)
    assert "waits until the record of its name is read" in world.error.message


def test_an_api_server_that_does_not_answer_releases_no_name(api, monkeypatch):
    world = serving(api)
    lost(world)
    waits = rogue("shop.acme", world.cloudfront, kept=world.context["kept"])

    def down(*_):
        raise KubeError(Operation("get", CONFIG_MAPS), 0, "no answer")

    monkeypatch.setattr(api, "get", down)
    assert not CREATIONS & set(waits.reconcile())
    assert "no answer" in waits.error.message


def test_a_recorded_name_is_made_anew_though_it_begins_with_what_became_a_namespace(api):
    """As under a plan with the template prod.{name}, when a namespace prod begins to use the provider."""
    world = serving(api)
    world.obj = rogue("prod.iso", kind=World).obj
    world.context["kept"] = records(api)
    world.settle()
    lost(world)
    prod = managed(uid="prod")
    prod["metadata"]["namespace"] = "prod"
    world.context["everyone"] = lambda: [world.mr, Managed(prod)]
    world.settle()
    assert world.ready() == ("True", "Available")


# The names of a namespace, by its prefix.


@pytest.mark.parametrize("kind", [World, Groups])
@pytest.mark.parametrize("cluster", [False, True], ids=["namespaced", "of a claim"])
def test_a_name_of_another_namespace_with_resources_is_refused(kind, cluster):
    world = rogue("shop.iso-315ffba3fd", kind=kind, everyone=lambda: [Managed(managed(cluster=cluster))])
    refused(world)
    world.context["everyone"] = lambda: [world.mr]
    world.settle()
    assert world.ready() == ("True", "Available")


@pytest.mark.parametrize("kind", [World, Groups])
@pytest.mark.parametrize("name", ["Shop.soon", "SHOP.soon", "sHOP.iso-315ffba3fd"])
def test_nor_is_one_in_other_letters_free(kind, name):
    """AWS does not say whether names differ by upper and lower case."""
    refused(rogue(name, kind=kind, everyone=lambda: [Managed(managed())]))


@pytest.mark.parametrize("name", ["rogue.iso", "Rogue.iso", "shop", "shop-iso", "prod.iso", "shopping.iso"])
def test_a_name_of_ones_own_or_of_nobody_is_free(name):
    world = rogue(name)
    world.context["everyone"] = lambda: [world.mr, Managed(managed())]
    world.settle()
    assert world.ready() == ("True", "Available")


def test_a_tenant_that_is_there_stays_its_owners():
    """As under a plan whose names begin with what later became a namespace."""
    world = rogue("shop.iso")
    world.settle()
    world.context["everyone"] = lambda: [world.mr, Managed(managed())]
    world.restart()
    world.edit(enabled=False)
    world.settle()
    assert not world.cloudfront.only.enabled


@pytest.mark.parametrize("by_id", [False, True], ids=["by name", "by id"])
@pytest.mark.parametrize("kind", [World, Groups])
def test_what_begins_with_another_namespace_is_not_taken_over(kind, by_id):
    """As it is not created either."""
    world = of_the_console(kind)
    name = world.mr.external_name
    assert name.startswith("shop.")
    mine = managed({}, uid="mine")
    leads = world.obj["metadata"]["annotations"][ADOPT_ANNOTATION] if by_id else name
    thief = rogue(leads, world.cloudfront, kind=kind, everyone=lambda: [Managed(mine)])
    thief.obj["metadata"]["annotations"] |= {
        ADOPT_ANNOTATION: world.obj["metadata"]["annotations"][ADOPT_ANNOTATION]
    }
    assert "TagResource" not in thief.reconcile()
    assert thief.ready() == ("False", "AdoptionRefused")
    assert "its name begins with another namespace" in thief.error.message
    assert not by_id or "shop" not in thief.error.message, "an id does not tell whose it is"
    world.context["everyone"] = lambda: [Managed(mine)]
    assert "TagResource" in world.reconcile(), "its own namespace takes it over"

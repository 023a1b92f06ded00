"""A domain keeps its holder: what the external client records before it loses one, and refuses to others."""

from __future__ import annotations

import contextlib
import copy

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.testing import FakeObjects, Journal
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.domain.moves import GIVE_ANNOTATION, TAKE_ANNOTATION
from provider.cloudfront.ownership.judgement import ADOPT_ANNOTATION
from provider.cloudfront.safety import kept_domains
from provider.cloudfront.safety.kept_domains import OnlyRead
from provider.cloudfront.state.identity import OWNER_TAG
from provider.records import config_maps
from provider.records.config_maps import DomainRecords, config_map
from provider.records.life import data_key, shard_of
from provider.records.use import Looks
from tests.unit.provider.fake_cloudfront import DISTRIBUTION, FakeCloudFront, Killed
from tests.unit.provider.world import INSTALLATION, World, managed

DOMAINS = ("acme.example.com", "shop.acme.com")
OURS = f"{INSTALLATION}/DistributionTenant/shop/shop.acme"
TAGS = "ListTagsForResource"
WRITES = {"CreateDistributionTenant", "UpdateDistributionTenant", "DeleteDistributionTenant", "TagResource"}


@pytest.fixture
def api() -> FakeObjects:
    return FakeObjects(Journal())


def records(api: FakeObjects) -> DomainRecords:
    """As a process that begins to lead knows them."""
    made = DomainRecords(api, "crossplane-system", Looks(FakeClock(), 60))
    made.load()
    return made


def stage(api: FakeObjects, obj: dict | None = None, cloudfront: FakeCloudFront | None = None) -> World:
    return World(obj, cloudfront, kept=records(api))


def serving(api: FakeObjects) -> World:
    """The holder: its tenant has both domains."""
    world = stage(api)
    world.settle()
    assert world.ready() == ("True", "Available")
    return world


def squatter(api: FakeObjects, cloudfront: FakeCloudFront, *domains: str, **metadata) -> World:
    """A resource of another namespace that wants a domain of the holder's."""
    asked = {"distributionId": DISTRIBUTION, "domains": list(domains or DOMAINS[:1])}
    obj = managed(asked, uid="squatter", annotations=metadata.pop("annotations", None))
    obj["metadata"] |= {"namespace": "rogue", "name": "wants"}
    obj["metadata"]["annotations"].setdefault("x", "y")
    obj["metadata"]["annotations"]["crossplane.io/external-name"] = metadata.pop("name", "rogue.wants")
    return stage(api, obj, cloudfront)


def lost(world: World) -> None:
    """A user deletes the tenant in the console."""
    world.cloudfront.tenants.clear()


def holders(api: FakeObjects) -> list[str | None]:
    known = records(api)
    return [known.holder(domain) for domain in DOMAINS]


def refused(world: World) -> str:
    assert world.error is not None
    assert world.ready() == ("False", "DomainConflict"), world.error
    return world.error.message


# Recording.


def test_what_a_creation_brought_is_recorded_without_a_call_more(api):
    plain, world = World(), stage(api)
    plain.settle()
    world.settle()
    assert holders(api) == ["shop", "shop"]
    assert world.cloudfront.journal == plain.cloudfront.journal


def test_in_a_steady_state_nothing_is_asked_and_nothing_written(api):
    world = serving(api)
    before = list(api._journal.entries)
    for _ in range(3):
        assert world.reconcile() == ["GetDistributionTenant"]
    world.context["kept"] = records(api)
    world.restart()
    assert TAGS not in world.reconcile(), "a restart costs no look at the tags of what is recorded"
    assert api._journal.entries == before


def test_who_only_looks_reads_no_tags_for_the_records(api):
    world = World()
    world.settle()
    looking = stage(api, managed(uid="looks", managementPolicies=["Observe"]), world.cloudfront)
    looking.obj["metadata"]["namespace"] = "other"
    for _ in range(3):
        assert TAGS not in looking.reconcile(), "thousands may be imported so"
        looking.clock.advance(601)
    assert holders(api) == [None, None]


def test_a_tenant_from_before_the_records_is_recorded_at_the_first_look(api):
    world = World()
    world.settle()
    world.context["kept"] = records(api)
    world.restart()
    assert world.reconcile().count(TAGS) == 1
    assert holders(api) == ["shop", "shop"]
    assert TAGS not in world.reconcile()


def test_so_is_what_an_update_added_with_its_answer(api):
    """Someone may delete the tenant in the console before the next look."""
    world = stage(api, managed({"distributionId": DISTRIBUTION, "domains": [DOMAINS[0]]}))
    world.settle()
    assert holders(api) == ["shop", None]
    world.edit(domains=list(DOMAINS))
    while set(world.cloudfront.only.domains) != set(DOMAINS):
        world.reconcile()
    lost(world)
    waits = squatter(api, world.cloudfront, DOMAINS[1])
    waits.reconcile()
    assert "is kept for another namespace" in refused(waits)


def test_a_domain_that_is_not_active_is_not_recorded(api):
    world = stage(api)
    world.reconcile()
    api._objects.clear()
    world.cloudfront.edit("dt_1", domains={DOMAINS[0]: "inactive", DOMAINS[1]: "active"})
    world.context["kept"] = records(api)
    world.reconcile()
    assert holders(api) == [None, "shop"]


def test_a_domain_with_the_key_of_a_name_is_not_recorded(api):
    world, name = serving(api), "_tenant.123456789012.blue.shop"
    for policy in ("Report", "Enforce"):
        world.obj["spec"]["driftPolicy"] = policy
        world.cloudfront.edit("dt_1", domains={DOMAINS[0]: "active", DOMAINS[1]: "active", name: "active"})
        world.clock.advance(61)
        world.reconcile()
        world.context["kept"] = records(api)
        assert world.context["kept"].holder(name) is None
        world.restart()
        world.reconcile()
        assert records(api).holder(name) is None
    assert name not in world.cloudfront.tenants["dt_1"].domains
    assert holders(api) == ["shop", "shop"]


@pytest.mark.parametrize("tags", [{}, {OWNER_TAG: OURS.replace("shop/", "sales/")}, {OWNER_TAG: "other/x"}])
def test_a_tenant_that_is_not_ours_by_its_tag_is_not_recorded(api, tags):
    world = World()
    world.settle()
    world.cloudfront.edit("dt_1", tags=tags)
    world.context["kept"] = records(api)
    assert sum(world.reconcile().count(TAGS) for _ in range(5)) == 1, "the tags are read at each look"
    world.clock.advance(601)
    assert world.reconcile().count(TAGS) == 1, "a tag that was put right is never seen"
    assert holders(api) == [None, None]


def test_a_forged_status_keeps_nothing(api):
    world = serving(api)
    forged = squatter(api, world.cloudfront, *DOMAINS, name="shop.acme")
    forged.obj["status"] = copy.deepcopy(world.obj["status"])
    rogue = OURS.replace("shop/", "rogue/")
    forged.obj["status"]["atProvider"]["tags"] = {OWNER_TAG: rogue}
    assert not WRITES & set(forged.reconcile())
    assert "is kept for another namespace" in forged.error.message
    assert holders(api) == ["shop", "shop"]
    forged.delete()
    forged.reconcile()
    assert holders(api) == ["shop", "shop"]


def test_a_forged_status_records_nothing_of_what_is_not_recorded(api):
    world = World()
    world.settle()
    forged = squatter(api, world.cloudfront, *DOMAINS, name="shop.acme")
    forged.obj["status"] = copy.deepcopy(world.obj["status"])
    with pytest.raises(ExternalError, match="its owner tag in AWS names another namespace"):
        forged.client.observe(forged.mr)
    assert holders(api) == [None, None]


def test_a_listed_domain_is_not_kept(api):
    cloudfront = FakeCloudFront()
    cloudfront.add(name="somebody.else", domains=dict.fromkeys(DOMAINS, "active"))
    world = stage(api, cloudfront=cloudfront)
    world.reconcile()
    assert refused(world)
    assert holders(api) == [None, None]


def test_what_cannot_be_recorded_is_recorded_at_a_later_look(api):
    world = stage(api)
    api.failing["create ConfigMap"] = [KubeError(Operation("create", CONFIG_MAPS), 500, "down")] * 2
    world.reconcile()
    assert len(world.cloudfront.tenants) == 1
    assert holders(api) == [None, None]
    world.settle()
    assert holders(api) == ["shop", "shop"]


# Refusing.


def test_a_squatter_does_not_get_a_domain_in_the_gap(api):
    world = serving(api)
    waits = squatter(api, world.cloudfront)
    waits.reconcile()
    assert "is served by another tenant" in refused(waits)
    lost(world)
    waits.restart()
    assert not WRITES & set(waits.reconcile())
    message = refused(waits)
    assert f"{DOMAINS[0]} is kept for another namespace" in message
    assert "shop.acme" not in message.replace("shop.acme.com", "")
    assert '"shop"' not in message
    name = config_map(shard_of(DOMAINS[0]))
    assert f"key {data_key(DOMAINS[0])} of ConfigMap {name} in namespace crossplane-system" in message
    world.settle()
    assert world.ready() == ("True", "Available")


def test_the_log_has_one_line_of_all_domains_that_are_kept_for_others(api, monkeypatch):
    monkeypatch.setattr(kept_domains, "_MOST_LOGGED", 1)
    held = serving(api)
    lost(held)
    rogue = squatter(api, held.cloudfront, *DOMAINS)
    with capture_logs() as logs:
        rogue.reconcile()
        rogue.reconcile()
    told = [line for line in logs if "kept for other" in line["event"]]
    assert [(line["kept_for"], line["domains"]) for line in told] == [({DOMAINS[0]: "shop"}, 2)]


def test_a_domain_that_is_refused_for_two_reasons_is_told_once(api):
    world = serving(api)
    [holder] = world.cloudfront.tenants
    wants = squatter(api, world.cloudfront, annotations={TAKE_ANNOTATION: holder})
    wants.reconcile()
    message = refused(wants)
    assert message.count(f"domains: {DOMAINS[0]} is served by") == 1


@pytest.mark.parametrize("adds", [True, False], ids=["update", "creation"])
def test_beside_a_kept_domain_one_that_the_own_namespace_serves_is_told_too(api, adds):
    world = serving(api)
    squatter(api, world.cloudfront, "other.example.com", name="rogue.other").settle()
    own = [] if adds else ["other.example.com", DOMAINS[0]]
    wants = squatter(api, world.cloudfront, "rogue.example.com", *own)
    if adds:
        wants.settle()
        wants.edit(domains=["rogue.example.com", "other.example.com", DOMAINS[0]])
    assert not WRITES & set(wants.reconcile())
    message = str(wants.error)
    assert f"domains: {DOMAINS[0]} is served by" in message
    assert message.count("domains: other.example.com is served by tenant rogue.other") == 1
    assert "rogue.example.com is served" not in message


def test_nor_adds_it_to_a_tenant_that_it_has(api):
    world = serving(api)
    has = squatter(api, world.cloudfront, "rogue.example.com")
    has.settle()
    lost(world)
    mine = squatter(api, world.cloudfront, "rogue.example.com")
    mine.settle()
    mine.edit(domains=["rogue.example.com", *DOMAINS])
    assert not WRITES & set(mine.reconcile())
    assert mine.error is not None
    assert all(f"{domain} is kept for another namespace" in mine.error.message for domain in DOMAINS)


def test_nor_by_adopting_a_tenant_that_has_it(api):
    world = serving(api)
    lost(world)
    world.cloudfront.add(name="rogue.wants", id="dt_9", arn="arn:dt_9", domains={DOMAINS[0]: "inactive"})
    adopts = squatter(api, world.cloudfront, annotations={ADOPT_ANNOTATION: "dt_9"})
    assert not WRITES & set(adopts.reconcile())
    assert f"{DOMAINS[0]} is kept for another namespace" in refused(adopts)
    assert world.cloudfront.tenants["dt_9"].tags == {}


def test_a_domain_that_only_the_adopted_tenant_has_is_told_as_that(api):
    world = serving(api)
    lost(world)
    world.cloudfront.add(name="rogue.wants", id="dt_9", arn="arn:dt_9", domains={DOMAINS[0]: "inactive"})
    adopts = squatter(api, world.cloudfront, "own.test", annotations={ADOPT_ANNOTATION: "dt_9"})
    assert not WRITES & set(adopts.reconcile())
    message = refused(adopts)
    assert f"rogue.wants has {DOMAINS[0]} in AWS, which is kept for another namespace" in message
    assert "Do not adopt it" in message
    assert "Remove it here" not in message


@pytest.mark.parametrize("loaded", [False, True], ids=["never", "after the look"])
def test_nor_by_adopting_one_before_the_records_are_known(api, monkeypatch, loaded):
    monkeypatch.setattr(config_maps, "_LOADED_SECONDS", 0.01)
    world = serving(api)
    lost(world)
    world.cloudfront.add(name="rogue.wants", id="dt_9", arn="arn:dt_9", domains={DOMAINS[0]: "active"})
    adopts = squatter(api, world.cloudfront, annotations={ADOPT_ANNOTATION: "dt_9"})
    unread = adopts.context["kept"] = DomainRecords(api, "crossplane-system", Looks(FakeClock(), 60))
    seen = adopts.client.observe(adopts.mr)
    if loaded:
        unread.load()
    words = "is kept for another namespace" if loaded else "have not been read yet"
    with pytest.raises((NotYet, ExternalError), match=words):
        adopts.client.update(adopts.mr, seen)
    assert world.cloudfront.tenants["dt_9"].tags == {}
    assert holders(api)[0] == "shop"


def test_nor_does_a_tenant_of_its_own_wait_longer_than_for_the_records(api, monkeypatch):
    monkeypatch.setattr(config_maps, "_LOADED_SECONDS", 0.01)
    world = serving(api)
    world.restart()
    world.context["kept"] = DomainRecords(api, "crossplane-system", Looks(FakeClock(), 60))
    world.edit(enabled=False)
    assert not WRITES & set(world.reconcile())
    assert "have not been read yet" in world.error.message
    world.context["kept"].load()
    world.settle()
    assert not world.cloudfront.only.enabled


@pytest.mark.parametrize("code", ["Throttling", "AccessDenied", "InternalError"])
def test_tags_that_cannot_be_read_make_nobody_a_squatter(api, code):
    world = serving(api)
    # As after an agreed move: what AWS says counts more than the record.
    records(api).hold(DOMAINS[:1], "elsewhere")
    world.context["kept"] = records(api)
    world.restart()
    world.cloudfront.refuse[TAGS] = AwsError(TAGS, code, "not now", status=400)
    world.reconcile()
    assert f"read tags of tenant shop.acme: {code}" in world.error.message
    assert world.ready() == ("True", "Available")
    world.cloudfront.refuse.clear()
    world.settle()
    assert holders(api) == ["shop", "shop"]


def test_the_holder_gets_it_back_under_another_identity(api):
    world = serving(api)
    lost(world)
    again = managed(uid="another", annotations={"crossplane.io/external-name": "shop.acme-2"})
    new = stage(api, again, world.cloudfront)
    new.settle()
    assert new.ready() == ("True", "Available")


def test_what_an_administrator_released_is_free_at_the_next_try(api):
    world = serving(api)
    lost(world)
    waits = squatter(api, world.cloudfront)
    waits.reconcile()
    assert refused(waits)
    key = ObjectKey("crossplane-system", config_map(shard_of(DOMAINS[0])))
    api.patch(CONFIG_MAPS, key, {"data": {data_key(DOMAINS[0]): None}})
    waits.settle()
    assert waits.ready() == ("True", "Available")
    assert holders(api) == ["rogue", "shop"]


def test_nothing_is_created_before_the_records_are_known(api, monkeypatch):
    monkeypatch.setattr(config_maps, "_LOADED_SECONDS", 0.01)
    world = stage(api)
    world.context["kept"] = DomainRecords(api, "crossplane-system", Looks(FakeClock(), 60))
    assert not WRITES & set(world.reconcile())
    assert "have not been read yet" in world.error.message
    world.context["kept"].load()
    world.settle()
    assert world.ready() == ("True", "Available")


def test_an_api_server_that_does_not_answer_releases_nothing(api, monkeypatch):
    world = serving(api)
    lost(world)
    waits = squatter(api, world.cloudfront)

    def down(*_):
        raise KubeError(Operation("get", CONFIG_MAPS), 0, "no answer")

    monkeypatch.setattr(api, "get", down)
    assert not WRITES & set(waits.reconcile())
    assert "no answer" in waits.error.message


# Before a domain is lost.


def test_a_deletion_waits_for_the_record(api):
    world = World()
    world.settle()
    world.context["kept"] = records(api)
    world.restart()
    world.delete()
    api.failing["create ConfigMap"] = [KubeError(Operation("create", CONFIG_MAPS), 500, "down")]
    calls = world.reconcile()
    assert not WRITES & set(calls)
    assert "down" in world.error.message
    world.settle()
    assert world.gone
    assert holders(api) == ["shop", "shop"]


def test_so_does_an_update_that_takes_a_domain_away(api):
    world = World()
    world.settle()
    world.context["kept"] = records(api)
    api.failing["create ConfigMap"] = [KubeError(Operation("create", CONFIG_MAPS), 500, "down")] * 2
    world.edit(domains=[DOMAINS[1]])
    assert not WRITES & set(world.reconcile())
    assert "waits until its domains are recorded" in world.error.message
    world.settle()
    assert holders(api) == ["shop", "shop"]
    assert set(world.cloudfront.only.domains) == {DOMAINS[1]}


@pytest.mark.parametrize("call", range(6))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_provider_that_dies_in_the_gap_keeps_the_domains(api, call, when):
    world = serving(api)
    world.delete()
    world.cloudfront.die = (len(world.cloudfront.journal) + call, when)
    with contextlib.suppress(Killed):
        world.reconcile()
    world.cloudfront.die = None
    lost(world)
    waits = squatter(api, world.cloudfront)
    waits.reconcile()
    assert "is kept for another namespace" in refused(waits)


# Moves.


def test_an_agreed_move_takes_the_record_along(api):
    world = serving(api)
    takes = squatter(
        api, world.cloudfront, "rogue.example.com", annotations={TAKE_ANNOTATION: world.cloudfront.only.id}
    )
    world.obj["metadata"]["annotations"][GIVE_ANNOTATION] = "rogue/rogue.wants"
    takes.context["everyone"] = lambda: [takes.mr, world.mr]
    takes.settle()
    takes.edit(domains=["rogue.example.com", DOMAINS[0]])
    takes.settle()
    assert takes.ready() == ("True", "Available")
    assert holders(api) == ["rogue", "shop"]


# Those that record nothing.


def test_a_rehearsal_records_nothing_and_refuses_all_the_same(api):
    world = serving(api)
    lost(world)
    kept = records(api)
    before = list(api._journal.entries)
    waits = squatter(api, world.cloudfront)
    waits.context["kept"] = OnlyRead(kept)
    waits.reconcile()
    assert "is kept for another namespace" in refused(waits)
    again = stage(api, managed(), world.cloudfront)
    again.context["kept"] = OnlyRead(kept)
    again.settle()
    assert api._journal.entries == before


def test_without_records_nothing_is_asked(api):
    world = World()
    world.settle()
    world.restart()
    assert TAGS not in world.reconcile()
    world.delete()
    assert world.reconcile().count(TAGS) == 1, "for the owner, and not for the record"


def test_a_domain_that_another_process_has_just_recorded_is_refused(api):
    early = DomainRecords(api, "crossplane-system", Looks(FakeClock(), 60), shared=True)
    early.load()
    holder = serving(api)
    lost(holder)
    world = squatter(api, holder.cloudfront)
    world.context["kept"] = early
    world.reconcile()
    assert "kept for another namespace" in refused(world)
    assert not world.cloudfront.tenants

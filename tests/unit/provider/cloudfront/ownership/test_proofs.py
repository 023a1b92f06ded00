"""The owner tag proves whose a tenant or connection group is; status is a memory of it.

Both kinds go through the same stories: each fault here was a tenant's and a group's.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import PAUSED, AwsError
from provider.cloudfront.memory.schedules import DEEP_CHECK_SECONDS
from provider.cloudfront.ownership.proofs import CONFIRM_SECONDS, PROVEN_SECONDS
from provider.cloudfront.rehearsal.recorder import Recorder, rehearse
from provider.cloudfront.state.identity import OWNER_TAG, own_tags
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups, manifest
from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import FOR_PROVIDER, INSTALLATION, World, managed

ADOPT = "edgetenants.io/adopt"
THEIRS = "other-cluster/{kind}/shop/shop.acme"
READS = "ListTagsForResource"


class Tenants:
    """The stories, with tenants."""

    kind = "DistributionTenant"
    look = "GetDistributionTenant"
    name = "shop.acme"
    edit: dict[str, Any] = {"parameters": {"tenantName": "b"}}  # noqa: RUF012 - read only
    edit_back: dict[str, Any] = {"parameters": {"tenantName": "a"}}  # noqa: RUF012 - read only

    def world(self, cloudfront: FakeCloudFront | None = None, *, annotations=None, **more) -> World:
        return World(managed(annotations=annotations, **more), cloudfront)

    def add(self, cloudfront: FakeCloudFront, tags: dict[str, str]):
        domains = dict.fromkeys(FOR_PROVIDER["domains"], "active")
        return cloudfront.add(tags=tags, domains=domains, parameters={"tenantName": "acme"})

    def there(self, world: World):
        return world.cloudfront.only

    def put(self, world: World, **values: Any) -> None:
        """Changed behind the provider's back, but for its version: tags may not move it."""
        it = self.there(world)
        world.cloudfront.tenants[it.id] = replace(it, **values)

    @property
    def ours(self) -> str:
        return f"{INSTALLATION}/{self.kind}/shop/{self.name}"

    @property
    def theirs(self) -> str:
        return f"other-cluster/{self.kind}/shop/{self.name}"


class ConnectionGroups(Tenants):
    """The same, with connection groups."""

    kind = "ConnectionGroup"
    look = "GetConnectionGroup"
    name = "shop.front"
    edit: dict[str, Any] = {"ipv6Enabled": False}  # noqa: RUF012 - read only
    edit_back: dict[str, Any] = {"ipv6Enabled": True}  # noqa: RUF012 - read only

    def world(self, cloudfront=None, *, annotations=None, uid=None, namespace=None, **more) -> World:
        world = Groups({"ipv6Enabled": True}, cloudfront)
        world.obj = manifest({"ipv6Enabled": True}, annotations=annotations, **more)
        world.obj["metadata"] |= {"uid": uid} if uid else {}
        return world

    def add(self, cloudfront, tags):
        return cloudfront.add_group("shop.front", tags=tags)

    def there(self, world):
        return world.group

    def put(self, world, **values):
        it = self.there(world)
        world.cloudfront.groups[it.id] = replace(it, **values)


@pytest.fixture(params=[Tenants, ConnectionGroups], ids=["tenant", "group"])
def kind(request) -> Tenants:
    return request.param()


def settled(kind: Tenants, **more: Any) -> World:
    world = kind.world(**more)
    world.settle()
    return world


def writes(calls: list[str]) -> list[str]:
    return [call for call in calls if not call.startswith(("Get", "List", "Describe", "Verify"))]


def reconciled(world: World, passes: int = 3) -> list[str]:
    """The calls of some passes that write, everything waited for."""
    made: list[str] = []
    for _ in range(passes):
        made += writes(world.reconcile())
        if isinstance(world.error, NotYet):
            world.clock.advance(world.error.after)
    return made


def forge(world: World, it) -> None:
    """Anyone who may write status has it say that this is the managed resource's, tags and all."""
    tags = own_tags(world.mr, INSTALLATION, it.name)
    world.obj["status"] = {
        "atProvider": {"id": it.id, "name": it.name, "arn": it.arn, "tags": tags | FOR_PROVIDER["tags"]},
        "applied": {"hash": "1", "etag": it.etag, "tagKeys": [], "parameterKeys": []},
        "conditions": [{"type": "Ready", "status": "True", "reason": "Available"}],
    }


# Status is no proof.


@pytest.mark.parametrize("owner", ["theirs", ""])
def test_a_forged_status_changes_and_retags_nothing(kind, owner):
    cloudfront = FakeCloudFront()
    it = kind.add(cloudfront, {OWNER_TAG: kind.theirs} if owner else {"team": "b"})
    world = kind.world(cloudfront)
    forge(world, it)
    world.edit(**kind.edit)
    assert reconciled(world) == []
    assert world.ready() == ("False", "AdoptionRefused")
    assert kind.there(world) == it


def test_a_forged_status_deletes_nothing(kind):
    cloudfront = FakeCloudFront()
    it = kind.add(cloudfront, {OWNER_TAG: f"other-cluster/{kind.kind}/else/{kind.name}"})
    world = kind.world(cloudfront)
    forge(world, it)
    world.delete()
    assert reconciled(world) == []
    assert world.gone, "the managed resource goes, and leaves it as it is"
    assert kind.there(world) == it


def test_what_has_no_owner_is_neither_deleted_nor_let_go_by_status_alone(kind):
    cloudfront = FakeCloudFront()
    it = kind.add(cloudfront, {})
    world = kind.world(cloudfront)
    forge(world, it)
    world.delete()
    assert reconciled(world) == []
    assert not world.gone
    assert f"set the annotation {ADOPT} to {it.id}" in world.error.message
    world.obj["metadata"]["annotations"][ADOPT] = it.id
    world.settle()
    assert world.gone
    assert it.id not in {**cloudfront.tenants, **cloudfront.groups}


def test_a_forged_status_holds_up_nobody_who_is_proven(kind):
    world = settled(kind)
    world.obj["status"]["atProvider"] = {"id": "x_9", "name": "x", "arn": "arn:aws:cloudfront::9:x/x_9"}
    world.reconcile()
    assert world.error is None
    assert world.status["atProvider"]["id"] == kind.there(world).id


def test_a_forged_status_takes_nothing_from_who_is_proven_to_have_it(kind):
    world = settled(kind)
    it = kind.there(world)
    twin = kind.world(world.cloudfront, uid="twin")
    twin.memory, twin.clock = world.memory, world.clock
    twin.context["peers"] = lambda *_: [world.mr]
    forge(twin, it)
    twin.edit(enabled=False)
    assert reconciled(twin) == []
    assert twin.ready() == ("False", "AdoptionRefused")
    twin.delete()
    assert reconciled(twin) == []
    assert twin.gone
    assert kind.there(world).enabled


def twins(kind) -> tuple[World, World]:
    """Two resources of one identity, the first the older, both proven to have one external resource."""
    older = settled(kind)
    younger = kind.world(older.cloudfront, uid="younger")
    younger.obj["metadata"]["creationTimestamp"] = "2030-01-01T00:00:00Z"
    younger.memory, younger.clock = older.memory, older.clock
    younger.context["peers"] = lambda *_: [older.mr]
    older.context["peers"] = lambda *_: [younger.mr]
    forge(younger, kind.there(older))
    older.memory.proofs.note(younger.mr.uid, kind.there(older))
    return older, younger


def test_of_two_that_meet_one_at_the_same_moment_the_older_keeps_it(kind):
    older, younger = twins(kind)
    assert reconciled(younger) == []
    assert younger.ready() == ("False", "AdoptionRefused")
    assert reconciled(older) == []
    assert older.ready() == ("True", "Available")
    assert READS not in older.reconcile(), "and no tag is read for it any more"
    younger.delete()
    assert reconciled(younger) == []
    assert younger.gone
    assert kind.there(older).enabled


def test_the_younger_of_two_deletes_nothing_even_if_it_is_deleted_at_once(kind):
    older, younger = twins(kind)
    younger.delete()
    assert reconciled(younger) == []
    assert younger.gone
    assert kind.there(older).enabled


def test_what_lost_its_tags_is_not_adopted_from_under_who_has_it(kind):
    world = settled(kind)
    it = kind.there(world)
    kind.put(world, tags={})
    thief = kind.world(world.cloudfront, uid="thief", annotations={ADOPT: it.id})
    thief.obj["metadata"]["namespace"] = "rogue"
    thief.memory, thief.clock = world.memory, world.clock
    thief.context["peers"] = lambda *_: [world.mr]
    assert reconciled(thief) == []
    assert thief.ready() == ("False", "AdoptionRefused")
    assert "another resource of this cluster manages it" in thief.error.message
    assert world.mr.namespace not in thief.error.message.replace(it.name, "")
    thief.context["peers"] = lambda *_: []
    assert writes(thief.reconcile()) == ["TagResource"], "once nobody has it any more"


def test_a_proof_of_who_is_gone_contests_nothing(kind):
    world = settled(kind)
    world.memory.proofs.note("gone", kind.there(world))
    assert READS in world.reconcile()
    assert READS not in world.reconcile()


def test_who_only_looks_by_now_contests_nothing(kind):
    older, younger = twins(kind)
    older.obj["spec"]["managementPolicies"] = ["Observe"]
    assert READS in younger.reconcile()
    assert younger.ready() == ("True", "Available")
    assert READS not in younger.reconcile(), "in a steady state no tag is read"


def test_who_only_looks_by_now_keeps_nothing_from_who_is_given_it(kind):
    world = settled(kind)
    it = kind.there(world)
    kind.put(world, tags={})
    world.obj["spec"]["managementPolicies"] = ["Observe"]
    heir = kind.world(world.cloudfront, uid="heir", annotations={ADOPT: it.id})
    heir.memory, heir.clock = world.memory, world.clock
    heir.context["peers"] = lambda *_: [world.mr]
    heir.obj["metadata"]["namespace"] = "rogue"
    assert reconciled(heir) == [], "of another namespace"
    heir.obj["metadata"]["namespace"] = world.mr.namespace
    assert "TagResource" in reconciled(heir)


def test_a_rehearsed_creation_proves_nothing(kind):
    world = kind.world()
    recorder = Recorder(world.cloudfront)
    world.cloudfront, world.context["rehearsing"] = recorder.as_cloudfront, True
    assert rehearse(world.client, world.mr, recorder).calls
    assert world.memory.proofs.of(world.mr.uid) is None


def test_a_new_process_reads_the_tag_before_its_first_write_and_no_sooner(kind):
    world = settled(kind)
    world.restart()
    assert READS not in world.reconcile()
    world.edit(**kind.edit)
    calls = world.reconcile()
    assert calls.count(READS) == 1
    assert calls.index(READS) < calls.index(writes(calls)[0])
    world.edit(**kind.edit_back)
    calls = world.reconcile()
    assert READS not in calls, "proven lately"
    assert writes(calls)
    world.clock.advance(PROVEN_SECONDS)
    world.edit(**kind.edit)
    assert READS in world.reconcile()


def test_a_tag_that_cannot_be_read_stops_the_first_write_and_is_told(kind):
    world = settled(kind)
    world.restart()
    world.cloudfront.refuse[READS] = AwsError(READS, "AccessDenied", "no", status=403)
    world.edit(**kind.edit)
    assert writes(world.reconcile()) == []
    assert "read tags of" in world.error.message
    assert world.ready() == ("True", "Available"), "it serves all the same"
    world.delete()
    assert writes(world.reconcile()) == []
    assert not world.gone
    world.cloudfront.refuse.clear()
    world.settle()
    assert world.gone


def test_what_is_proven_is_changed_where_tags_cannot_be_read(kind):
    world = settled(kind)
    world.cloudfront.refuse[READS] = AwsError(READS, "AccessDenied", "no", status=403)
    world.edit(tags={"team": "core"})
    world.reconcile()
    assert kind.there(world).tags["team"] == "core"


def test_where_tags_cannot_be_read_the_owners_is_left_alone(kind):
    world = settled(kind)
    kind.put(world, tags={**kind.there(world).tags, OWNER_TAG: kind.theirs})
    world.cloudfront.refuse[READS] = AwsError(READS, "AccessDenied", "no", status=403)
    del world.status["atProvider"]["tags"][OWNER_TAG]
    world.edit(tags={"team": "core"})
    world.reconcile()
    assert kind.there(world).tags[OWNER_TAG] == kind.theirs


# It is handed over in AWS.


def test_a_hand_over_is_refused_and_never_repaired(kind):
    world = settled(kind)
    kind.put(world, tags={**kind.there(world).tags, OWNER_TAG: kind.theirs})
    world.clock.advance(DEEP_CHECK_SECONDS)
    assert reconciled(world) == []
    assert world.ready() == ("False", "AdoptionRefused")
    assert "its owner tag in AWS names this resource of another installation" in world.error.message
    assert kind.theirs not in world.error.message, "people of the namespace are not told whose it is"
    assert f"set the tag {OWNER_TAG} " in world.error.message
    world.restart()
    assert reconciled(world) == []
    assert world.ready() == ("False", "AdoptionRefused"), "a new process asks the tag, too"
    kind.put(world, tags={**kind.there(world).tags, OWNER_TAG: kind.ours})
    world.settle()
    assert world.ready() == ("True", "Available")


def test_a_hand_over_is_seen_before_tags_are_written(kind):
    world = settled(kind)
    kind.put(world, tags={**kind.there(world).tags, OWNER_TAG: kind.theirs})
    world.edit(tags={"stage": "live"})
    assert reconciled(world) == []
    assert kind.there(world).tags[OWNER_TAG] == kind.theirs


def test_whose_it_was_changes_nothing_of_it_any_more(kind):
    """Disabled, or without its domains, it would be of no use to whom it was given."""
    world = settled(kind)
    world.clock.advance(60)
    kind.put(world, tags={**kind.there(world).tags, OWNER_TAG: kind.theirs})
    world.edit(**kind.edit, enabled=False)
    assert writes(reconciled(world)) == []
    assert kind.there(world).enabled


def test_a_lost_installation_id_is_told_as_that_and_not_as_another_owner():
    """As after a restore without its ConfigMap: no one is to delete resources for that."""
    world = World()
    world.settle()
    world.context["installation"] = "made-up"
    world.restart()
    world.edit(parameters={"tenantName": "b"})
    world.reconcile()
    assert world.ready()[1] == "AdoptionRefused"
    told = world.condition("Ready")[2]
    assert "the provider has lost its installation id" in told
    assert "cluster-1/" not in told
    assert "delete this resource" not in told


@pytest.mark.parametrize("restarted", [False, True])
def test_what_was_handed_over_is_not_deleted(kind, restarted):
    world = settled(kind)
    theirs = f"other-cluster/{kind.kind}/else/{kind.name}"
    kind.put(world, tags={**kind.there(world).tags, OWNER_TAG: theirs})
    if restarted:
        world.restart()
    world.delete()
    assert reconciled(world) == []
    assert world.gone
    assert kind.there(world).enabled


def test_what_is_handed_over_while_a_slow_rate_delays_its_deletion_is_not_deleted(kind):
    world = settled(kind)
    fake, word = world.cloudfront, "tenant" if kind.kind == "DistributionTenant" else "group"
    update = getattr(fake, f"update_{word}")
    world.delete()
    if word == "group":
        world.reconcile()
        world.clock.advance(60)

    def slow(*given, **named):
        answer = update(*given, **named)
        world.clock.advance(10)
        theirs = f"{INSTALLATION}/{kind.kind}/else/{kind.name}"
        kind.put(world, tags={**kind.there(world).tags, OWNER_TAG: theirs})
        return answer

    setattr(fake, f"update_{word}", slow)
    before = len(fake.journal)
    for _ in range(3):
        world.reconcile()
        world.clock.advance(60)
    after = fake.journal[before:]
    assert any(each.startswith("Update") for each in after), "it was disabled"
    assert not any(each.startswith("Delete") for each in after)


@pytest.mark.parametrize("restarted", [False, True])
def test_what_may_be_ours_of_a_lost_installation_id_is_not_left_behind(kind, restarted):
    world = settled(kind)
    kind.put(world, tags={**kind.there(world).tags, OWNER_TAG: kind.theirs})
    if restarted:
        world.restart()
    world.delete()
    assert reconciled(world) == []
    assert not world.gone
    assert world.ready() == ("False", "DeletionHeld")
    assert "have the platform team restore the id of the tag" in world.error.message
    assert kind.theirs not in world.error.message, "people of the namespace are not told whose it is"
    token = world.error.message.partition("edgetenants.io/confirm to ")[2].partition(",")[0]
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = token
    assert reconciled(world) == []
    assert world.gone
    assert kind.there(world).enabled, "it is the other cluster's"


def test_a_deletion_goes_on_once_the_installation_id_is_back(kind):
    world = settled(kind)
    world.context["installation"] = "made-up"
    world.restart()
    world.delete()
    assert reconciled(world) == []
    assert not world.gone
    del world.context["installation"]
    world.restart()
    for _ in range(40):
        if world.gone:
            break
        reconciled(world)
        world.cloudfront.deploy()
        world.clock.advance(60)
    assert world.gone
    assert not [g for g in world.cloudfront.groups.values() if not g.is_default]
    assert not world.cloudfront.tenants


def test_what_was_handed_to_one_here_who_has_no_resource_yet_is_not_taken_back(kind):
    world = settled(kind, annotations={ADOPT: "dt_1"})
    world.obj["metadata"]["annotations"][ADOPT] = kind.there(world).id
    left = f"{INSTALLATION}/{kind.kind}/else/{kind.name}"
    kind.put(world, tags={**kind.there(world).tags, OWNER_TAG: left})
    world.clock.advance(DEEP_CHECK_SECONDS)
    assert reconciled(world) == []
    assert world.ready() == ("False", "AdoptionRefused")
    assert kind.there(world).tags[OWNER_TAG] == left


# The owner tag is gone.


@pytest.mark.parametrize("proven", [True, False])
def test_an_owner_tag_that_was_removed_is_set_again_where_it_is_known_whose_it_was(kind, proven):
    world = settled(kind)
    tags = {key: value for key, value in kind.there(world).tags.items() if key != OWNER_TAG}
    kind.put(world, tags={} if proven else tags)
    if not proven:
        world.restart()
        world.edit(**kind.edit)
    world.clock.advance(DEEP_CHECK_SECONDS)
    world.settle()
    assert kind.there(world).tags[OWNER_TAG] == kind.ours
    assert world.ready() == ("True", "Available")


def test_a_new_process_needs_a_word_where_all_tags_were_removed(kind):
    world = settled(kind)
    kind.put(world, tags={})
    world.restart()
    world.edit(**kind.edit)
    assert reconciled(world) == []
    id_ = kind.there(world).id
    assert f"set the annotation {ADOPT} to {id_}" in world.error.message
    world.obj["metadata"]["annotations"][ADOPT] = id_
    world.settle()
    assert kind.there(world).tags[OWNER_TAG] == kind.ours
    assert world.ready() == ("True", "Available")


# Two want what is no one's.


def two(kind: Tenants) -> tuple[World, World]:
    """Two namespaces of one provider."""
    cloudfront = FakeCloudFront()
    id_ = kind.add(cloudfront, {}).id
    one = kind.world(cloudfront, annotations={ADOPT: id_})
    other = kind.world(cloudfront, annotations={ADOPT: id_}, uid="other-uid")
    other.obj["metadata"]["namespace"] = "else"
    other.memory, other.clock = one.memory, one.clock
    everyone = lambda mr, _: [w.mr for w in (one, other) if w.mr.uid != mr.uid]  # noqa: E731 - for both
    one.context["peers"] = other.context["peers"] = everyone
    return one, other


def test_of_two_adopters_here_one_waits_and_is_refused(kind):
    one, other = two(kind)
    looked = [(world, world.client.observe(world.mr)) for world in (one, other)]
    for world, seen in looked:
        with pytest.raises(NotYet) as told:
            world.client.update(world.mr, seen)
        world.error = told.value
    assert "is being adopted by another resource" in other.error.message
    assert one.cloudfront.journal.count("TagResource") == 1
    one.clock.advance(CONFIRM_SECONDS)
    one.settle()
    assert reconciled(other) == []
    assert other.ready() == ("False", "AdoptionRefused")
    other.delete()
    assert reconciled(other) == []
    assert other.gone
    assert one.reconcile() == [kind.look], "the winner is left alone"
    assert kind.there(one).tags[OWNER_TAG] == kind.ours


@pytest.mark.parametrize("leaves", [False, True])
def test_while_the_answers_lag_only_one_of_two_sets_the_tag(kind, leaves):
    one, other = two(kind)
    tags, lagging = one.cloudfront.tags, {}
    one.cloudfront.tags = lambda arn: tags(arn) and lagging
    for _ in range(20):
        one.reconcile()
        other.reconcile()
        assert "is being adopted by another resource" in other.error.message
        assert kind.there(one).tags == {OWNER_TAG: kind.ours}
        one.clock.advance(15)
    if leaves:
        other.context["peers"] = lambda *_: []
        assert writes(other.reconcile()) == ["TagResource"]
        return
    one.cloudfront.tags = tags
    one.settle()
    assert reconciled(other) == []
    assert other.ready() == ("False", "AdoptionRefused")
    assert kind.there(one).tags[OWNER_TAG] == kind.ours


def test_of_two_installations_the_one_whose_tag_was_written_over_is_refused(kind):
    cloudfront = FakeCloudFront()
    id_ = kind.add(cloudfront, {}).id
    world = kind.world(cloudfront, annotations={ADOPT: id_})
    assert writes(world.reconcile()) == ["TagResource"]
    assert kind.there(world).tags == {OWNER_TAG: kind.ours}
    kind.put(world, tags={OWNER_TAG: kind.theirs})
    world.clock.advance(CONFIRM_SECONDS)
    assert reconciled(world) == []
    assert world.ready() == ("False", "AdoptionRefused")
    world.delete()
    assert reconciled(world) == []
    assert world.gone
    assert kind.there(world).enabled


def test_nothing_is_written_or_deleted_before_the_tag_is_read_again(kind):
    cloudfront = FakeCloudFront()
    world = kind.world(cloudfront, annotations={ADOPT: kind.add(cloudfront, {}).id})
    world.edit(**kind.edit)
    assert writes(world.reconcile()) == ["TagResource"]
    assert world.error.after == CONFIRM_SECONDS
    world.clock.advance(CONFIRM_SECONDS / 2)
    assert writes(world.reconcile()) == []
    assert "read again before any other write" in world.error.message
    world.delete()
    assert writes(world.reconcile()) == []
    assert not world.gone
    world.clock.advance(CONFIRM_SECONDS / 2)
    world.settle()
    assert world.gone


@pytest.mark.parametrize(
    ("error", "free"),
    [
        (AwsError("TagResource", "AccessDenied", "no", status=403), True),
        (AwsError("TagResource", "ServiceUnavailable", "try later", status=503), False),
    ],
)
def test_a_reservation_ends_with_a_refusal_and_lasts_while_nobody_knows(kind, error, free):
    one, other = two(kind)
    one.cloudfront.refuse["TagResource"] = error
    one.reconcile()
    assert isinstance(one.error, ExternalError)
    one.cloudfront.refuse.clear()
    assert (writes(other.reconcile()) == ["TagResource"]) is free
    one.clock.advance(CONFIRM_SECONDS)
    if not free:
        other.context["peers"] = lambda *_: []
        assert writes(other.reconcile()) == [], "the request may still arrive, even if its resource is gone"
    one.clock.advance(600)
    other.settle()
    assert f"/{kind.kind}/else/" in kind.there(one).tags[OWNER_TAG], "nobody is kept out for ever"


def test_a_wait_before_the_tag_reserves_nothing():
    kind = ConnectionGroups()
    one, other = two(kind)
    paused = AwsError("ListDistributionTenants", PAUSED, "requests are paused", after=2.0)
    one.cloudfront.refuse["ListDistributionTenants"] = paused
    one.reconcile()
    assert isinstance(one.error, NotYet)
    assert writes(one.cloudfront.journal) == []
    one.cloudfront.refuse.clear()
    assert writes(other.reconcile()) == ["TagResource"]


def test_a_rehearsal_of_an_adoption_shows_every_call_and_waits_for_none(kind):
    cloudfront = FakeCloudFront()
    it = kind.add(cloudfront, {})
    world = kind.world(cloudfront, annotations={ADOPT: it.id})
    world.edit(**kind.edit)
    recorder = Recorder(cloudfront)
    world.cloudfront, world.context["rehearsing"] = recorder.as_cloudfront, True
    told = rehearse(world.client, world.mr, recorder)
    operations = [call.operation.partition(":")[2] for call in told.calls]
    assert operations == ["TagResource", kind.look.replace("Get", "Update")]
    assert told.refusal is None
    assert writes(cloudfront.journal) == []


# Tags of others.


@pytest.mark.parametrize("adopted", [False, True])
def test_no_tag_of_others_is_removed_whatever_it_is_called(kind, adopted):
    foreign = {
        "crossplane-cost": "42",
        "Crossplane-Name": "of another tool",
        "edgetenants-team": "x",
        "EDGETENANTS.io/Owner": "y",
        "edgetenants.io/note": "keep",
    }
    cloudfront = FakeCloudFront()
    it = kind.add(cloudfront, {**foreign, **({} if adopted else {OWNER_TAG: kind.ours})})
    world = kind.world(cloudfront, annotations={ADOPT: it.id} if adopted else None)
    world.settle()
    world.clock.advance(DEEP_CHECK_SECONDS)
    world.settle()
    tags = kind.there(world).tags
    assert {key: tags.get(key) for key in foreign} == foreign
    assert "UntagResource" not in cloudfront.journal


def test_a_hostile_status_elsewhere_holds_up_no_owner(kind):
    world = settled(kind)
    hostile = Managed(copy.deepcopy(world.obj) | {"metadata": {**world.obj["metadata"], "uid": "h"}})
    hostile.raw["metadata"]["namespace"] = "else"
    hostile.raw["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    world.context["peers"] = lambda *_: [hostile]
    world.restart()
    world.edit(**kind.edit)
    world.settle()
    assert world.ready() == ("True", "Available")
    world.restart()
    world.delete()
    world.settle()
    assert world.gone

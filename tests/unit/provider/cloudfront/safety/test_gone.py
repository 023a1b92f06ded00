"""What is to be deleted and is not found: one answer is no proof that it is gone."""

from __future__ import annotations

from typing import Any

import pytest

from edgetenants_runtime.api.annotations import FINALIZER
from edgetenants_runtime.errors import NotYet
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.state.creating import CREATING_IN
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.fake_cloudfront import ACCOUNT
from tests.unit.provider.world import World

LOOKS = {World: "GetDistributionTenant", Groups: "GetConnectionGroup"}
PENDING, SUCCEEDED, FAILED = (
    f"crossplane.io/external-create-{end}" for end in ("pending", "succeeded", "failed")
)
T1, T2, T3 = (f"2026-01-01T00:00:0{second}Z" for second in (1, 2, 3))
SENT = {CREATING_IN: f"{ACCOUNT}/0a1b2c3d"}


@pytest.fixture(params=[World, Groups], ids=["tenant", "group"])
def world(request) -> World:
    made = request.param()
    made.settle()
    return made


def not_found(world: World, *, found: bool = False) -> None:
    look = LOOKS[type(world)]
    world.cloudfront.refuse.clear()
    if not found:
        world.cloudfront.refuse[look] = AwsError(look, "EntityNotFound", "no", status=404)


def there(world: World) -> Any:
    kept = world.cloudfront.groups if isinstance(world, Groups) else world.cloudfront.tenants
    return [each for each in kept.values() if not getattr(each, "is_default", False)]


def test_one_answer_that_it_is_not_there_ends_no_deletion(world):
    world.delete()
    not_found(world)
    world.reconcile()
    assert not world.gone
    assert isinstance(world.error, NotYet)
    assert "is deleted after a second check" in world.error.message
    not_found(world, found=True)
    world.clock.advance(world.error.after)
    for _ in range(40):
        if world.gone:
            break
        world.reconcile()
        world.cloudfront.deploy()
        world.clock.advance(15)
    assert world.gone
    assert there(world) == []


def test_what_stays_away_is_gone(world):
    world.delete()
    not_found(world)
    world.reconcile()
    world.clock.advance(world.error.after - 1)
    world.reconcile()
    assert not world.gone
    world.clock.advance(1)
    world.reconcile()
    assert world.gone


def test_a_look_in_between_begins_anew(world):
    world.delete()
    not_found(world)
    world.reconcile()
    not_found(world, found=True)
    world.context["frozen"] = "the provider runs with --read-only"
    world.clock.advance(14)
    world.reconcile()
    not_found(world)
    world.clock.advance(1)
    world.reconcile()
    assert not world.gone


def test_what_this_process_deleted_goes_at_once(world):
    world.delete()
    for _ in range(40):
        before = len(there(world))
        world.reconcile()
        if before and not there(world):
            break
        world.cloudfront.deploy()
        world.clock.advance(15)
    assert there(world) == []
    world.reconcile()
    assert world.gone


def test_what_never_was_there_goes_at_once(world):
    del world.obj["status"]
    world.restart()
    world.delete()
    not_found(world)
    world.reconcile()
    assert world.gone


def takes_two_looks(world: World) -> bool:
    """Delete it while AWS does not find it."""
    world.delete()
    not_found(world)
    world.reconcile()
    if world.gone:
        return False
    assert "is deleted after a second check" in world.error.message
    assert "()" not in world.error.message
    world.clock.advance(world.error.after)
    world.reconcile()
    assert world.gone
    return True


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({PENDING: T1, SUCCEEDED: T2}, id="created"),
        pytest.param({SUCCEEDED: T2}, id="created, as another runtime records it"),
        pytest.param({PENDING: T1}, id="no answer"),
        pytest.param({**SENT, PENDING: T1}, id="sent"),
        pytest.param({**SENT, PENDING: T2, FAILED: T1}, id="sent after a refusal"),
        pytest.param({**SENT, PENDING: T1, SUCCEEDED: T2, FAILED: T3}, id="refused after a success"),
        pytest.param({PENDING: T1, FAILED: T2}, id="refused, and later ones are not recorded"),
        pytest.param({PENDING: "soon"}, id="an unreadable time"),
        pytest.param({"edgetenants.io/adopt": "dt_1"}, id="adopted"),
    ],
)
def test_annotations_show_that_it_may_exist_where_status_is_lost(world, annotations):
    world.obj["status"] = {}
    world.restart()
    world.obj["metadata"]["annotations"] |= annotations
    assert takes_two_looks(world)


def test_a_finalizer_without_a_creation_shows_that_it_existed(world):
    """The runtime adds it for a resource that exists already, or together with the record of a creation."""
    world.obj["status"] = {}
    world.restart()
    world.obj["metadata"]["finalizers"] = [FINALIZER]
    assert takes_two_looks(world)


@pytest.mark.parametrize("name", ["id", "arn"])
def test_an_id_of_aws_shows_that_it_existed(world, name):
    (seen,) = there(world)
    # As AWS assigns it: the ids of the fake are shorter.
    id_ = getattr(seen, name) if name == "arn" or world.mr.kind != "ConnectionGroup" else f"cg_{'0' * 26}"
    world.obj["status"] = {}
    world.restart()
    world.obj["metadata"]["annotations"]["crossplane.io/external-name"] = id_
    assert takes_two_looks(world)


def test_a_refused_creation_made_nothing(world):
    world.obj["status"] = {}
    world.restart()
    world.obj["metadata"]["finalizers"] = [FINALIZER]
    world.obj["metadata"]["annotations"] |= {**SENT, PENDING: T1, FAILED: T2}
    assert not takes_two_looks(world)


def test_this_process_knows_what_status_lost(world):
    world.obj["status"] = {}
    assert world.memory.known_id(world.mr.uid)
    assert takes_two_looks(world)


def test_this_process_knows_what_it_saw_and_did_not_prove(world):
    told = world.obj["status"]
    world.restart()
    world.reconcile()
    assert world.memory.proofs.of(world.mr.uid) is None
    assert world.memory.known_id(world.mr.uid) == told["atProvider"]["id"]
    world.obj["status"] = {}
    assert takes_two_looks(world)


def test_status_may_be_lost_between_the_two_looks(world):
    world.restart()
    world.obj["metadata"]["annotations"] |= {PENDING: T1, SUCCEEDED: T2}
    world.delete()
    not_found(world)
    world.reconcile()
    world.obj["status"] = {}
    world.clock.advance(15)
    world.reconcile()
    assert world.gone


def test_without_status_what_this_process_deleted_goes_at_once(world):
    world.obj["metadata"]["annotations"] |= {PENDING: T1, SUCCEEDED: T2}
    world.delete()
    for _ in range(40):
        world.obj["status"] = {}
        world.reconcile()
        if not there(world):
            break
        world.cloudfront.deploy()
        world.clock.advance(15)
    world.obj["status"] = {}
    world.reconcile()
    assert world.gone
    assert world.memory.known_id(world.mr.uid) == ""


def test_credentials_whose_account_nobody_knows_end_no_deletion(world):
    world.context["account"] = None
    world.delete()
    not_found(world)
    for _ in range(3):
        world.reconcile()
        assert not world.gone
        world.clock.advance(60)
    assert world.ready() == ("False", "DeletionHeld")
    message = world.error.message
    assert "Permit sts:GetCallerIdentity" in message
    token = message.partition("edgetenants.io/confirm to ")[2].partition(",")[0]
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = token
    world.reconcile()
    world.clock.advance(15)
    world.reconcile()
    assert world.gone


def test_credentials_whose_account_nobody_knows_make_nothing_anew(world):
    world.context["account"] = None
    not_found(world)
    for _ in range(5):
        assert not [call for call in world.reconcile() if call.startswith("Create")]
        world.clock.advance(60)
    assert world.ready() == ("False", "RecreationHeld")
    token = world.error.message.partition("edgetenants.io/confirm to ")[2].partition(",")[0]
    world.obj["metadata"]["annotations"]["edgetenants.io/confirm"] = token
    made = []
    for _ in range(5):
        made += world.reconcile()
        world.clock.advance(60)
    assert [call for call in made if call.startswith("Create")]


def test_what_a_policy_leaves_needs_no_second_look(world):
    world.obj["spec"]["managementPolicies"] = ["Observe", "Create", "Update"]
    world.delete()
    not_found(world)
    world.reconcile()
    assert world.error is None

"""What is to be deleted and is not found: one answer is no proof that it is gone."""

from __future__ import annotations

from typing import Any

import pytest

from edgetenants_runtime.errors import NotYet
from provider.cloudfront.aws.errors import AwsError
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.world import World

LOOKS = {World: "GetDistributionTenant", Groups: "GetConnectionGroup"}


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

"""A ConnectionGroup that is deleted and created again takes its connection group over, if tenants keep the
deletion waiting."""

from __future__ import annotations

from typing import Any

import pytest

from edgetenants_runtime.api.annotations import FINALIZER
from edgetenants_runtime.errors import NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.cloudfront.group.test_safety import cached
from tests.unit.provider.fake_cloudfront import FakeCloudFront

READS = ("Get", "List")


class Generations:
    """Two ConnectionGroups of one identity: the first is being deleted, the second was created after it."""

    def __init__(self, **second: Any) -> None:
        self.cached: list[dict[str, Any]] = []
        self.old = Groups(cloudfront=FakeCloudFront(disables_used_groups=True))
        self.old.settle()
        self.new = Groups(cloudfront=self.old.cloudfront, **second)
        self.new.obj["metadata"] |= {"uid": "second", "creationTimestamp": "2030-01-01T00:00:00Z"}
        self.new.clock, self.new.memory = self.old.clock, self.old.memory
        for mine, other in ((self.old, self.new), (self.new, self.old)):
            mine.obj["metadata"]["finalizers"] = [FINALIZER]
            mine.context["peers"] = lambda *_, other=other: [] if other.gone else [other.mr]
            mine.context["everyone"] = lambda: [Managed(each) for each in self.cached]
        self.old.delete()

    @property
    def cloudfront(self) -> FakeCloudFront:
        return self.old.cloudfront

    @property
    def group(self) -> Any:
        return self.old.group

    def use(self) -> str:
        """A tenant in the group, which belongs to another namespace."""
        return self.cloudfront.add(connection_group_id=self.group.id).id

    def turn(self, times: int = 3) -> list[str]:
        """Reconcile both, so many times; the calls to AWS."""
        calls = []
        for _ in range(times):
            self.old.clock.advance(60.0)
            for world in (self.old, self.new):
                calls += [] if world.gone else world.reconcile()
        return calls

    def restart(self) -> None:
        self.old.restart()
        self.new.memory = self.old.memory


def test_a_group_that_others_use_goes_to_the_one_that_was_created_after_it():
    world = Generations()
    world.use()
    before = world.group
    calls = world.turn()
    assert world.old.gone
    assert world.new.ready() == ("True", "Available")
    assert world.new.status["atProvider"]["id"] == before.id
    assert world.group == before
    assert [call for call in calls if not call.startswith(READS)] == []


def test_it_stays_with_the_old_one_until_the_new_one_has_a_finalizer():
    world = Generations()
    world.use()
    world.new.obj["metadata"]["finalizers"] = []
    world.turn()
    assert not world.old.gone, "the group would have no resource if the new one were deleted now"
    world.new.obj["metadata"]["finalizers"] = [FINALIZER]
    world.turn(1)
    assert world.old.gone


def test_without_a_new_one_the_deletion_waits():
    world = Generations()
    world.use()
    world.new.gone = True
    world.turn()
    assert not world.old.gone
    assert "waits for its tenants" in world.old.error.message


def test_a_new_one_that_never_saw_the_group_gets_nothing():
    """Its credentials lead to another account, or it names another group."""
    world = Generations()
    world.use()
    for _ in range(4):
        world.old.clock.advance(60.0)
        world.old.reconcile()
    assert not world.old.gone


def test_a_new_one_that_goes_before_it_has_the_group_leaves_it_to_the_old_one():
    world = Generations()
    tenant = world.use()
    world.new.obj["metadata"]["finalizers"] = []
    world.turn()
    world.new.gone = True
    del world.cloudfront.tenants[tenant]
    world.old.settle()
    assert world.old.gone
    assert [each.is_default for each in world.cloudfront.groups.values()] == [True]


def test_what_the_new_one_has_accepted_is_not_deleted_by_the_old_one():
    """The last tenant goes between the two."""
    world = Generations()
    tenant = world.use()
    world.new.obj["metadata"]["finalizers"] = []
    world.turn()
    del world.cloudfront.tenants[tenant]
    world.turn()
    assert world.group.enabled
    assert "waits for the ConnectionGroup that takes it over" in world.old.error.message
    assert world.old.error.after == 60.0, "the successor may be paused"
    world.new.obj["metadata"]["finalizers"] = [FINALIZER]
    world.turn()
    assert world.old.gone
    assert world.group.enabled


def test_a_new_one_that_is_deleted_too_deletes_the_group():
    world = Generations()
    tenant = world.use()
    world.turn()
    assert world.old.gone
    world.new.delete()
    del world.cloudfront.tenants[tenant]
    world.new.settle()
    assert world.new.gone
    assert [each.is_default for each in world.cloudfront.groups.values()] == [True]


def test_a_group_without_tenants_is_deleted_and_created_again():
    world = Generations()
    before = world.group.id
    for _ in range(8):
        world.cloudfront.deploy()
        world.turn(1)
    assert world.old.gone
    assert world.new.ready() == ("True", "Available")
    assert world.group.id != before


def test_while_its_own_tenant_is_being_deleted_the_deletion_waits_for_that():
    world = Generations()
    going = cached(asked=world.group.id)
    going["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    world.cached.append(going)
    world.use()
    world.turn()
    assert not world.old.gone
    assert isinstance(world.new.error, NotYet)
    assert "No action is needed" in world.new.error.message
    world.cached.clear()
    world.turn()
    assert world.old.gone


@pytest.mark.parametrize("held", ["paused", "finalizers"])
def test_a_tenant_whose_deletion_is_on_hold_holds_up_no_group(held):
    world = Generations()
    going = cached(asked=world.group.id)
    going["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    if held == "paused":
        going["metadata"]["annotations"]["crossplane.io/paused"] = "true"
    else:
        going["metadata"]["finalizers"] = [FINALIZER, "example.com/keep"]
    world.cached.append(going)
    world.use()
    world.turn()
    assert world.old.gone
    assert world.new.ready() == ("True", "Available")


def test_a_new_process_hands_the_group_over_as_well():
    world = Generations()
    world.use()
    world.turn(1)
    world.restart()
    world.turn()
    assert world.old.gone
    assert world.new.ready() == ("True", "Available")


def test_a_group_that_was_already_disabled_is_enabled_again():
    """A tenant of another namespace appears in it before CloudFront deletes it."""
    world = Generations()
    refused = AwsError("DeleteConnectionGroup", "ResourceNotDisabled", "not yet", status=409)
    world.cloudfront.refuse["DeleteConnectionGroup"] = refused
    world.new.gone = True
    world.turn(2)
    assert not world.group.enabled
    world.new.gone = False
    world.use()
    world.turn()
    assert world.group.enabled
    assert world.old.gone
    world.turn(1)
    assert world.new.status["atProvider"]["enabled"] is True


def test_a_group_of_another_owner_is_not_accepted():
    world = Generations()
    world.use()
    world.new.obj["metadata"]["namespace"] = "evil"
    world.turn()
    assert not world.old.gone
    assert world.new.ready() == ("False", "AdoptionRefused")

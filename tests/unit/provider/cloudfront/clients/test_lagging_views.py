"""What AWS says is there and does not show is looked for less and less often. So is all else that AWS accepts
without effect, and what others do not finish."""

from __future__ import annotations

from typing import Any

import pytest

from edgetenants_runtime.errors import NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.aws.errors import AwsError
from provider.cloudfront.safety.kept_domains import RecordsFailed
from provider.cloudfront.state.identity import OWNER_TAG
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.fake_cloudfront import FakeCloudFront
from tests.unit.provider.world import INSTALLATION, World, managed

KINDS = [(World, "DistributionTenant"), (Groups, "ConnectionGroup")]


def hidden(kind, of):
    """Its name is taken, and Get does not find it."""
    world = kind()
    taken = AwsError(f"Create{of}", "EntityAlreadyExists", "it exists", status=409)
    lagging = AwsError(f"Get{of}", "EntityNotFound", "not found", status=404)
    world.cloudfront.refuse = {f"Create{of}": taken, f"Get{of}": lagging}
    return world


def pauses(world, number):
    found = []
    for _ in range(number):
        world.reconcile()
        assert isinstance(world.error, NotYet)
        found.append(world.error.after)
        world.clock.advance(world.error.after)
    return found


@pytest.mark.parametrize(("kind", "of"), KINDS)
def test_it_is_looked_for_less_and_less_often(kind, of):
    world = hidden(kind, of)
    assert pauses(world, 9) == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert "already exists; checking its owner tag" in world.error.message
    assert not world.error.made_nothing


@pytest.mark.parametrize(("kind", "of"), KINDS)
def test_a_pass_costs_a_look_and_a_try(kind, of):
    world = hidden(kind, of)
    world.reconcile()
    assert world.reconcile() == [f"Get{of}", f"Create{of}"]


@pytest.mark.parametrize(("kind", "of"), KINDS)
def test_once_it_was_seen_the_next_time_begins_anew(kind, of):
    world = hidden(kind, of)
    pauses(world, 3)
    refused, world.cloudfront.refuse = world.cloudfront.refuse, {}
    world.settle()
    world.obj.pop("status")
    world.cloudfront.refuse = refused
    assert pauses(world, 2) == [1, 2]


def changes(world: World, number: int) -> list[float]:
    """The pauses after these updates."""
    found = []
    for _ in range(number):
        seen = world.client.observe(world.mr)
        found.append(world.client.update(world.mr, seen).requeue_after)
        world.clock.advance(found[-1])
    return found


def test_an_update_without_effect_is_repeated_less_and_less_often():
    world = World()
    world.settle()
    send = world.cloudfront.update_tenant

    def accept(*given: Any, **named: Any) -> Any:
        before = dict(world.cloudfront.tenants)
        answer = send(*given, **named)
        world.cloudfront.tenants = before
        return answer

    world.cloudfront.update_tenant = accept
    world.edit(parameters={"tenantName": "b"})
    assert changes(world, 12) == [5.0] * 7 + [10.0, 20.0, 40.0, 60.0, 60.0]
    world.edit(parameters={"tenantName": "c"})
    assert changes(world, 1) == [5.0], "another change has its own pauses"


def test_an_owner_tag_that_is_not_shown_is_set_less_and_less_often():
    cloudfront = FakeCloudFront()
    id_ = cloudfront.add().id
    world = World(managed(annotations={"edgetenants.io/adopt": id_}), cloudfront)
    cloudfront.tag = lambda *_: None
    assert pauses(world, 5) == [10.0, 20.0, 40.0, 60.0, 60.0]


def test_a_predecessor_on_hold_is_looked_at_less_and_less_often():
    cloudfront = FakeCloudFront()
    id_ = cloudfront.add(tags={OWNER_TAG: f"{INSTALLATION}/DistributionTenant/shop/shop.acme"}).id
    older = managed(uid="older", created="2025-01-01T00:00:00Z")
    older["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    older["status"] = {"atProvider": {"id": id_}}
    world = World(None, cloudfront, peers=lambda *_: [Managed(older)])
    assert pauses(world, 61) == [5.0] * 61
    assert pauses(world, 5) == [10.0, 20.0, 40.0, 60.0, 60.0]
    ready = {"type": "Ready", "status": "False", "reason": "Disabling"}
    older["status"]["conditions"] = [ready]
    assert pauses(world, 2) == [5.0, 5.0]


def test_a_group_that_only_a_get_shows_is_listed_less_and_less_often():
    world = Groups()
    world.settle()
    world.delete()
    lists = "ListDistributionTenants"
    world.cloudfront.refuse[lists] = AwsError(lists, "EntityNotFound", "no", status=404)
    assert pauses(world, 6) == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]


@pytest.mark.parametrize(("kind", "of"), KINDS)
def test_records_that_cannot_be_read_are_asked_for_less_and_less_often(kind, of):
    world = kind()
    world.context["kept"] = _Unreadable()
    assert pauses(world, 6) == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]
    world.clock.advance(3600)
    assert pauses(world, 1) == [5.0], "another outage has its own pauses"


class _Unreadable:
    """The API server does not answer."""

    known = False

    def holder(self, key: str) -> str | None:
        raise RecordsFailed("the API server does not answer")

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None

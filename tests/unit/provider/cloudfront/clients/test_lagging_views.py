"""What AWS says is there and does not show is looked for less and less often."""

from __future__ import annotations

import pytest

from edgetenants_runtime.errors import NotYet
from provider.cloudfront.aws.errors import AwsError
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.world import World

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
        assert not world.error.made_nothing
        found.append(world.error.after)
        world.clock.advance(world.error.after)
    return found


@pytest.mark.parametrize(("kind", "of"), KINDS)
def test_it_is_looked_for_less_and_less_often(kind, of):
    world = hidden(kind, of)
    assert pauses(world, 9) == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert "already exists; checking its owner tag" in world.error.message


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

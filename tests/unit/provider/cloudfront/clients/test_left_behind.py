"""A tenant or connection group whose managed resource went while it was made is deleted all the same."""

from __future__ import annotations

import pytest

from edgetenants_runtime.reconcile.leftovers import Leftovers
from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.world import World


class Gone:
    """Connects as the world whose resource is no more: nothing of it stands in the cluster."""

    def __init__(self, world: World) -> None:
        self.world = world

    def connect(self, mr):
        return self.world.client


@pytest.mark.parametrize("kind", [World, Groups])
@pytest.mark.parametrize("restarted", [False, True], ids=["the same process", "a new one"])
def test_it_is_disabled_and_deleted(kind, restarted):
    world = kind()
    before = world.obj | {"metadata": {**world.obj["metadata"]}}
    world.reconcile()
    world.obj = before
    if restarted:
        world.restart()
    left = Leftovers(Gone(world), lambda _: False)
    left.note(world.mr, world.mr.external_name)
    for _ in range(40):
        left.round()
        world.cloudfront.deploy()
        world.clock.advance(30)
    assert not world.cloudfront.tenants
    assert [group for group in world.cloudfront.groups.values() if not group.is_default] == []
    assert left._left == {}


def test_what_is_anothers_by_now_is_left_alone():
    world = World()
    world.reconcile()
    mr = world.mr
    del world.obj["status"]
    world.cloudfront.only.tags["edgetenants.io/owner"] = "cluster-1/DistributionTenant/rogue/shop.acme"
    world.restart()
    left = Leftovers(Gone(world), lambda _: False)
    left.note(mr, mr.external_name)
    for _ in range(5):
        left.round()
        world.clock.advance(30)
    assert world.cloudfront.only.enabled

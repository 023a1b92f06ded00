"""A tenant's name keeps its namespace: who may create a tenant or a connection group of which name."""

from __future__ import annotations

import pytest

from edgetenants_runtime.managed import Managed
from tests.unit.provider.fakecloudfront import DISTRIBUTION, FakeCloudFront
from tests.unit.provider.test_connectiongroup import Groups
from tests.unit.provider.world import World, managed

KEPT = "is kept for another namespace"
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


# The names of a namespace, by its prefix.


@pytest.mark.parametrize("kind", [World, Groups])
@pytest.mark.parametrize("cluster", [False, True], ids=["namespaced", "of a claim"])
def test_a_name_of_another_namespace_with_resources_is_refused(kind, cluster):
    world = rogue("shop.iso-315ffba3fd", kind=kind, everyone=lambda: [Managed(managed(cluster=cluster))])
    refused(world)
    world.context["everyone"] = lambda: [world.mr]
    world.settle()
    assert world.ready() == ("True", "Available")


@pytest.mark.parametrize("name", ["rogue.iso", "shop", "shop-iso", "prod.iso", "shopping.iso"])
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

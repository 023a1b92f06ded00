"""The process dies around any call. A new one goes on: exactly one tenant or none, as asked."""

from __future__ import annotations

import pytest

from provider.cloudfront.state.identity import OWNER_TAG
from tests.unit.provider.fake_cloudfront import FakeCloudFront, Killed
from tests.unit.provider.world import FOR_PROVIDER, World, managed

DOMAIN = "www.customer.test"


def create(world: World) -> None:
    world.settle()


def change(world: World) -> None:
    world.edit(parameters={"tenantName": "b"}, tags={"stage": "live"})
    world.settle()


def delete(world: World) -> None:
    world.delete()
    world.settle(passes=20)


def adopt(world: World) -> None:
    world.settle()


def made(world: World) -> None:
    (tenant,) = world.cloudfront.tenants.values()
    assert tenant.parameters == {"tenantName": "acme"}
    assert tenant.tags["team"] == "shop"
    assert world.ready() == ("True", "Available")


def changed(world: World) -> None:
    (tenant,) = world.cloudfront.tenants.values()
    assert tenant.parameters == {"tenantName": "b"}
    assert tenant.tags["stage"] == "live"
    assert "team" not in tenant.tags
    assert world.condition("InSync")[0] == "True"


def gone(world: World) -> None:
    assert not world.cloudfront.tenants
    assert world.gone


def adopted(world: World) -> None:
    made(world)
    assert world.cloudfront.only.tags[OWNER_TAG] == "cluster-1/DistributionTenant/shop/shop.acme"


def absent_world() -> World:
    return World(cloudfront=FakeCloudFront(deletes_in_progress=False))


def settled_world() -> World:
    world = absent_world()
    world.settle()
    return world


def foreign_world() -> World:
    world = World(managed(annotations={"edgetenants.io/adopt": "dt_1"}))
    world.cloudfront.add(tags={}, parameters={"tenantName": "x"})
    return world


def asking_world() -> World:
    asked = {
        **FOR_PROVIDER,
        "domains": [DOMAIN],
        "managedCertificateRequest": {"validationTokenHost": "self-hosted"},
    }
    return World(managed(asked))


def issued_world() -> World:
    world = asking_world()
    world.settle()
    world.cloudfront.settle_certificate("issued")
    return world


def failed_world() -> World:
    world = asking_world()
    world.settle()
    world.cloudfront.settle_certificate("failed")
    world.settle()
    return world


def wait_and_settle(world: World) -> None:
    world.clock.advance(601)
    world.settle(passes=20)


def asked_once(world: World) -> None:
    assert world.cloudfront.managed["dt_1"].status == "pending-validation"
    assert world.condition("CertificateReady")[1] == "PendingValidation"


def attached(world: World) -> None:
    only = world.cloudfront.only
    assert only.customizations.certificate_arn == world.cloudfront.managed["dt_1"].arn
    assert world.ready() == ("True", "Available")


def asked_again(world: World) -> None:
    world.clock.advance(601)
    world.settle(passes=20)
    asked_once(world)


STORIES = {
    "ask": (asking_world, create, asked_once),
    "attach": (issued_world, create, attached),
    "ask again": (failed_world, wait_and_settle, asked_again),
    "create": (absent_world, create, made),
    "change": (settled_world, change, changed),
    "delete": (settled_world, delete, gone),
    "adopt": (foreign_world, adopt, adopted),
}


def undisturbed(story: str) -> list[str]:
    start, act, _ = STORIES[story]
    world = start()
    before = len(world.cloudfront.journal)
    act(world)
    return world.cloudfront.journal[before:]


POINTS = [
    pytest.param(story, index, when, id=f"{story}: {when} {operation} ({index})")
    for story in STORIES
    for index, operation in enumerate(undisturbed(story))
    for when in ("before", "after")
]


@pytest.mark.parametrize(("story", "index", "when"), POINTS)
def test_a_death_loses_and_doubles_nothing(story, index, when):
    start, act, check = STORIES[story]
    world = start()
    world.cloudfront.die = (len(world.cloudfront.journal) + index, when)
    with pytest.raises(Killed):
        act(world)
    world.restart()
    world.settle(passes=20)
    check(world)
    assert world.cloudfront.journal.count("CreateDistributionTenant") <= 2


def test_the_points_cover_every_write():
    assert {operation for story in STORIES for operation in undisturbed(story)} >= {
        "CreateDistributionTenant",
        "UpdateDistributionTenant",
        "DeleteDistributionTenant",
        "TagResource",
        "UntagResource",
    }

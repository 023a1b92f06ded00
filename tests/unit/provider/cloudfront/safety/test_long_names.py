"""An external name that nothing can have is told by its annotation, and keeps no one's deletion waiting."""

from __future__ import annotations

import pytest

from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.world import World, managed

TOO_LONG = "dt_x," * 50_000


def tenant(name: str) -> World:
    return World(managed(annotations={"crossplane.io/external-name": name}))


def group(name: str) -> Groups:
    return Groups(name=name)


@pytest.mark.parametrize("made", [tenant, group])
def test_it_is_refused_by_its_annotation_without_a_call(made):
    world = made(TOO_LONG)
    assert world.reconcile() == []
    said = world.condition("Ready")
    assert said[:2] == ("False", "ValidationFailed")
    assert "crossplane.io/external-name" in said[2]
    assert "got 250000 characters" in said[2]
    assert len(said[2]) < 300


@pytest.mark.parametrize("made", [tenant, group])
def test_it_does_not_hold_up_a_deletion(made):
    world = made(TOO_LONG)
    world.reconcile()
    world.delete()
    assert world.reconcile() == []
    assert world.gone


@pytest.mark.parametrize("made", [tenant, group])
def test_a_long_arn_is_asked_for(made):
    world = made("arn:aws:cloudfront::1:any/" + "x" * 2000)
    assert world.reconcile() != []

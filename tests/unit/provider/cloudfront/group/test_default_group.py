"""The account's default connection group serves every tenant that names no other. No one disables it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.provider.cloudfront.clients.test_connection_group import Groups
from tests.unit.provider.fake_cloudfront import DEFAULT_GROUP

GIVEN = {"edgetenants.io/adopt": DEFAULT_GROUP}


def default_group(asked, **spec) -> Groups:
    """A resource that leads to the default group, which no one owns yet."""
    made = Groups(asked, name="CreatedByCloudFront-1", annotations=GIVEN, **spec)
    groups = made.cloudfront.groups
    groups[DEFAULT_GROUP] = replace(groups[DEFAULT_GROUP], tags={})
    return made


def test_it_is_not_disabled_and_not_even_marked():
    world = default_group({"enabled": False})
    for _ in range(3):
        assert not [call for call in world.reconcile() if call.startswith(("Update", "Tag"))]
        assert world.ready() == ("False", "ValidationFailed")
    assert world.cloudfront.groups[DEFAULT_GROUP].enabled
    assert "spec.forProvider.enabled" in world.condition("Ready")[2]


@pytest.mark.parametrize("policies", [["*"], ["Observe", "Update"]])
def test_one_that_was_taken_over_is_not_disabled_later(policies):
    world = default_group({}, managementPolicies=policies)
    world.settle()
    world.edit(enabled=False)
    for _ in range(3):
        world.reconcile()
    assert world.cloudfront.groups[DEFAULT_GROUP].enabled
    assert world.ready() == ("True", "Available"), "it serves on"

"""The packages of v1's claims on Crossplane v2, installed as docs/install.md says.

They need an activation policy of their own there. test_packages_on_v1.py installs them on v1.
"""

# ruff: noqa: F401 - what is imported is run here, with the world of this module
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox.state import Crossplane
from sandbox.world import Options, World
from tests.integration.conftest import CACHE
from tests.integration.test_packages import (
    CONTROLLED,
    GUIDE,
    LEGACY,
    commands,
    get,
    packages,
    refused_beside,
    shell,
    test_a_claim_is_served_after_the_guide_was_followed,
    test_one_manifest_becomes_a_live_claim_changes_and_goes,
    test_processes_run_without_privileges_in_a_root_that_nobody_writes,
    test_the_provider_has_what_the_rbac_manager_grants_and_the_sandbox_grants_the_same,
)

ACTIVATION = "activation-legacy.yaml"
CLUSTER_SCOPED = {
    "connectiongroups.cloudfront.edgetenants.io",
    "distributiontenants.cloudfront.edgetenants.io",
}


def with_registry(name: str, crossplane: Crossplane) -> World:
    """A sandbox whose registry has the packages, with nothing installed."""
    return World.up(
        name=f"{name}-{os.getpid()}",
        cache=CACHE,
        progress=lambda line: print(line, flush=True),
        options=Options(packages=True, install=False, crossplane=crossplane, legacy=True),
    )


def follow_guide(world: World, folder: Path) -> None:
    """Run each command of the guide for v1's claims, as it stands there. A user of v1 skips the one for the
    activation policy."""
    found = commands(GUIDE.read_text().partition(LEGACY)[2])
    skipped = ACTIVATION if world.state.crossplane is Crossplane.V1 else "no command"
    for command in found:
        if skipped not in command:
            shell(world, command, folder)
    assert [c for c in found if ACTIVATION in c], found


@contextmanager
def guided(name: str, crossplane: Crossplane, folder: Path) -> Iterator[World]:
    """A sandbox in which the guide was followed."""
    world = with_registry(name, crossplane)
    try:
        follow_guide(world, folder)
        yield world
    finally:
        world.down()


@pytest.fixture(scope="module")
def installed(user_folder: Path) -> Iterator[World]:
    with guided("legacy-packages", Crossplane.V2, user_folder) as world:
        yield world


def test_three_packages_are_installed_and_healthy(installed: World) -> None:
    found = packages(installed)
    assert set(found) == {
        "edgetenants-configuration-edgetenants-legacy",
        "edgetenants-function-edgetenants",
        "edgetenants-provider-edgetenants",
    }
    assert all({"Installed", "Healthy"} <= true for true in found.values()), found


def test_the_policy_of_the_guide_activates_the_cluster_scoped_kinds_only(installed: World) -> None:
    found = get(installed, "managedresourcedefinitions")["items"]
    active = {d["metadata"]["name"] for d in found if d["spec"]["state"] == "Active"}
    assert active == CLUSTER_SCOPED
    assert len(found) == 4


def test_the_configuration_of_v2_beside_it_is_refused_and_loses_nothing(installed: World) -> None:
    refused_beside(installed, "configuration-edgetenants", CONTROLLED)

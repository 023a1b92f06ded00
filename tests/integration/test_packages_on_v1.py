"""The packages of v1's claims on the last core of Crossplane v1, installed as docs/install.md says; then the
migration of docs/migrate-v1-to-v2.md, command by command."""

# ruff: noqa: F401 - what is imported is run here, with the world of this module
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox import pki
from sandbox.build import build
from sandbox.errors import WorldError
from sandbox.programs import Programs
from sandbox.state import Crossplane
from sandbox.world import World
from tests.integration.conftest import CACHE, ROOT
from tests.integration.test_legacy_packages import (
    ACTIVATION,
    guided,
    test_three_packages_are_installed_and_healthy,
)
from tests.integration.test_packages import (
    MANIFEST,
    get,
    reads,
    refused_beside,
    shell,
    test_a_claim_is_served_after_the_guide_was_followed,
    test_one_manifest_becomes_a_live_claim_changes_and_goes,
    test_processes_run_without_privileges_in_a_root_that_nobody_writes,
    test_the_provider_has_what_the_rbac_manager_grants_and_the_sandbox_grants_the_same,
)

NOT_KNOWN = 'no kind "CompositeResourceDefinition" is registered for version "apiextensions.crossplane.io/v2"'
"""What v1 says of a package with an XRD of v2."""
MIGRATION = ROOT / "docs" / "migrate-v1-to-v2.md"
TAGS = {
    "crossplane-kind",
    "crossplane-name",
    "crossplane-namespace",
    "crossplane-providerconfig",
    "crossplane-providerconfig-kind",
}
"""The tags that name the managed resource. The owner tag is not one of them."""
DEDICATED = {"distributionId": "E1EDGETENANTS", "connection": {"dedicated": True}}


@pytest.fixture(scope="module")
def installed(user_folder: Path) -> Iterator[World]:
    with guided("packages-on-v1", Crossplane.V1, user_folder) as world:
        yield world


def test_it_is_v1_which_has_no_activation_policies(installed: World) -> None:
    assert installed.state.versions["crossplane"].startswith("v1.20.")
    with pytest.raises(WorldError, match="no matches for kind"):
        installed.kubectl("apply", "-f", str(ROOT / "examples" / "install" / ACTIVATION))


def test_the_configuration_of_v2_is_refused_and_loses_nothing(installed: World) -> None:
    refused_beside(installed, "configuration-edgetenants", NOT_KNOWN)


def test_at_last_the_claims_of_v2_manage_the_same_tenants_and_only_tags_change(
    installed: World, user_folder: Path, tmp_path: Path
) -> None:
    """The page, command by command, with one claim of the quickstart and one with a connection group."""
    installed.emulator.set_rate(60)
    second = tmp_path / "dedicated.yaml"
    second.write_text(json.dumps(claim("dedicated")))
    plan = {"data": {"plans": {"dedicated": DEDICATED}}}
    installed.kubectl(
        "patch", "environmentconfig", "edgetenants-plans", "--type=merge", "-p", json.dumps(plan)
    )
    for file in (MANIFEST, second):
        installed.kubectl("apply", "-f", str(file))
    wait_ready(installed)
    before = in_aws(installed)
    assert len(before) == 3
    installed.emulator.reset_calls()

    for command in re.findall(r"^\$ (.*)$", MIGRATION.read_text(), re.MULTILINE):
        if command.startswith("helm upgrade"):
            print(f"instead of {command}: this sandbox's core is replaced")
            put_v2_in_its_place(installed)
        else:
            shell(installed, command, user_folder)
        if command == f"kubectl apply -f {MANIFEST.relative_to(ROOT)}":
            installed.kubectl("apply", "-f", str(second))
        assert without_tags(in_aws(installed)) == without_tags(before), command

    wait_ready(installed)
    managed = get(installed, "edt,ecg", "-n", "shop")["items"]
    assert {each["apiVersion"] for each in managed} == {"cloudfront.m.edgetenants.io/v1alpha1"}
    assert {each["status"]["atProvider"]["id"] for each in managed} == set(before)
    after = in_aws(installed)
    assert without_tags(after) == without_tags(before)
    assert all(changed_tags(before[id_], after[id_]) for id_ in before)
    assert {tag for id_ in before for tag in changed_tags(before[id_], after[id_])} <= TAGS
    calls = installed.emulator.calls()["by_operation"]
    assert {name: count for name, count in calls.items() if not reads(name)} == {"TagResource": len(before)}


def claim(name: str) -> dict[str, Any]:
    """A claim in the namespace of the quickstart, under the plan of its name."""
    metadata = {"name": name, "namespace": "shop"}
    spec = {"plan": name, "domains": [f"{name}.example.com"]}
    return {
        "apiVersion": "platform.edgetenants.io/v1alpha1",
        "kind": "TenantClaim",
        "metadata": metadata,
        "spec": spec,
    }


def wait_ready(world: World) -> None:
    for name in ("acme", "dedicated"):
        world.wait_for_condition("tenantclaim", name, "Ready", namespace="shop", seconds=120)


def in_aws(world: World) -> dict[str, dict[str, Any]]:
    """The tenants and the connection groups of claims, by id."""
    state = world.emulator.state()
    found = [*state["tenants"], *(each for each in state["connectionGroups"] if not each["IsDefault"])]
    return {each["Id"]: each for each in found}


def without_tags(found: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """All that AWS says of them except their tags: their ETags, names, domains and times."""
    return [{key: value for key, value in each.items() if key != "Tags"} for each in found.values()]


def changed_tags(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    old, new = before["Tags"], after["Tags"]
    return {key for key in {*old, *new} if old.get(key) != new.get(key)}


def put_v2_in_its_place(world: World) -> None:
    """What Helm does: start v2's core and RBAC manager instead of v1's, and what runs packages again."""
    for name in ("package-runtime", "rbac-manager", "crossplane"):
        world.processes.stop(name)
    v2 = build(CACHE, print)
    world.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(v2.crossplane_crds))
    programs = Programs(world.layout, world.state.ports, pki.at(world.layout.pki))
    for spec in (programs.crossplane(v2.crossplane, caller={}), programs.rbac_manager(v2.crossplane)):
        name = f"{spec.name}-v2"
        world.processes.launch(replace(spec, name=name, log=str(world.layout.log(name))))
        world.processes.wait_ready(name)
    world.processes.start("package-runtime", ready=False)

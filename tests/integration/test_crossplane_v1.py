"""The last core of Crossplane v1: the cases of legacy claims, and of other claims those that need no v2."""

# ruff: noqa: F401 - what is imported is run here, with the world and the claims of this module
import json
import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from sandbox import inventory, manifests, pki
from sandbox.build import build
from sandbox.choice import Options
from sandbox.programs import Programs
from sandbox.state import Crossplane
from sandbox.world import World
from tests.integration.claims import LegacyClaims
from tests.integration.conftest import CACHE
from tests.integration.test_legacy_claims import (
    kind_of_claims,
    parameters,
    test_a_claims_whole_life,
    test_a_domain_that_is_taken_out_takes_its_tenant_along,
    test_a_refusal_is_told_on_the_claim,
    test_tenants_with_a_connection_group_of_their_own,
    test_what_serves_serves_on_without_the_function,
)
from tests.integration.test_main_job import (
    test_a_changed_parameter_is_rolled_out_while_the_claim_stays_ready,
    test_a_tenant_disabled_in_aws_is_noticed_and_repaired,
)
from tests.integration.test_plans import (
    other_distribution,
    sources,
    test_a_move_to_another_distribution_waits_for_the_claims_word,
    test_a_plan_from_an_environment_config,
)
from tests.integration.watching import condition, is_true


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    running = World.up(
        name=f"v1-{os.getpid()}",
        cache=CACHE,
        progress=lambda line: print(line, flush=True),
        options=Options(crossplane=Crossplane.V1),
    )
    try:
        yield running
    finally:
        running.down()


def test_it_is_v1_with_the_rights_that_v1_gives(world: World) -> None:
    assert world.state.versions["crossplane"].startswith("v1.20.")
    kinds = world.kubectl("get", "crds", "-o", "name")
    assert "storeconfigs.secrets.crossplane.io" in kinds
    assert "managedresourcedefinitions" not in kinds
    account = "--as=system:serviceaccount:crossplane-system:provider-edgetenants"
    can = lambda *what: world.kubectl("auth", "can-i", *what, account, check=False).strip()  # noqa: E731
    assert can("update", "distributiontenants.cloudfront.edgetenants.io") == "yes"
    assert can("list", "customresourcedefinitions") == "no"


def test_deletions_are_held_where_the_provider_is_told_to(claims: LegacyClaims, world: World) -> None:
    """The way out of docs/how-to/remove-the-provider.md, as v1's provider cannot see that a CRD goes."""
    claims.apply(claims.claim("kept"))
    claims.wait_ready("kept")
    [before] = claims.tenants("kept")
    seen = {each["kind"] for each in inventory.take(world).kubernetes}
    assert seen == {"TenantClaim", "XTenantClaim", "DistributionTenant"}
    world.processes.stop("provider")
    world.add_provider("holding", "--no-leader-election", "--hold-deletions")
    try:
        claims.delete("kept")
        held = lambda: condition(claims.managed("kept"), "Ready").get("reason") == "DeletionHeld"  # noqa: E731
        claims.wait("the deletion to be held", held)
        assert claims.tenants("kept") == [before]
    finally:
        world.processes.stop("holding")
        world.processes.ensure_running("provider")
    claims.wait_gone(["kept"])


def test_at_last_v2_takes_over_and_the_tenant_stays(claims: LegacyClaims, world: World) -> None:
    claims.apply(claims.claim("stays"))
    claims.wait_ready("stays")
    composite, [before] = claims.composite("stays"), claims.tenants("stays")

    put_v2_in_its_place(world)

    claims.wait("v2 to look", lambda: is_true(claims.composite("stays"), "Responsive"))
    claims.wait_ready("stays")
    assert claims.composite("stays")["metadata"]["uid"] == composite["metadata"]["uid"]
    assert claims.tenants("stays") == [before]
    claims.patch("stays", {"parameters": {"tenantName": "later"}})
    claims.wait("a change", lambda: parameters(claims, "stays").get("tenantName") == "later")
    claims.wait_ready("stays")


def put_v2_in_its_place(world: World) -> None:
    """Start v2's core instead of v1's on the same objects; say of the function what its package would say."""
    world.processes.stop("crossplane")
    v2, ports = build(CACHE, print), world.state.ports
    world.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(v2.crossplane_crds))
    name = manifests.function_revision()["metadata"]["name"]
    status = json.dumps(manifests.function_status(ports["function"], Crossplane.V2))
    world.kubectl("patch", "functionrevision", name, "--subresource=status", "--type=merge", "-p", status)
    core = Programs(world.layout, ports, pki.at(world.layout.pki)).crossplane(v2.crossplane, caller={})
    world.processes.launch(replace(core, name="crossplane-v2", log=str(world.layout.log("crossplane-v2"))))
    world.processes.wait_ready("crossplane-v2")

"""The last core of Crossplane v1: the cases of legacy claims, and of other claims those that need no v2."""

# ruff: noqa: F401 - what is imported is run here, with the world and the claims of this module
import os
from collections.abc import Iterator

import pytest

from sandbox.choice import Options
from sandbox.state import Crossplane
from sandbox.world import World
from tests.integration.claims import LegacyClaims
from tests.integration.conftest import CACHE
from tests.integration.test_legacy_claims import (
    kind_of_claims,
    test_a_claims_whole_life,
    test_a_refusal_is_told_on_the_claim,
    test_claims_of_one_name_in_two_namespaces_have_a_tenant_each,
    test_tenants_with_a_connection_group_of_their_own,
    test_what_serves_serves_on_without_the_function,
)
from tests.integration.test_main_job import (
    test_a_changed_parameter_is_rolled_out_while_the_claim_stays_ready,
    test_a_tenant_deleted_in_aws_comes_back_under_the_same_name,
    test_a_tenant_disabled_in_aws_is_noticed_and_repaired,
)
from tests.integration.test_plans import (
    other_distribution,
    sources,
    test_a_move_to_another_distribution_waits_for_the_claims_word,
    test_a_plan_from_an_environment_config,
)
from tests.integration.watching import condition


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

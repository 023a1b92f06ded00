"""Core's circuit breaker is open and drops the events of a claim: docs/how-to/when-something-is-wrong.md.
Core has the default limits here, as the users' core has."""

from collections.abc import Iterator

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.conftest import core_with, events_per_second
from tests.integration.watching import Object, condition

EDITS = 150
"""More than the burst of 100 events that core lets through."""


@pytest.fixture
def dropped(claims: Claims, world: World) -> Iterator[Claims]:
    """Claims whose deletion is not dropped: a core that was started again has counted no events."""
    with core_with(world, events_per_second(1)):
        yield claims


def test_an_edit_that_core_drops_has_effect_nevertheless(dropped: Claims) -> None:
    claims = dropped
    asked = claims.claim("busy")

    def edit(number: int) -> Object:
        return {**asked, "metadata": {**asked["metadata"], "annotations": {"example.com/edit": str(number)}}}

    def open_() -> bool:
        return condition(claims.get("busy"), "Responsive").get("status") == "False"

    def arrived() -> bool:
        [tenant] = claims.tenants("busy")
        return {"Name": "tenantName", "Value": "later"} in tenant["Parameters"]

    claims.apply(asked)
    claims.wait_ready("busy")
    claims.apply(*map(edit, range(EDITS)))
    claims.wait("the circuit breaker to open", open_, 120)
    claims.patch("busy", {"parameters": {"tenantName": "later"}})
    claims.wait("the edit to have effect", arrived, 120)
    assert open_(), "it closed in the meantime, so nothing was dropped"

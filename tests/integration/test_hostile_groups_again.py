"""A claim gives its connection group up and wants it back, several times within seconds.

No user edits as fast. Core's circuit breaker would drop the edits, and each would have effect only after a
minute. So core's lets more events through here; test_edits_that_core_drops.py has the default.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from function.composed import naming
from sandbox.world import World
from tests.integration.conftest import core_with
from tests.integration.hostile import Teams
from tests.integration.test_hostile_groups import dedicated, end, lodging
from tests.integration.test_references import applied

EVENTS = 10_000
"""Far more than the events of this test."""


@pytest.fixture(scope="module", autouse=True)
def core(world: World) -> Iterator[None]:
    with core_with(world, f"--circuit-breaker-burst={EVENTS}"):
        yield


def test_a_tenant_of_another_keeps_no_claim_from_a_group_that_it_asks_for_again(teams: Teams) -> None:
    """The claim gives its group up, the tenant stays in it, and the claim wants it back; and once more."""
    blue, red = teams.blue, teams.red
    blue.apply(blue.group("common"))
    blue.serve("common", kind="ecg")
    common = blue.id_of("common", "ecg")
    own = {"compositionRef": {"name": "hostile-again"}}
    groups = lambda: {tenant["ConnectionGroupId"] for tenant in blue.tenants("again")}  # noqa: E731
    with applied(red.admin, dedicated("hostile-again", {"connectionGroupId": common})):
        blue.apply(blue.claim("again", crossplane=own, connection={"dedicated": True}))
        blue.wait_ready("again", seconds=90)
        [first] = groups()
        lodger = lodging(red, "again", first)
        blue.annotate("again", kind="tenantclaim", confirm=naming.token("connection group"))
        for _ in range(2):
            blue.patch("again", {"connection": {"dedicated": False}})
            blue.wait("the tenant to leave its group", lambda: groups() == {common}, 120)
            blue.patch("again", {"connection": {"dedicated": True}})
            blue.wait("the tenant to be in its group again", lambda: groups() == {first}, 120)
        blue.patch("again", {"domains": ["again.example.com", "more-again.example.com"]})
        blue.wait("an edit to arrive", lambda: len(blue.tenants("again")[0]["Domains"]) == 2, 120)
        blue.wait_ready("again", seconds=90)
        left = lambda: len(blue.reader.items("ecg", blue.namespace)) == 2  # noqa: E731
        blue.wait("the groups that it gave up to go", left, 120)

        end(red, lodger)
        blue.delete("again")
        blue.wait("the group to go", lambda: len(blue.reader.items("ecg", blue.namespace)) == 1, 240)

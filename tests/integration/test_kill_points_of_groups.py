"""The provider is killed where a connection group is made, changed and deleted, and where a managed
certificate is attached, before and after the effect: the next one finishes with exactly what was asked."""

from collections.abc import Callable, Iterator

import pytest

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.test_certificates import asking, reason, settle
from tests.integration.test_connection_groups import edit, group, in_aws
from tests.integration.watching import is_true


@pytest.fixture
def pair(claims: Claims) -> Iterator[Claims]:
    yield claims
    for kind in ("edt", "ecg"):
        claims.world.kubectl("delete", kind, "--all", "-n", claims.namespace, "--wait=false")


def killed_at(claims: Claims, operation: str, when: str, begin: Callable[[], object]) -> None:
    """Begin something, and kill the provider at the first call of an operation on one side of its effect."""
    world = claims.world
    fault = world.emulator.hold(operation, nth=1, when=when)
    begin()
    assert world.emulator.wait_held(fault, seconds=20), f"{operation} was never called\n{claims.describe()}"
    world.processes.kill("provider")
    # What was held before its effect died with its sender; after its effect nothing is taken back.
    world.emulator.release(fault, drop=when == "before")
    world.processes.start("provider")


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_a_groups_and_a_certificates_calls(pair: Claims, world: World, when: str) -> None:
    fields = {"connectionGroupIdRef": {"name": "front"}}
    made = lambda: pair.apply(group(pair, "front", ipv6Enabled=False))  # noqa: E731
    killed_at(pair, "CreateConnectionGroup", when, made)
    pair.wait("the group", lambda: is_true(pair.get("front", "ecg"), "Ready"))
    first = in_aws(world, pair, "front")["Id"]

    pair.apply(asking(pair, "shop", f"www.{when}.test", **fields))
    pair.wait("the request", lambda: reason(pair, "shop", "CertificateReady") == "PendingValidation")
    attached = lambda: settle(world, pair, "shop", "issued")  # noqa: E731
    killed_at(pair, "UpdateDistributionTenant", when, attached)
    pair.wait("the tenant", lambda: is_true(pair.get("shop", "edt"), "Ready"))
    [tenant] = pair.tenants("shop")
    certificate = pair.get("shop", "edt")["status"]["atProvider"]["certificate"]
    assert tenant["Customizations"]["Certificate"]["Arn"] == certificate["arn"]
    assert {each["Status"] for each in tenant["Domains"]} == {"active"}
    asked = [c for c in world.emulator.calls()["calls"] if "ManagedCertificateRequest" in str(c)]
    assert len([c for c in asked if f"www.{when}.test" in str(c)]) == 1

    changed = {"spec": {"forProvider": {"ipv6Enabled": True}}}
    killed_at(pair, "UpdateConnectionGroup", when, lambda: edit(pair, "ecg", "front", changed))
    pair.wait("the change", lambda: in_aws(world, pair, "front")["Ipv6Enabled"])

    world.kubectl("delete", "edt", "shop", "-n", pair.namespace, "--wait=false")
    pair.wait("the tenant to go", lambda: not pair.get("shop", "edt"))
    assert in_aws(world, pair, "front")["Id"] == first
    gone = lambda: world.kubectl("delete", "ecg", "front", "-n", pair.namespace, "--wait=false")  # noqa: E731
    killed_at(pair, "DeleteConnectionGroup", when, gone)
    pair.wait("the group to go", lambda: not pair.get("front", "ecg"))
    assert in_aws(world, pair, "front") == {}
    assert pair.tenants("shop") == []

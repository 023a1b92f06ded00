"""A domain keeps its holder, on the real control plane: no one else gets it between two tenants of one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from sandbox.manifests import Package
from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.conftest import FAST, LEAVING, leaving
from tests.integration.hostile import CLAIMS_ONLY, EDIT, ROOT, Team, roles
from tests.integration.test_references import tenant
from tests.integration.watching import condition

KEPT = "is kept for another namespace"


class Rogue(Team):
    """Another namespace, whose user wants what others have."""

    def describe(self) -> str:
        """What the administrator sees."""
        return Claims(self.admin, self.namespace).describe()


@pytest.fixture
def rogue(claims: Claims, world: World, role: str) -> Iterator[Rogue]:
    """It exists for one test."""
    world.kubectl(
        "apply", "-f", "-", input="\n---\n".join(map(json.dumps, roles(Package.load(ROOT, legacy=False))))
    )
    made = Rogue(world, f"{claims.namespace}-rogue", role)
    yield made
    world.processes.ensure_running("provider")
    with leaving(world):
        made.clear()
        made.release_domains()
        made.leave()


@pytest.fixture
def role() -> str:
    """The user of the other namespace has claims alone."""
    return CLAIMS_ONLY


editors = pytest.mark.parametrize("role", [EDIT])
"""The user of the other namespace may also write managed resources."""


def waits(rogue: Rogue, words: str, seconds: float = 90) -> str:
    """Until the rogue's claim says so; what it says."""
    said = lambda: condition(rogue.get("wants"), "Live").get("message", "")  # noqa: E731
    message: str = rogue.wait(f"wants to say {words!r}", lambda: words in said() and said(), seconds)
    return message


def served(world: World) -> dict[str, str]:
    """Each domain with the name of the tenant that has it."""
    return {d["Domain"]: t["Name"] for t in world.emulator.state()["tenants"] for d in t["Domains"]}


def test_nobody_takes_a_domain_while_the_isolation_is_switched(
    claims: Claims, rogue: Rogue, world: World
) -> None:
    domains = [f"{name}-{claims.namespace[:20]}.example.com" for name in ("a", "b")]
    claims.apply(claims.claim("own", domains=domains))
    claims.wait_ready("own")
    claims.wait("both to be recorded", lambda: sorted(claims.kept_domains()) == sorted(domains))
    # One of the two is made in the gap of the other, whichever comes first.
    rogue.apply(rogue.claim("wants", domains=domains))
    waits(rogue, "is served by another tenant")

    creation = world.emulator.hold("CreateDistributionTenant")
    claims.patch("own", {"isolation": "PerDomain"})
    said = lambda: condition(claims.get("own"), "Blocked").get("message", "")  # noqa: E731
    token = claims.wait(
        "the switch to wait", lambda: said().partition("edgetenants.io/confirm: ")[2].partition(" ")[0]
    )
    # A user takes a while to read it, in which core's circuit breaker recovers; so does a core that starts.
    world.processes.restart("crossplane")
    world.kubectl("annotate", "tenantclaim", "own", "-n", claims.namespace, f"edgetenants.io/confirm={token}")

    # The gap: the old tenant is gone, and a new one is not made yet.
    claims.wait("the old tenant to go", lambda: not claims.tenants("own"), 90)
    assert world.emulator.wait_held(creation, 60)
    message = waits(rogue, KEPT)
    for known in (rogue.namespace, *domains):
        message = message.replace(known, "")
    assert claims.namespace not in message
    assert not [name for name in served(world).values() if name.startswith(rogue.namespace)]
    world.emulator.release(creation)

    claims.wait_ready("own", 120)
    assert {served(world)[domain].partition(".")[0] for domain in domains} == {claims.namespace}
    assert rogue.kept_domains() == {}
    assert rogue.tenants("wants") == []


def test_nor_when_it_is_deleted_in_the_console_and_the_provider_starts_in_the_gap(
    claims: Claims, rogue: Rogue, world: World
) -> None:
    claims.apply(claims.claim("own"))
    claims.wait_ready("own")
    [managed] = claims.all_managed()
    claims.wait("it to be recorded", claims.kept_domains)

    world.processes.kill("provider")
    world.emulator.remove_tenant(f"{claims.namespace}.own")
    # Whatever the order of the looks is: the holder comes last.
    paused = ("edt", managed["metadata"]["name"], "-n", claims.namespace)
    world.kubectl("annotate", *paused, "crossplane.io/paused=true")
    rogue.apply(rogue.claim("wants", domains=["own.example.com"]))
    world.processes.start("provider")

    waits(rogue, KEPT)
    assert served(world).get("own.example.com") is None
    world.kubectl("annotate", *paused, "crossplane.io/paused-")
    claims.wait("it to be made anew", lambda: claims.tenants("own"), 120)
    claims.wait_ready("own", 120)
    waits(rogue, "is served by another tenant")


def test_a_deleted_claim_frees_its_domain(claims: Claims, rogue: Rogue, world: World) -> None:
    claims.apply(claims.claim("own"))
    claims.wait_ready("own")
    rogue.apply(rogue.claim("wants", domains=["own.example.com"]))
    waits(rogue, "is served by another tenant")
    claims.delete("own")
    claims.wait_gone(["own"], 120)
    # The pauses between its tries double, up to ten minutes.
    world.emulator.set_rate(LEAVING)
    rogue.wait_ready("wants", 180)
    assert list(rogue.kept_domains()) == ["own.example.com"]
    assert claims.kept_domains() == {}


def test_an_administrator_releases_it_as_the_message_says(claims: Claims, rogue: Rogue, world: World) -> None:
    claims.apply(claims.claim("own"))
    claims.wait_ready("own")
    [managed] = claims.all_managed()
    claims.wait("it to be recorded", claims.kept_domains)
    paused = ("edt", managed["metadata"]["name"], "-n", claims.namespace)
    world.kubectl("annotate", *paused, "crossplane.io/paused=true")
    world.emulator.remove_tenant(f"{claims.namespace}.own")
    rogue.apply(rogue.claim("wants", domains=["own.example.com"]))
    told = waits(rogue, KEPT).partition("ConfigMap ")[2].split()[0]
    patch = json.dumps({"data": {"own.example.com": None}})
    world.kubectl("patch", "configmap", told, "-n", "crossplane-system", "--type=merge", "-p", patch)
    rogue.wait_ready("wants", 120)
    world.kubectl("annotate", *paused, "crossplane.io/paused-")


@editors
def test_nobody_takes_a_name_when_its_tenant_is_deleted_in_the_console(
    claims: Claims, rogue: Rogue, world: World
) -> None:
    """One that begins with no namespace, so that its record alone keeps it."""
    named = {"crossplane.io/external-name": f"front-{claims.namespace}"}
    own, wants = tenant(claims, "own"), tenant(rogue, "wants")
    own["metadata"]["annotations"] |= named
    wants["metadata"]["annotations"] |= named
    try:
        claims.apply(own)
        claims.wait("the name to be recorded", claims.kept_names, 60)
        rogue.apply(wants)
        squatter = ("get", "edt", "wants", "-n", rogue.namespace, "-o", "json")
        said = lambda: condition(json.loads(world.kubectl(*squatter)), "Ready").get("message", "")  # noqa: E731
        rogue.wait("the squatter to wait", lambda: "exists in CloudFront" in said(), 60)
        paused = ("edt", "own", "-n", claims.namespace)
        world.kubectl("annotate", *paused, "crossplane.io/paused=true")
        world.emulator.remove_tenant(named["crossplane.io/external-name"])
        rogue.wait("the squatter to be refused", lambda: KEPT in said(), 90)
        assert claims.namespace not in said().replace(f"front-{claims.namespace}", "").replace(
            rogue.namespace, ""
        )
        assert "own.example.com" not in served(world)
        world.kubectl("annotate", *paused, "crossplane.io/paused-")
        claims.wait("it to be made anew", lambda: "own.example.com" in served(world), 120)
        assert rogue.kept_names() == {}
    finally:
        own_one = ("edt", "own", "-n", claims.namespace)
        world.kubectl("annotate", *own_one, "crossplane.io/paused-", check=False)
        world.kubectl("delete", *own_one, "--wait=false", check=False)


@editors
def test_a_forged_status_keeps_nothing(claims: Claims, rogue: Rogue, world: World) -> None:
    forged = tenant(rogue, "forged", domains=["own.example.com"])
    forged["metadata"]["annotations"] = {"crossplane.io/paused": "true"}
    rogue.apply(forged)
    at = {
        "id": "dt_forged",
        "arn": "arn:aws:cloudfront::123456789012:distribution-tenant/dt_forged",
        "domains": [{"domain": "own.example.com", "status": "active"}],
        "tags": {"edgetenants.io/owner": f"x/DistributionTenant/{rogue.namespace}/forged"},
    }
    world.kubectl(
        "patch", "edt", "forged", "-n", rogue.namespace, "--subresource=status", "--type=merge",
        "-p", json.dumps({"status": {"atProvider": at}}),
    )  # fmt: skip
    world.processes.restart("provider")
    world.emulator.set_rate(FAST)
    claims.apply(claims.claim("own"))
    claims.wait_ready("own", 120)
    assert rogue.kept_domains() == {}
    assert list(claims.kept_domains()) == ["own.example.com"]

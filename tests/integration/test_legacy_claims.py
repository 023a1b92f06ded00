"""Claims of Crossplane v1: a composite beside the namespaces for each claim, with cluster-scoped tenants.

Crossplane v2 serves them still, by its LegacyCluster composites.
"""

import base64
import json
import os
from collections.abc import Iterator

import pytest

from sandbox.choice import Options
from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.conftest import CACHE, FAST, ROOT
from tests.integration.watching import Object, Watch, condition, is_true

LEGACY = "distributiontenants.cloudfront.edgetenants.io"
COMPOSITES = "xtenantclaims.platform.edgetenants.io"


class LegacyClaims(Claims):
    """Claims whose managed resources are beside the namespaces."""

    def composite(self, name: str) -> Object:
        """The composite that was made for a claim."""
        found = self.get(name).get("spec", {}).get("resourceRef", {}).get("name")
        return self.get(found, COMPOSITES) if found else {}

    def managed(self, name: str) -> Object:
        labels = f"crossplane.io/claim-name={name},crossplane.io/claim-namespace={self.namespace}"
        items = json.loads(self.world.kubectl("get", LEGACY, "-l", labels, "-o", "json"))["items"]
        return items[0] if items else {}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A world that has the legacy claim in the place of the namespaced composite of the same name."""
    running = World.up(
        name=f"legacy-{os.getpid()}",
        cache=CACHE,
        progress=lambda line: print(line, flush=True),
        options=Options(legacy=True),
    )
    try:
        running.emulator.set_rate(FAST)
        running.kubectl("delete", "compositions", "--all")
        running.kubectl("delete", "xrd", "tenantclaims.platform.edgetenants.io", "--timeout=60s")
        package = ROOT / "package"
        for file in ("xrds/legacy/xtenantclaim.yaml", "composition-legacy.yaml"):
            running.kubectl("apply", "-f", str(package / file))
        running.kubectl("wait", "xrd", COMPOSITES, "--for=condition=Offered", "--timeout=60s")
        yield running
    finally:
        running.down()


@pytest.fixture
def claims(world: World, request: pytest.FixtureRequest) -> Iterator[LegacyClaims]:
    made = LegacyClaims(world, f"legacy-{len(request.node.name)}")
    yield made
    world.kubectl("delete", "tenantclaims", "--all", "-n", made.namespace, "--wait=false")
    made.wait("everything to be deleted", lambda: not world.kubectl("get", LEGACY, "-o", "name").strip())


def test_a_claims_whole_life(claims: LegacyClaims, world: World) -> None:
    claim = claims.claim("acme", writeConnectionSecretToRef={"name": "acme-edge"})
    with Watch(world, COMPOSITES) as watched:
        claims.apply(claim)
        told = claims.wait_ready("acme")

        assert condition(told, "Live")["message"].startswith("Every domain is served.")
        assert condition(told, "Reconciling")["reason"] == "Stable"
        managed = claims.managed("acme")
        assert managed["apiVersion"].startswith("cloudfront.edgetenants.io/")
        assert "namespace" not in managed["metadata"]
        assert [tenant["Id"] for tenant in claims.tenants("acme")] == [managed["status"]["atProvider"]["id"]]

        details = claims.wait("the claim's Secret", lambda: secret(claims, "acme-edge"))
        assert details["distributionTenantId"] == managed["status"]["atProvider"]["id"]
        assert details["endpoint"] == managed["status"]["atProvider"]["routingEndpoint"]

        claims.patch("acme", {"suspended": True})
        claims.wait("the suspension", lambda: is_true(claims.get("acme"), "Suspended"))
        claims.wait("Live to tell", lambda: reason(claims, "acme") == "Suspended")
        claims.delete("acme")
        claims.wait_gone(["acme"])
        claims.wait("the Secret to go", lambda: not claims.get("acme-edge", "secret"))
    assert [o for _, o in watched.events if condition(o, "Responsive").get("status") == "False"] == []


def test_a_refusal_is_told_on_the_claim(claims: LegacyClaims) -> None:
    claims.apply(claims.claim("lost", plan="nowhere"))

    claims.wait("Live to tell", lambda: reason(claims, "lost") == "PlanNotFound")
    assert "spec.plan: expected one of standard" in condition(claims.get("lost"), "Live")["message"]
    assert is_true(claims.get("lost"), "Degraded")
    assert claims.managed("lost") == {}

    claims.patch("lost", {"plan": "standard"})
    claims.wait_ready("lost")


def reason(claims: LegacyClaims, name: str) -> str:
    return str(condition(claims.get(name), "Live").get("reason"))


def secret(claims: LegacyClaims, name: str) -> dict[str, str]:
    data = claims.get(name, "secret").get("data", {})
    return {key: base64.b64decode(value).decode() for key, value in data.items()}

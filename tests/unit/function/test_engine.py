"""The function under Crossplane's own engine; skipped where none was built (`make demo` builds one)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from function.serving.server import MEBIBYTE, Server, Settings
from tests.unit.function.building import merged
from tests.unit.function.engine import FATAL, Engine
from tests.unit.function.test_examples import ROOT, load

BINARY = Path(os.environ.get("EDGETENANTS_CACHE", ROOT / ".cache")) / "bin" / "crossplane"
pytestmark = pytest.mark.skipif(not BINARY.exists(), reason=f"no Crossplane core at {BINARY}")

XR = load("examples/render/xr.yaml")
COMPOSITION = load("examples/render/composition.yaml")
CLAIM_REF = {"apiVersion": XR["apiVersion"], "kind": "TenantClaim", "namespace": "shop", "name": "acme"}
OBSERVED = load("examples/render/observed.yaml")


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    running = Server(Settings("127.0.0.1:0", None, 4 * MEBIBYTE, 4 * MEBIBYTE))
    yield Engine(BINARY, f"127.0.0.1:{running.start()}")
    running.stop(grace=0)


def test_a_claim_becomes_a_tenant(engine: Engine) -> None:
    done = engine.render(XR, COMPOSITION)

    assert done.exit_code == 0, done.stderr
    (tenant,) = done.composed
    assert tenant["apiVersion"] == "cloudfront.m.edgetenants.io/v1alpha1"
    assert tenant["metadata"]["namespace"] == "shop"
    assert tenant["metadata"]["annotations"]["crossplane.io/external-name"] == "shop.acme"
    assert tenant["spec"]["forProvider"]["domains"] == ["acme.example.com", "xn--bcher-kva.example.com"]
    assert done.condition("Live")["reason"] == "Creating"
    assert done.condition("Ready")["status"] == "False"
    assert done.condition("Synced")["status"] == "True"
    assert done.composite["status"]["phase"] == "Pending"
    assert ("Creating", "Normal") in [(each["reason"], each["type"]) for each in done.events]


def test_a_tenant_that_serves_makes_the_claim_ready(engine: Engine) -> None:
    done = engine.render(XR, COMPOSITION, observed=[OBSERVED])

    assert done.exit_code == 0, done.stderr
    assert [each["metadata"]["name"] for each in done.composed] == ["acme-x7k2p"]
    assert not done.deleted
    assert done.condition("Live")["status"] == "True"
    assert done.condition("Ready")["status"] == "True"
    assert done.composite["status"]["url"] == "https://xn--bcher-kva.example.com"


@pytest.mark.parametrize(
    ("spec", "live", "tells", "named"),
    [
        ({"plan": "gold"}, ("True", "Live"), "Degraded", "spec.plan: expected one of standard"),
        ({"domains": ["a b"]}, ("False", "InvalidClaim"), "Live", "spec.domains[0]"),
        ({"tags": {"a": "b"}}, ("True", "Live"), "Degraded", "spec.tags"),
    ],
)
def test_a_refusal_is_shown_and_deletes_nothing(
    engine: Engine, spec: dict[str, Any], live: tuple[str, str], tells: str, named: str
) -> None:
    done = engine.render(merged(XR, {"spec": spec}), COMPOSITION, observed=[OBSERVED])

    assert done.exit_code == FATAL
    assert (done.condition("Live")["status"], done.condition("Live")["reason"]) == live
    ours = {each: done.condition(each)["message"] for each in ("Live", "Degraded", "Blocked", "Reconciling")}
    assert [each for each, message in ours.items() if named in message] == [tells]
    assert done.condition("Degraded")["reason"] == "ClaimRefused"
    assert not done.deleted


def test_plans_from_an_environment_config(engine: Engine) -> None:
    source = [{"environmentConfig": {"matchLabels": {"edgetenants.io/plans": "true"}}}]
    step = {**COMPOSITION["spec"]["pipeline"][0]}
    step["input"] = merged(step["input"], {"plansFrom": source})
    config = {
        "apiVersion": "apiextensions.crossplane.io/v1beta1",
        "kind": "EnvironmentConfig",
        "metadata": {"name": "gold", "labels": {"edgetenants.io/plans": "true"}},
        "data": {"plans": {"gold": {"distributionId": "E1GOLD", "allow": {"override": ["parameters"]}}}},
    }
    xr = merged(XR, {"spec": {"plan": "gold"}})

    done = engine.render(xr, merged(COMPOSITION, {"spec": {"pipeline": [step]}}), required=[config])

    assert done.exit_code == 0, done.stderr
    (tenant,) = done.composed
    assert tenant["spec"]["forProvider"]["distributionId"] == "E1GOLD"


def test_an_operation_reports_on_all_claims(engine: Engine) -> None:
    step = {
        "step": "report",
        "functionRef": {"name": "function-edgetenants"},
        "input": {"apiVersion": "edgetenants.fn.crossplane.io/v1alpha1", "kind": "TenantReport"},
    }
    operation = {
        "apiVersion": "ops.crossplane.io/v1alpha1",
        "kind": "Operation",
        "metadata": {"name": "report"},
        "spec": {"mode": "Pipeline", "pipeline": [step]},
    }
    status = {
        "phase": "Failed",
        "conditions": [{"type": "Live", "status": "False", "reason": "DomainConflict"}],
    }

    done = engine.operate(operation, [{**XR, "status": status}])

    (reported,) = done["status"]["pipeline"]
    assert reported["output"]["byReason"] == {"DomainConflict": 1}
    assert reported["output"]["attention"][0]["name"] == XR["metadata"]["name"]


def test_a_legacy_composite_becomes_a_cluster_scoped_tenant(engine: Engine) -> None:
    xr = {
        "apiVersion": XR["apiVersion"],
        "kind": "XTenantClaim",
        "metadata": {"name": "acme-8fj2k", "labels": {"crossplane.io/claim-namespace": "shop"}},
        "spec": {**XR["spec"], "claimRef": CLAIM_REF},
    }
    composition = merged(COMPOSITION, {"spec": {"compositeTypeRef": {"kind": "XTenantClaim"}}})

    done = engine.render(xr, composition, xrd=load("package/xrds/legacy/xtenantclaim.yaml"))

    assert done.exit_code == 0, done.stderr
    (tenant,) = done.composed
    assert tenant["apiVersion"] == "cloudfront.edgetenants.io/v1alpha1"
    assert "namespace" not in tenant["metadata"]
    assert tenant["metadata"]["annotations"]["crossplane.io/external-name"] == "shop.acme"

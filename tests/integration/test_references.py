"""Ids that are taken from other objects: of our own kinds, of other providers', and within one composite."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
import yaml

from sandbox.world import World
from tests.integration.claims import Claims
from tests.integration.watching import Object, condition, is_true

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "reference-other-providers.md"
DISTRIBUTION = "E1EDGETENANTS"

DISTRIBUTION_CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "distributions.cloudfront.aws.m.upbound.io"},
    "spec": {
        "group": "cloudfront.aws.m.upbound.io",
        "names": {"kind": "Distribution", "plural": "distributions", "singular": "distribution"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}
"""Stands for provider-upjet-aws, as far as names go."""


def tenant(claims: Claims, name: str, **fields: Any) -> Object:
    """A DistributionTenant without a claim."""
    defaults = {"distributionId": DISTRIBUTION, "domains": [f"{name}.example.com"]}
    asked = {k: v for k, v in {**defaults, **fields}.items() if v is not None}
    return {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "DistributionTenant",
        "metadata": {
            "name": name,
            "namespace": claims.namespace,
            "annotations": {"crossplane.io/external-name": f"{claims.namespace}.{name}"},
        },
        "spec": {"forProvider": asked},
    }


def group(claims: Claims, name: str) -> Object:
    """A connection group that the provider leaves alone, so that the test says when it has its id."""
    paused = {"crossplane.io/paused": "true"}
    return {
        "apiVersion": "cloudfront.m.edgetenants.io/v1alpha1",
        "kind": "ConnectionGroup",
        "metadata": {"name": name, "namespace": claims.namespace, "annotations": paused},
        "spec": {"forProvider": {}},
    }


def give_id(claims: Claims, name: str, id_: str) -> None:
    """What the provider writes once the connection group is made."""
    ready = {"type": "Ready", "status": "True", "reason": "Available"}
    ready |= {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    body = json.dumps({"status": {"atProvider": {"id": id_}, "conditions": [ready]}})
    claims.world.kubectl(
        "patch", "ecg", name, "-n", claims.namespace, "--subresource=status", "--type=merge", "-p", body
    )


def made_in_aws(world: World, name: str) -> str:
    """The id of a connection group of that name in CloudFront."""
    variables = world.environment()
    cloudfront = boto3.client(
        "cloudfront",
        endpoint_url=world.emulator.endpoint,
        region_name=variables["AWS_REGION"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
    )
    return str(cloudfront.create_connection_group(Name=name)["ConnectionGroup"]["Id"])


def says(claims: Claims, name: str, type_: str, words: str) -> bool:
    return words in condition(claims.get(name, "edt"), type_).get("message", "")


def look_again(claims: Claims, name: str, token: str) -> None:
    """Have it reconciled now instead of after its back-off."""
    asked = f"crossplane.io/reconcile-requested-at={token}"
    claims.world.kubectl("annotate", "edt", name, "-n", claims.namespace, "--overwrite", asked)


@contextmanager
def applied(world: World, manifests: str) -> Iterator[None]:
    world.kubectl("apply", "-f", "-", input=manifests)
    try:
        yield
    finally:
        world.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=true", input=manifests)


@pytest.fixture
def tenants(claims: Claims) -> Iterator[Claims]:
    """The test's namespace; tenants and groups without a claim go first."""
    yield claims
    for kind in ("edt", "ecg"):
        claims.world.kubectl("delete", kind, "--all", "-n", claims.namespace, "--wait=false")


def role() -> str:
    """The manifests on the documentation's page, as people copy them."""
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    [found] = [block for block in blocks if "ClusterRole" in block]
    return str(found)


def test_another_providers_kind_is_read_once_the_role_is_given(tenants: Claims, world: World) -> None:
    tenants.apply(tenant(tenants, "other", distributionId=None, distributionIdRef={"name": "edge"}))
    missing = 'apiGroups: ["cloudfront.aws.m.upbound.io"], resources: ["distributions"], verbs: ["get"]'
    tenants.wait("the missing rule", lambda: says(tenants, "other", "Synced", missing))
    assert says(tenants, "other", "Synced", "the ClusterRole edgetenants-references in docs/how-to/")
    assert condition(tenants.get("other", "edt"), "Ready")["reason"] == "Creating"
    assert "CannotResolveResourceReferences" in {event["reason"] for event in tenants.events()}

    with applied(world, role()):
        tenants.wait(
            "the missing provider", lambda: says(tenants, "other", "Synced", "install provider-upjet-aws")
        )
        with applied(world, yaml.safe_dump(DISTRIBUTION_CRD)):
            look_again(tenants, "other", "1")
            tenants.wait("the missing object", lambda: says(tenants, "other", "Synced", "does not exist"))
            named = {"crossplane.io/external-name": DISTRIBUTION}
            world.wait_for("the kind", lambda: edge(tenants))
            look_again(tenants, "other", "2")
            tenants.wait(
                "the missing name", lambda: says(tenants, "other", "Ready", "to have its external name")
            )
            assert is_true(tenants.get("other", "edt"), "Synced")
            assert edge(tenants, named)
            tenants.wait("Ready", lambda: is_true(tenants.get("other", "edt"), "Ready"))
    assert tenants.get("other", "edt")["spec"]["forProvider"]["distributionId"] == DISTRIBUTION


def edge(claims: Claims, annotations: Object | None = None) -> str:
    """A Distribution as provider-upjet-aws has it; "" while its kind is not served yet."""
    distribution = {
        "apiVersion": "cloudfront.aws.m.upbound.io/v1beta1",
        "kind": "Distribution",
        "metadata": {"name": "edge", "namespace": claims.namespace, "annotations": annotations or {}},
    }
    return claims.world.kubectl("apply", "-f", "-", input=json.dumps(distribution), check=False)


def test_a_tenant_waits_for_its_connection_group_and_follows_it(tenants: Claims, world: World) -> None:
    first, second = (made_in_aws(world, f"{tenants.namespace}-{n}") for n in (1, 2))
    reference = {"name": "front", "policy": {"resolve": "Always"}}
    tenants.apply(tenant(tenants, "late", connectionGroupIdRef=reference))
    tenants.wait("the missing group", lambda: says(tenants, "late", "Synced", "front does not exist"))
    tenants.apply(group(tenants, "front"))
    tenants.wait("the missing id", lambda: says(tenants, "late", "Ready", "front to have its id"))
    assert tenants.tenants("late") == []

    give_id(tenants, "front", first)
    tenants.wait("Ready", lambda: is_true(tenants.get("late", "edt"), "Ready"))
    assert tenants.tenants("late")[0]["ConnectionGroupId"] == first
    assert tenants.get("late", "edt")["spec"]["forProvider"]["connectionGroupId"] == first

    # With the clock standing still no poll comes: the change itself wakes the tenant.
    world.emulator.set_rate(0.001)
    give_id(tenants, "front", second)
    tenants.wait("the move", lambda: tenants.tenants("late")[0]["ConnectionGroupId"] == second)
    world.emulator.set_rate(30)


def test_what_one_composite_composed_finds_each_other(claims: Claims, world: World) -> None:
    made = yaml.safe_load((ROOT / "package" / "composition.yaml").read_text())
    made["metadata"]["name"] = "dedicated"
    plan = made["spec"]["pipeline"][0]["input"]["plans"]["standard"]
    plan["connection"] = {"dedicated": True}
    with applied(world, yaml.safe_dump(made)):
        claims.apply(
            claims.claim("pair", crossplane={"compositionRef": {"name": "dedicated"}}), group(claims, "other")
        )
        give_id(claims, "other", "cg_another")
        claims.wait_ready("pair", seconds=90)
        name = composed_group(claims, "pair")
        made_id = claims.get(name, "ecg")["status"]["atProvider"]["id"]
        assert made_id != "cg_another"
        assert_resolved(claims.managed("pair"), name, made_id)

        # Core applies again what the function wants, which says nothing of the two fields.
        before = claims.managed("pair")["metadata"]["generation"]
        claims.patch("pair", {"parameters": {"tenantName": "pair"}})
        claims.wait("the change", lambda: claims.managed("pair")["metadata"]["generation"] > before)
        claims.wait_ready("pair")
        again = claims.managed("pair")
        assert_resolved(again, name, made_id)
        assert again["metadata"]["generation"] == before + 1, "the spec is written more than once"
        claims.delete("pair")
        claims.wait_gone(["pair"])
        world.kubectl("delete", "ecg", "other", "-n", claims.namespace)


def assert_resolved(managed: Object, name: str, id_: str) -> None:
    asked = managed["spec"]["forProvider"]
    assert asked["connectionGroupId"] == id_
    assert asked["connectionGroupIdRef"] == {"name": name}
    assert asked["connectionGroupIdSelector"] == {"matchControllerRef": True, "policy": {"resolve": "Always"}}


def composed_group(claims: Claims, claim: str) -> str:
    selector = f"crossplane.io/composite={claim}"
    out = claims.world.kubectl("get", "ecg", "-n", claims.namespace, "-l", selector, "-o", "json")
    [found] = json.loads(out)["items"]
    return str(found["metadata"]["name"])

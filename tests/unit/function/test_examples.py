"""Every example is a valid object, and those that are rendered become what their README says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from pydantic.alias_generators import to_camel

from apis import kinds, tenantclaim
from apis.tenantclaim import TenantClaimSpec
from apis.tenantplans import Allowance, Plan, PlanConnection, PlanDns, TenantPlans
from edgetenants_runtime.api.model import ApiModel
from tests.unit.function import building

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"


def load(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


KINDS = {
    (kind.api_version, kind.kind): kind
    for kind in (*kinds.PROVIDER_KINDS, *kinds.LEGACY_PROVIDER_KINDS, kinds.TENANT_SOURCE)
}
CLAIMS = {"TenantClaim", "XTenantClaim"}
OTHERS = {
    "ClusterUsage",
    "CompositeResourceDefinition",
    "Composition",
    "ConfigMap",
    "CustomerSite",
    "DeploymentRuntimeConfig",
    "EnvironmentConfig",
    "Function",
    "ManagedResourceActivationPolicy",
    "Namespace",
    "Operation",
    "Secret",
    "ValidatingWebhookConfiguration",
}
PACKAGES = {("pkg.crossplane.io/v1", kind) for kind in ("Configuration", "Function", "Provider")}
"""Kinds of the package manager. tests/integration/test_packages.py installs them."""


def _objects() -> Iterator[Any]:
    written = (path for path in EXAMPLES.rglob("*.yaml") if not path.name.startswith("expected"))
    for path in sorted(written):
        for value in yaml.safe_load_all(path.read_text()):
            yield pytest.param(value, id=f"{path.relative_to(EXAMPLES)}: {value['kind']}")


OBJECTS = tuple(_objects())


@pytest.mark.parametrize("value", OBJECTS)
def test_each_object_is_valid(value: dict[str, Any]) -> None:
    if value["kind"] in OTHERS or (value["apiVersion"], value["kind"]) in PACKAGES:
        return
    if value["kind"] in CLAIMS:
        tenantclaim.parse(value["spec"])
        return
    spec = KINDS[value["apiVersion"], value["kind"]].spec
    assert spec
    spec.model_validate(value["spec"])


def _fields(model: type[ApiModel]) -> set[str]:
    return {to_camel(name) for name in model.model_fields} - {"apiVersion", "kind", "metadata"}


@pytest.mark.parametrize("model", [TenantClaimSpec, TenantPlans, Plan, PlanDns, PlanConnection, Allowance])
def test_each_field_of_claims_and_plans_is_shown(model: type[ApiModel]) -> None:
    text = "\n".join(path.read_text() for path in EXAMPLES.glob("*/c*.yaml"))
    assert {field for field in _fields(model) if not re.search(rf"^ *{field}:", text, re.MULTILINE)} == set()


def test_each_folder_is_explained_and_in_the_index() -> None:
    index = (EXAMPLES / "README.md").read_text()
    folders = [path for path in EXAMPLES.iterdir() if path.is_dir()]
    assert [folder.name for folder in folders if not (folder / "README.md").exists()] == []
    assert [folder.name for folder in folders if f"]({folder.name})" not in index] == []


def test_a_folder_can_be_applied_at_once_for_the_namespace_comes_first() -> None:
    first = min((EXAMPLES / "quickstart").glob("*.yaml"))

    assert yaml.safe_load(first.read_text())["kind"] == "Namespace"


def test_the_iam_policy_is_json() -> None:
    json.loads((EXAMPLES / "provider" / "iam-policy.json").read_text())


def _request(xr: str, composition: str) -> fnv1.RunFunctionRequest:
    req = fnv1.RunFunctionRequest()
    req.observed.composite.resource.update(load(xr))
    (step,) = load(composition)["spec"]["pipeline"]
    req.input.update(step["input"])
    return req


def test_quickstart_under_the_composition_of_the_package() -> None:
    rsp = building.run(_request("examples/quickstart/claim.yaml", "package/composition.yaml"))

    tenant = building.desired(rsp)["tenant"]
    assert tenant["metadata"]["annotations"] == {
        "crossplane.io/external-name": "shop.acme",
        "edgetenants.io/plan": "standard",
    }
    assert tenant["spec"]["forProvider"]["domains"] == ["acme.example.com", "shop.acme.com"]


def test_render() -> None:
    req = _request("examples/render/xr.yaml", "examples/render/composition.yaml")
    assert building.live(building.run(req))[1] == "Creating"

    req.observed.resources["tenant"].resource.update(load("examples/render/observed.yaml"))
    rsp = building.run(req)

    parameters = building.desired(rsp)["tenant"]["spec"]["forProvider"]
    assert parameters["domains"] == ["acme.example.com", "xn--bcher-kva.example.com"]
    assert parameters["parameters"] == {"tenantName": "acme", "tier": "standard"}
    assert building.live(rsp)[:2] == ("True", "Live")
    assert building.status(rsp)["url"] == "https://xn--bcher-kva.example.com"

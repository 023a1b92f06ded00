"""`edgetenants validate`: problems with file and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.main import cli

ROOT = Path(__file__).resolve().parents[3]
CLAIM = """\
apiVersion: platform.edgetenants.io/v1alpha1
kind: TenantClaim
metadata: {name: acme, namespace: shop}
spec:
  plan: gold
  domains:
    - acme.example.com
    - https://shop.acme.com
  sspended: true
"""
PLANS = """\
apiVersion: edgetenants.fn.crossplane.io/v1alpha1
kind: TenantPlans
plans:
  gold:
    distributionId: E1GOLD
    allow: {maxDomains: 1}
"""
BROKEN_PLANS = PLANS.replace("E1GOLD", "7")


def run(*arguments: str | Path, **kwargs: Any) -> Result:
    return CliRunner().invoke(cli, ["validate", *map(str, arguments)], **kwargs)


@pytest.fixture
def put(tmp_path: Path) -> Any:
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_every_problem_with_its_line(put: Any) -> None:
    file = put("claim.yaml", f"# a comment\n---\n{CLAIM}")

    done = run(file)

    assert done.exit_code == 1
    assert run("-f", file).output == done.output
    lines = done.output.splitlines()
    assert lines[0].startswith(f"{file}:10:7: TenantClaim acme: spec.domains[1]: expected")
    assert lines[1].startswith(f"{file}:11:13: TenantClaim acme: spec.sspended: expected suspended")
    assert lines[-1] == "1 objects looked at, 2 problems"


def test_what_is_sound(put: Any) -> None:
    done = run(ROOT / "examples/quickstart", ROOT / "examples/provider", ROOT / "package/composition.yaml")

    assert (done.exit_code, done.output) == (0, "3 objects looked at, 0 problems\n")


def test_a_claim_against_its_plans(put: Any) -> None:
    claim = put("claim.yaml", CLAIM.replace("  sspended: true\n", "").replace("https://", ""))

    assert run(claim).exit_code == 0
    done = run(claim, "--plans", put("plans.yaml", PLANS))

    assert done.exit_code == 1
    assert f"{claim}:7:5: TenantClaim acme: spec.domains: expected at most 1 domains" in done.output


def test_plans_in_a_composition_and_in_an_environment_config(put: Any) -> None:
    indented = BROKEN_PLANS.replace("\n", "\n        ")
    composition = (
        "apiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\nspec:\n"
        "  pipeline:\n    - step: other\n      functionRef: {name: function-auto-ready}\n"
        "    - step: tenants\n      functionRef: {name: function-edgetenants}\n"
        f"      input:\n        {indented}"
    )
    config = (
        "apiVersion: apiextensions.crossplane.io/v1beta1\nkind: EnvironmentConfig\nmetadata: {name: e}\n"
        "data:\n  plans:\n    gold:\n      distributionId: 7\n"
    )

    done = run(put("composition.yaml", composition), put("config.yaml", config))

    assert (
        "composition.yaml:15:29: Composition c: spec.pipeline[1].input.plans.gold.distributionId"
        in done.output
    )
    assert "config.yaml:7:23: EnvironmentConfig e: data.plans.gold.distributionId: expected" in done.output


def test_managed_resources_and_lists(put: Any) -> None:
    listed = (
        "apiVersion: v1\nkind: List\nitems:\n"
        "- apiVersion: cloudfront.m.edgetenants.io/v1alpha1\n  kind: DistributionTenant\n"
        "  metadata: {name: a}\n"
        "  spec: {forProvider: {distributionId: E1, domains: [UPPER.example.com]}}\n"
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: b}\n"
    )

    done = run("-", input=listed)

    assert done.exit_code == 1
    assert "-:7:54: DistributionTenant a: spec.forProvider.domains[0]: expected" in done.output
    assert "1 objects looked at" in done.output


def test_json(put: Any) -> None:
    found = json.loads(run(put("claim.yaml", CLAIM), "--json").output)

    assert found["objects"] == 1
    assert [each["path"] for each in found["problems"]] == ["spec.domains[1]", "spec.sspended"]


@pytest.mark.parametrize(
    ("text", "told"),
    [("a: [", "file.yaml:1:5: no YAML"), ("- 1\n", "expected an object, got [1]"), ("a: \x00", "no YAML")],
)
def test_files_that_cannot_be_read(put: Any, text: str, told: str) -> None:
    done = run(put("file.yaml", text))

    assert done.exit_code == 2
    assert told in done.output


WITHOUT_INPUT = """\
apiVersion: apiextensions.crossplane.io/v1
kind: Composition
metadata: {name: x}
spec:
  pipeline:
  - functionRef: {name: function-edgetenants}
"""
OF_AN_OPERATION = """\
apiVersion: ops.crossplane.io/v1alpha1
kind: CronOperation
metadata: {name: x}
spec:
  operationTemplate:
    spec:
      pipeline:
      - input: {apiVersion: edgetenants.fn.crossplane.io/v1alpha1, kind: TenantReport, mostRows: many}
"""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            CLAIM.replace("TenantClaim", "TenantClaims"),
            "kind: expected one of TenantClaim, XTenantClaim, got",
        ),
        (
            CLAIM.replace("v1alpha1", "v1"),
            "apiVersion: expected one of platform.edgetenants.io/v1alpha1, got",
        ),
        (WITHOUT_INPUT, "spec.pipeline[0]: expected an input of kind TenantPlans, got none"),
        (OF_AN_OPERATION, "spec.operationTemplate.spec.pipeline[0].input.mostRows: expected a number"),
    ],
)
def test_what_would_fail_without_a_word_about_the_place(put: Any, text: str, problem: str) -> None:
    done = run(put("file.yaml", text))

    assert done.exit_code == 1
    assert problem in done.output


def test_a_claim_of_a_broken_plan_is_told_what_is_wrong_with_the_plan(put: Any) -> None:
    claim = CLAIM.replace("    - https://shop.acme.com\n  sspended: true\n", "")

    done = run(put("claim.yaml", claim), "--plans", put("plans.yaml", BROKEN_PLANS))

    assert "TenantClaim acme: The platform's plan gold is broken: plans.gold.distributionId: " in done.output
    assert "expected The" not in done.output

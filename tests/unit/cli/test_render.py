"""`edgetenants render`: what a claim becomes and why, from files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import cli

ROOT = Path(__file__).resolve().parents[3]
CLAIM = {
    "apiVersion": "platform.edgetenants.io/v1alpha1",
    "kind": "TenantClaim",
    "metadata": {"name": "acme", "namespace": "shop"},
    "spec": {"plan": "gold", "domains": ["Bücher.example.com"]},
}
PLANS = {
    "apiVersion": "edgetenants.fn.crossplane.io/v1alpha1",
    "kind": "TenantPlans",
    "plans": {"gold": {"distributionId": "E1GOLD", "tags": {"plan": "gold"}}},
}
SOURCED = {**PLANS, "plans": {}, "plansFrom": [{"environmentConfig": {"name": "shelf"}}]}
SHELF = {
    "apiVersion": "apiextensions.crossplane.io/v1beta1",
    "kind": "EnvironmentConfig",
    "metadata": {"name": "shelf"},
    "data": {"plans": {"gold": {"distributionId": "E1SHELF"}}},
}


def run(*arguments: str | Path, **kwargs: Any) -> Result:
    return CliRunner().invoke(cli, ["render", *map(str, arguments)], **kwargs)


@pytest.fixture
def put(tmp_path: Path) -> Any:
    def write(name: str, *objects: Any) -> Path:
        path = tmp_path / name
        path.write_text(yaml.safe_dump_all(objects, allow_unicode=True))
        return path

    return write


def objects(result: Result) -> list[dict[str, Any]]:
    return [value for value in yaml.safe_load_all(result.output) if value]


def test_a_claim_and_what_it_becomes(put: Any) -> None:
    done = run("-f", put("claim.yaml", CLAIM), "--plans", put("plans.yaml", PLANS))

    assert done.exit_code == 0, done.output
    claim, tenant = objects(done)
    assert (claim["kind"], claim["status"]["phase"]) == ("TenantClaim", "Pending")
    assert claim["status"]["conditions"][0]["type"] == "Live"
    assert tenant["spec"]["forProvider"]["domains"] == ["xn--bcher-kva.example.com"]
    assert tenant["metadata"] == {
        "generateName": "acme-",
        "namespace": "shop",
        "labels": {"crossplane.io/composite": "acme", "edgetenants.io/claim": "e8ff35dcd8b3fe19cd92"},
        "annotations": {
            "crossplane.io/composition-resource-name": "tenant",
            "crossplane.io/external-name": "shop.acme",
            "edgetenants.io/plan": "gold",
        },
    }


def test_why(put: Any) -> None:
    output = run("-f", put("claim.yaml", CLAIM), "--plans", put("plans.yaml", PLANS)).output

    rows = {line.split("  ")[1].strip(): line for line in output.splitlines() if line.startswith("#   ")}
    assert rows["distributionId"].endswith("plan gold")
    assert rows["domain"].endswith("the claim, written Bücher.example.com")
    assert rows["tags.plan"].split()[-2:] == ["plan", "gold"]
    assert rows["isolation"].endswith("the default")
    assert rows["name in CloudFront"].endswith("plan gold, name {namespace}.{name}")


def test_no_why(put: Any) -> None:
    files = ("-f", put("claim.yaml", CLAIM), "--plans", put("plans.yaml", PLANS))

    assert "why" not in run(*files, "--no-why").output


def test_the_packages_composition_and_standard_input() -> None:
    claim = (ROOT / "examples/quickstart/claim.yaml").read_text()

    done = run("-f", "-", "--plans", ROOT / "package/composition.yaml", input=claim)

    assert done.exit_code == 0, done.output
    assert objects(done)[1]["kind"] == "DistributionTenant"


def test_what_is_observed_counts() -> None:
    example = ROOT / "examples/render"
    observed = ("--observed", example / "observed.yaml")

    done = run("-f", example / "xr.yaml", "--plans", example / "composition.yaml", *observed)

    assert "# composed resource tenant, ready" in done.output
    assert objects(done)[0]["status"]["phase"] == "Live"


@pytest.mark.parametrize("elsewhere", [{"name": "other"}, {"name": "acme", "namespace": "depot"}])
def test_each_of_many_claims_has_what_is_observed_of_its_own(put: Any, elsewhere: dict[str, str]) -> None:
    example = ROOT / "examples/render"
    xr = yaml.safe_load((example / "xr.yaml").read_text())
    claims = put("claims.yaml", xr, {**xr, "metadata": {**xr["metadata"], **elsewhere}})
    observed = ("--observed", example / "observed.yaml")

    done = run("-f", claims, "--plans", example / "composition.yaml", *observed)

    phases = [each["status"]["phase"] for each in objects(done) if each["kind"] == "TenantClaim"]
    assert phases == ["Live", "Pending"]


def test_plans_from_environment_configs_beside_them(put: Any) -> None:
    plans = put("plans.yaml", SOURCED, SHELF)

    done = run("-f", put("claim.yaml", CLAIM), "--plans", plans)

    assert objects(done)[1]["spec"]["forProvider"]["distributionId"] == "E1SHELF"
    missing = run("-f", put("claim.yaml", CLAIM), "--plans", put("alone.yaml", SOURCED))
    assert missing.exit_code == 1
    assert "EnvironmentConfig shelf does not exist" in missing.output


def test_all_in_one_file_given_as_an_argument(put: Any) -> None:
    _, tenant = objects(run(put("all.yaml", SHELF, CLAIM, SOURCED)))
    assert tenant["spec"]["forProvider"]["distributionId"] == "E1SHELF"


def test_required_resources_from_a_file_of_their_own(put: Any) -> None:
    plans, shelf = put("plans.yaml", SOURCED), put("shelf.yaml", SHELF)
    _, tenant = objects(run("-f", put("claim.yaml", CLAIM), "--plans", plans, "--required", shelf))
    assert tenant["spec"]["forProvider"]["distributionId"] == "E1SHELF"


def test_without_plans_those_of_the_package(put: Any) -> None:
    done = run("-f", put("claim.yaml", {**CLAIM, "spec": {"plan": "standard", "domains": ["a.example.com"]}}))

    assert (
        "# plans: using the Composition that comes with edgetenants; set --plans to use others" in done.output
    )
    _, tenant = objects(done)
    assert tenant["spec"]["forProvider"]["distributionId"] == "E1EDGETENANTS"


def test_plans_that_are_named_come_before_those_among_the_files(put: Any) -> None:
    other = {**PLANS, "plans": {"gold": {"distributionId": "E1OTHER"}}}
    _, tenant = objects(run("-f", put("all.yaml", CLAIM, PLANS), "--plans", put("plans.yaml", other)))
    assert tenant["spec"]["forProvider"]["distributionId"] == "E1OTHER"


@pytest.mark.parametrize("command", ["render", "validate", "plan"])
def test_no_files_at_all(command: str) -> None:
    done = CliRunner().invoke(cli, [command])
    assert done.exit_code == 2
    assert "expected files: YAML files, folders, or - for standard input" in done.output


def test_a_refusal_is_told_and_is_the_exit_code(put: Any) -> None:
    wrong = {**CLAIM, "spec": {"plan": "silver", "domains": ["a.example.com"]}}

    done = run("-f", put("claims.yaml", wrong, CLAIM), "--plans", put("plans.yaml", PLANS))

    assert done.exit_code == 1
    assert '# fatal: PlanNotFound: spec.plan: expected one of gold, got "silver"' in done.output
    assert [each["kind"] for each in objects(done)] == ["TenantClaim", "TenantClaim", "DistributionTenant"]


@pytest.mark.parametrize(
    ("claims", "plans", "told"),
    [
        ([CLAIM], [CLAIM], "one TenantPlans, or one Composition"),
        ([CLAIM], [PLANS, PLANS], "got 2 of them"),
        ([SHELF], [PLANS], "expected a TenantClaim in the files, got EnvironmentConfig"),
        (["text"], [PLANS], "expected an object, got 'text'"),
    ],
)
def test_files_that_cannot_be_used(put: Any, claims: Any, plans: Any, told: str) -> None:
    done = run("-f", put("claims.yaml", *claims), "--plans", put("plans.yaml", *plans))

    assert done.exit_code == 2
    assert told in done.output


def test_an_observed_resource_without_its_name_among_the_composed(put: Any) -> None:
    bare = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}}
    files = ("-f", put("claim.yaml", CLAIM), "--plans", put("plans.yaml", PLANS))

    done = run(*files, "--observed", put("observed.yaml", bare))

    assert done.exit_code == 2
    assert "Thing x: metadata.annotations['crossplane.io/composition-resource-name']" in done.output


def test_a_file_that_is_missing(put: Any) -> None:
    done = run("-f", "nowhere.yaml", "--plans", put("plans.yaml", PLANS))

    assert done.exit_code == 2
    assert "nowhere.yaml: No such file" in done.output


def test_json_is_one_list_of_the_objects_and_nothing_else(put: Any) -> None:
    file = put("claim.yaml", CLAIM)
    listed = json.loads(run(file, "-o", "json").stdout)
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert listed["items"] == objects(run(file))
    assert "plans: using the Composition" in run(file, "-o", "json").stderr

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
    assert lines[-1] == "1 objects checked, 2 problems"


def test_what_is_sound(put: Any) -> None:
    done = run(ROOT / "examples/quickstart", ROOT / "examples/provider", ROOT / "package/composition.yaml")

    assert (done.exit_code, done.output) == (0, "4 objects checked, 0 problems\n")


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
    assert "1 objects checked" in done.output


def test_json(put: Any) -> None:
    found = json.loads(run(put("claim.yaml", CLAIM), "-o", "json").output)

    assert found["objects"] == 1
    assert [each["path"] for each in found["problems"]] == ["spec.domains[1]", "spec.sspended"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "file.yaml:1:5: invalid YAML"),
        ("- 1\n", "expected an object, got [1]"),
        ("a: \x00", "invalid YAML"),
    ],
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
            "kind: expected one of TenantClaim, TenantSource, XTenantClaim, got",
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

    wrong = "Plan gold is invalid; the platform team must correct it: plans.gold.distributionId: "
    assert f"TenantClaim acme: {wrong}" in done.output
    assert "expected The" not in done.output


def claim(name: str, *domains: str, namespace: str = "shop", **spec: Any) -> str:
    return json.dumps(
        {
            "apiVersion": "platform.edgetenants.io/v1alpha1",
            "kind": "TenantClaim",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"plan": "gold", "domains": domains, **spec},
        }
    )


def test_what_is_below_a_folder_is_looked_at(put: Any, tmp_path: Path) -> None:
    (tmp_path / "teams/shop").mkdir(parents=True)
    put("teams/shop/claim.yaml", CLAIM)

    done = run(tmp_path)

    assert done.exit_code == 1
    assert "1 objects checked, 2 problems" in done.output


@pytest.mark.parametrize("text", ["", "---\n", "a: b\n", "apiVersion: v1\nkind: ConfigMap\n"])
def test_nothing_to_look_at_is_no_success(put: Any, tmp_path: Path, text: str) -> None:
    put("file.yaml", text)

    for files in ((tmp_path,), (tmp_path, "-o", "json")):
        done = run(*files)
        assert done.exit_code == 2
    assert json.loads(done.stdout)["objects"] == 0
    assert "expected claims, plans, managed resources or provider configs, got none" in run(tmp_path).stderr


def test_what_cannot_be_read_hides_no_problem(put: Any, tmp_path: Path) -> None:
    put("a.yaml", "a: [")
    put("b.yaml", CLAIM)

    done = run(tmp_path)

    assert done.exit_code == 2
    assert "a.yaml:1:5: invalid YAML" in done.stderr
    assert done.stdout.count("TenantClaim acme: ") == 2
    told = json.loads(run(tmp_path, "-o", "json").stdout)
    assert (len(told["problems"]), len(told["unreadable"])) == (2, 1)


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("platform.edgetenant.io/v1alpha1", "TenantClaim"),
        ("example.org/v1alpha1", "TenantClaim"),
        ("v1alpha1", "TenantClaim"),
        ("edgetenants.fn.crossplane.com/v1alpha1", "TenantPlans"),
        ("cloudfront.m.edgetenant.io/v1alpha1", "DistributionTenant"),
        ("v1alpha1", "ConnectionGroup"),
        ("m.edge-tenants.io/v1alpha1", "ClusterProviderConfig"),
    ],
)
def test_a_wrong_group_is_told(put: Any, api_version: str, kind: str) -> None:
    done = run(
        put("file.yaml", f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{}}\n")
    )

    assert done.exit_code == 1
    assert f"file.yaml:1:13: {kind} a: apiVersion: expected one of " in done.output


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("aws.m.upbound.io/v1beta1", "ProviderConfig"),
        ("kubernetes.crossplane.io/v1alpha1", "ProviderConfig"),
        ("cloudfront.services.k8s.aws/v1alpha1", "DistributionTenant"),
        ("cloudfront.aws.m.upbound.io/v1beta1", "ConnectionGroup"),
        ("example.org/v1", "TenantClaim"),
    ],
)
def test_somebody_elses_kind_is_passed_over(put: Any, api_version: str, kind: str) -> None:
    xrd = (
        "apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\n"
        "metadata: {name: a}\nspec: {group: example.org, names: {kind: TenantClaim}}\n"
    )
    file = put("file.yaml", f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n---\n{xrd}")

    assert run(file, put("claim.yaml", claim("a", "a.example.com"))).exit_code == 0


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ("{name: acme, labels: {version: 1.2}}", "metadata.labels.version: expected a string, got 1.2"),
        ("{name: acme, annotations: {a/b: on}}", 'metadata.annotations["a/b"]: expected a string, got true'),
        ("{name: Acme}", 'metadata.name: expected a name of lower-case letters, digits, - and ., got "Acme"'),
        (
            "{namespace: shop}",
            "metadata.name: expected a name of lower-case letters, digits, - and ., got nothing",
        ),
        (
            "{name: acme}\nspce: {}",
            "spce: expected one of apiVersion, kind, metadata, spec, status, got an unk",
        ),
        ("{name: acme}\nkind: TenantClaim", "kind: expected each field once, got it twice (first on line 2)"),
    ],
)
def test_what_stands_around_the_spec(put: Any, metadata: str, problem: str) -> None:
    text = CLAIM.replace("{name: acme, namespace: shop}", metadata)

    assert problem in run(put("claim.yaml", text)).output


def test_a_field_that_stands_twice(put: Any) -> None:
    file = put("claim.yaml", CLAIM.replace("  sspended: true", "  plan: silver"))

    done = run(file)

    assert (
        f"{file}:9:9: TenantClaim acme: spec.plan: expected each field once, got it twice (first on line"
        in (done.output)
    )
    assert CliRunner().invoke(cli, ["render", str(file)]).exit_code == 2


def test_two_claims_of_one_domain(put: Any, tmp_path: Path) -> None:
    put("a.yaml", claim("acme", "acme.example.com", "bücher.example.com"))
    put("b.yaml", claim("other", "x.example.com", "xn--bcher-kva.EXAMPLE.com", namespace="depot"))

    done = run(tmp_path)

    assert done.exit_code == 1
    assert done.stdout == (
        f"{tmp_path}/b.yaml:1:182: TenantClaim other: spec.domains[1]: expected a domain that no other claim "
        'requests, got "xn--bcher-kva.example.com", which TenantClaim shop/acme requests '
        f"({tmp_path}/a.yaml:1:183)\n"
    )


def test_a_claim_and_what_was_made_of_it_ask_for_its_domain_once(put: Any, tmp_path: Path) -> None:
    put("again.yaml", claim("acme", "acme.example.com"))
    put("claim.yaml", claim("acme", "acme.example.com"))
    composite = claim("acme-x", "acme.example.com", claimRef={"namespace": "shop", "name": "acme"})
    put("xr.yaml", composite.replace("TenantClaim", "XTenantClaim"))

    assert run(tmp_path).output == "3 objects checked, 0 problems\n"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            claim("acme", "1.2.3.4", "a.example.com", "A.example.com.", plan="silver", sspended=True),
            [
                "spec.domains[0]: expected a domain name",
                "spec.sspended: expected suspended",
                "spec.domains[2]: expected no duplicates (a.example.com is already in spec.domains[1])",
                "spec.plan: expected one of gold",
            ],
        ),
        (
            claim("acme", "no name", "b.example.com", parameters={"a": "b"}, dns={"mode": "None"}),
            [
                "spec.domains[0]: expected a domain name",
                "spec.dns.mode: expected 'Managed' or 'Manual'",
                "spec.parameters: expected nothing, as plan gold lets its claims set nothing",
                "spec.domains: expected at most 1 domains, as plan gold allows, got 2",
            ],
        ),
        (
            claim("acme", "a.example.com", "a.example.com", tags={"a": "b"}),
            [
                "spec.domains: expected no duplicates",
                "spec.tags: expected nothing, as plan gold lets its claims set nothing",
            ],
        ),
        (
            claim("Acme", "a.example.com", plan="silver"),
            ["metadata.name: expected a name", "spec.plan: expected one of gold"],
        ),
        (claim("acme", plan=7), ["spec.plan: expected a string", "spec.domains: expected at least 1 item"]),
        (
            claim("acme", plan="silver"),
            ["spec.domains: expected at least 1 item", "spec.plan: expected one of"],
        ),
    ],
)
def test_no_problem_hides_another(put: Any, text: str, problems: list[str]) -> None:
    done = run(put("claim.yaml", text), "--plans", put("plans.yaml", PLANS))

    lines = [line.split("cme: ", 1)[1] for line in done.stdout.splitlines()]
    assert len(lines) == len(problems), done.output
    assert [line[: len(problem)] for line, problem in zip(lines, problems, strict=True)] == problems

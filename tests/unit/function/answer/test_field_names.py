"""Fields of managed resources in the words of a claim: every field, and every message of the provider that
names one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apis.connectiongroup import ConnectionGroupParameters, ConnectionGroupSpec
from apis.distributiontenant import DistributionTenantParameters, DistributionTenantSpec
from apis.tenantclaim import CORE_FIELDS, TenantClaimSpec
from tests.unit.function import building

ROOT = Path(__file__).parents[4]
SOURCES = sorted(
    [
        *(ROOT / "provider" / "cloudfront").rglob("*.py"),
        *(ROOT / "runtime" / "edgetenants_runtime").rglob("*.py"),
    ]
)


def fields(*models: Any) -> set[str]:
    return {info.alias or name for model in models for name, info in model.model_fields.items()}


ASKED = fields(DistributionTenantParameters, ConnectionGroupParameters)
OWN = fields(DistributionTenantSpec, ConnectionGroupSpec) - fields(TenantClaimSpec) - CORE_FIELDS
"""Fields below spec that a claim does not have, nor Crossplane gives it."""
NAMED = re.compile(rf"\bspec\.(?:forProvider\.\w+|(?:{'|'.join(OWN - {'forProvider'})})\b)")
KEPT = {
    "spec.forProvider.enabled": "only of ConnectionGroups, and of tenants whose spec does not say it",
    "spec.forProvider.distributionIdRef": "a claim's tenant has the id",
    "spec.forProvider.distributionIdSelector": "a claim's tenant has the id",
    "spec.forProvider.connectionGroupIdRef": "a selector finds the claim's group",
    "spec.managementPolicies": "where somebody edits the resource itself, which the message names",
}
"""Fields that no claim says, with the reason why a claim may hear of them all the same."""


def told(message: str, **request: Any) -> str:
    """What the claim says of a tenant that says that."""
    ready = building.condition("Ready", "False", "ValidationFailed", message)
    observed = {"tenant": {"status": {"conditions": [ready]}}}
    return building.live(building.run(building.request(observed=observed, **request)))[2]


@pytest.mark.parametrize("field", sorted(f"spec.forProvider.{each}" for each in ASKED))
def test_every_field_of_a_managed_resource_has_a_name_in_the_claim_or_its_plan(field: str) -> None:
    said = told(f"{field}: refused")
    assert NAMED.findall(said) == [field] * (field in KEPT), said


@pytest.mark.parametrize("field", sorted(f"spec.{each}" for each in OWN - {"forProvider", "initProvider"}))
def test_so_has_every_field_beside_them_that_a_message_names(field: str) -> None:
    named = any(field in template for _, template in TEMPLATES)
    assert not named or NAMED.findall(told(f"{field}: refused")) == [field] * (field in KEPT)


def _templates() -> Iterator[tuple[str, str]]:
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        for text in _Strings(tree).texts:
            if NAMED.search(text):
                yield path.name, text


class _Strings:
    """The strings of a module, its constants put in and what else is filled in left out; no docstrings."""

    def __init__(self, tree: ast.Module) -> None:
        self.texts: list[str] = []
        self._constants: dict[str, str] = {}
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                self._constants[node.target.id] = self._text(node.value)
        self._walk(tree)

    def _walk(self, node: ast.AST) -> None:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return
        if isinstance(node, (ast.JoinedStr, ast.Constant)):
            self.texts.append(self._text(node))
        for child in ast.iter_child_nodes(node):
            if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
                self._walk(child)

    def _text(self, node: ast.AST) -> str:
        match node:
            case ast.Constant(value=str() as text):
                return text
            case ast.JoinedStr(values=parts):
                return "".join(map(self._text, parts))
            case ast.FormattedValue(value=ast.Name(id=name)) if self._constants.get(name):
                return self._constants[name]
            case ast.FormattedValue():
                # A field that is filled in is one of those above.
                return "domains"
        return ""


TEMPLATES = tuple(_templates())


def test_the_messages_are_found() -> None:
    files = {file for file, _ in TEMPLATES}
    assert files >= {"preflight.py", "holders.py", "guards.py", "conditions.py", "use.py", "refusals.py"}
    assert any("requires domains. Add them to" in text for _, text in TEMPLATES)


@pytest.mark.parametrize(("file", "text"), TEMPLATES, ids=lambda each: each[:60])
def test_every_message_names_fields_that_its_reader_has(file: str, text: str) -> None:
    said = told(text)
    assert set(NAMED.findall(said)) <= KEPT.keys(), (file, said)


# By example.

WITHOUT_EFFECT = "an update has no effect in AWS"
GROUPS = {"plans": {"standard": {"allow": {"override": ["connection", "security.geo"]}}}}


@pytest.mark.parametrize(
    ("message", "says"),
    [
        (
            "cannot resolve references: spec.forProvider.connectionGroupIdSelector: there is no group",
            "cannot resolve references: spec.connection: there is no group",
        ),
        ("spec.forProvider.ipv6Enabled: refused", "plans.standard.connection.ipv6Enabled: refused"),
        ("spec.forProvider.customizations: refused", "plans.standard.security: refused"),
        ("set spec.driftPolicy to Enforce", "set plans.standard.driftPolicy to Enforce"),
        ("spec.deletionProtection is on", "plans.standard.deletionProtection is on"),
        (
            "spec.providerConfigRef: ClusterProviderConfig default does not exist",
            "plans.standard.providerConfigRef: ClusterProviderConfig default does not exist",
        ),
        ("spec.providerConfigRef.kind: Foo is none", "plans.standard.providerConfigRef.kind: Foo is none"),
        ("spec.writeConnectionSecretToRef: taken", "spec.connectionSecretName: taken"),
        (
            f"{WITHOUT_EFFECT}: customizations.geoRestrictions: desired a, AWS has b; tags.a/b: desired c",
            f"{WITHOUT_EFFECT}: spec.security.geo: desired a, AWS has b; plans.standard.tags.a/b: desired c",
        ),
        ("domains: desired a, AWS has b", "spec.domains: desired a, AWS has b"),
        ("enabled: desired True, AWS has False", "enabled: desired True, AWS has False"),
        ("spec.domains: desired too much", "spec.domains: desired too much"),
        (
            "ClusterProviderConfig aws: spec.credentials: none",
            "ClusterProviderConfig aws: spec.credentials: none",
        ),
    ],
)
def test_a_field_is_named_as_its_reader_knows_it(message: str, says: str) -> None:
    assert told(message, input_=GROUPS) == f"{says}."


def test_the_secret_of_a_legacy_claim_has_its_own_name() -> None:
    xr = {
        "kind": "XTenantClaim",
        "metadata": {"name": "acme-8fj2k", "namespace": None},
        "spec": {"claimRef": {"namespace": "shop", "name": "acme"}},
    }
    assert told("spec.writeConnectionSecretToRef: taken", xr=xr).startswith(
        "spec.writeConnectionSecretToRef: taken"
    )


REFUSED = "InvalidArgument: no. Correct the {}; the provider retries as soon as it changes"
AUTHORS = {
    "allow": {"override": ["parameters", "certificate", "security.webAcl", "security.geo", "tags"]},
}


@pytest.mark.parametrize("by", ["resource", "claim or its plan"])
@pytest.mark.parametrize(
    ("asked", "fields"),
    [
        ({}, "spec.domains"),
        ({"tags": {"team": "a"}}, "spec.domains or spec.tags"),
        (
            {"parameters": {"tier": "gold"}, "security": {"geo": {"allow": ["XX"]}}},
            "spec.domains or spec.parameters or spec.security.geo",
        ),
    ],
)
def test_what_aws_refuses_is_corrected_by_the_author_or_the_platform_team(
    by: str, asked: dict[str, Any], fields: str
) -> None:
    spec = {"plan": "standard", "domains": ["acme.example.com"], **asked}
    said = told(REFUSED.format(by), spec=spec, input_={"plans": {"standard": AUTHORS}})
    assert said.startswith(
        f"InvalidArgument: no. Correct {fields}, or have the platform team correct plans.standard; the "
        "provider retries"
    )

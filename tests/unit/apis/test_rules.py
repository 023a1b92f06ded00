"""The rules of the APIs: each has an example of both sides, and its Python twin tells them apart."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from apis import crds, errors, kinds
from apis.kinds import Kind
from tests.unit.apis.cel_cases import CEL_CASES, SCHEMA_CASES, Case

ALL_KINDS = (
    *kinds.PROVIDER_KINDS,
    *kinds.LEGACY_PROVIDER_KINDS,
    kinds.TENANT_CLAIM,
    kinds.LEGACY_TENANT_CLAIM,
    kinds.TENANT_PLANS,
    kinds.TENANT_SOURCE,
)


def read(kind: Kind, body: Any) -> Any:
    if kind.fields is not None:
        return errors.parse(kind.fields, body)
    assert kind.spec is not None
    return errors.parse(kind.spec, body["spec"], root="spec")


def by_kind(cases: tuple[Case, ...]) -> list[Any]:
    pairs = [(case, kind) for case in cases for kind in case.kinds]
    return [pytest.param(case, kind, id=f"{case.name}-{kind.crd_name}") for case, kind in pairs]


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from nodes(value)


def schema_of(kind: Kind) -> dict[str, Any]:
    version = crds.crd(kind)["spec"]["versions"][0]
    return version["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize(("case", "kind"), by_kind(CEL_CASES + SCHEMA_CASES))
def test_an_object_that_keeps_the_rule_is_read(case: Case, kind: Kind) -> None:
    read(kind, case.accepted)


@pytest.mark.parametrize(("case", "kind"), by_kind(CEL_CASES))
def test_the_python_twin_refuses_in_the_same_words(case: Case, kind: Kind) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        read(kind, case.refused)
    assert case.refusal.removeprefix("expected ") in [problem.expected for problem in caught.value.problems]


@pytest.mark.parametrize(("case", "kind"), by_kind(SCHEMA_CASES))
def test_what_the_schema_refuses_is_refused_in_python_too(case: Case, kind: Kind) -> None:
    with pytest.raises(errors.InvalidInput):
        read(kind, case.refused)


@pytest.mark.parametrize("kind", ALL_KINDS, ids=lambda kind: kind.crd_name)
def test_every_rule_has_an_example(kind: Kind) -> None:
    messages = {
        rule["message"]
        for node in nodes(schema_of(kind))
        for rule in node.get("x-kubernetes-validations", ())
    }
    exampled = {case.refusal for case in CEL_CASES if kind in case.kinds}
    assert messages == exampled


@pytest.mark.parametrize("kind", ALL_KINDS, ids=lambda kind: kind.crd_name)
def test_every_message_says_what_was_expected(kind: Kind) -> None:
    for node in nodes(schema_of(kind)):
        for rule in node.get("x-kubernetes-validations", ()):
            assert re.match("expected [a-zA-Z]", rule["message"])


@pytest.mark.parametrize(
    "key",
    [
        "\uff45dgetenants.io/owner",
        "\uff45\uff44\uff47\uff45\uff54\uff45\uff4e\uff41\uff4e\uff54\uff53.io/owner",
        "\u3000crossplane-name",
        "\uff23rossplane\uff0dkind",
        "aws\uff1ax",
        "\u2003AWS:x",
    ],
)
def test_a_tag_key_that_looks_like_a_reserved_one_is_refused(key: str) -> None:
    with pytest.raises(errors.InvalidInput, match="expected tag keys that do not start with"):
        read(kinds.CONNECTION_GROUP, {"spec": {"forProvider": {"tags": {key: "x"}}}})


def test_a_rule_points_to_the_field() -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        read(kinds.DISTRIBUTION_TENANT, {"spec": {"forProvider": {"domains": ["a.de"]}}})
    assert str(caught.value) == (
        "spec.forProvider.distributionId: expected distributionId, distributionIdRef or "
        "distributionIdSelector here or in initProvider, unless managementPolicies lack *, "
        "Create and Update, got nothing"
    )

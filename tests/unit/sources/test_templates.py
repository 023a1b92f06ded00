"""Templates: what is refused when a TenantSource is applied, and what a row becomes."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apis.tenantsource import Template
from sources.names import LONGEST, label_value, object_name
from sources.stores.store import Row
from sources.template import Compiled, InvalidRow, InvalidTemplate, _Room, compile_template

DOMAINS = {"domains": ["{domain}"]}


def compiled(spec: Any, **more: Any) -> Compiled:
    return compile_template(Template.model_validate({"name": "{id}", "spec": spec, **more}))


def rendered(spec: Any, columns: dict[str, Any], **more: Any) -> Any:
    whole = {"domains": ["a.example.com"], **spec}
    return compiled(whole, **more).render(Row({"id": "a", **columns})).spec


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"domians": ["{domain}"], **DOMAINS}, "template.spec.domians: expected domains"),
        ({"plan": "{plan}"}, "template.spec.domains: expected a value, got nothing"),
        ({**DOMAINS, "isolation": "None"}, "template.spec.isolation: expected"),
        ({**DOMAINS, "suspended": "true"}, "template.spec.suspended: expected true or false"),
        ({"domains": ["no domain"]}, "template.spec.domains[0]: expected a domain name"),
        ({**DOMAINS, "connection_secret_name": "x"}, "template.spec.connection_secret_name"),
        ({**DOMAINS, "parameters": {"{a}": "x"}}, "expected no placeholder in the name of a field"),
        ({"domains": ["{domain"]}, "expected {column}, or {{ and }} for braces"),
        ({"domains": ["domain}"]}, "expected {column}, or {{ and }} for braces"),
        ({"domains": ["{a b}"]}, "expected {column}, or {{ and }} for braces"),
        ({**DOMAINS, "{x}": "y"}, "expected no placeholder in the name of a field"),
        ({"domains": {"{domain}": 1}}, "expected no placeholder"),
    ],
)
def test_what_no_row_could_correct_is_refused_at_once(spec: Any, told: str) -> None:
    with pytest.raises(InvalidTemplate) as refused:
        compiled(spec)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    "spec",
    [
        DOMAINS,
        {"domains": "{domains}"},
        {**DOMAINS, "suspended": "{off}", "parameters": "{parameters}", "isolation": "{isolation}"},
        {**DOMAINS, "adopt": {"tenantId": "{tenant}"}, "isolation": "{isolation}"},
        {"domains": ["{a}.example.com", "{a}.example.org", "fixed.example.com"]},
    ],
)
def test_what_depends_on_a_row_is_accepted(spec: Any) -> None:
    assert compiled(spec)


def test_a_template_with_very_many_placeholders_costs_little_time() -> None:
    begin = time.process_time()
    compiled({"domains": [f"{{id}}.a{n}" for n in range(16_000)]})
    assert time.process_time() - begin < 8


def test_a_template_of_managed_resources_is_checked_as_one() -> None:
    spec = {"forProvider": {"distributionId": "E1", "domains": ["{domain}"], "enabled": "{on}"}}
    assert compiled(spec, kind="DistributionTenant")
    with pytest.raises(InvalidTemplate, match=r"template\.spec\.forProvider\.domain: expected domains"):
        compiled({"forProvider": {"domain": "x"}}, kind="DistributionTenant")


def test_names_labels_and_defaults_are_checked_too() -> None:
    for more, told in (
        ({"name": "same"}, "each row needs its own name"),
        ({"labels": {"edgetenants.io/source": "{id}"}}, "expected no label of edgetenants.io, "),
        ({"defaults": {"a b": 1}}, "expected the name of a column"),
    ):
        with pytest.raises(InvalidTemplate, match=told):
            compiled(DOMAINS, **more)


@pytest.mark.parametrize("value", [True, 5, 1.5, ["a", "b"], {"k": "v"}, "text", "{other}", "{{"])
def test_a_whole_value_keeps_its_type_and_is_never_a_template(value: Any) -> None:
    template = compiled({"forProvider": {"domains": ["{x}"]}}, kind="DistributionTenant")
    assert template._filled(template.spec, Row({"x": value}), (), _Room()) == {
        "forProvider": {"domains": [value]}
    }


def test_within_text_a_value_becomes_text() -> None:
    spec = {"parameters": {"p": "{a}-{{{b}}}-{c}-{d}"}}
    assert rendered(spec, {"a": 5, "b": True, "c": 2.0, "d": "x"})["parameters"] == {"p": "5-{true}-2-x"}
    with pytest.raises(InvalidRow, match=r"spec\.parameters\.p: expected text"):
        rendered(spec, {"a": [1], "b": 1, "c": 1, "d": 1})


def test_a_missing_column_has_its_default_or_is_an_error() -> None:
    spec = {"plan": "{plan}"}
    assert rendered(spec, {"plan": None}, defaults={"plan": "gold"})["plan"] == "gold"
    with pytest.raises(InvalidRow, match="a value in the column plan, which has no default"):
        rendered(spec, {"plan": None})


def test_overrides_set_only_what_is_allowed() -> None:
    more = {"overrides": {"column": "more", "allow": ["parameters", "security.geoRestrictions"]}}
    spec = {"plan": "p", "parameters": {"a": "1", "b": "2"}}
    assert rendered(spec, {"more": '{"parameters": {"b": "3"}}'}, **more)["parameters"] == {
        "a": "1",
        "b": "3",
    }
    assert rendered(spec, {"more": {"parameters": {"a": None}}}, **more)["parameters"] == {"b": "2"}
    assert rendered(spec, {"more": None}, **more)["plan"] == "p"
    for wrong in ('{"plan": "x"}', '{"security": {}}', '{"security": {"webAcl": {}}}', "[]", "{", 5):
        with pytest.raises(InvalidRow, match="the column more"):
            rendered(spec, {"more": wrong}, **more)


def test_no_problem_of_a_row_has_its_values() -> None:
    spec = {"domains": "{domains}", "parameters": "{parameters}", "plan": "{plan}"}
    good = {"domains": ["a.example.com"], "parameters": {}, "plan": "p"}
    for column, value in (
        ("domains", ["secret one"]),
        ("domains", ["secret.example.com", "SECRET.example.com"]),
        ("domains", {"secret": 1}),
        ("parameters", {"secret": 1}),
        ("parameters", {"secret\n": "\x00"}),
        ("plan", "secret secret"),
    ):
        with pytest.raises(InvalidRow) as refused:
            compiled(spec).render(Row({"id": "a", **good, column: value}))
        assert "secret" not in str(refused.value).lower()
        assert f"spec.{column}" in refused.value.field


def test_an_object_that_would_be_too_large_is_refused() -> None:
    with pytest.raises(InvalidRow, match="characters"):
        rendered({"parameters": {"a": "{x}"}}, {"x": "y" * 200_000})


@pytest.mark.parametrize(
    ("spec", "more", "field"),
    [
        ({"parameters": {"a": "{x}" * 300}}, {}, "spec.parameters.a"),
        ({"parameters": {f"a{n}": "{x}" for n in range(300)}}, {}, "spec.parameters.a2"),
        ({"parameters": {"a": ["{list}"] * 300}}, {}, "spec.parameters.a[2]"),
        ({"parameters": {"a": ["{object}"] * 300}}, {}, "spec.parameters.a[2]"),
        ({}, {"name": "{x}" * 80}, "metadata.name"),
        ({}, {"labels": {"a": "{x}" * 80}}, "metadata.labels[a]"),
        ({"parameters": {"a": "{x}"}}, {"name": "{x}", "labels": {"a": "{x}"}}, "spec.parameters.a"),
    ],
)
def test_a_value_that_is_repeated_is_counted_before_it_is_joined(
    spec: Any, more: dict[str, Any], field: str
) -> None:
    half = "x" * 50_000
    template = compiled({"domains": ["a.example.com"], **spec}, **more)
    row = Row({"id": "a", "x": half, "list": [half], "object": {half: 1}})
    tracemalloc.start()
    try:
        with pytest.raises(InvalidRow, match="characters") as refused:
            template.render(row)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refused.value.field == field
    assert peak < 2_000_000


@given(st.text(max_size=300))
def test_any_text_has_a_name_that_kubernetes_accepts(text: str) -> None:
    for made, pattern in ((object_name(text), "-"), (label_value(text), "-._")):
        assert 0 < len(made) <= LONGEST
        assert made.isascii()
        assert made[0].isalnum()
        assert made[-1].isalnum()
        assert all(char.isalnum() or char in pattern for char in made)
    assert object_name(text) == object_name(text).lower()


def test_a_name_stays_readable_and_two_texts_have_two() -> None:
    assert object_name("acme") == "acme"
    assert object_name("Acme") != object_name("acme")
    assert object_name("Acme Shoes").startswith("acme-shoes-x")
    assert len({object_name(text) for text in ("a b", "a-b", "A B", "a_b", "a.b", "x" * 64, "x" * 65)}) == 7


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"parameters": {"a": NaN}}', "a finite number"),
        ('{"parameters": {"a": 1e400}}', "a number with fewer digits, or the number as text"),
        ('{"parameters": {"a": ' + "9" * 5000 + "}}", "a number with fewer digits, or the number as text"),
        ('{"parameters": {"a": "\\ud800"}}', "text of whole Unicode characters"),
        ('{"parameters": {"a": "x", "a": "y"}}', "names that are not repeated"),
        ('{"parameters": {"a": ' + '{"b": ' * 50 + "1" + "}" * 52, "lists and objects that are nested"),
        (
            '{"parameters": {"a": ' + '{"b": ' * 50_000 + "1" + "}" * 50_002,
            "lists and objects that are nested",
        ),
        ('{"parameters": ' + "[" * 50_000, "a JSON object"),
    ],
)
def test_overrides_are_read_as_strictly_as_a_store(value: str, expected: str) -> None:
    overrides = {"column": "o", "allow": ["parameters"]}
    with pytest.raises(InvalidRow) as refused:
        rendered({}, {"o": value}, overrides=overrides)
    assert refused.value.field == "the column o"
    assert refused.value.expected.startswith(expected)


def test_a_value_without_an_exact_form_is_refused_where_it_is_used_and_has_no_default() -> None:
    row = Row({"id": "a"}, unfit={"domain": "a finite number", "other": "x"})
    with pytest.raises(InvalidRow) as refused:
        compiled(DOMAINS, defaults={"domain": "a.example.com"}).render(row)
    assert str(refused.value) == "spec.domains[0]: expected a finite number, in the column domain"
    overrides = {"column": "domain", "allow": ["parameters"]}
    with pytest.raises(InvalidRow):
        compiled({"domains": ["a.example.com"]}, overrides=overrides).render(row)


def test_an_integer_that_no_server_keeps_is_refused_with_its_place() -> None:
    spec = {
        "providerConfigRef": {"kind": "ProviderConfig", "name": "x"},
        "forProvider": {"distributionId": "E123456789ABCD", "domains": ["a.example.com"]},
        "initProvider": {"x": {"y": "{n}"}},
    }
    template = compiled(spec, kind="DistributionTenant")
    assert template.render(Row({"id": "a", "n": 2**63 - 1})).spec["initProvider"] == {"x": {"y": 2**63 - 1}}
    for number in (2**63, -(2**63) - 1, 10**400):
        with pytest.raises(InvalidRow) as refused:
            template.render(Row({"id": "a", "n": number}))
        assert refused.value.field == "spec.initProvider.x.y"


@pytest.mark.parametrize(
    "key",
    [
        "edgetenants.io/source",
        "apis.edgetenants.io/x",
        "crossplane.io/composite",
        "app.kubernetes.io/managed-by",
        "kubernetes.io/x",
        "node.k8s.io/x",
        "a b",
        "a/b/c",
        "/x",
        "Example.com/x",
        "x" * 64,
        f"{'a' * 254}/x",
    ],
)
def test_a_label_that_others_read_as_theirs_or_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(InvalidTemplate, match="labels: expected"):
        compiled(DOMAINS, labels={key: "x"})


def test_other_labels_are_accepted() -> None:
    for key in ("tier", "example.com/tier", "notkubernetes.io/x", "A.b_c-D", "x" * 63):
        assert compiled(DOMAINS, labels={key: "x"}).render(Row({"id": "a", "domain": "a.example.com"})).labels


def test_a_default_is_checked_too() -> None:
    deep: Any = "x"
    for _ in range(2000):
        deep = [deep]
    with pytest.raises(InvalidTemplate, match="x: expected lists"):
        compiled(DOMAINS, defaults={"x": deep})

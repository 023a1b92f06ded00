"""The converter, construct by construct, and what must hold for every schema that it makes."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

import pytest
from pydantic import Field

from apis import crds, kinds
from apis.kinds import Kind
from apis.schema import structural, without_nulls
from edgetenants_runtime.api.model import NOT_TEXT, ApiModel, Bool, Kube, Rule, Scope

CRD_KINDS = (*kinds.PROVIDER_KINDS, *kinds.LEGACY_PROVIDER_KINDS, kinds.TENANT_PLANS, kinds.TENANT_CLAIM)


class Colour(StrEnum):
    RED = "Red"
    BLUE = "Blue"


class Inner(ApiModel):
    """An inner thing."""

    name: str
    only_here: Annotated[str | None, Kube(only=Scope.CLUSTER, required=True)] = None
    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule("self.name != ''", "expected a name", field=".name"),
        Rule("has(self.name)", "expected it there", presence=True),
    )


INNER_RULES = [
    {"rule": "self.name != ''", "message": "expected a name", "fieldPath": ".name"},
    {"rule": "has(self.name)", "message": "expected it there"},
]
INNER = {
    "type": "object",
    "description": "An inner thing.",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "x-kubernetes-validations": INNER_RULES,
}


def field(annotation: Any, default: Any = ...) -> Any:
    namespace = {"__annotations__": {"value": annotation}, "__module__": __name__, "__doc__": "One field."}
    if default is not ...:
        namespace["value"] = default
    return type("Model", (ApiModel,), namespace)


CASES = {
    "text": (str, ..., {"type": "string"}),
    "bounds": (
        Annotated[str, Field(min_length=1, max_length=5, pattern="^a")], ...,
        {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a"},
    ),
    "strict boolean": (Bool, False, {"type": "boolean", "default": False}),
    "number": (
        Annotated[int, Field(ge=1, le=9), NOT_TEXT], ...,
        {"type": "integer", "minimum": 1, "maximum": 9},
    ),
    "optional is absent, not null": (str | None, None, {"type": "string"}),
    "optional with default": (Annotated[int | None, NOT_TEXT], 3, {"type": "integer", "default": 3}),
    "enum": (Colour, Colour.RED, {"type": "string", "enum": ["Red", "Blue"], "default": "Red"}),
    "constant": (Literal["x"], ..., {"type": "string", "enum": ["x"]}),
    "set": (
        Annotated[tuple[str, ...], Field(max_length=3), Kube(list_type="set")], ...,
        {"type": "array", "items": {"type": "string"}, "maxItems": 3, "x-kubernetes-list-type": "set"},
    ),
    "list by key": (
        Annotated[tuple[Inner, ...], Kube(list_type="map", keys=("name",))], ...,
        {"type": "array", "items": INNER, "x-kubernetes-list-type": "map",
         "x-kubernetes-list-map-keys": ["name"]},
    ),
    "map": (
        Annotated[dict[str, int], Field(max_length=2)], ...,
        {"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2},
    ),
    "map with bound keys": (
        dict[Annotated[str, Field(pattern="^a")], str], ...,
        {"type": "object", "additionalProperties": {"type": "string"}},
    ),
    "anything": (dict[str, Any], ..., {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
    "object in place": (Inner, ..., INNER),
    "default of an object without nulls": (Inner, Inner(name="x"), {**INNER, "default": {"name": "x"}}),
    "rules of a value": (
        Annotated[str, Kube(rules=(Rule("self != 'x'", "expected no x"),))], ...,
        {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'", "message": "expected no x"}]},
    ),
    "part of an object": (
        Annotated[dict[str, Any] | None, Field(description="Part."), Kube(partial_of=Inner)], None,
        {
            "type": "object", "description": "Part.", "properties": {"name": {"type": "string"}},
            "x-kubernetes-validations": INNER_RULES[:1],
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize(("annotation", "default", "expected"), CASES.values(), ids=CASES.keys())
def test_a_field_becomes(annotation: Any, default: Any, expected: dict[str, Any]) -> None:
    schema = structural(field(annotation, default), Scope.NAMESPACED)
    assert schema["properties"]["value"] == expected
    assert schema.get("required") == (["value"] if default is ... else None)


def test_a_field_of_one_scope_is_there_and_required_in_that_scope() -> None:
    cluster = structural(Inner, Scope.CLUSTER)
    assert set(cluster["properties"]) == {"name", "onlyHere"}
    assert cluster["required"] == ["name", "onlyHere"]


def test_a_status_has_no_defaults() -> None:
    assert structural(field(Bool, False), Scope.CLUSTER, defaults=False)["properties"]["value"] == {
        "type": "boolean"
    }


def test_a_field_of_two_types_is_refused() -> None:
    with pytest.raises(ValueError, match="several types"):
        structural(field(str | bool), Scope.CLUSTER)


def test_nulls_are_taken_out_of_defaults() -> None:
    assert without_nulls({"a": None, "b": [{"c": None, "d": 1}]}) == {"b": [{"d": 1}]}


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    if "items" in schema:
        yield from nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from nodes(schema["additionalProperties"], f"{path}.*")


def schema_of(kind: Kind) -> dict[str, Any]:
    version = crds.crd(kind)["spec"]["versions"][0]
    return version["schema"]["openAPIV3Schema"]


@pytest.mark.parametrize("kind", CRD_KINDS, ids=lambda kind: kind.crd_name)
class TestEverySchema:
    """What must hold for every node of every schema."""

    def test_it_is_structural(self, kind: Kind) -> None:
        refused = {"$ref", "$defs", "anyOf", "title", "propertyNames", "patternProperties", "const"}
        for path, node in nodes(schema_of(kind)):
            assert "type" in node, path
            assert not refused & set(node), path
            assert not any(key.startswith("x-") and not key.startswith("x-kubernetes-") for key in node), path

    def test_every_field_says_what_happens(self, kind: Kind) -> None:
        for path, node in nodes(schema_of(kind)):
            for name, child in node.get("properties", {}).items():
                where = f"{path}.{name}"
                if where != ".metadata":
                    assert child.get("description", "").endswith((".", ")")), where

    def test_everything_is_bounded(self, kind: Kind) -> None:
        for path, node in nodes(schema_of(kind)):
            if path in (".apiVersion", ".kind"):
                continue
            bound = {
                "array": "maxItems",
                "string": "maxLength",
                "integer": "minimum",
                "number": "maximum",
            }.get(node["type"])
            if "additionalProperties" in node:
                bound = "maxProperties"
            if bound and "enum" not in node and node.get("format") != "date-time":
                assert bound in node, path

    def test_every_list_says_how_it_merges(self, kind: Kind) -> None:
        for path, node in nodes(schema_of(kind)):
            if node["type"] == "array":
                assert node.get("x-kubernetes-list-type") in ("set", "map", "atomic"), path

    def test_no_default_under_for_provider_init_provider_or_status(self, kind: Kind) -> None:
        for path, node in nodes(schema_of(kind)):
            if path.startswith((".spec.forProvider.", ".spec.initProvider", ".status")):
                assert "default" not in node, path


@pytest.mark.parametrize("kind", [kinds.DISTRIBUTION_TENANT, kinds.LEGACY_CONNECTION_GROUP])
def test_init_provider_has_the_fields_of_for_provider_and_requires_none(kind: Kind) -> None:
    spec = schema_of(kind)["properties"]["spec"]["properties"]
    asked = {path: node["type"] for path, node in nodes(spec["forProvider"])}
    initial = {path: node["type"] for path, node in nodes(spec["initProvider"])}
    assert asked == initial
    assert not [path for path, node in nodes(spec["initProvider"]) if "required" in node]


@pytest.mark.parametrize(
    ("modern", "legacy"),
    [
        (kinds.DISTRIBUTION_TENANT, kinds.LEGACY_DISTRIBUTION_TENANT),
        (kinds.CONNECTION_GROUP, kinds.LEGACY_CONNECTION_GROUP),
    ],
)
def test_the_scopes_differ_in_envelope_and_references_alone(modern: Kind, legacy: Kind) -> None:
    ours = {path for path, _ in nodes(schema_of(modern))}
    theirs = {path for path, _ in nodes(schema_of(legacy))}
    only_ours = {path for path in ours - theirs if not path.endswith(("Ref.namespace", "Selector.namespace"))}
    only_theirs = {path for path in theirs - ours if not path.startswith(".spec.publishConnectionDetailsTo")}
    assert only_ours - {".spec.forProvider.dns.configRef.kind", ".spec.initProvider.dns.configRef.kind"} == {
        ".spec.providerConfigRef.kind"
    }
    assert only_theirs == {".spec.deletionPolicy", ".spec.writeConnectionSecretToRef.namespace"}

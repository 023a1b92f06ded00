"""What is declared of fields, held against the models and the documentation."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml

from apis import kinds
from apis.kinds import Kind
from apis.references import ROLE
from apis.schema import structural
from edgetenants_runtime.api.model import ApiModel, Kube, Scope
from edgetenants_runtime.paths import at

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "reference-other-providers.md"
MANAGED = (
    kinds.DISTRIBUTION_TENANT,
    kinds.CONNECTION_GROUP,
    kinds.LEGACY_DISTRIBUTION_TENANT,
    kinds.LEGACY_CONNECTION_GROUP,
)


def fields(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}{name}"
        yield from fields(field, f"{path}{name}.")


def block(kind: Kind, name: str) -> set[str]:
    assert kind.spec is not None
    return set(fields(structural(kind.spec, kind.scope)["properties"][name]))


@pytest.mark.parametrize("kind", MANAGED, ids=lambda kind: f"{kind.kind}-{kind.scope.value}")
@pytest.mark.parametrize("name", ["forProvider", "initProvider"])
def test_every_reference_of_the_model_is_declared_and_every_declared_one_is_there(
    kind: Kind, name: str
) -> None:
    there = block(kind, name)
    declared = {path for each in kind.references for path in (each.reference, each.selector)}
    # A ProviderConfig is no managed resource: nothing is taken from it.
    others = {path for path in there if path.endswith((".matchControllerRef", "dns.configRef"))}
    assert {path for path in there if re.search("(Ref|Selector)s?$", path)} - others == declared
    assert {each.field for each in kind.references} <= there
    assert set(kind.late_initialized) <= there


@pytest.mark.parametrize("kind", MANAGED, ids=lambda kind: f"{kind.kind}-{kind.scope.value}")
def test_what_is_taken_is_there_and_of_the_same_scope(kind: Kind) -> None:
    for each in kind.references:
        target = each.target
        assert target.namespaced is (kind.scope is Scope.NAMESPACED)
        if target.provider:
            assert (".m." in target.group) is target.namespaced
            assert target.hint
            continue
        own = next(k for k in MANAGED if (k.group, k.plural) == (target.group, target.plural))
        assert (own.kind, kinds.VERSION) == (target.kind, target.versions[0])
        assert own.status is not None
        status = structural(own.status, own.scope, defaults=False)
        assert target.value.removeprefix("status.") in set(fields(status))


def test_the_role_on_the_page_is_what_is_needed() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    role, binding = next(list(yaml.safe_load_all(b)) for b in blocks if "ClusterRole" in b)
    assert role["metadata"]["name"] == binding["roleRef"]["name"] == ROLE
    given = {
        (group, resource): set(rule["verbs"])
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    targets = [each.target for kind in MANAGED for each in kind.references if each.target.provider]
    assert given == {(target.group, target.plural): {"get", "list"} for target in targets}
    assert all(f"docs/how-to/{PAGE.name}" in target.hint and ROLE in target.hint for target in targets)


def test_the_page_names_every_reference() -> None:
    page = PAGE.read_text()
    for each in kinds.DISTRIBUTION_TENANT.references:
        [line] = [line for line in page.splitlines() if line.startswith(f"| `{each.field}` |")]
        assert each.reference.rpartition(".")[2] in line
        assert each.selector.rpartition(".")[2] in line
        assert each.target.kind in line
        assert (each.target.value or "external name") in line


class Inner(ApiModel):
    """A thing."""

    size: Annotated[int | None, Kube(immutable=True)] = None
    """Its size."""


class Spec(ApiModel):
    """A spec."""

    for_provider: Inner
    """What is asked."""
    init_provider: Annotated[dict[str, Any] | None, Kube(partial_of=Inner)] = None
    """What is asked at first."""


def test_an_immutable_field_cannot_be_changed_except_where_it_is_of_no_effect() -> None:
    schema = structural(Spec, Scope.NAMESPACED)
    [rule] = at(schema, "properties.forProvider.properties.size.x-kubernetes-validations")
    assert rule["rule"] == "self == oldSelf"
    assert "field is immutable" in rule["message"]
    assert "x-kubernetes-validations" not in at(schema, "properties.initProvider.properties.size")
    assert Spec.model_validate({"forProvider": {"size": 3}}).for_provider.size == 3

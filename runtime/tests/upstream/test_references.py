"""crossplane-runtime's cases of its reference resolvers, under its names: TestResolve and TestResolveMultiple
(here with a cluster-scoped kind), TestNamespacedResolve and TestNamespacedResolveMultiple.

A row has what is asked and what there is, and the values and references that upstream resolves, or its error.
None for the values: nothing changes. Where this runtime differs on purpose, the row has words of
docs/contract.md, which gives the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from edgetenants_runtime import ExternalError, NotYet
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.references import ReferenceField, ReferenceTarget
from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.rules import references
from edgetenants_runtime.testing import TOYS, World, toy

CONTRACT = Path(__file__).parents[3] / "docs" / "contract.md"
BOOM = KubeError(Operation("get", TOYS), 400, "boom")
OWNER = {"kind": "Shelf", "name": "s", "uid": "very-unique", "controller": True}
ALWAYS, OPTIONAL = {"policy": {"resolve": "Always"}}, {"policy": {"resolution": "Optional"}}
MATCH = {"matchControllerRef": True}
WAITED_FOR = "An object without a value is waited for without a Warning"
LEFT = "An optional reference that finds nothing leaves the field as it is"


def there(
    name: str, value: str | None = None, *, owned: bool = True, namespace: str = "shop"
) -> dict[str, Any]:
    """An object with an external name, of the controller of the resource that refers."""
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "namespace": namespace}
    metadata["annotations"] = {names.EXTERNAL_NAME: value} if value else {}
    return {"metadata": metadata | ({"ownerReferences": [OWNER]} if owned else {})}


STRANGER = there("a-stranger", "strange", owned=False)
COOL, COOLER = there("coolv", "coolv"), there("cooler", "cooler")


@dataclass(frozen=True)
class Row:
    """One case. Of a field with one value, the first of each list counts."""

    name: str
    refs: Sequence[Mapping[str, Any]] = ()
    selector: Mapping[str, Any] | None = None
    current: Sequence[str] = ()
    objects: Sequence[dict[str, Any]] = ()
    values: Sequence[str] | None = None
    """What is resolved."""
    found: Sequence[str] = ()
    """Names of the references that are written down; none where they were given."""
    error: type[Exception] | None = None
    refused: bool = False
    """The API server refuses to read."""
    deleted: bool = False
    because: str = ""
    namespaced: bool = False
    """Upstream has the case for namespaced kinds alone."""


REF = {"name": "cool"}
SINGLE = [
    Row("FromDeleted", [REF], objects=[there("cool", "coolv")], deleted=True),
    Row("AlreadyResolved", [REF], current=["coolv"], objects=[there("cool", "other")]),
    Row(
        "AlwaysResolveReference",
        [REF | ALWAYS],
        current=["oldValue"],
        objects=[there("cool", "coolv")],
        values=["coolv"],
    ),
    Row("Unresolvable"),
    Row("GetError", [REF], refused=True, error=KubeError),
    Row("ResolvedNoValue", [REF], objects=[there("cool")], error=NotYet, because=WAITED_FOR),
    Row("SuccessfulResolve", [REF], objects=[there("cool", "coolv")], values=["coolv"]),
    Row("SuccessfulResolveNamespaced", [REF], objects=[there("cool", "coolv")], values=["coolv"]),
    Row(
        "SuccessfulResolveInferredNamespace",
        [REF],
        objects=[there("cool", "coolv"), there("cool", "far", namespace="cool-ns")],
        values=["coolv"],
        namespaced=True,
    ),
    Row(
        "SuccessfulResolveCrossNamespace",
        [REF | {"namespace": "cool-ns"}],
        objects=[there("cool", "near"), there("cool", "coolv", namespace="cool-ns")],
        values=["coolv"],
        namespaced=True,
    ),
    Row("OptionalReference", [REF | OPTIONAL], objects=[there("cool")], because=LEFT),
    Row("ListError", selector={}, refused=True, error=KubeError),
    Row("NoMatches", selector={}, error=ExternalError),
    Row("OptionalSelector", selector=OPTIONAL, because=LEFT),
    Row("SuccessfulSelect", selector=MATCH, objects=[STRANGER, COOL], values=["coolv"], found=["coolv"]),
    Row(
        "SuccessfulSelectNamespaced",
        selector=MATCH,
        objects=[STRANGER, COOL],
        values=["coolv"],
        found=["coolv"],
    ),
    Row(
        "AlwaysResolveSelector",
        selector=MATCH | ALWAYS,
        current=["oldValue"],
        objects=[STRANGER, COOL],
        values=["coolv"],
        found=["coolv"],
    ),
    Row("BothReferenceSelector", [REF], MATCH, objects=[there("cool", "coolv"), COOLER], values=["coolv"]),
]

VALUES = [f"test-value-{n}" for n in range(5)]
NUMBERED = [there(f"test-{n}", value) for n, value in enumerate(VALUES)]
REFS = [{"name": f"test-{n}"} for n in range(5)]
SEVERAL = [
    *SINGLE,
    Row(
        "SelectorOrderOutput",
        selector=MATCH,
        objects=[STRANGER, COOL, COOLER],
        values=["cooler", "coolv"],
        found=["cooler", "coolv"],
    ),
    Row(
        "NoSelectorOnlyRefs",
        [REFS[2], REFS[3], REFS[0], REFS[1]],
        objects=NUMBERED,
        values=[VALUES[2], VALUES[3], VALUES[0], VALUES[1]],
    ),
    Row(
        "AlwaysResolveSelector_NewValuesOrdered",
        [REFS[1], REFS[4]],
        MATCH | ALWAYS,
        current=[VALUES[1], VALUES[4]],
        objects=[STRANGER, NUMBERED[2], NUMBERED[4], NUMBERED[1]],
        values=[VALUES[1], VALUES[2], VALUES[4]],
        found=["test-1", "test-2", "test-4"],
    ),
]
MUST_MATCH = {
    "NilSelector": (None, False),
    "NilMatchControllerRef": ({}, False),
    "False": ({"matchControllerRef": False}, False),
    "True": (MATCH, True),
}


class Lookup:
    """What there is; upstream's mock client."""

    def __init__(self, row: Row, *, namespaced: bool) -> None:
        self.objects = [self._scoped(obj, namespaced=namespaced) for obj in row.objects]
        self.refused = row.refused

    def _scoped(self, obj: dict[str, Any], *, namespaced: bool) -> Managed:
        metadata = (
            obj["metadata"] if namespaced else {k: v for k, v in obj["metadata"].items() if k != "namespace"}
        )
        return Managed(obj | {"metadata": metadata})

    def get(self, target: ReferenceTarget, key: ObjectKey) -> Managed | None:
        self._answer()
        return next((each for each in self.objects if each.key == key), None)

    def select(self, target: ReferenceTarget, namespace: str, labels: Mapping[str, str]) -> list[Managed]:
        self._answer()
        return [each for each in self.objects if each.namespace == namespace]

    def _answer(self) -> None:
        if self.refused:
            raise BOOM


def resolved(row: Row, *, many: bool, namespaced: bool) -> dict[str, Any]:
    """The block forProvider of the patch."""
    target = ReferenceTarget("toys.example.org", ("v1",), "Box", "boxes", namespaced=namespaced)
    asked = ReferenceField("values" if many else "value", target, many=many)
    block: dict[str, Any] = {}
    if row.current:
        block[asked.field] = [*row.current] if many else row.current[0]
    if row.refs:
        block[asked.reference] = [*row.refs] if many else row.refs[0]
    if row.selector is not None:
        block[asked.selector] = row.selector
    mr = toy(cluster=not namespaced, deleted=row.deleted, forProvider=block)
    mr["metadata"]["ownerReferences"] = [OWNER]
    if row.deleted:
        # The reconciler does not ask at all.
        return of_a_deleted(mr, replace(TOYS, references=(asked,)))
    patch = references.resolve(Managed(mr), [asked], Lookup(row, namespaced=namespaced)).patch
    return dict(patch.get("forProvider") or {})


def of_a_deleted(mr: dict[str, Any], kind: Any) -> dict[str, Any]:
    world = World(mr, kind)
    world.external.toys = {"acme": 0}
    world.reconcile()
    assert world.mr is None or world.mr.spec == mr["spec"]
    return {}


def check(row: Row, *, many: bool, namespaced: bool) -> None:
    if row.error is not None:
        with pytest.raises(row.error):
            resolved(row, many=many, namespaced=namespaced)
        return
    patch = resolved(row, many=many, namespaced=namespaced)
    value, reference = ("values", "valueRefs") if many else ("value", "valueRef")
    expected: dict[str, Any] = {}
    if row.values is not None:
        expected[value] = [*row.values] if many else row.values[0]
    if row.found:
        refs = [{"name": name} for name in row.found]
        expected[reference] = refs if many else refs[0]
    assert patch == expected


def rows(table: list[Row], *, namespaced: bool) -> list[Row]:
    return [row for row in table if namespaced or not row.namespaced]


def name(row: Row) -> str:
    return row.name


@pytest.mark.parametrize("row", rows(SINGLE, namespaced=False), ids=name)
def test_resolve(row: Row) -> None:
    check(row, many=False, namespaced=False)


@pytest.mark.parametrize("row", rows(SEVERAL, namespaced=False), ids=name)
def test_resolve_multiple(row: Row) -> None:
    check(row, many=True, namespaced=False)


@pytest.mark.parametrize("row", SINGLE, ids=name)
def test_namespaced_resolve(row: Row) -> None:
    check(row, many=False, namespaced=True)


@pytest.mark.parametrize("row", SEVERAL, ids=name)
def test_namespaced_resolve_multiple(row: Row) -> None:
    check(row, many=True, namespaced=True)


@pytest.mark.parametrize("case", MUST_MATCH)
def test_controllers_must_match(case: str) -> None:
    """Seen from outside: a selector that must match takes no stranger."""
    selector, matches = MUST_MATCH[case]
    row = Row(case, selector=selector, objects=[STRANGER, COOL])
    patch = resolved(row, many=False, namespaced=True)
    assert patch.get("value") == (None if selector is None else "coolv" if matches else "strange")


@pytest.mark.parametrize("why", sorted({row.because for row in SEVERAL} - {""}))
def test_each_difference_has_its_reason(why: str) -> None:
    if not CONTRACT.exists():
        pytest.skip("the runtime stands alone")
    assert why in CONTRACT.read_text()


FILES = {
    "reference_test.go": ("TestResolve", "TestResolveMultiple", "TestControllersMustMatch"),
    "namespaced_reference_test.go": (
        "TestNamespacedResolve",
        "TestNamespacedResolveMultiple",
        "TestNamespacedControllersMustMatch",
    ),
}


@pytest.mark.parametrize("file", FILES)
def test_no_case_is_missing(upstream: Callable[[str, str], set[str]], file: str) -> None:
    one, several, match = (upstream(f"pkg/reference/{file}", test) for test in FILES[file])
    namespaced = file.startswith("namespaced")
    assert one == {row.name for row in rows(SINGLE, namespaced=namespaced)}
    assert several == {row.name for row in rows(SEVERAL, namespaced=namespaced)}
    assert match == {*MUST_MATCH}

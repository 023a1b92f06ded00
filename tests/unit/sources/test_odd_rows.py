"""Rows that are odd stop no other row, and never count as gone."""

from __future__ import annotations

import json

import pytest

from apis.tenantsource import parse
from sources import rows as reading
from sources.rows import read_table
from sources.stores.store import Row, StoreError, StoreReason
from sources.template import compile_template
from tests.unit.sources.tables import SPEC, Scene, row

HUGE = 10**400


def table(*rows: Row, **spec: str):
    parsed = parse({**SPEC, **spec})
    return read_table(iter(rows), compile_template(parsed.template), parsed.key, parsed.order)


def test_numbers_of_any_length_have_an_order() -> None:
    found = table(row("a", n=HUGE), row("b", n=1.5), row("c", n=-HUGE), row("d", n=2), order="n")
    by_order = sorted(found.desired.values(), key=lambda each: each.order)
    assert [each.key for each in by_order] == ["c", "b", "d", "a"]
    assert not found.problems


def test_a_key_with_more_digits_than_python_writes_is_none() -> None:
    found = table(row(10**5000, "x.example.com"), row(HUGE, "y.example.com"), row("a"))
    assert (found.keyless, sorted(found.desired)) == (1, [str(HUGE), "a"])


def test_a_value_without_an_exact_form_keeps_its_object_and_stops_no_other() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = [
        Row({"id": "a"}, unfit={"domain": "a finite number"}),
        row("b", "new.example.com"),
        Row({"id": "c", "domain": "c.example.com"}, unfit={"unused": "a finite number"}),
    ]
    for _ in range(5):
        scene.look()
    assert sorted(scene.claims) == ["a", "b", "c"]
    assert scene.claims["b"]["spec"]["domains"] == ["new.example.com"]
    assert scene.status["problems"] == [
        {
            "key": "a",
            "field": "spec.domains[0]",
            "expected": "a finite number, in the column domain",
        }
    ]


def test_a_row_without_a_key_is_listed_by_its_place_and_no_row_counts_as_gone() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = [row("a"), Row({}, place="line 3"), Row({}, unfit={"id": "a finite number"})]
    for _ in range(5):
        scene.look()
    assert sorted(scene.claims) == ["a", "b"]
    assert [(each["key"], each["field"]) for each in scene.status["problems"]] == [
        ("(line 3)", "the column id"),
        ("(a row)", "the column id"),
    ]
    assert scene.status["problems"][1]["expected"] == "a finite number, as the row's key"
    assert "(line 3)" in scene.message("Degraded")


def test_rows_without_a_key_are_listed_within_bounds() -> None:
    found = table(*(Row({}, place=f"line {n}") for n in range(50)))
    assert (found.keyless, len(found.nameless)) == (50, 20)


@pytest.mark.parametrize("valid", [True, False])
def test_a_table_has_a_bound_of_bytes(monkeypatch: pytest.MonkeyPatch, *, valid: bool) -> None:
    rows = [row(key, None if valid else "no domain") for key in "abc"]
    spec = len(json.dumps({"domains": ["a.example.com"]})) + 64 if valid else 0
    monkeypatch.setattr(reading, "LARGEST", 2 * (64 + len("a") + spec))
    table(*rows[:2])
    with pytest.raises(StoreError) as refused:
        table(*rows)
    assert refused.value.reason is StoreReason.INVALID_DATA

"""Tables in text are read strictly."""

from __future__ import annotations

import json
import time
from decimal import Decimal

import pytest

from sources.stores import config_map, values
from sources.stores.config_map import TextStore
from sources.stores.store import StoreError, StoreReason
from sources.stores.values import row_of

CANARY = "canary-of-a-row"


def rows(text, form):
    with TextStore(text, form).read() as reading:
        return [dict(row.columns) for row in reading]


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("csv", "key,domain\na,ä.example\n", [{"key": "a", "domain": "ä.example"}]),
        ("csv", '\ufeffkey,n\r\na,\r\n\r\n"b","1\r\n2"\r\n',
         [{"key": "a", "n": None}, {"key": "b", "n": "1\n2"}]),
        ("csv", "key\n", []),
        ("jsonl", '{"key": "a\u2028", "n": 1}\r\n\n{"key": "b", "n": [1.5, {"x": null}]}',
         [{"key": "a\u2028", "n": 1}, {"key": "b", "n": [1.5, {"x": None}]}]),
        ("jsonl", "", []),
        ("yaml", ("- {key: a, no: no, date: 2026-01-02, n: 012, t: true, f: 1.5, e: }\n"
         "- key: '1'\n  n: 0x10"),
         [{"key": "a", "no": "no", "date": "2026-01-02", "n": 12, "t": True, "f": 1.5, "e": None},
          {"key": "1", "n": "0x10"}]),
        ("yaml", "[]", []),
    ],
)  # fmt: skip
def test_a_table(form, text, expected):
    assert rows(text, form) == expected


@pytest.mark.parametrize(
    ("form", "text", "place"),
    [
        ("csv", "", "line 1"),
        ("csv", f"key,key\n{CANARY},a\n", "line 1, column 2"),
        ("csv", f"key, b\n{CANARY},a\n", "line 1, column 2"),
        ("csv", f"key,\n{CANARY},a\n", "line 1, column 2"),
        ("csv", f'key\n"{CANARY}\n', "line"),
        ("csv", f"key\n{CANARY}\ufeff\n", f"line 2, column {len(CANARY) + 1}"),
        ("csv", f"key\n{CANARY}\rb\n", "line 2"),
        ("csv", f"key\n{CANARY}\0\n", "line 2"),
        ("jsonl", f'{{"a": 1}}\n{{"a": "{CANARY}"', "line 2, column"),
        ("jsonl", '{"a": ' + "[" * 100_000, "line 1"),
        ("yaml", f"- a: &x {CANARY}\n- b: *x", "line 2, column 6"),
        ("yaml", f"- key: {CANARY}\n- [", "line 3, column 1: expected YAML"),
        ("yaml", f"key: {CANARY}", "line 1"),
        ("yaml", "- a: " + "[" * 5000, "nested more than 64 deep"),
        ("yaml", "- a: 1\n---\n- a: 2", "line 2"),
        ("yaml", "", "line 1"),
    ],
)
def test_what_is_unclear_is_refused_with_its_place(form, text, place):
    with pytest.raises(StoreError) as caught:
        rows(text, form)
    assert caught.value.reason == StoreReason.INVALID_DATA
    assert place in str(caught.value)
    assert CANARY not in f"{caught.value} {caught.value.__cause__}"


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), Decimal("NaN")])
def test_a_number_of_a_database_that_is_not_finite_concerns_its_own_row_only(value):
    found = row_of([("key", "a"), ("n", value)], "row 1")
    assert (found.columns, found.unfit) == ({"key": "a"}, {"n": "a finite number"})


@pytest.mark.parametrize("form", ["jsonl", "yaml"])
def test_a_number_keeps_its_value(form):
    written = "[0.1, -2.50, 1e3, 1.0, 9007199254740993.0, 0.10000000000000001, 2.2999999999999998]"
    texts = {"jsonl": f'{{"n": {written}}}', "yaml": f"- n: {written}"}
    with TextStore(texts[form], form).read() as reading:
        [found] = reading
    assert found.columns == {"n": [0.1, -2.5, 1000, 1, 9007199254740993, 0.1, 2.3]}


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        ("jsonl", "NaN", "a finite number"),
        ("jsonl", "1e999", "a number with fewer digits, or the number as text"),
        ("jsonl", "0.1234567890123456789", "a number with fewer digits, or the number as text"),
        ("jsonl", "2.2999999999999997", "a number with fewer digits, or the number as text"),
        ("jsonl", "9007199254740993.5", "a number with fewer digits, or the number as text"),
        ("jsonl", "1e99999999999999999999", "a number with fewer digits, or the number as text"),
        ("jsonl", "9" * 5000, "a number with fewer digits, or the number as text"),
        ("jsonl", "[" * 20 + "]" * 20, "lists and objects that are nested at most 16 deep"),
        (
            "jsonl",
            "[" * 50_000 + '"]\\""' + "]" * 50_000,
            "lists and objects that are nested at most 16 deep",
        ),
        ("jsonl", '{"x": 1, "x": 2}', "names that are not repeated"),
        ("jsonl", '"\\ud83d"', "text of whole Unicode characters"),
        ("yaml", ".nan", "a finite number"),
        ("yaml", "0.1234567890123456789", "a number with fewer digits, or the number as text"),
        ("yaml", "1e99999999999999999999", "a number with fewer digits, or the number as text"),
        ("yaml", "9" * 5000, "a number with fewer digits, or the number as text"),
        ("yaml", "[" * 20 + "]" * 20, "lists and objects that are nested at most 16 deep"),
        ("yaml", "{1: x}", "names that are text"),
        ("yaml", "!!python/name:os.system x", "a value without a tag"),
        ("yaml", "!secret [x]", "a value without a tag"),
    ],
)
def test_a_value_without_an_exact_form_concerns_its_own_row_only(form, value, expected):
    texts = {
        "jsonl": f'{{"key": "a", "n": 1}}\n{{"key": "b", "n": {value}, "m": 2}}\n{{"key": "c"}}',
        "yaml": f"- {{key: a, n: 1}}\n- key: b\n  n: {value}\n  m: 2\n- {{key: c}}",
    }
    with TextStore(texts[form], form).read() as reading:
        first, bad, last = reading
    assert (first.columns, last.columns) == ({"key": "a", "n": 1}, {"key": "c"})
    assert (bad.columns, bad.unfit) == ({"key": "b", "m": 2}, {"n": expected})


@pytest.mark.parametrize(
    ("form", "text", "place"),
    [
        ("csv", f"key,b\na,b\n{CANARY}\nc,d", "line 3"),
        ("csv", f"key,b\na,b\n{CANARY},b,c\nc,d", "line 3"),
        ("jsonl", f'{{"key": "a"}}\n["{CANARY}"]\n{{"key": "c"}}', "line 2"),
        (
            "jsonl",
            f'{{"key": "a"}}\n{json.dumps({f"c{n}": 1 for n in range(201)})}\n{{"key": "c"}}',
            "line 2",
        ),
        ("yaml", f"- key: a\n- {CANARY}\n- key: c", "line 2, column 3"),
        ("yaml", f"- key: a\n- {{1: {CANARY}, key: b}}\n- key: c", "line 2, column 3"),
    ],
)
def test_a_row_that_is_damaged_is_a_row_without_a_key(form, text, place):
    with TextStore(text, form).read() as reading:
        first, bad, last = reading
    assert (first.columns["key"], last.columns["key"]) == ("a", "c")
    assert (bad.columns, bad.place) == ({}, place)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("jsonl", '{"key": "a", "n": 1, "n": 2}'),
        ("yaml", "- key: a\n  n: 1\n  n: 2"),
        ("yaml", "[{n: 1, n: 1, key: a}]"),
    ],
)
def test_a_repeated_name_makes_its_column_unfit(form, text):
    with TextStore(text, form).read() as reading:
        (row,) = reading
    assert (row.columns, row.unfit) == ({"key": "a"}, {"n": "names that are not repeated"})


@pytest.mark.parametrize("text", ["[" * 20_000, "- ? " * 5_000, "- " * 20_000, "- [" + "{a: " * 5_000])
def test_yaml_that_is_nested_deep_costs_no_time(text):
    begin = time.process_time()
    with pytest.raises(StoreError):
        rows(text, "yaml")
    assert time.process_time() - begin < 0.5


@pytest.mark.parametrize("before", ["", "# a\n", "# a\u2028", "# a\x85", "- {id: a}\n...\n"])
def test_yaml_with_directives_is_refused_before_it_is_parsed(monkeypatch, before):
    monkeypatch.delattr(config_map.yaml, "parse")
    tags = "".join(f"%TAG !a{n}! b\n" for n in range(1000))
    with pytest.raises(StoreError) as refused:
        rows(f"{before}{tags}---\n- {{id: a}}\n", "yaml")
    line = len(before.splitlines()) + 1
    assert refused.value.message.startswith(f"line {line}, column 1: expected no line that begins with %")


def test_yaml_may_have_the_sign_of_directives_within_lines():
    assert rows("- id: 5%\n  text: |\n    %a\n", "yaml") == [{"id": "5%", "text": "%a\n"}]


@pytest.mark.parametrize("end", ["", "\\"])
def test_deep_json_with_a_string_that_does_not_end_costs_no_time(end):
    begin = time.process_time()
    with pytest.raises(ValueError):
        values.parsed("[" * 200_000 + '"' + '\\"' * 50_000 + end)
    assert time.process_time() - begin < 2


def test_bounds(monkeypatch):
    for form, text in (("csv", ",".join(f"c{n}" for n in range(201))), ("csv", "x" * (2**20 + 1))):
        with pytest.raises(StoreError):
            rows(text, form)
    monkeypatch.setattr(config_map, "MAX_ROWS", 1)
    assert len(rows("a\n1\n", "csv")) == 1
    with pytest.raises(StoreError):
        rows("a\n1\n2\n", "csv")


def test_an_unknown_form_is_configuration():
    with pytest.raises(StoreError) as caught:
        rows("", "toml")
    assert caught.value.reason == StoreReason.INVALID_CONFIGURATION

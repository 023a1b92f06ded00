"""Tables in text are read strictly."""

from __future__ import annotations

import pytest

from sources.stores import config_map
from sources.stores.config_map import TextStore
from sources.stores.store import StoreError, StoreReason

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
        ("csv", f"key,b\na,b\n{CANARY}\n", "line 3"),
        ("csv", f"key,b\na,b,{CANARY}\n", "line 2"),
        ("csv", f'key\n"{CANARY}\n', "line"),
        ("csv", f"key\n{CANARY}\ufeff\n", f"line 2, column {len(CANARY) + 1}"),
        ("csv", f"key\n{CANARY}\rb\n", "line 2"),
        ("csv", f"key\n{CANARY}\0\n", "line 2"),
        ("jsonl", f'{{"a": 1}}\n{{"a": "{CANARY}"', "line 2, column"),
        ("jsonl", f'{{"{CANARY}": 1, "{CANARY}": 2}}', "line 1"),
        ("jsonl", f'{{"{CANARY}": NaN}}', "line 1"),
        ("jsonl", f'{{"{CANARY}": 1e999}}', "line 1"),
        ("jsonl", f'{{"{CANARY}": {"9" * 5000}}}', "line 1"),
        ("jsonl", f'["{CANARY}"]', "line 1"),
        ("jsonl", '{"a": ' + "[" * 100_000, "line 1"),
        ("jsonl", '{"a": ' + "[" * 20 + "]" * 20 + "}", "line 1"),
        ("yaml", f"- key: {CANARY}\n  key: b", "line 2, column 3"),
        ("yaml", f"- a: &x {CANARY}\n- b: *x", "line 2, column 6"),
        ("yaml", f"- key: {CANARY}\n- [", "line 2"),
        ("yaml", f"key: {CANARY}", "line 1"),
        ("yaml", f"- {CANARY}", "line 1, column 3"),
        ("yaml", f"- {{1: {CANARY}}}", "line 1, column 4"),
        ("yaml", "- a: .nan", "line 1, column 6"),
        ("yaml", f"- a: !!python/name:os.system {CANARY}", "line 1"),
        ("yaml", "- a: !secret x", "line 1"),
        ("yaml", "- a: " + "[" * 20 + "]" * 20, "line 1"),
        ("yaml", "- a: " + "[" * 5000, "expected YAML"),
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

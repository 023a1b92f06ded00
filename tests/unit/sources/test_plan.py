"""The plan on its own: what it compares."""

from __future__ import annotations

from sources.plan import contains


def test_an_object_may_have_more_than_its_row_asks_for() -> None:
    stored = {"a": 1, "list": [{"x": 1, "y": 2}], "more": True}
    assert contains(stored, {"a": 1, "list": [{"x": 1}]})
    for wanted in ({"a": 2}, {"b": 1}, {"list": [{"x": 1}, {}]}, {"list": "x"}, {"a": {"b": 1}}):
        assert not contains(stored, wanted)

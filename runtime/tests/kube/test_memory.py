"""How much memory a value takes, and what is left of one that takes too much."""

import json
from typing import Any

import pytest

from edgetenants_runtime.kube.memory import memory, within

EMOJI = "\N{GRINNING FACE}"


def parsed(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_a_value_within_the_bound_stays_the_same() -> None:
    value = parsed({"id": "E1", "log": ["x" * 100]})
    assert within(value, 2_000) is value


def test_one_wide_character_makes_all_of_its_text_wide() -> None:
    assert memory(parsed("x" * 1_000)) < 1_100
    assert memory(parsed("x" * 999 + EMOJI)) > 4_000


def test_names_of_fields_count_once_and_values_each_time() -> None:
    one, many = parsed([{"a" * 100: "x" * 50}]), parsed([{"a" * 100: "x" * 50}] * 10)
    assert memory(many) - memory(one) > 9 * 90
    assert memory(many) < 10 * memory(one) - 9 * 140


def test_what_is_large_is_emptied_first_and_only_as_much_as_needed() -> None:
    at = {"arn": "arn", "log": ["x" * 9_000]}
    value = parsed({"id": "E1", "small": ["x" * 50], "at": at, "large": "x" * 5_000})
    assert within(value, 8_000) == {**value, "at": {"arn": "arn", "log": []}}
    assert within(value, 3_000) == {**value, "at": {"arn": "arn", "log": []}, "large": ""}


def test_the_value_itself_is_not_changed_and_what_is_left_stays() -> None:
    value = parsed({"at": {"log": ["x" * 9_000], "other": ["x" * 8_000]}})
    before = json.dumps(value)
    left = within(value, 9_000)
    assert json.dumps(value) == before
    assert within(left, 9_000) is left


@pytest.mark.parametrize("many", [False, True], ids=["deep", "wide"])
def test_a_map_that_is_deep_or_has_many_members_is_emptied_as_a_whole(many: bool) -> None:
    text = '{"a":' * 900 + "1" + "}" * 900
    value = {"id": "E1", "map": dict.fromkeys(map(str, range(2_000)), "") if many else json.loads(text)}
    left = within(value, 10_000)
    assert left["id"] == "E1"
    assert memory(left) < 10_000

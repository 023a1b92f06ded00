"""JSON of the API server that is nested deeper than Python's parser reads."""

import json
import sys
from typing import Any

import pytest

from edgetenants_runtime.decoding import MOST_LEVELS, decode

LEVELS = 9_990


def deep(levels: int = LEVELS, *, opening: str = '{"f:a":', closing: str = "}") -> str:
    return opening * levels + "{}" + closing * levels


@pytest.mark.parametrize(("opening", "closing"), [('{"f:a":', "}"), ("[", "]"), ('{"a":[', "]}")])
def test_what_is_too_deep_is_null_and_the_rest_is_there(opening: str, closing: str) -> None:
    fields = deep(opening=opening, closing=closing)
    text = f'{{"items": [{{"spec": {fields}, "name": "a"}}, {{"name": "b"}}]}}'
    with pytest.raises(RecursionError):
        json.loads(text)
    first, second = decode(text.encode())["items"]
    assert (first["name"], second) == ("a", {"name": "b"})
    assert depth_of(first) <= MOST_LEVELS


@pytest.mark.parametrize("levels", [1, 400, LEVELS])
@pytest.mark.parametrize(
    "text", ["%s", '{"items": [1, %s], "metadata": {}}', '{"type": "ADDED", "object": %s}']
)
def test_managed_fields_are_not_decoded(text: str, levels: int) -> None:
    metadata = f'{{"metadata": {{"managedFields": {deep(levels)}, "name": "a"}}}}'
    assert decode((text % metadata).encode()) == json.loads(text % '{"metadata": {"name": "a"}}')


@pytest.mark.parametrize(
    "text", ["[1]", "1", "null", '{"items": null, "object": 1, "metadata": []}', '{"items": 5}']
)
def test_what_is_no_object_is_decoded(text: str) -> None:
    assert decode(text.encode()) == json.loads(text)


def depth_of(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        inner = [each.values() if isinstance(each, dict) else each for each in level]
        level = [each for values in inner for each in values if isinstance(each, (dict, list))]
    return depth


def test_braces_in_texts_do_not_count() -> None:
    texts = {"a": "{[" * LEVELS, 'b"}': '\\"}]', "c": "ä\\"}
    found = decode(f'{{"deep": {deep()}, "texts": {json.dumps(texts)}}}'.encode())
    assert found["texts"] == texts


def test_each_of_several_is_cut() -> None:
    found = decode(f"[{deep()}, 1, {deep()}, [2]]".encode())
    assert found[1::2] == [1, [2]]
    assert all(depth_of(each) < MOST_LEVELS for each in found[::2])


def test_what_the_parser_reads_is_decoded_as_it_is() -> None:
    levels = sys.getrecursionlimit() // 3
    assert levels > MOST_LEVELS
    assert depth_of(decode(deep(levels).encode())) == levels + 1


@pytest.mark.parametrize(
    "text", ["{", '{"a": }', "[" * LEVELS, '{"a":' * LEVELS + "1" + "}" * 5, "}" * LEVELS, '"']
)
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 1_500 + b'\\"' * 1_000_000,
        b"[" * 1_500 + b'\\"' * 1_000_000 + b"\\",
        b"[" * 1_500 + b'"' * 1_000_001,
        b"[" * 1_500 + b"\\" * 2_000_001,
        b"[" * 1_500 + b'"\\' * 1_000_000,
    ],
    ids=["no end", "half an escape", "quotes", "backslashes", "escaped quotes"],
)
def test_what_is_not_json_takes_no_longer(text: bytes) -> None:
    """It would take hours if each string that does not end were followed to the end of the text."""
    with pytest.raises(ValueError, match=r"."):
        decode(text)

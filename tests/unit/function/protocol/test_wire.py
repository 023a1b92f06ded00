"""JSON in protobuf's wire format: what protobuf's own library writes, it writes as well."""

import enum
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from hypothesis import example, given
from hypothesis import strategies as st

from function.protocol import wire

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def by_protobuf(json: dict[str, Any]) -> Struct:
    struct = Struct()
    struct.update(json)
    return struct


@given(st.dictionaries(TEXTS, VALUES, max_size=5))
@example({"": "", "a": [], "b": {}, "c": [[]], "d": False, "e": 0, "f": -0.0, "g": None})
def test_it_is_what_protobuf_makes_of_it(json: dict[str, Any]) -> None:
    assert Struct.FromString(wire.struct(json)) == by_protobuf(json)


@pytest.mark.parametrize(
    "length", [0, 1, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 16383, 16384, 2**21]
)
def test_texts_of_any_length(length: int) -> None:
    text = "x" * length
    json = {"key": text, text: "value", "list": [text], "object": {"key": text}}
    assert Struct.FromString(wire.struct(json)) == by_protobuf(json)


@pytest.mark.parametrize("length", [1, 100, 127, 128, 16384])
def test_an_object_in_a_field(length: int) -> None:
    inner = {"text": "x" * length}
    joined = wire.struct({"a": 1}) + wire.field("inner", wire.struct(inner)) + wire.struct({"b": 2})
    assert Struct.FromString(joined) == by_protobuf({"a": 1, "inner": inner, "b": 2})


def test_of_two_fields_of_one_name_the_last_counts() -> None:
    joined = wire.field("a", wire.struct({"old": 1})) + wire.field("a", wire.struct({"new": 2}))
    assert Struct.FromString(joined) == by_protobuf({"a": {"new": 2}})


def test_members_of_enums_are_their_texts() -> None:
    class Word(enum.StrEnum):
        ONE = "one"

    assert wire.struct({"a": Word.ONE, "b": ("x",)}) == wire.struct({"a": "one", "b": ["x"]})


def test_what_json_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a JSON value, got bytes"):
        wire.struct({"a": [b"x"]})
    with pytest.raises(UnicodeEncodeError):
        wire.struct({"a": "\ud800"})

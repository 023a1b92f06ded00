"""The base of the API types: closed, camelCase outside, and as strict in Python as on the API server."""

from typing import Annotated, ClassVar

import pytest
from pydantic import Field, ValidationError

from edgetenants_runtime.api.model import NOT_TEXT, ApiModel, Bool, Kube, Rule


class Item(ApiModel):
    item_name: str
    size: Annotated[int, Field(ge=1, le=9), NOT_TEXT] = 1


class Parent(ApiModel):
    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule("self.itIsOn", "expected it on", lambda p: p.it_is_on, field=".itIsOn"),
    )
    it_is_on: Bool = True


class Thing(Parent):
    names: Annotated[tuple[str, ...] | None, Kube(list_type="set")] = None
    items: Annotated[tuple[Item, ...], Kube(list_type="map", keys=("itemName",))] = ()
    word: Annotated[str | None, Kube(rules=(Rule("self != 'x'", "expected no x", lambda w: w != "x"),))] = (
        None
    )
    cel_rules: ClassVar[tuple[Rule, ...]] = (
        Rule("has(self.names)", "expected names", lambda t: t.names is not None),
        Rule("oldSelf.word == self.word", "expected no change"),
    )


GOOD = {"names": ["a"]}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({**GOOD, "unknown": 1}, "Extra inputs are not permitted"),
        ({**GOOD, "names": ["a", "b", "a"]}, "expected no duplicates (a appears twice)"),
        ({**GOOD, "items": [{"itemName": "a"}, {"itemName": "a", "size": 2}]}, "expected no duplicates"),
        ({**GOOD, "word": "x"}, "expected no x"),
        ({}, "expected names"),
        ({**GOOD, "itIsOn": False}, "expected it on"),
        ({**GOOD, "itIsOn": "true"}, "valid boolean"),
        ({**GOOD, "items": [{"itemName": "a", "size": "5"}]}, "expected a number"),
        ({**GOOD, "items": [{"itemName": "a", "size": True}]}, "expected a number"),
        ({**GOOD, "items": [{"itemName": "a", "size": 10}]}, "less than or equal to 9"),
        ({**GOOD, "items": [{"itemName": "a", "size": 5.5}]}, "fractional part"),
    ],
)
def test_refused(value: object, error: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Thing.model_validate(value)
    assert error in str(caught.value)


def test_json_in_and_out() -> None:
    value = {"itIsOn": True, "names": ["a"], "items": [{"itemName": "b", "size": 5}]}
    thing = Thing.model_validate({**value, "items": [{"itemName": "b", "size": 5.0}]})
    assert thing.items == (Item(item_name="b", size=5),)
    assert thing.to_json() == value


def test_never_changed_once_made() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Thing(names=("a",)).word = "y"  # type: ignore[misc]


def test_rules_of_bases_come_first() -> None:
    assert [rule.message for rule in Thing.all_cel_rules()] == [
        "expected it on",
        "expected names",
        "expected no change",
    ]


def test_the_schema_carries_the_marks() -> None:
    schema = Thing.model_json_schema()
    assert schema["x-kubernetes-validations"][0] == {
        "rule": "self.itIsOn",
        "message": "expected it on",
        "fieldPath": ".itIsOn",
    }
    assert schema["properties"]["names"]["x-kubernetes-list-type"] == "set"
    assert schema["properties"]["items"]["x-kubernetes-list-map-keys"] == ["itemName"]
    assert schema["$defs"]["Item"]["properties"]["size"]["maximum"] == 9


def test_the_docstring_under_a_field_is_its_description() -> None:
    class Documented(ApiModel):
        """One thing."""

        word: str
        """What is said."""

    schema = Documented.model_json_schema()
    assert (schema["description"], schema["properties"]["word"]["description"]) == (
        "One thing.",
        "What is said.",
    )

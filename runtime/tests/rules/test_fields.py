"""Fields with a life of their own: used at the creation only, filled in late, never changed."""

from dataclasses import replace
from typing import Any

import pytest

from edgetenants_runtime.api.conditions import available
from edgetenants_runtime.external import FieldDiff, Observation
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.rules import init_provider, late_init
from edgetenants_runtime.testing import TOYS, World, toy

KEYS = {"ports": ("name",), "look.coats": ("layer", "side")}
LAYERS: dict[str, tuple[Any, Any, Any]] = {
    "only below": ({"a": 1}, {}, {"a": 1}),
    "above wins": ({"a": 1}, {"a": 2}, {"a": 2}),
    "falsehood above wins": ({"a": True}, {"a": False}, {"a": False}),
    "maps key by key": ({"m": {"x": "1", "y": "2"}}, {"m": {"y": "3"}}, {"m": {"x": "1", "y": "3"}}),
    "an empty map above takes nothing away": ({"m": {"x": "1"}}, {"m": {}}, {"m": {"x": "1"}}),
    "sets whole": ({"s": ["a", "b"]}, {"s": ["c"]}, {"s": ["c"]}),
    "an object over a value": ({"m": 1}, {"m": {"x": 1}}, {"m": {"x": 1}}),
    "a choice whole": (
        {"look": {"finish": {"kind": "gloss", "level": 3}, "hue": 1}},
        {"look": {"finish": {"kind": "matt"}}},
        {"look": {"finish": {"kind": "matt"}, "hue": 1}},
    ),
    "keyed lists by key": (
        {"ports": [{"name": "a", "n": 1, "p": 7}, {"name": "b", "n": 2}]},
        {"ports": [{"name": "c", "n": 3}, {"name": "a", "n": 9}]},
        {"ports": [{"name": "c", "n": 3}, {"name": "a", "n": 9, "p": 7}, {"name": "b", "n": 2}]},
    ),
    "keyed lists by several keys, further down": (
        {"look": {"coats": [{"layer": 1, "side": "l", "c": "red"}, {"layer": 1, "side": "r", "c": "red"}]}},
        {"look": {"coats": [{"layer": 1, "side": "r", "c": "blue"}]}},
        {"look": {"coats": [{"layer": 1, "side": "r", "c": "blue"}, {"layer": 1, "side": "l", "c": "red"}]}},
    ),
}


@pytest.mark.parametrize("case", LAYERS)
def test_what_a_creation_is_made_of(case: str) -> None:
    below, above, merged = LAYERS[case]
    mr = Managed(toy() | {"spec": {"forProvider": above, "initProvider": below}})
    assert init_provider.at_creation(mr, keys=KEYS, whole=frozenset({"look.finish"})) == merged


KIND = replace(TOYS, late_initialized=("colour", "look.hue"))
OFFERED = {"colour": "red", "size": 3, "look": {"hue": 7, "coat": "x"}}


@pytest.mark.parametrize(
    ("spec", "filled"),
    [
        ({"forProvider": {}}, {"colour": "red", "look": {"hue": 7}}),
        ({"forProvider": {"colour": "blue"}}, {"look": {"hue": 7}}),
        ({"forProvider": {"look": {"coat": "y"}}}, {"colour": "red", "look": {"hue": 7}}),
        ({"forProvider": {"look": {"hue": 0}}}, {"colour": "red"}),
        ({"forProvider": {}, "initProvider": {"colour": "green"}}, {"look": {"hue": 7}}),
    ],
    ids=["what is listed", "not what is set", "beside what is set", "zero is set", "not what is initial"],
)
def test_late_initialization_fills_in_what_is_listed_and_open(spec: Any, filled: Any) -> None:
    assert late_init.permitted(KIND, Managed(toy() | {"spec": spec}), OFFERED) == filled


@pytest.mark.parametrize(
    ("policies", "filled"),
    [
        (["*"], True),
        (["Observe", "LateInitialize"], True),
        (["Observe", "Create", "Update", "Delete"], False),
        (["Observe"], False),
    ],
)
def test_nothing_is_filled_in_without_the_policy(policies: list[str], filled: bool) -> None:
    world = World(toy(managementPolicies=policies))
    world.external.toys = {"acme": 1}
    world.external.observation = Observation(True, conditions=(available(),), late_initialized=OFFERED)
    world.settle()
    assert world.mr is not None
    assert world.mr.for_provider == {"size": 1} | ({"colour": "red"} if filled else {})
    assert sum(entry.startswith("spec") for entry in world.journal) == filled


def test_an_immutable_field_is_told_of_and_nothing_is_updated() -> None:
    world = World(toy(), replace(TOYS, immutable=("size",)))
    world.external.toys = {"acme": 7}
    diff = (FieldDiff("size", "1", "7"), FieldDiff("colour", "red", "blue"))
    world.external.observation = Observation(True, conditions=(available(),), diff=diff)
    outcome = world.reconcile()
    assert outcome == Outcome(Next.AFTER, 60.0, failed=True)
    assert world.external.toys == {"acme": 7}
    assert not [entry for entry in world.journal if entry.startswith(("external update", "external delete"))]
    conditions = {c["type"]: c for c in world.status()["conditions"]}
    assert conditions["Ready"]["status"] == "True"
    assert conditions["Synced"]["reason"] == "ReconcileError"
    assert "spec.forProvider.size is immutable: expected 7, got 1." in (conditions["Synced"]["message"])


def test_other_fields_of_a_kind_with_an_immutable_one_are_updated() -> None:
    world = World(toy(), replace(TOYS, immutable=("size",)))
    world.external.toys = {"acme": 7}
    world.external.observation = Observation(True, diff=(FieldDiff("colour", "red", "blue"),))
    world.reconcile()
    assert "external update acme" in world.journal

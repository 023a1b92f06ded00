"""What is said of a change that no one has looked at outside."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from edgetenants_runtime import ExternalError, Managed, NotYet, TellsOfWaiting
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.conditions import Condition, ConditionStatus
from edgetenants_runtime.api.references import ReferenceField, ReferenceTarget
from edgetenants_runtime.reconcile.guard import GuardedConnector
from edgetenants_runtime.testing import TOYS, FakeExternal, Journal, World, toy
from edgetenants_runtime.testing.cases import HELD_MR, NAMED, SETTLED_MR, conditions_of

BOX = ReferenceField("boxId", ReferenceTarget("toys.m.example.org", ("v1",), "Box", "boxes", namespaced=True))
KIND = replace(TOYS, references=(BOX,))
NOWHERE = {"size": 1, "boxIdRef": {"name": "nowhere"}}

UNLOOKED: dict[str, dict[str, Any]] = {
    "a reference leads nowhere": {"forProvider": NOWHERE},
    "paused": {"annotations": NAMED | {names.PAUSED: "true"}},
    "policies that are none": {"managementPolicies": ["Delete"]},
    "an annotation that is none": {"annotations": NAMED | {names.POLL_INTERVAL: "often"}},
}


def changed(**changes: Any) -> dict[str, Any]:
    """Settled at generation 1, and changed since."""
    return SETTLED_MR | {"generation": 2} | changes


@pytest.mark.parametrize("why", UNLOOKED.values(), ids=UNLOOKED)
def test_what_was_not_looked_at_is_not_observed(why: dict[str, Any]) -> None:
    """Rule: conditions.looked-at-generation"""
    world = World(toy(**changed(**why)), KIND)
    world.external.toys = {"acme": 1}
    world.reconcile()
    assert world.status()["observedGeneration"] == 1
    synced = [each for each in world.status()["conditions"] if each["type"] == "Synced"]
    assert synced[0]["status"] == "False"
    assert synced[0]["observedGeneration"] == 2, "that is told of the new one"


@pytest.mark.parametrize("method", ["connect", "observe"])
@pytest.mark.parametrize(
    "error", [ExternalError("no"), NotYet("soon", after=3.0), ValueError("bug")], ids=str
)
def test_nor_is_what_could_not_be_reached(method: str, error: Exception) -> None:
    """Rule: conditions.looked-at-generation"""
    world = World(toy(**changed()))
    world.external.toys, world.external.refusing = {"acme": 1}, {method: [error]}
    world.reconcile()
    assert world.status()["observedGeneration"] == 1
    world.reconcile()
    assert world.status()["observedGeneration"] == 2


@pytest.mark.parametrize("method", ["update", "create"])
def test_what_was_looked_at_is_observed_though_it_cannot_be_changed(method: str) -> None:
    """Rule: conditions.looked-at-generation"""
    world = World(toy(**changed(forProvider={"size": 7})))
    world.external.toys = {"acme": 1} if method == "update" else {}
    world.external.refusing = {method: [ExternalError("no", made_nothing=True)]}
    world.reconcile()
    assert conditions_of(world.mr)["Synced"] == "False/ReconcileError"
    assert world.status()["observedGeneration"] == 2


def test_nothing_was_ever_looked_at() -> None:
    """Rule: conditions.looked-at-generation"""
    world = World(toy(**HELD_MR, forProvider=NOWHERE), KIND)
    world.reconcile()
    assert world.status()["observedGeneration"] == 0
    before = len(world.journal)
    world.reconcile()
    assert not [line for line in world.journal[before:] if not line.startswith("event")]


def test_a_spec_that_asks_for_the_pause_is_acted_upon() -> None:
    """Rule: conditions.looked-at-generation"""
    world = World(toy(**changed(managementPolicies=[])))
    world.reconcile()
    assert world.status()["observedGeneration"] == 2


# Conditions of the connector's.


class Telling(FakeExternal):
    """A connector that has a word for it."""

    def waiting(self, mr: Managed, cause: str) -> tuple[Condition, ...]:
        del mr
        return (Condition(type="Fresh", status=ConditionStatus.FALSE, reason="Waits", message=cause),)


class Unseen:
    """Gets the sightings."""

    def up_to_date(self, mr: Managed) -> None:
        pass

    def repaired(self, mr: Managed) -> None:
        pass


def guarded(external: FakeExternal) -> GuardedConnector:
    return GuardedConnector(external, lambda: True, Unseen())


def reconciled(mr: dict[str, Any], **refusing: Exception) -> World:
    external = Telling(Journal())
    external.toys = {"acme": 1}
    external.refusing = {method: [error] for method, error in refusing.items()}
    world = World(toy(**mr), KIND, guarded(external))
    world.reconcile()
    return world


@pytest.mark.parametrize("why", UNLOOKED.values(), ids=UNLOOKED)
def test_a_connector_has_its_say_before_the_look(why: dict[str, Any]) -> None:
    """Rule: conditions.waiting"""
    world = reconciled(changed(**why))
    said = {each["type"]: each for each in world.status()["conditions"]}
    assert (said["Fresh"]["reason"], said["Fresh"]["message"]) == ("Waits", said["Synced"]["message"])


@pytest.mark.parametrize("changes", [{}, {"managementPolicies": []}, {"forProvider": {"size": 7}}], ids=str)
def test_and_none_after_it_or_where_nothing_waits(changes: dict[str, Any]) -> None:
    """Rule: conditions.waiting"""
    world = reconciled(changed(**changes), update=ExternalError("no"))
    assert "Fresh" not in conditions_of(world.mr)


def test_what_is_only_waited_for_is_told_too() -> None:
    """Rule: conditions.waiting"""
    world = reconciled(changed(), observe=NotYet("soon", after=3.0))
    assert conditions_of(world.mr)["Fresh"] == "False/Waits"


def test_what_the_look_says_itself_wins() -> None:
    """Rule: conditions.waiting"""
    fresh = Condition(type="Fresh", status=ConditionStatus.UNKNOWN, reason="Mine")
    world = reconciled(changed(), observe=ExternalError("no", conditions=[fresh]))
    assert conditions_of(world.mr)["Fresh"] == "Unknown/Mine"


def test_a_connector_without_a_word_is_none() -> None:
    """Rule: conditions.waiting"""
    external = FakeExternal(Journal())
    assert not isinstance(external, TellsOfWaiting)
    assert guarded(external).waiting(Managed(toy()), "why") == ()


# The record of a deletion.


class Recording(FakeExternal):
    """A connector that records how a deletion began."""

    def deletion_record(self, mr: Managed) -> dict[str, Any]:
        return {"deletedAs": mr.name}


@pytest.mark.parametrize("why", ["paused", "unreadable", "read"])
def test_a_deletion_is_recorded_with_the_first_report(why: str) -> None:
    annotations = NAMED | ({names.PAUSED: "true"} if why == "paused" else {})
    external = Recording(Journal())
    external.toys = {"acme": 1}
    external.refusing = {"observe": [ExternalError("no")]} if why == "unreadable" else {}
    world = World(toy(**changed(annotations=annotations)), KIND, guarded(external))
    world.delete()
    world.reconcile()
    assert world.status()["deletedAs"] == "acme"


def test_only_deletions_are_recorded_and_only_by_connectors_that_do() -> None:
    external = Recording(Journal())
    external.toys = {"acme": 1}
    world = World(toy(**changed()), KIND, guarded(external))
    world.reconcile()
    assert "deletedAs" not in world.status()
    plain = World(toy(**changed()), KIND, guarded(FakeExternal(Journal())))
    plain.delete()
    plain.reconcile()
    assert "deletedAs" not in plain.status()

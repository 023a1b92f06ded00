"""A field that may follow later: an existing external resource does not wait for its reference."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from edgetenants_runtime import ExternalError, NotYet
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.conditions import Condition, ConditionStatus
from edgetenants_runtime.api.references import ReferenceField, ReferenceTarget
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.reconcile.guard import GuardedConnector
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.reconcile.targets import kinds_of
from edgetenants_runtime.testing import TOYS, FakeExternal, Journal, World, toy
from edgetenants_runtime.testing.cases import HELD_MR, conditions_of

BOX = ReferenceTarget("toys.m.example.org", ("v1",), "Box", "boxes", namespaced=True, value="status.at.id")
LATER = ReferenceField("boxId", BOX, follows_later=True)
STRICT = ReferenceField("lidId", BOX)
KIND = replace(TOYS, references=(LATER, STRICT))
BOXES = kinds_of(BOX)[0]
OBSERVE, UPDATE = "external observe acme", "external update acme"
ASKED = {"boxIdRef": {"name": "a"}}
MISSING = "spec.forProvider.boxIdRef: Box shop/a does not exist"
REST = "references cannot be resolved, and the rest of the spec does not wait for them"
WAITING = "spec.forProvider.boxIdRef: waiting for Box shop/a to have its id"


def box(id_: str = "") -> dict[str, Any]:
    given = {"metadata": {"name": "a", "namespace": "shop", "uid": "uid-a"}}
    return given | ({"status": {"at": {"id": id_}}} if id_ else {})


def world_of(size: int = 1, external: Any = None, asked: dict[str, Any] = ASKED, **changes: Any) -> World:
    return World(
        toy(**(HELD_MR | changes)) | {"spec": {"forProvider": {"size": size, **asked}}}, KIND, external
    )


def synced(world: World) -> dict[str, Any]:
    [found] = [each for each in world.status()["conditions"] if each["type"] == "Synced"]
    return dict(found)


@pytest.mark.parametrize("exists", [False, True], ids=["no box", "a box without a value"])
def test_an_existing_external_resource_follows_the_rest_of_its_spec(exists: bool) -> None:
    """Rule: references.follows-later"""
    world = world_of(size=7)
    world.external.toys["acme"] = 1
    if exists:
        world.objects.put(BOXES, box())
    world.reconcile()
    assert world.external.toys["acme"] == 7
    assert "Ready" not in conditions_of(world.mr) or conditions_of(world.mr)["Ready"] != "False/Creating"
    if exists:
        assert conditions_of(world.mr)["Synced"] == "True/ReconcileSuccess"
        assert "event Normal PendingExternalResource" in world.journal
    else:
        assert synced(world)["message"] == f"{REST}: {MISSING}"
        assert "event Warning CannotResolveResourceReferences" in world.journal
    assert world.status()["observedGeneration"] == 1


def test_it_is_polled_as_any_other_and_told_once() -> None:
    """Rule: references.follows-later"""
    world = world_of()
    world.external.toys["acme"] = 1
    world.settle()
    before = len(world.journal)
    outcome = world.reconcile()
    assert outcome is not None
    assert (outcome.next, outcome.failed) == (Next.AFTER, False)
    assert outcome.seconds == pytest.approx(world.pace.poll_interval, rel=world.pace.jitter)
    assert world.journal[before:] == [OBSERVE, "event Warning CannotResolveResourceReferences"]


def test_the_field_follows_once_there_is_a_value() -> None:
    """Rule: references.follows-later"""
    world = world_of()
    world.external.toys["acme"] = 1
    world.settle()
    world.objects.put(BOXES, box("1"))
    world.settle()
    assert world.mr is not None
    assert world.mr.for_provider["boxId"] == "1"
    assert conditions_of(world.mr)["Synced"] == "True/ReconcileSuccess"


def test_the_failure_of_an_update_is_told_first() -> None:
    """Rule: references.follows-later"""
    world = world_of(size=7)
    world.external.toys["acme"] = 1
    world.external.refusing["update"] = [ExternalError("size: 7 is too large")]
    world.reconcile()
    assert synced(world)["message"] == "update failed: size: 7 is too large"


def test_what_does_not_exist_is_not_created_and_waits_as_before() -> None:
    """Rule: references.follows-later"""
    world = world_of(metadata={})
    outcome = world.reconcile()
    assert outcome == Outcome(Next.REAL_BACKOFF, failed=True)
    assert conditions_of(world.mr) == {"Ready": "False/Creating", "Synced": "False/ReconcileError"}
    assert world.external.created == 0
    assert "observedGeneration" not in world.status() or world.status()["observedGeneration"] == 0


def test_what_does_not_exist_is_looked_for_once_in_a_poll_interval() -> None:
    """Otherwise each resource that waits would cost requests for nothing, every few seconds."""
    world = world_of()
    for _ in range(5):
        world.reconcile()
    assert world.journal.count(OBSERVE) == 1
    world.time += timedelta(seconds=world.pace.poll_interval * (1 + world.pace.jitter))
    world.external.toys["acme"] = 1
    world.reconcile()
    assert world.journal.count(OBSERVE) == 2
    assert conditions_of(world.mr)["Ready"] != "False/Creating"


def test_what_was_created_is_not_taken_for_absent() -> None:
    """Rule: references.follows-later"""
    world = world_of()
    world.reconcile()
    world.objects.put(BOXES, box("1"))
    world.reconcile()
    assert world.external.toys == {"acme": 1}
    stored = world.objects.find(KIND, world.key)
    assert stored is not None
    stored["spec"]["forProvider"] = {"size": 7, "boxIdRef": {"name": "b"}}
    world.objects.put(KIND, stored)
    world.reconcile()
    assert world.external.toys == {"acme": 7}


def test_a_resource_without_a_finalizer_gets_one_before_it_waits() -> None:
    """It may be that of a former resource of this name: a deletion must look for it."""
    world = world_of()
    stored = world.objects.find(KIND, world.key)
    assert stored is not None
    stored["metadata"]["finalizers"] = []
    world.objects.put(KIND, stored)
    world.reconcile()
    assert world.mr is not None
    assert names.FINALIZER in world.mr.finalizers


def test_another_field_that_cannot_be_resolved_stops_the_reconcile() -> None:
    """Rule: references.follows-later"""
    world = world_of(size=7, asked={**ASKED, "lidIdRef": {"name": "lid"}})
    world.external.toys["acme"] = 1
    world.reconcile()
    assert OBSERVE not in world.journal
    assert "lidIdRef: Box shop/lid does not exist" in synced(world)["message"]


class Telling(FakeExternal):
    """A connector with a condition for a field that waits."""

    def unresolved(self, mr: Managed, cause: str, told: tuple[Condition, ...]) -> tuple[Condition, ...]:
        assert mr.name == "acme"
        assert "Ready" in {each.type for each in told}
        return (Condition(type="Fresh", status=ConditionStatus.FALSE, reason="Waits", message=cause),)


class Unseen:
    """Gets the sightings."""

    def up_to_date(self, mr: Managed) -> None:
        pass

    def repaired(self, mr: Managed) -> None:
        pass


@pytest.mark.parametrize("waits", [True, False])
def test_the_connector_tells_of_it_whatever_the_outcome(waits: bool) -> None:
    """Rule: references.follows-later"""
    external = Telling(Journal())
    external.toys = {"acme": 1}
    world = world_of(external=GuardedConnector(external, lambda: True, Unseen()))
    if waits:
        world.objects.put(BOXES, box())
    world.reconcile()
    [fresh] = [each for each in world.status()["conditions"] if each["type"] == "Fresh"]
    assert fresh["message"] == (WAITING if waits else MISSING)


def test_a_connector_that_cannot_see_it_tells_nothing() -> None:
    """Rule: references.follows-later"""
    external = Telling(Journal())
    external.refusing["observe"] = [NotYet("soon", after=3.0)]
    world = world_of(external=GuardedConnector(external, lambda: True, Unseen()))
    world.reconcile()
    assert "Fresh" not in conditions_of(world.mr)


def stored(world: World) -> dict[str, Any]:
    found = world.objects.find(KIND, world.key)
    assert found is not None
    return found


def looks(world: World) -> int:
    return sum(entry.startswith("external observe") for entry in world.journal)


@pytest.mark.parametrize("changed", [names.EXTERNAL_NAME, names.RECONCILE_REQUESTED_AT])
def test_another_name_and_a_request_are_followed_by_a_look(changed: str) -> None:
    world = world_of()
    for _ in range(2):
        world.reconcile()
    assert looks(world) == 1
    mr = stored(world)
    mr["metadata"]["annotations"][changed] = "other"
    world.objects.put(KIND, mr)
    world.reconcile()
    assert looks(world) == 2


def test_what_may_still_appear_is_looked_for_each_time() -> None:
    world = world_of()
    mr = stored(world)
    mr["metadata"]["annotations"][names.EXTERNAL_CREATE_PENDING] = "2026-01-01T00:00:00Z"
    world.objects.put(KIND, mr)
    for _ in range(3):
        world.reconcile()
    assert looks(world) == 3


def test_what_was_ready_and_is_gone_is_not_ready() -> None:
    world = world_of()
    world.external.toys["acme"] = 1
    world.settle()
    assert conditions_of(world.mr)["Ready"] == "True/Available"
    del world.external.toys["acme"]
    world.reconcile()
    assert conditions_of(world.mr)["Ready"] == "False/Creating"
    assert world.external.created == 0


def test_a_former_value_is_left_out() -> None:
    """Rule: references.follows-later"""
    always = {"boxId": "9", "boxIdRef": {"name": "a", "policy": {"resolve": "Always"}}}
    external = Recording(Journal())
    external.toys = {"acme": 1}
    world = world_of(size=7, external=external, asked=always)
    world.reconcile()
    assert external.asked == [None, None], "neither the look nor the update has it"
    assert stored(world)["spec"]["forProvider"]["boxId"] == "9"


class Recording(FakeExternal):
    """An external system that notes the field that it is asked for."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(journal)
        self.asked: list[Any] = []

    def observe(self, mr: Managed) -> Any:
        self.asked.append(mr.for_provider.get("boxId"))
        return super().observe(mr)

    def update(self, mr: Managed, seen: Any) -> Any:
        self.asked.append(mr.for_provider.get("boxId"))
        return super().update(mr, seen)


def test_a_reference_for_the_creation_alone_is_not_missed() -> None:
    """Rule: references.follows-later"""
    world = world_of(asked={})
    mr = stored(world)
    mr["spec"]["initProvider"] = ASKED
    world.objects.put(KIND, mr)
    world.reconcile()
    assert conditions_of(world.mr)["Synced"] == "False/ReconcileError"
    assert world.external.created == 0
    world.time += timedelta(seconds=world.pace.poll_interval * (1 + world.pace.jitter))
    world.external.toys["acme"] = 1
    world.reconcile()
    assert conditions_of(world.mr)["Synced"] == "True/ReconcileSuccess"

"""What a reconcile says about what follows it: what it changed, and whether the resource has settled."""

from typing import Any

import pytest

from edgetenants_runtime.api.conditions import unavailable
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import AsyncOperation, Change, Observation, OperationState
from edgetenants_runtime.queueing.queue import Priority
from edgetenants_runtime.reconcile.steps import Outcome
from edgetenants_runtime.testing import World, toy
from edgetenants_runtime.testing.cases import SETTLED_MR

PAUSED = {"crossplane.io/paused": "true"}
REFUSED = ExternalError("AccessDenied: not yours", made_nothing=True)


def world(**changes: Any) -> World:
    """A settled toy; `toys` is what exists."""
    toys = changes.pop("toys", {"acme": 1})
    world = World(toy(**{**SETTLED_MR, **changes}))
    world.external.toys = toys
    return world


def outcome(world: World) -> Outcome:
    found = world.reconcile()
    assert found is not None
    return found


def test_a_settled_resource_stays_settled() -> None:
    found = outcome(world())
    assert (found.made, found.settled) == (None, True)


def test_a_new_resource_settles_when_it_is_seen_to_be_ready() -> None:
    new = World(toy())
    found = [outcome(new) for _ in range(3)]
    assert [each.made for each in found] == [Priority.CHANGE, None, None]
    assert [each.settled for each in found] == [False, True, True]


def test_an_edit_is_a_change_and_settles_at_the_next_look() -> None:
    edited = world(generation=2, toys={"acme": 7})
    found = [outcome(edited) for _ in range(2)]
    assert [(each.made, each.settled) for each in found] == [(Priority.CHANGE, False), (None, True)]


def test_what_differs_without_an_edit_is_drift() -> None:
    assert outcome(world(toys={"acme": 7})).made is Priority.DRIFT


def test_a_deletion_is_one_and_settles_only_when_it_is_gone() -> None:
    deleted = world(deleted=True)
    found = outcome(deleted)
    assert (found.made, found.settled) == (Priority.DELETION, False)
    deleted.external.toys = {"acme": 1}
    deleted.held = "the CRD goes"
    assert not outcome(deleted).settled


@pytest.mark.parametrize(
    ("at", "changes", "made"),
    [
        ("create", {"toys": {}}, Priority.CHANGE),
        ("update", {"toys": {"acme": 7}}, Priority.DRIFT),
        ("update", {"toys": {"acme": 7}, "generation": 2}, Priority.CHANGE),
        ("delete", {"deleted": True}, Priority.DELETION),
        ("observe", {"generation": 2}, None),
    ],
)
@pytest.mark.parametrize("cause", [REFUSED, NotYet("throttled", after=1.0)])
def test_a_change_that_fails_is_retried_as_one(
    at: str, changes: dict[str, Any], made: Priority | None, cause: Exception
) -> None:
    failing = world(**changes)
    failing.external.refusing = {at: [cause]}
    found = outcome(failing)
    assert (found.made, found.settled) == (made, False)


@pytest.mark.parametrize(
    "observation",
    [
        Observation(exists=True, poll_after=5.0),
        Observation(exists=True, operation=AsyncOperation(OperationState.ONGOING)),
        Observation(exists=True, conditions=(unavailable("it is rolled out"),)),
    ],
    ids=["looks again soon", "busy", "not ready"],
)
def test_what_is_rolled_out_has_not_settled(observation: Observation) -> None:
    rolls_out = world()
    rolls_out.external.observation = observation
    assert not outcome(rolls_out).settled


def test_an_update_with_a_later_look_has_not_settled() -> None:
    updated = world(toys={"acme": 7})
    updated.external.change = Change(requeue_after=5.0)
    assert not outcome(updated).settled


def test_a_paused_resource_awaits_nothing() -> None:
    assert outcome(world(generation=2, annotations={**SETTLED_MR["annotations"], **PAUSED})).settled

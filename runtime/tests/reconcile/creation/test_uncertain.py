"""A creation whose end no one knows: no managed resource goes while its external resource may yet come."""

import contextlib
from datetime import timedelta
from typing import Any

import pytest

from edgetenants_runtime import ExternalError, NotYet
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.external import Change
from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.reconcile.steps import Next
from edgetenants_runtime.testing import TOYS, World, toy
from edgetenants_runtime.testing.cases import conditions_of

LOST = ExternalError("time-out")
REFUSED = ExternalError("AccessDenied: not yours", made_nothing=True)
GRACE = 120.0


def attempted(*outcomes: BaseException, world: World | None = None) -> World:
    """After a creation for each outcome."""
    world = world or World(toy())
    for outcome in outcomes:
        world.external.refusing["create"] = [outcome]  # type: ignore[list-item]
        with contextlib.suppress(StandDown):
            world.reconcile()
        assert world.external.refusing["create"] == []
    return world


def passes(world: World, seconds: float) -> None:
    world.time += timedelta(seconds=seconds)


def shows(world: World) -> None:
    """The call that was under way has its effect at last."""
    world.external.toys["acme"] = 1


def waits(world: World) -> bool:
    outcome = world.reconcile()
    if world.mr is None:
        return False
    assert outcome is not None
    assert outcome.next is Next.REAL_BACKOFF
    assert names.FINALIZER in world.mr.finalizers
    return True


def ends_well(world: World) -> None:
    """What came late is found, and deleted with the managed resource."""
    shows(world)
    world.reconcile()
    assert world.external.toys == {}
    passes(world, GRACE)
    world.reconcile()
    assert world.mr is None


OPEN: dict[str, tuple[BaseException, ...]] = {
    "an answer that was lost": (LOST,),
    "a bug after the call": (KeyError("Id"),),
    "a process that stands down": (StandDown("the creation"),),
    "memory that ran out": (MemoryError(),),
    "a refusal after an answer that was lost": (LOST, REFUSED),
    "two of them": (LOST, REFUSED, REFUSED),
    "an answer that was lost after a refusal": (REFUSED, LOST),
    "what is there already, and does not show": (
        LOST,
        NotYet("exists already", after=1.0, made_nothing=False),
    ),
    "a world that was not ready after an answer that was lost": (LOST, NotYet("not yet", after=1.0)),
}


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("name", OPEN)
def test_a_deletion_waits_for_what_may_yet_be_made(name: str, restarts: bool) -> None:
    """Rule: creation.open"""
    world = attempted(*OPEN[name])
    if restarts:
        world.restart()
    world.delete()
    passes(world, GRACE - 5)
    assert waits(world)
    assert world.mr is not None
    synced, ready = world.mr.condition("Synced"), world.mr.condition("Ready")
    assert synced is not None
    why = "The provider restarted after" if restarts else "The response to the create request was lost, so"
    assert synced.message.startswith(why)
    assert "is deleted if it has not appeared after 120 s. No action is needed." in synced.message
    # That would say that what was made is known.
    assert ready is None or ready.reason != "Deleting"
    ends_well(world)


@pytest.mark.parametrize("seconds", [-86_400, -180, 180, 86_400])
def test_a_step_of_the_clock_does_not_end_the_wait(seconds: float) -> None:
    """Rule: creation.open"""
    world = attempted(LOST)
    world.delete()
    world.wrong = timedelta(seconds=seconds)
    assert waits(world)
    passes(world, GRACE - 5)
    assert waits(world)
    ends_well(world)


@pytest.mark.parametrize("restarts", [False, True])
def test_it_waits_no_longer_than_a_call_can_last(restarts: bool) -> None:
    """Rule: creation.open"""
    world = attempted(LOST)
    world.delete()
    if restarts:
        world.restart()
    assert waits(world)
    passes(world, GRACE)
    assert not waits(world)


@pytest.mark.parametrize(
    "refusals", [(REFUSED,), (REFUSED, REFUSED), (NotYet("not yet", after=1.0), REFUSED)]
)
def test_what_was_clearly_refused_is_not_waited_for(refusals: tuple[Exception, ...]) -> None:
    """Rule: creation.refused"""
    world = attempted(*refusals)
    world.delete()
    assert not waits(world)


@pytest.mark.parametrize("leads", [True, False])
def test_a_former_leader_does_not_note_its_refusal_over_the_creation_of_its_successor(leads: bool) -> None:
    """Rule: creation.refused"""
    world = World(toy())

    def created(*_: Any) -> Any:
        world.leads = leads
        if not leads:
            stored = world.objects.get(world.kind, world.key)
            stored["metadata"]["annotations"][names.EXTERNAL_CREATE_PENDING] = "2026-01-02T00:00:00Z"
            world.objects.put(world.kind, stored)
            world.objects.touch(world.kind, world.key)
        raise REFUSED

    world.external.create = created  # type: ignore[method-assign]
    world.reconcile()
    assert world.mr is not None
    assert (names.EXTERNAL_CREATE_FAILED in world.mr.annotations) is leads


def test_the_time_runs_from_the_end_of_the_call_where_that_is_known() -> None:
    """Rule: creation.open"""
    world = World(toy())
    world.external.refusing["create"] = [LOST]
    world.reconcile()
    stored = world.objects.find(TOYS, world.key)
    assert stored is not None
    world.delete()
    passes(world, 60)
    # A version from before the deletion: the creation is tried once more.
    world.external.refusing["create"] = [LOST]
    world.reconciler.reconcile(Managed(stored))
    passes(world, GRACE - 5)
    assert waits(world)
    ends_well(world)


READY_MOVED = [
    {"type": "Ready", "status": status, "reason": reason, "lastTransitionTime": "2026-01-01T00:10:00Z"}
    for status, reason in (("True", "Available"), ("False", "AccessDenied"))
]


@pytest.mark.parametrize("ready", READY_MOVED, ids=["Available", "AccessDenied"])
def test_what_ready_said_of_an_earlier_one_says_nothing_of_the_last(ready: dict[str, Any]) -> None:
    """Rule: creation.open"""
    annotations = {
        names.EXTERNAL_NAME: "acme",
        names.EXTERNAL_CREATE_SUCCEEDED: "2026-01-01T00:00:00Z",
        names.EXTERNAL_CREATE_PENDING: "2026-01-01T00:05:00Z",
    }
    world = World(toy(finalizers=[names.FINALIZER], annotations=annotations, status={"conditions": [ready]}))
    passes(world, 900)
    world.delete()
    assert waits(world)
    ends_well(world)


def test_a_creation_whose_success_could_not_be_noted_is_waited_for() -> None:
    """Rule: creation.open"""
    world = World(toy())
    world.objects.failing["metadata external-create-succeeded"] = [
        KubeError(Operation("patch", TOYS), 503, "etcd is down")
    ] * 6
    world.reconcile()
    world.external.toys = {}
    world.delete()
    assert waits(world)
    ends_well(world)


def test_a_deletion_that_an_earlier_process_began_ends_at_once() -> None:
    """Rule: creation.seen"""
    world = attempted(LOST)
    shows(world)
    world.reconcile()
    passes(world, 600)
    world.delete()
    world.reconcile()
    assert conditions_of(world.mr)["Ready"] == "False/Deleting"
    world.restart()
    assert not waits(world)


def test_what_came_late_may_come_a_second_time() -> None:
    """Two calls are under way. What the first made is found and deleted, and the second may make it again."""
    world = attempted(LOST, LOST)
    shows(world)
    world.reconcile()
    world.delete()
    world.reconcile()
    assert world.external.toys == {}
    assert waits(world)
    ends_well(world)


def test_a_refusal_is_not_noted_as_the_end_of_an_open_creation() -> None:
    """Rule: creation.open"""
    world = attempted(LOST, REFUSED)
    assert world.mr is not None
    assert names.EXTERNAL_CREATE_FAILED not in world.mr.annotations


def test_success_closes_what_was_open() -> None:
    """Rule: creation.grace"""
    world = attempted(LOST)
    world.external.change = Change()
    world.reconcile()
    world.external.toys = {}
    passes(world, GRACE)
    world.delete()
    assert not waits(world)

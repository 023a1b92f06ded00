"""What a client records before a creation: it is stored before the call, however the process ends."""

import contextlib

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import Observation
from edgetenants_runtime.kube.errors import Conflict, KubeError, Operation
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.reconcile.guard import GuardedConnector
from edgetenants_runtime.reconcile.steps import Next
from edgetenants_runtime.rules import meta
from edgetenants_runtime.testing import TOYS, Killed, World, toy
from edgetenants_runtime.testing.cases import OBSERVE

IN = "example.org/creating-in"
MARK = f"metadata {IN} external-create-pending"
FAILED = "metadata external-create-failed"
REFUSED = ExternalError("no", made_nothing=True)
LOST = ExternalError("time-out")
ON = Operation("patch", TOYS, name="acme", namespace="shop")


def recording(place: str = "here", world: World | None = None) -> World:
    world = world or World(toy())
    world.external.absent = Observation(exists=False, creation_record={IN: place})
    return world


def refused(world: World, *outcomes: Exception, at: str = "create") -> list[str]:
    """After a creation with each of these outcomes; what the last one did."""
    before = 0
    for outcome in outcomes:
        before = len(world.journal)
        world.external.refusing[at] = [outcome]
        world.reconcile()
    return [line for line in world.journal[before:] if not line.startswith("event")]


def is_open(world: World) -> bool:
    return meta.creation(stored(world).annotations).incomplete


def stored(world: World) -> Managed:
    assert world.mr is not None
    return world.mr


def test_the_record_is_in_the_write_that_announces_the_creation() -> None:
    """Rule: creation.record"""
    world = recording()
    world.reconcile()
    marks = [line for line in world.journal if "pending" in line]
    assert len(marks) == 1
    assert IN in marks[0]
    assert world.journal.index(marks[0]) < world.journal.index("external create acme")
    assert stored(world).annotations[IN] == "here"


def test_a_refusal_is_recorded_and_the_next_call_announced_again() -> None:
    """Rule: creation.record"""
    world = recording()
    refused(world, REFUSED)
    assert not is_open(world)
    assert refused(world, REFUSED)[:4] == [OBSERVE, MARK, "external create acme", FAILED]
    assert not is_open(world)


def test_a_refusal_by_a_check_costs_no_write() -> None:
    """Rule: creation.record"""
    world = recording()
    refused(world, REFUSED, at="check")
    assert refused(world, REFUSED, at="check") == [OBSERVE]
    assert not is_open(world)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_refusal_ends_what_an_earlier_process_announced_again(restarts: bool) -> None:
    """Rule: creation.record"""
    world = recording()
    refused(world, REFUSED)
    if restarts:
        world.restart()
    refused(world, REFUSED)
    assert not is_open(world)


@pytest.mark.parametrize("restarts", [False, True])
def test_a_refusal_does_not_end_a_creation_whose_answer_was_lost(restarts: bool) -> None:
    """Rule: creation.record"""
    world = recording()
    refused(world, REFUSED, LOST)
    if restarts:
        world.restart()
    refused(world, REFUSED, REFUSED)
    assert is_open(world)


def test_what_was_refused_before_anything_was_recorded_may_still_be_made() -> None:
    """Rule: creation.record"""
    world = World(toy())
    refused(world, REFUSED)
    world.restart()
    recording(world=world)
    refused(world, REFUSED)
    assert stored(world).annotations[IN] == "here"
    assert is_open(world)


def test_another_place_is_recorded_before_the_call() -> None:
    """Rule: creation.record"""
    world = recording()
    refused(world, REFUSED)
    recording("there", world)
    world.kill_at(len(world.journal) + 2, "before")
    with pytest.raises(Killed):
        world.reconcile()
    assert world.journal[-1] == MARK
    assert stored(world).annotations[IN] == "there"
    assert world.external.created == 0
    assert is_open(world)


def lives() -> list[tuple[int, str]]:
    world = recording()
    refused(world, REFUSED)
    first = len(world.journal)
    world.settle()
    return [(index, when) for index in range(first, len(world.journal)) for when in ("before", "after")]


@pytest.mark.parametrize(("index", "when"), lives())
def test_death_at_any_point_after_a_refusal_leaves_a_record_of_what_was_made(index: int, when: str) -> None:
    """Rule: creation.record"""
    world = recording()
    refused(world, REFUSED)
    recording("there", world)
    world.kill_at(index, when)
    with contextlib.suppress(Killed):
        world.settle()
    if world.external.toys:
        marks = meta.creation(stored(world).annotations)
        assert marks.incomplete or (marks.succeeded or marks.failed) == marks.succeeded
        assert stored(world).annotations[IN] == "there"
    world.restart()
    world.settle()
    assert world.external.created == 1


@pytest.mark.parametrize("answer", [Conflict(ON, 409, "modified"), KubeError(ON, 0, "time-out")])
def test_what_cannot_be_announced_again_is_not_sent(answer: KubeError) -> None:
    """Rule: creation.record"""
    world = recording()
    refused(world, REFUSED)
    world.objects.failing = {MARK: [answer]}
    outcome = world.reconcile()
    assert outcome is not None
    assert outcome.next is Next.REAL_BACKOFF
    assert world.external.created == 0
    refused(world, REFUSED)
    assert not is_open(world)
    world.delete()
    world.reconcile()
    assert world.mr is None, "nothing was sent that it could wait for"


def test_a_creation_that_was_not_begun_is_taken_back() -> None:
    """Rule: creation.stand-down"""

    class Nobody:
        def up_to_date(self, mr: Managed) -> None: ...

        def repaired(self, mr: Managed) -> None: ...

    world = recording()
    world._connector = GuardedConnector(world.external, lambda: False, Nobody())
    world.restart()
    with pytest.raises(StandDown):
        world.reconcile()
    assert not is_open(world)
    before = len(world.journal)
    with pytest.raises(StandDown):
        world.reconcile()
    assert world.journal[before:] == [OBSERVE]


def test_a_world_that_is_not_ready_has_made_nothing() -> None:
    """Rule: creation.record"""
    world = recording()
    refused(world, NotYet("not yet", after=1.0))
    assert not is_open(world)
    assert names.EXTERNAL_CREATE_SUCCEEDED not in stored(world).annotations

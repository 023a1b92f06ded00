"""A process that dies at any point: exactly one external resource, or none, as asked; generated names."""

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.external import Change
from edgetenants_runtime.testing import Killed, World, toy
from edgetenants_runtime.testing.cases import CREATING, GENERATED, HELD_MR, NEVER_FAILED, SYNCED

# A process that dies.


def lives() -> list[tuple[int, str]]:
    world = World(toy())
    world.settle()
    return [(index, when) for index in range(len(world.journal)) for when in ("before", "after")]


@pytest.mark.parametrize(("index", "when"), lives())
def test_death_at_any_point_leaves_one_external_resource(index: int, when: str) -> None:
    world = World(toy())
    world.kill_at(index, when)
    with pytest.raises(Killed):
        world.settle()
    world.restart()
    world.time += world.time.resolution * 60_000_000
    world.settle()
    assert world.external.created == 1
    assert world.external.toys == {"acme": 1}
    assert {c["type"]: c["status"] for c in world.status()["conditions"]} == {
        "Ready": "True",
        "Synced": "True",
    }


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("index", range(7))
def test_death_at_any_point_of_a_deletion_leaves_nothing(index: int, when: str) -> None:
    world = World(toy(deleted=True, **HELD_MR))
    world.external.toys = {"acme": 1}
    world.kill_at(index, when)
    with pytest.raises(Killed):
        world.settle()
    world.restart()
    world.settle()
    assert world.mr is None
    assert world.external.toys == {}


# Names that the outside world chooses.


def test_a_generated_name_is_written_with_the_success() -> None:
    world = World(toy(), GENERATED)
    world.external.change = Change(external_name="toy-7")
    world.reconcile()
    assert world.journal == [
        "external observe None",
        "metadata +finalizer external-create-pending",
        "external create None",
        "metadata external-create-succeeded external-name",
        "event Normal CreatedExternalResource",
        f"status {CREATING} {SYNCED}",
    ]


def test_an_uncertain_creation_of_a_generated_name_stops_with_the_well_known_message() -> None:
    world = World(toy(), GENERATED)
    world.external.change = Change(external_name="toy-7")
    world.kill_at(2, "after")
    with pytest.raises(Killed):
        world.reconcile()
    world.restart()
    assert world.reconcile() == NEVER_FAILED
    remove = f"remove the {names.EXTERNAL_CREATE_PENDING} annotation if it is safe to proceed"
    assert world.recorder.messages == [f"cannot determine creation result - {remove}"]
    assert world.external.created == 1


def test_a_failed_creation_of_a_generated_name_is_tried_again() -> None:
    world = World(toy(), GENERATED)
    world.external.change = Change(external_name="toy-7")
    world.external.refusing = {"create": [ExternalError("busy", made_nothing=True)]}
    world.reconcile()
    world.reconcile()
    assert world.journal.count("metadata external-create-pending") == 1
    assert world.external.created == 1

"""How the end of a creation is written down: against conflicts, refusals, a clock that is set back and a
process that stands down. A generated name that is not written down is lost."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.clock import rfc3339_micro
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.external import Change
from edgetenants_runtime.kube.errors import Conflict, Forbidden, KubeError, NotFound, NotServed, Operation
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.reconcile.guard import GuardedConnector
from edgetenants_runtime.rules import meta
from edgetenants_runtime.testing import TOYS, World, toy
from edgetenants_runtime.testing.cases import (
    GENERATED,
    NEVER,
    REAL_BACKOFF,
    REAL_BACKOFF_FAILED,
    conditions_of,
)

PENDING, SUCCEEDED = names.EXTERNAL_CREATE_PENDING, names.EXTERNAL_CREATE_SUCCEEDED
FAILED = names.EXTERNAL_CREATE_FAILED
NOTE = "metadata external-create-succeeded"
ON = Operation("patch", GENERATED, name="acme", namespace="shop")
ANSWERS = {
    "a conflict": Conflict(ON, 409, "modified"),
    "RBAC": Forbidden(ON, 403, "no"),
    "an admission webhook": KubeError(ON, 400, "denied the request"),
    "a server that has just started": NotServed(ON, 404, "no such kind"),
    "no answer": KubeError(ON, 0, "time-out"),
}
TRIES = 6


def creating(*answers: KubeError) -> World:
    """A toy whose name the outside world chooses, and what the API server says to writing it down."""
    world = World(toy(), GENERATED)
    world.external.change = Change(external_name="toy-7")
    world.objects.failing = {NOTE: list(answers)}
    return world


def stored(world: World) -> Managed:
    assert world.mr is not None
    return world.mr


def edit(world: World, **annotations: str | None) -> None:
    """A user writes annotations; None takes one away."""
    obj = world.objects.find(world.kind, world.key)
    assert obj is not None
    kept = obj["metadata"].get("annotations", {}) | annotations
    obj["metadata"]["annotations"] = {name: value for name, value in kept.items() if value is not None}
    world.objects.put(world.kind, obj)
    world.objects.touch(world.kind, world.key)


# The API server refuses.


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("times", [1, TRIES - 1])
def test_the_name_is_written_whatever_the_api_server_answers_first(answer: KubeError, times: int) -> None:
    """Rule: creation.critical"""
    world = creating(*[answer] * times)
    world.reconcile()
    assert stored(world).external_name == "toy-7"
    assert world.journal.count(NOTE + " external-name") == times + 1
    assert world.external.created == 1


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_name_that_could_not_be_written_is_written_by_the_next_reconcile(answer: KubeError) -> None:
    """Rule: creation.unwritten"""
    world = creating(*[answer] * TRIES)
    outcome = world.reconcile()
    assert outcome in (REAL_BACKOFF, REAL_BACKOFF_FAILED)
    assert stored(world).external_name is None
    done = len(world.journal)
    world.settle()
    assert world.journal[done] == NOTE + " external-name"
    assert stored(world).external_name == "toy-7"
    assert world.external.created == 1


def test_a_failure_that_could_not_be_noted_is_noted_by_the_next_reconcile() -> None:
    """Rule: creation.unwritten"""
    world = creating()
    world.external.refusing = {"create": [ExternalError("quota", made_nothing=True)]}
    world.objects.failing = {"metadata external-create-failed": [ANSWERS["a conflict"]] * TRIES}
    world.reconcile()
    assert FAILED not in stored(world).annotations
    world.settle()
    assert stored(world).external_name == "toy-7"


def test_who_finds_what_was_made_and_names_it_is_believed() -> None:
    """Rule: creation.unwritten"""
    world = creating(*[ANSWERS["no answer"]] * TRIES)
    world.reconcile()
    world.external.toys["toy-found"] = 1
    edit(world, **{names.EXTERNAL_NAME: "toy-found", PENDING: None})
    world.settle()
    assert stored(world).external_name == "toy-found"
    assert world.external.created == 1


def test_a_deterministic_name_waits_for_no_annotation() -> None:
    """Rule: creation.unwritten"""
    world = World(toy())
    world.objects.failing = {NOTE: [Forbidden(Operation("patch", TOYS), 403, "no")] * 99}
    world.reconcile()
    world.reconcile()
    assert conditions_of(world.mr) == {"Ready": "True/Available", "Synced": "True/ReconcileSuccess"}


def test_what_was_not_written_is_not_written_to_a_successor() -> None:
    """Rule: creation.unwritten"""
    world = creating(*[ANSWERS["no answer"]] * TRIES)
    world.reconcile()
    successor = toy()
    successor["metadata"]["uid"] = "uid-successor"
    world.objects.put(world.kind, successor)
    world.objects.failing = {}
    world.reconcile()
    assert world.journal.count("external create None") == 2


def test_what_is_not_written_goes_with_the_resource() -> None:
    world = creating(*[ANSWERS["no answer"]] * TRIES)
    world.reconcile()
    world.reconciler.forget("uid-acme")
    assert vars(world.reconciler._known)["_creations"] == {}


def test_one_that_is_gone_is_not_tried_again() -> None:
    """Rule: managed.vanished"""
    world, left = creating(NotFound(ON, 404, "not found")), []
    note = lambda mr, external_name: left.append((mr.name, external_name))  # noqa: E731
    world.reconciler._deps = replace(world.reconciler._deps, left=note)
    with capture_logs() as logged:
        assert world.reconcile() == NEVER
    assert left == [("acme", "toy-7")]
    [told] = [line for line in logged if line["log_level"] == "error"]
    assert "is orphaned" in told["event"]
    assert told["name"] == "acme"
    assert len([entry for entry in world.journal if entry.startswith(NOTE)]) == 1


def test_a_server_that_has_just_started_and_knows_no_kinds_ends_no_reconcile_for_good() -> None:
    """Rule: api-server.trouble"""
    world = World(toy())
    world.objects.failing = {
        "metadata +finalizer": [NotServed(Operation("patch", TOYS), 404, "no such kind")]
    }
    assert world.reconcile() == REAL_BACKOFF_FAILED


# The clock is set back.


def set_back(world: World, call: str, **step: float) -> None:
    """The clock is set back while the outside world is at work."""
    method: Callable[..., Any] = getattr(world.external, call)

    def meanwhile(*given: Any) -> Any:
        world.time -= timedelta(**step)
        return method(*given)

    setattr(world.external, call, meanwhile)


STEPS = [{"milliseconds": 5}, {"seconds": 1}, {"days": 400}]


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_creation_that_ended_before_it_began_has_ended(step: dict[str, float]) -> None:
    """Rule: creation.clock"""
    world = creating()
    set_back(world, "create", **step)
    world.settle()
    assert stored(world).external_name == "toy-7"
    assert not meta.creation(stored(world).annotations).incomplete


@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_refusal_before_the_beginning_is_tried_again(step: dict[str, float]) -> None:
    """Rule: creation.clock"""
    world = creating()
    set_back(world, "create", **step)
    world.external.refusing = {"create": [ExternalError("busy", made_nothing=True)]}
    world.reconcile()
    world.settle()
    assert world.external.toys == {"toy-7": 1}


@pytest.mark.parametrize("ended", [SUCCEEDED, FAILED])
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_a_creation_that_begins_before_the_last_one_ended_is_open_all_the_same(
    step: dict[str, float], ended: str
) -> None:
    """Rule: creation.clock"""
    world = creating()
    moment = rfc3339_micro(world.time + timedelta(**step))
    edit(world, **{PENDING: moment, ended: moment})
    world.time += timedelta(seconds=-60)
    world.external.refusing = {"create": [KeyError("a bug after the call")]}
    world.pace = world.pace.__class__(jitter=0.0, creation_grace=0.0)
    world.restart()
    world.reconcile()
    assert meta.creation(stored(world).annotations).incomplete


# The process stands down.


class Guarded:
    """The toys of a world, as one who may act or not reaches them."""

    def __init__(self) -> None:
        self.may = False
        self.world: World | None = None

    def connect(self, mr: Managed) -> Any:
        assert self.world is not None
        return GuardedConnector(self.world.external, lambda: self.may, self).connect(mr)

    def up_to_date(self, mr: Managed) -> None: ...

    def repaired(self, mr: Managed) -> None: ...


def standing_down() -> tuple[World, Guarded]:
    guarded = Guarded()
    world = World(toy(), GENERATED, connector=guarded)
    world.external.change = Change(external_name="toy-7")
    guarded.world = world
    return world, guarded


def test_who_stands_down_before_the_call_takes_the_announcement_back() -> None:
    """Rule: creation.stand-down"""
    world, guarded = standing_down()
    with pytest.raises(StandDown):
        world.reconcile()
    assert world.journal[1:] == [
        "metadata +finalizer external-create-pending",
        "metadata external-create-failed",
    ]
    guarded.may = True
    world.restart()
    world.settle()
    assert stored(world).external_name == "toy-7"
    assert world.external.created == 1


def test_the_announcement_of_who_leads_now_is_left_alone() -> None:
    """Rule: creation.stand-down"""
    world, _ = standing_down()
    announced = "2026-01-01T00:00:30.000000Z"
    patch = world.objects.patch

    def meanwhile(*given: Any, **more: Any) -> Any:
        written = patch(*given, **more)
        if PENDING in given[2]["metadata"].get("annotations", {}):
            edit(world, **{PENDING: announced})
        return written

    world.objects.patch = meanwhile  # type: ignore[method-assign]
    with pytest.raises(StandDown):
        world.reconcile()
    assert stored(world).annotations == {PENDING: announced}


def test_a_deletion_does_not_wait_for_what_was_not_begun() -> None:
    """Rule: creation.stand-down"""
    world, _ = standing_down()
    with pytest.raises(StandDown):
        world.reconcile()
    world.delete()
    world.reconcile()
    assert world.mr is None

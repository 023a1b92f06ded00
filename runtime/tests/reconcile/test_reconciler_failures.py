"""What each step that fails leads to: one row for each step and each kind of cause."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.kube.errors import Conflict, Forbidden, KubeError, NotFound, Operation
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.reconcile.steps import Next, Outcome, Step
from edgetenants_runtime.testing import TOYS, World, toy
from edgetenants_runtime.testing.cases import (
    CREATE,
    CREATING,
    DELETING,
    ERROR,
    FAILED,
    HELD_MR,
    NAMED,
    NEVER,
    OBSERVE,
    POLL,
    READY,
    REAL_BACKOFF,
    REAL_BACKOFF_FAILED,
    SETTLED_MR,
    SYNCED,
    conditions_of,
)

ON = Operation("patch", TOYS)
REFUSED = Forbidden(ON, 403, "no")
NO_ANSWER = KubeError(ON, 503, "etcd is down")
MODIFIED = Conflict(ON, 409, "modified")
GONE = NotFound(ON, 404, "not found")
COLOURED = Observation(True, conditions=(conditions.available(),), late_initialized={"colour": "red"})
DETAILS = Observation(True, conditions=(conditions.available(),), connection_details={"url": b"https://x"})
SECRET = {"writeConnectionSecretToRef": {"name": "edge"}}


@dataclass(frozen=True)
class Row:
    """A step, how to get there, and what it says when it fails."""

    step: Step
    reason: str
    words: str
    mr: dict[str, Any] = field(default_factory=dict)
    toys: dict[str, int] = field(default_factory=dict)
    external: dict[str, Any] = field(default_factory=dict)
    write: str = ""
    """The write that fails."""
    call: str = ""
    """The external call that fails."""
    ready: str = ""
    """What Ready becomes."""


WRITES = [
    Row(
        Step.RELEASE,
        "CannotUpdateManagedResource",
        "cannot remove managed resource finalizer: ",
        {"deleted": True, "annotations": NAMED},
        write="metadata -finalizer",
        ready="False/Deleting",
    ),
    Row(
        Step.HOLD,
        "CannotUpdateManagedResource",
        "cannot add managed resource finalizer: ",
        {"annotations": NAMED},
        {"acme": 1},
        write="metadata +finalizer",
        ready="True/Available",
    ),
    Row(
        Step.PREPARE,
        "CannotUpdateManagedResource",
        "cannot update managed resource: ",
        write="metadata +finalizer",
        ready="False/Creating",
    ),
    Row(
        Step.ANNOTATE,
        "CannotUpdateManagedResource",
        "cannot update managed resource annotations: ",
        write="metadata external-create-succeeded",
        ready="False/Creating",
    ),
    Row(
        Step.LATE_INITIALIZE,
        "CannotUpdateManagedResource",
        "cannot update managed resource: ",
        HELD_MR,
        {"acme": 1},
        {"observation": COLOURED},
        write="spec",
        ready="True/Available",
    ),
    Row(
        Step.PUBLISH,
        "CannotPublishConnectionDetails",
        "cannot publish connection details: ",
        HELD_MR | SECRET,
        {"acme": 1},
        {"observation": DETAILS},
        write="create Secret",
        ready="True/Available",
    ),
]
CREATED = Row(
    Step.PUBLISH_CREATED,
    "CannotPublishConnectionDetails",
    "cannot publish connection details: ",
    SECRET,
    external={"change": Change(connection_details={"password": b"x"})},
    write="create Secret",
    ready="False/Creating",
)
WRITES.append(CREATED)
CALLS = [
    Row(Step.CONNECT, "CannotConnectToProvider", "connect failed: ", HELD_MR, {"acme": 1}, call="connect"),
    Row(
        Step.OBSERVE,
        "CannotObserveExternalResource",
        "observe failed: ",
        HELD_MR,
        {"acme": 1},
        call="observe",
    ),
    Row(
        Step.CREATE,
        "CannotCreateExternalResource",
        "create failed: ",
        call="create",
        ready="False/Creating",
    ),
    Row(
        Step.UPDATE,
        "CannotUpdateExternalResource",
        "update failed: ",
        HELD_MR,
        {"acme": 7},
        call="update",
        ready="True/Available",
    ),
    Row(
        Step.DELETE,
        "CannotDeleteExternalResource",
        "delete failed: ",
        {"deleted": True, "annotations": NAMED},
        {"acme": 1},
        call="delete",
        ready="False/Deleting",
    ),
]
JUDGE = Row(
    Step.JUDGE_DELETION,
    "CannotDeleteExternalResource",
    "cannot determine whether the deletion is held: ",
    {"deleted": True, "annotations": NAMED},
    {"acme": 1},
    ready="False/Deleting",
)
ELSEWHERE = {
    Step.RECONCILE,
    Step.POLICIES,
    Step.INITIALIZE,
    Step.CREATION_GUARD,
    Step.RESOLVE,
    Step.FOLLOW_LATER,
    Step.DISCONNECT,
    Step.REPORT,
}
"""Steps that fail in ways of their own, each in a case of its own."""


def prepared(row: Row) -> World:
    world = World(toy(**row.mr))
    world.external.toys = dict(row.toys)
    for name, value in row.external.items():
        setattr(world.external, name, value)
    return world


def fails(row: Row, cause: Exception) -> World:
    world = prepared(row)
    if row.write:
        world.objects.failing = {row.write: [cause] * 6}  # type: ignore[list-item]
    elif row.call:
        world.external.refusing = {row.call: [cause]}
    else:
        world.held = cause
    return world


def told(world: World) -> list[str]:
    return [line for line in world.journal if line.startswith(("event", "status"))]


def ids(row: object) -> str:
    return row.step.name.lower() if isinstance(row, Row) else ""


def test_every_step_has_a_row() -> None:
    assert {row.step for row in (*WRITES, *CALLS, JUDGE)} | ELSEWHERE == set(Step)


@pytest.mark.parametrize("row", WRITES, ids=ids)
def test_a_newer_version_is_met_by_reading_again_and_nothing_is_told(row: Row) -> None:
    """Rule: conflict.quiet"""
    world = fails(row, MODIFIED)
    assert world.reconcile() == REAL_BACKOFF
    assert told(world) == []


@pytest.mark.parametrize("row", [*WRITES, JUDGE], ids=ids)
def test_an_api_server_in_trouble_is_met_by_real_back_off_and_silence(row: Row) -> None:
    """Rule: api-server.trouble"""
    world = fails(row, NO_ANSWER)
    assert world.reconcile() == REAL_BACKOFF_FAILED
    assert told(world) == []


@pytest.mark.parametrize("row", WRITES, ids=ids)
def test_a_managed_resource_that_vanished_ends_the_reconcile(row: Row) -> None:
    """Rule: managed.vanished"""
    world = fails(row, GONE)
    assert world.reconcile() == NEVER
    assert told(world) == []


@pytest.mark.parametrize("row", [*WRITES, JUDGE], ids=ids)
def test_a_refusal_of_the_api_server_is_told_with_the_missing_rule(row: Row) -> None:
    """Rule: events.reasons"""
    world = fails(row, REFUSED)
    assert world.reconcile() == REAL_BACKOFF_FAILED
    check_told(world, row)
    assert 'resources: ["toys"], verbs: ["patch"]' in world.recorder.messages[-1]


@pytest.mark.parametrize("row", CALLS, ids=ids)
def test_a_refusal_of_the_outside_world_is_told_in_its_words(row: Row) -> None:
    """Rule: events.reasons"""
    world = fails(row, ExternalError("AccessDenied: not yours"))
    assert world.reconcile() == FAILED
    check_told(world, row)
    assert world.recorder.messages[-1] == f"{row.words}AccessDenied: not yours"


@pytest.mark.parametrize("row", [*CALLS, JUDGE], ids=ids)
def test_a_bug_is_told_without_its_text(row: Row) -> None:
    """Rule: conditions.unknown"""
    world = fails(row, KeyError("AKIASECRET"))
    assert world.reconcile() == FAILED
    assert conditions_of(world.mr)["Unknown"] == "False/Unknown"
    assert world.recorder.messages == [f"{row.words}unexpected KeyError; see the provider's log for details"]
    assert "AKIASECRET" not in str(world.status())
    stored = {c["type"]: c["message"] for c in world.status()["conditions"] if "message" in c}
    assert stored["Synced"] == stored["Unknown"] == world.recorder.messages[0]


@pytest.mark.parametrize("row", CALLS, ids=ids)
def test_a_world_that_is_not_ready_is_waited_for(row: Row) -> None:
    """Rule: not-yet"""
    world = fails(row, NotYet("the parent is being deployed", after=9.0))
    assert world.reconcile() == Outcome(Next.AFTER, 9.0)
    assert told(world)[0] == "event Normal PendingExternalResource"
    assert conditions_of(world.mr)["Synced"] == "True/ReconcileSuccess"
    assert conditions_of(world.mr).get("Ready", "") == row.ready


def check_told(world: World, row: Row) -> None:
    """Event and Synced have the same words, and Ready says what the step knows."""
    assert told(world)[-2].startswith(f"event Warning {row.reason}")
    assert conditions_of(world.mr)["Synced"] == "False/ReconcileError"
    assert conditions_of(world.mr).get("Ready", "") == row.ready
    synced = next(c for c in world.status()["conditions"] if c["type"] == "Synced")
    assert synced["message"] == world.recorder.messages[-1]
    assert synced["message"].startswith(row.words)


# Status.


def test_a_conflict_on_status_is_met_by_reading_again() -> None:
    """Rule: status.conflict"""
    world = World(toy(**HELD_MR))
    world.external.toys = {"acme": 1}
    mr = world.mr
    assert mr is not None
    world.objects.touch(world.kind, world.key)
    assert world.reconciler.reconcile(mr) == POLL
    assert world.journal == [OBSERVE, f"status {READY} {SYNCED}", f"status {READY} {SYNCED}"]


@pytest.mark.parametrize(
    ("cause", "outcome", "events"),
    [
        (Forbidden(Operation("patch", TOYS, "status"), 403, "no"), REAL_BACKOFF_FAILED, 1),
        (NO_ANSWER, REAL_BACKOFF_FAILED, 0),
        (GONE, NEVER, 0),
    ],
    ids=["forbidden", "no answer", "gone"],
)
def test_a_status_that_cannot_be_written(cause: KubeError, outcome: Outcome, events: int) -> None:
    """Rule: events.reasons"""
    world = World(toy(**HELD_MR))
    world.external.toys = {"acme": 1}
    world.objects.failing = {"status": [cause]}
    assert world.reconcile() == outcome
    told = ["event Warning CannotUpdateManagedResource"] * events
    assert world.journal == [OBSERVE, f"status {READY} {SYNCED}", *told]
    assert all('resources: ["toys/status"]' in message for message in world.recorder.messages)


def test_a_failure_whose_telling_fails_is_tried_again_in_silence() -> None:
    """Rule: api-server.trouble"""
    world = World(toy())
    world.external.refusing = {"observe": [ExternalError("denied")]}
    world.objects.failing = {"status": [NO_ANSWER]}
    assert world.reconcile() == REAL_BACKOFF_FAILED


def test_a_missing_rbac_rule_is_named_in_event_and_condition() -> None:
    """Rule: events.reasons"""
    world = World(toy())
    world.objects.failing = {"metadata": [REFUSED]}
    assert world.reconcile() == REAL_BACKOFF_FAILED
    assert world.journal == [
        *CREATE[:2],
        "event Warning CannotUpdateManagedResource",
        f"status {CREATING} {ERROR}",
    ]
    assert (
        'apiGroups: ["toys.m.example.org"], resources: ["toys"], verbs: ["patch"]'
        in world.recorder.messages[0]
    )


def test_a_secret_that_nobody_may_write_is_not_the_resources_own_end() -> None:
    """Rule: managed.vanished"""
    world = World(toy(**SETTLED_MR | SECRET))
    world.external.toys, world.external.observation = {"acme": 1}, DETAILS
    world.objects.failing = {"create Secret": [NotFound(Operation("create", SECRETS), 404, "namespace")]}
    assert world.reconcile() == REAL_BACKOFF_FAILED
    assert told(world) == ["event Warning CannotPublishConnectionDetails", f"status {ERROR}"]


def test_a_change_that_cannot_be_published_is_told() -> None:
    """Rule: events.reasons"""
    world = World(toy(**SETTLED_MR | SECRET))
    world.external.toys = {"acme": 7}
    world.external.change = Change(connection_details={"password": b"x"})
    world.objects.failing = {"create Secret": [REFUSED]}
    assert world.reconcile() == REAL_BACKOFF_FAILED
    assert told(world) == [
        "event Normal UpdatedExternalResource",
        "event Warning CannotPublishConnectionDetails",
        f"status {ERROR}",
    ]


def test_deleting_stays_told_while_the_end_cannot_be_written() -> None:
    """Rule: deletion.gone"""
    world = World(toy(deleted=True, annotations=NAMED | {names.POLL_INTERVAL: "5m"}))
    world.external.toys = {"acme": 1}
    world.reconcile()
    world.objects.failing = {"metadata -finalizer": [REFUSED]}
    world.reconcile()
    assert conditions_of(world.mr) == {"Ready": "False/Deleting", "Synced": "False/ReconcileError"}
    assert DELETING in world.journal[3]


@pytest.mark.parametrize(
    "refusal",
    [
        ExternalError("no", made_nothing=True, status={"instructions": None, "refused": "1"}),
        NotYet("no", after=1, status={"instructions": None, "refused": "1"}),
    ],
)
def test_a_refusal_may_change_fields_of_the_observations_status(refusal: ExternalError | NotYet) -> None:
    world = World(toy())
    world.external.absent = Observation(False, status={"instructions": ["one"], "known": "1"})
    world.external.refusing = {"create": [refusal.but(conditions=())]}
    world.reconcile()
    status = world.status()
    assert "instructions" not in status
    assert (status["known"], status["refused"]) == ("1", "1")

"""What a reconcile does when a step fails, a write conflicts or the API server is in trouble."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.external import Change
from edgetenants_runtime.kube.errors import Forbidden, KubeError, Operation
from edgetenants_runtime.steps import Next, Outcome
from edgetenants_runtime.testing import TOYS, World, toy

SYNCED = "Synced=True/ReconcileSuccess"
ERROR = "Synced=False/ReconcileError"
READY = "Ready=True/Available"
CREATING = "Ready=False/Creating"
DELETING = "Ready=False/Deleting"
HELD = [names.FINALIZER]
NAMED = {names.EXTERNAL_NAME: "acme"}
EARLY, LATE = "2025-12-31T23:00:00Z", "2025-12-31T23:30:00Z"

OBSERVE = "external observe acme"
CREATE = [
    OBSERVE,
    "metadata +finalizer external-name external-create-pending",
    "external create acme",
    "metadata external-create-succeeded",
    "event Normal CreatedExternalResource",
    f"status {CREATING} {SYNCED}",
]
POLL = Outcome(Next.AFTER, 60.0)
POLL_FAILED = Outcome(Next.AFTER, 60.0, failed=True)
NEVER = Outcome(Next.NEVER)
BACKOFF = Outcome(Next.BACKOFF)
FAILED = Outcome(Next.BACKOFF, failed=True)


@dataclass
class Case:
    id: str
    journal: list[str]
    outcome: Outcome
    mr: dict[str, Any] = field(default_factory=dict)
    toys: dict[str, int] = field(default_factory=dict)
    world: dict[str, Any] = field(default_factory=dict)
    says: str = ""


def synced(reason: str, status: str = "False", message: str = "") -> dict[str, Any]:
    condition = {
        "type": "Synced",
        "status": status,
        "reason": reason,
        "lastTransitionTime": EARLY,
        "observedGeneration": 1,
    }
    return condition | ({"message": message} if message else {})


def ready(reason: str, status: str) -> dict[str, Any]:
    return {
        "type": "Ready",
        "status": status,
        "reason": reason,
        "lastTransitionTime": EARLY,
        "observedGeneration": 1,
    }


SETTLED = {
    "conditions": [ready("Available", "True"), synced("ReconcileSuccess", "True")],
    "observedGeneration": 1,
}
SETTLED_MR = {"finalizers": HELD, "annotations": NAMED, "status": SETTLED}
HELD_MR = {"finalizers": HELD, "annotations": NAMED}

REFUSED = "AccessDenied: not yours"
UPDATING = SETTLED_MR, {"acme": 7}

FAILURES = [
    Case(
        "connect",
        ["event Warning CannotConnectToProvider", f"status {ERROR}"],
        FAILED,
        says=f"connect failed: {REFUSED}",
    ),
    Case(
        "observe",
        [OBSERVE, "event Warning CannotObserveExternalResource", f"status {ERROR}"],
        FAILED,
        says=f"observe failed: {REFUSED}",
    ),
    Case(
        "create",
        [
            *CREATE[:3],
            "metadata external-create-failed",
            "event Warning CannotCreateExternalResource",
            f"status {CREATING} {ERROR}",
        ],
        FAILED,
        says=f"create failed: {REFUSED}",
    ),
    Case(
        "update",
        [OBSERVE, "external update acme", "event Warning CannotUpdateExternalResource", f"status {ERROR}"],
        FAILED,
        *UPDATING,
        says=f"update failed: {REFUSED}",
    ),
    Case(
        "delete",
        [
            OBSERVE,
            "external delete acme",
            "event Warning CannotDeleteExternalResource",
            f"status {DELETING} {ERROR}",
        ],
        FAILED,
        {"deleted": True},
        {"acme": 1},
        says=f"delete failed: {REFUSED}",
    ),
]


@pytest.mark.parametrize("case", FAILURES, ids=lambda case: case.id)
def test_a_refused_call(case: Case) -> None:
    world = World(toy(**case.mr))
    world.external.toys = dict(case.toys)
    world.external.refusing = {case.id: [ExternalError(REFUSED)]}
    assert world.reconcile() == case.outcome
    assert world.journal == case.journal
    assert world.recorder.messages[-1] == case.says
    assert {c["type"]: c for c in world.status()["conditions"]}["Synced"]["message"] == case.says


@pytest.mark.parametrize(
    ("retry", "outcome"),
    [
        (Retry.backoff(), FAILED),
        (Retry.after(7.0), Outcome(Next.AFTER, 7.0, failed=True)),
        (Retry.poll(), POLL_FAILED),
    ],
)
def test_an_external_error_says_when_it_is_retried(retry: Retry, outcome: Outcome) -> None:
    world = World(toy())
    world.external.refusing = {"observe": [ExternalError("throttled", retry=retry)]}
    assert world.reconcile() == outcome


def test_an_errors_conditions_win_over_the_steps_own() -> None:
    world = World(toy())
    world.external.refusing = {
        "create": [ExternalError("taken", conditions=[conditions.unavailable("taken")])]
    }
    world.reconcile()
    assert world.journal[-1] == f"status Ready=False/Unavailable {ERROR}"


@pytest.mark.parametrize("call", ["connect", "observe", "update"])
def test_a_world_that_is_not_ready_is_no_error(call: str) -> None:
    world = World(toy(**HELD_MR))
    world.external.toys = {"acme": 7}
    world.external.refusing = {
        call: [NotYet("the parent is being deployed", after=9.0, conditions=[conditions.creating()])]
    }
    assert world.reconcile() == Outcome(Next.AFTER, 9.0)
    assert world.journal[-2:] == [
        "event Normal PendingExternalResource",
        f"status {CREATING} {SYNCED}",
    ] or world.journal[-2:] == [
        "event Normal PendingExternalResource",
        f"status Ready=False/Creating {SYNCED}",
    ]


def test_a_bug_is_shown_without_its_text_and_backed_off() -> None:
    world = World(toy())
    world.external.refusing = {"observe": [KeyError("AKIASECRET")]}
    assert world.reconcile() == FAILED
    assert world.recorder.messages == [
        "observe failed: unexpected KeyError; the provider's log has the details"
    ]


def test_the_same_refusal_with_another_request_id_is_not_written_again() -> None:
    world = World(toy())
    world.external.refusing = {"observe": [ExternalError("denied", request_id=str(n)) for n in range(3)]}
    for _ in range(3):
        world.reconcile()
    assert [entry for entry in world.journal if entry.startswith("status")] == [f"status {ERROR}"]
    assert "(request id: 0)" in world.status()["conditions"][0]["message"]


def test_repeated_failing_creations_of_a_deterministic_name_write_no_more_metadata() -> None:
    world = World(toy())
    world.external.refusing = {"create": [ExternalError("quota")] * 3}
    world.reconcile()
    first = len(world.journal)
    world.reconcile()
    assert world.journal[first:] == [
        OBSERVE,
        "external create acme",
        "event Warning CannotCreateExternalResource",
    ]


def test_a_conflict_before_the_creation_prevents_it_and_is_not_told() -> None:
    world = World(toy())
    mr = world.mr
    assert mr is not None
    world.objects.touch(world.kind, world.key)
    assert world.reconciler.reconcile(mr) == Outcome(Next.SOON)
    assert world.journal == CREATE[:2]
    assert world.external.created == 0


def test_a_conflict_on_status_is_met_by_reading_again() -> None:
    world = World(toy(**HELD_MR))
    world.external.toys = {"acme": 1}
    mr = world.mr
    assert mr is not None
    world.objects.touch(world.kind, world.key)
    assert world.reconciler.reconcile(mr) == POLL
    assert world.journal == [OBSERVE, f"status {READY} {SYNCED}", f"status {READY} {SYNCED}"]


def test_a_resource_that_vanishes_meanwhile_ends_quietly() -> None:
    world = World(toy(deleted=True))
    mr = world.mr
    assert mr is not None
    world.reconcile()
    assert world.mr is None
    assert world.reconciler.reconcile(mr) == NEVER


def no_answer(code: int = 503) -> KubeError:
    return KubeError(Operation("patch", TOYS), code, "etcd is down")


def test_critical_annotations_are_tried_again_until_they_are_written() -> None:
    world = World(toy())
    world.objects.failing = {"metadata external-create-succeeded": [no_answer(), no_answer(0)]}
    assert world.reconcile() == BACKOFF
    assert world.journal.count("metadata external-create-succeeded") == 3


def test_a_failed_creation_that_cannot_be_noted_is_told_with_its_cause() -> None:
    world = World(toy())
    world.external.refusing = {"create": [ExternalError(REFUSED)]}
    refused = Forbidden(Operation("patch", TOYS), 403, "no")
    world.objects.failing = {"metadata external-create-failed": [refused]}
    assert world.reconcile() == FAILED
    assert world.journal[4:] == [
        "event Warning CannotUpdateManagedResource",
        "event Warning CannotCreateExternalResource",
        f"status {CREATING} {ERROR}",
    ]


def test_an_update_reports_what_it_made() -> None:
    world = World(toy(**HELD_MR))
    world.external.toys = {"acme": 7}
    world.external.change = Change(at_provider={"size": 1}, requeue_after=3.0)
    assert world.reconcile() == Outcome(Next.AFTER, 3.0)
    assert world.journal[-1] == f"status {READY} {SYNCED} atProvider"


def test_an_api_server_in_trouble_is_met_by_real_back_off_and_silence() -> None:
    world = World(toy())
    world.objects.failing = {"metadata +finalizer": [no_answer()]}
    assert world.reconcile() == Outcome(Next.REAL_BACKOFF, failed=True)
    assert world.journal == CREATE[:2]


def test_a_missing_rbac_rule_is_named_in_event_and_condition() -> None:
    world = World(toy())
    world.objects.failing = {"metadata": [Forbidden(Operation("patch", TOYS), 403, "no")]}
    assert world.reconcile() == Outcome(Next.REAL_BACKOFF, failed=True)
    assert world.journal == [
        *CREATE[:2],
        "event Warning CannotUpdateManagedResource",
        f"status {CREATING} {ERROR}",
    ]
    assert (
        'apiGroups: ["toys.m.example.org"], resources: ["toys"], verbs: ["patch"]'
        in world.recorder.messages[0]
    )


def test_a_forbidden_status_write_is_told_by_an_event() -> None:
    world = World(toy(**HELD_MR))
    world.external.toys = {"acme": 1}
    world.objects.failing = {"status": [Forbidden(Operation("patch", TOYS, "status"), 403, "no")]}
    assert world.reconcile() == Outcome(Next.REAL_BACKOFF, failed=True)
    assert world.journal == [
        OBSERVE,
        f"status {READY} {SYNCED}",
        "event Warning CannotUpdateManagedResource",
    ]
    assert 'resources: ["toys/status"]' in world.recorder.messages[0]


def test_from_creation_to_ready_to_gone() -> None:
    world = World(toy())
    world.settle()
    assert world.journal == [*CREATE, OBSERVE, f"status {READY}", OBSERVE]
    world.delete()
    done = len(world.journal)
    world.settle()
    assert world.mr is None
    assert world.external.toys == {}
    assert world.journal[done:] == [
        OBSERVE,
        "external delete acme",
        "event Normal DeletedExternalResource",
        f"status {DELETING}",
        OBSERVE,
        "metadata -finalizer",
        "event Normal DeletedExternalResource",
    ]

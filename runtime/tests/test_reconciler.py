"""The reconciler's journeys: what is done, in order, for each way a reconcile can go; both scopes."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.external import Observation
from edgetenants_runtime.steps import Next, Outcome
from edgetenants_runtime.testing import World, toy

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

COLOURED = Observation(exists=True, conditions=(conditions.available(),), late_initialized={"colour": "red"})
PENDING, SUCCEEDED = names.EXTERNAL_CREATE_PENDING, names.EXTERNAL_CREATE_SUCCEEDED
AGAIN = ["external create acme", "metadata external-create-succeeded", *CREATE[-2:]]
DELETE = [
    OBSERVE,
    "external delete acme",
    "event Normal DeletedExternalResource",
    f"status {DELETING} {SYNCED}",
]

CASES = [
    Case("a new resource is created with one write before the call", CREATE, BACKOFF),
    Case("a settled resource is observed and nothing written", [OBSERVE], POLL, SETTLED_MR, {"acme": 1}),
    Case(
        "an existing external resource is adopted with one write of metadata and one of status",
        [OBSERVE, "metadata +finalizer external-name", f"status {READY} {SYNCED}"],
        POLL,
        toys={"acme": 1},
    ),
    Case(
        "a difference is updated",
        [OBSERVE, "external update acme", "event Normal UpdatedExternalResource"],
        POLL,
        SETTLED_MR,
        {"acme": 7},
    ),
    Case(
        "a difference is left where updates are not permitted",
        [OBSERVE],
        POLL,
        SETTLED_MR | {"managementPolicies": ["Observe", "Create", "Delete"]},
        {"acme": 7},
    ),
    Case(
        "paused by annotation: nothing outside",
        ["event Normal ReconciliationPaused", "status Synced=False/ReconcilePaused"],
        NEVER,
        {"annotations": {names.PAUSED: "true"}},
        says="Reconciliation is paused via the annotation crossplane.io/paused.",
    ),
    Case(
        "paused by empty policies",
        ["event Normal ReconciliationPaused", "status Synced=False/ReconcilePaused"],
        NEVER,
        {"managementPolicies": []},
        says="Reconciliation is paused via an empty spec.managementPolicies.",
    ),
    Case(
        "a paused one that is deleted stays held, and says so",
        ["event Normal ReconciliationPaused", "status Synced=False/ReconcilePaused"],
        NEVER,
        {"deleted": True, "annotations": {names.PAUSED: "true"}},
        {"acme": 1},
        says="the annotation crossplane.io/paused. Its deletion is held until then.",
    ),
    Case(
        "unsupported policies are an error that names the allowed ones",
        ["event Warning CannotUseInvalidManagementPolicy", f"status {ERROR}"],
        POLL_FAILED,
        {"managementPolicies": ["Create"]},
        says="spec.managementPolicies [Create] is not supported; set one of: [*], ",
    ),
    Case(
        "observe-only and absent is an error",
        [OBSERVE, "event Warning CannotObserveExternalResource", f"status {ERROR}"],
        POLL_FAILED,
        {"managementPolicies": ["Observe"]},
        says="observe failed: external resource does not exist",
    ),
    Case(
        "observe-only and present is reported, never changed",
        [OBSERVE, "metadata +finalizer external-name", f"status {READY} {SYNCED}"],
        POLL,
        {"managementPolicies": ["Observe"]},
        {"acme": 7},
    ),
    Case(
        "an unreadable creation annotation stops, and names itself",
        ["event Warning CannotInitializeManagedResource", f"status {CREATING} {ERROR}"],
        POLL_FAILED,
        {"annotations": {names.EXTERNAL_CREATE_PENDING: "yesterday"}},
        says="annotation crossplane.io/external-create-pending is not an RFC 3339 time: 'yesterday'",
    ),
    Case(
        "the poll interval of the annotation is respected",
        [OBSERVE],
        Outcome(Next.AFTER, 300.0),
        SETTLED_MR | {"annotations": NAMED | {names.POLL_INTERVAL: "5m"}},
        {"acme": 1},
    ),
    Case(
        "a poll interval below the shortest is raised to it",
        [OBSERVE],
        Outcome(Next.AFTER, 10.0),
        SETTLED_MR | {"annotations": NAMED | {names.POLL_INTERVAL: "1s"}},
        {"acme": 1},
    ),
    Case(
        "an unreadable poll interval is an error",
        ["event Warning CannotInitializeManagedResource", f"status {ERROR}"],
        POLL_FAILED,
        SETTLED_MR | {"annotations": NAMED | {names.POLL_INTERVAL: "often"}},
        says="annotation crossplane.io/poll-interval is not a duration such as 30s, 5m or 1h30m: 'often'",
    ),
    Case(
        "an observation may ask to be repeated sooner",
        [OBSERVE],
        Outcome(Next.AFTER, 5.0),
        SETTLED_MR,
        {"acme": 1},
        {"observation": Observation(exists=True, conditions=(conditions.available(),), poll_after=5.0)},
    ),
    Case(
        "a requested reconcile is noted",
        [OBSERVE, "event Normal ReconcileRequestHandled", "status lastHandledReconcileAt"],
        POLL,
        SETTLED_MR | {"annotations": NAMED | {names.RECONCILE_REQUESTED_AT: "now"}},
        {"acme": 1},
    ),
    Case(
        "late initialization fills the spec and is told of its new generation",
        [OBSERVE, "spec colour", f"status {READY} {SYNCED}"],
        POLL,
        SETTLED_MR,
        {"acme": 1},
        {"observation": COLOURED},
    ),
    Case(
        "late initialization needs its policy",
        [OBSERVE],
        POLL,
        SETTLED_MR | {"managementPolicies": ["Observe", "Create", "Update", "Delete"]},
        {"acme": 1},
        {"observation": COLOURED},
    ),
    # Deletion.
    Case(
        "deletion deletes, reports and looks again",
        DELETE,
        BACKOFF,
        {"deleted": True},
        {"acme": 1},
    ),
    Case(
        "deletion of what is gone releases the resource",
        [OBSERVE, "metadata -finalizer"],
        NEVER,
        {"deleted": True},
    ),
    Case(
        "deletion that made it go says so",
        [OBSERVE, "metadata -finalizer", "event Normal DeletedExternalResource"],
        NEVER,
        {"deleted": True, "status": {"conditions": [ready("Deleting", "False")]}},
        says="External resource is gone",
    ),
    Case(
        "deletion waits for other finalizers",
        [OBSERVE, "event Normal PendingExternalResource"],
        POLL,
        {"deleted": True, "finalizers": ["example.org/backup", *HELD]},
        {"acme": 1},
        says="Waiting for other finalizers: example.org/backup",
    ),
    Case(
        "deletion does not wait for the garbage collector, which waits for us",
        DELETE,
        BACKOFF,
        {"deleted": True, "finalizers": ["foregroundDeletion", *HELD]},
        {"acme": 1},
    ),
    Case(
        "deletion without our finalizer is not ours",
        [],
        NEVER,
        {"deleted": True, "finalizers": ["example.org/x"]},
        {"acme": 1},
    ),
    Case(
        "deletion without the Delete policy orphans, unobserved",
        ["metadata -finalizer"],
        NEVER,
        {"deleted": True, "managementPolicies": ["Observe", "Create", "Update"]},
        {"acme": 1},
    ),
    # The creation annotations.
    Case(
        "an interrupted creation heals where the name is deterministic",
        [OBSERVE, "metadata +finalizer", *AGAIN],
        BACKOFF,
        {"annotations": NAMED | {names.EXTERNAL_CREATE_PENDING: EARLY}},
    ),
    Case(
        "a creation after one that succeeded long ago is announced anew",
        [OBSERVE, "metadata external-create-pending", *AGAIN],
        BACKOFF,
        {"finalizers": HELD, "annotations": NAMED | {PENDING: EARLY, SUCCEEDED: EARLY}},
    ),
    Case(
        "an external resource that was just created may not show yet",
        [OBSERVE, "event Normal PendingExternalResource"],
        Outcome(Next.REAL_BACKOFF),
        {"annotations": NAMED | {PENDING: EARLY, SUCCEEDED: "2026-01-01T00:00:00Z"}},
    ),
]


@pytest.mark.parametrize("cluster", [False, True], ids=["namespaced", "cluster"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_one_reconcile(case: Case, cluster: bool) -> None:
    world = World(toy(cluster=cluster, **case.mr))
    world.external.toys = dict(case.toys)
    for name, value in case.world.items():
        setattr(world.external, name, value)
    outcome = world.reconcile()
    assert world.journal == case.journal
    assert outcome == case.outcome
    if case.says:
        assert case.says in world.recorder.messages[-1]


# The deletion table: management policies, deletion policy, whether the external resource is deleted.


@pytest.mark.parametrize(
    ("policies", "deletion_policy", "deletes"),
    [
        (["*"], "Delete", True),
        (["*"], "Orphan", False),
        (["Observe", "Delete"], "Delete", True),
        (["Observe", "Delete"], "Orphan", True),
        (["Observe", "Create"], "Delete", False),
        (["Observe", "Create"], "Orphan", False),
    ],
)
def test_the_deletion_table(policies: list[str], deletion_policy: str, deletes: bool) -> None:
    world = World(
        toy(cluster=True, deleted=True, managementPolicies=policies, deletionPolicy=deletion_policy)
    )
    world.external.toys = {"acme": 1}
    world.settle()
    assert world.mr is None
    assert (world.external.toys == {}) is deletes


def test_a_status_field_that_the_crd_drops_is_not_written_for_ever() -> None:
    world = World(toy(**SETTLED_MR))
    world.external.toys = {"acme": 1}
    world.external.observation = Observation(exists=True, status={"unknown": 1})
    stored = world.objects.find(world.kind, world.key)
    assert stored is not None
    world.objects.patch = lambda *a, **k: world.journal.append("status unknown") or stored  # type: ignore[method-assign]
    world.reconcile()
    world.reconcile()
    assert world.journal == [OBSERVE, "status unknown", OBSERVE]

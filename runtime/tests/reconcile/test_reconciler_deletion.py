"""Deleting: the table of policies, finalizers, holds, and the end."""

import pytest

from edgetenants_runtime import AsyncOperation, Observation, OperationState
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import Change
from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.kube.kinds import CRDS
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.testing import World, toy
from edgetenants_runtime.testing.cases import (
    BACKOFF,
    CREATE,
    DELETE,
    DELETING,
    ERROR,
    FAILED,
    HELD,
    NAMED,
    NEVER,
    OBSERVE,
    POLL,
    READY,
    REAL_BACKOFF,
    REAL_BACKOFF_FAILED,
    SYNCED,
    VARIANTS,
    Case,
    Variant,
    condition,
    name,
    pairs,
    ready,
    run,
    synced,
)

REFUSED = "AccessDenied: not yours"
GOES = {"deleted": True, "annotations": NAMED}
THERE = {"acme": 1}
WHY = "deletion held: the CRD of this kind is being deleted; set …"
HELD_SAID = "Ready=False/DeletionHeld Synced=False/DeletionHeld"
HELD_STATUS = {
    "conditions": [
        condition("Ready", "False", "DeletionHeld", WHY),
        synced("DeletionHeld", message=WHY),
    ],
    "observedGeneration": 1,
}
NO_ANSWER = KubeError(Operation("get", CRDS), 503, "etcd is down")
BUSY = Observation(
    True,
    conditions=(conditions.available(),),
    operation=AsyncOperation(OperationState.ONGOING, "copying"),
)
BROKEN = Observation(True, operation=AsyncOperation(OperationState.FAILED, "still in use"))
BROKEN_OFF = "AsyncOperation=True/Finished LastAsyncOperation=False/DestroyFailure"

CASES = [
    Case(
        "deletion deletes, reports and looks again",
        "deletion",
        DELETE,
        BACKOFF,
        {"deleted": True},
        THERE,
        conditions={"Ready": "False/Deleting", "Synced": "True/ReconcileSuccess"},
    ),
    Case(
        "deletion may say when to look again",
        "change.requeue",
        DELETE,
        Outcome(Next.AFTER, 30.0),
        {"deleted": True},
        THERE,
        {"change": Change(requeue_after=30.0)},
    ),
    Case(
        "deletion of what is gone releases the resource",
        "deletion.gone",
        [OBSERVE, "metadata -finalizer"],
        NEVER,
        {"deleted": True},
    ),
    Case(
        "an unreadable poll interval holds no deletion",
        "poll.unreadable",
        [OBSERVE, "metadata -finalizer"],
        NEVER,
        {"deleted": True, "annotations": NAMED | {names.POLL_INTERVAL: "often"}},
    ),
    Case(
        "deletion that made it go says so",
        "deletion.gone",
        [OBSERVE, "metadata -finalizer", "event Normal DeletedExternalResource"],
        NEVER,
        {"deleted": True, "status": {"conditions": [ready("Deleting", "False")]}},
        says="External resource is gone",
    ),
    Case(
        "a refused deletion is told and tried again",
        "deletion.failed",
        [
            OBSERVE,
            "external delete acme",
            "event Warning CannotDeleteExternalResource",
            f"status {DELETING} {ERROR}",
        ],
        FAILED,
        {"deleted": True},
        THERE,
        {"refusing": {"delete": [ExternalError(REFUSED)]}},
        says=f"delete failed: {REFUSED}",
        conditions={"Ready": "False/Deleting", "Synced": "False/ReconcileError"},
    ),
    Case(
        "deletion that waits for dependants is no error",
        "deletion.dependants",
        [
            OBSERVE,
            "external delete acme",
            "event Normal PendingExternalResource",
            f"status {DELETING} {SYNCED}",
        ],
        Outcome(Next.AFTER, 20.0),
        {"deleted": True},
        THERE,
        {"refusing": {"delete": [NotYet("3 toys are still in the box", after=20.0)]}},
        says="3 toys are still in the box",
    ),
    Case(
        "deletion waits for other finalizers",
        "deletion.other-finalizers",
        [OBSERVE, "event Normal PendingExternalResource", f"status {READY} {SYNCED}"],
        REAL_BACKOFF,
        {"deleted": True, "finalizers": ["example.org/backup", *HELD]},
        THERE,
        says="Waiting for other finalizers: example.org/backup",
    ),
    Case(
        "deletion does not wait for the garbage collector, which waits for us",
        "deletion.collector",
        DELETE,
        BACKOFF,
        {"deleted": True, "finalizers": ["foregroundDeletion", *HELD]},
        THERE,
    ),
    Case(
        "deletion without our finalizer is not ours",
        "deletion.not-ours",
        [],
        NEVER,
        {"deleted": True, "finalizers": ["example.org/x"]},
        THERE,
    ),
    Case(
        "deletion without the Delete policy orphans, unobserved",
        "deletion.orphan",
        ["metadata -finalizer"],
        NEVER,
        {"deleted": True, "managementPolicies": ["Observe", "Create", "Update"]},
        THERE,
    ),
    Case(
        "an orphan goes though the outside world cannot be reached, and leaves other finalizers",
        "deletion.orphan",
        ["metadata -finalizer"],
        NEVER,
        {
            "deleted": True,
            "finalizers": ["example.org/x", *HELD],
            "managementPolicies": ["Observe", "Create", "Update"],
        },
        THERE,
        {"refusing": {"connect": [ExternalError(REFUSED)]}},
    ),
    # Held.
    Case(
        "a held deletion keeps the external resource, and says why",
        "deletion.held",
        [OBSERVE, "event Warning DeletionHeld", f"status {HELD_SAID}"],
        POLL,
        GOES,
        THERE,
        held=WHY,
        says=WHY,
        conditions={"Ready": "False/DeletionHeld", "Synced": "False/DeletionHeld"},
    ),
    Case(
        "a held deletion is told of once",
        "deletion.held-quiet",
        [OBSERVE],
        POLL,
        GOES | {"status": HELD_STATUS},
        THERE,
        held=WHY,
    ),
    Case(
        "a held deletion lets go of what is gone outside",
        "deletion.held-gone",
        [OBSERVE, "metadata -finalizer"],
        NEVER,
        GOES,
        held=WHY,
    ),
    Case(
        "a held deletion may orphan",
        "deletion.held-orphan",
        ["metadata -finalizer"],
        NEVER,
        GOES | {"managementPolicies": ["Observe"]},
        THERE,
        held=WHY,
    ),
    Case(
        "a hold that ends lets the deletion go on",
        "deletion.held-confirmed",
        DELETE,
        BACKOFF,
        GOES | {"status": HELD_STATUS},
        THERE,
    ),
    Case(
        "nothing is deleted while it cannot be told whether deletions are held",
        "deletion.held-unknown",
        [OBSERVE],
        REAL_BACKOFF_FAILED,
        GOES,
        THERE,
        held=NO_ANSWER,
    ),
    Case(
        "a resource that lives is not touched by a hold",
        "deletion.held",
        CREATE,
        BACKOFF,
        held=WHY,
    ),
    # Work that outlasts a reconcile.
    Case(
        "deletion does not cut into work under way",
        "async.deletion",
        [OBSERVE, f"status {DELETING} AsyncOperation=True/Ongoing {SYNCED}"],
        POLL,
        GOES,
        THERE,
        {"observation": BUSY},
    ),
    Case(
        "a deletion that failed after it was accepted is told of, and tried again",
        "async.destroy-failure",
        [
            *DELETE[:3],
            f"status {DELETING} {BROKEN_OFF} {SYNCED}",
        ],
        BACKOFF,
        GOES,
        THERE,
        {"observation": BROKEN},
    ),
]


@pytest.mark.parametrize(("case", "variant"), pairs(CASES), ids=name)
def test_deletion(case: Case, variant: Variant) -> None:
    run(case, variant)


@pytest.mark.parametrize("variant", VARIANTS[1::2], ids=str)
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
def test_the_deletion_table(
    policies: list[str], deletion_policy: str, deletes: bool, variant: Variant
) -> None:
    """Rule: deletion.table"""
    spec = {"managementPolicies": policies, "deletionPolicy": deletion_policy}
    world = World(toy(cluster=True, **GOES, **spec), variant.kind)  # type: ignore[arg-type]
    world.external.toys = {"acme": 1}
    world.settle()
    assert world.mr is None
    assert (world.external.toys == {}) is deletes
    assert (DELETE[1] in world.journal) is deletes


def test_from_creation_to_ready_to_gone() -> None:
    """Rule: deletion"""
    world = World(toy())
    world.settle()
    assert world.journal == [*CREATE, OBSERVE, f"status {READY}", OBSERVE]
    world.delete()
    done = len(world.journal)
    world.settle()
    assert world.mr is None
    assert world.external.toys == {}
    assert world.journal[done:] == [
        *DELETE[:3],
        f"status {DELETING}",
        OBSERVE,
        "metadata -finalizer",
        "event Normal DeletedExternalResource",
    ]


def test_a_finalizer_that_somebody_else_removed_ends_quietly() -> None:
    """Rule: deletion.gone"""
    world = World(toy(deleted=True))
    mr = world.mr
    assert mr is not None
    world.reconcile()
    assert world.mr is None
    assert world.reconciler.reconcile(mr) == NEVER


def test_other_finalizers_are_told_of_once_and_again_when_they_change() -> None:
    """Rule: deletion.other-finalizers"""
    world = World(toy(**GOES | {"finalizers": ["example.org/backup", "example.org/audit", *HELD]}))
    world.external.toys = {"acme": 1}
    outcomes = [world.reconcile() for _ in range(3)]
    assert outcomes == [REAL_BACKOFF] * 3
    told = ["event Normal PendingExternalResource", f"status {READY} {SYNCED}"]
    assert world.journal == [OBSERVE, *told, OBSERVE, OBSERVE]
    left = {"metadata": {"finalizers": ["example.org/audit", *HELD]}}
    world.objects.patch(world.kind, world.key, left)
    world.reconcile()
    assert world.mr is not None
    synced = world.mr.condition("Synced")
    assert synced is not None
    assert (
        synced.message
        == "Waiting for other finalizers: example.org/audit. The controllers that set them must remove them."
    )
    assert world.recorder.messages == [
        "Waiting for other finalizers: example.org/audit, example.org/backup",
        "Waiting for other finalizers: example.org/audit",
    ]


@pytest.mark.parametrize(
    "changed", [{}, {"uid": "another"}, None], ids=["not deleted", "another one", "gone"]
)
def test_a_deletion_that_the_api_server_does_not_know_deletes_nothing(changed: dict[str, str] | None) -> None:
    """As after a restore from a backup, until the cache has been listed again."""
    world = World(toy(annotations=NAMED))
    world.settle()
    assert world.mr is not None
    stored, status = world.mr.raw, dict(world.status())
    if changed is None:
        del world.objects._objects[world.kind.resource, world.key]
    else:
        world.objects.put(world.kind, {**stored, "metadata": {**stored["metadata"], **changed}})
        world.objects.touch(world.kind, world.key)
    before = len(world.journal)
    metadata = {**stored["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    outcome = world.reconciler.reconcile(Managed({**stored, "metadata": metadata}))
    assert outcome.next is (Next.NEVER if changed is None else Next.REAL_BACKOFF)
    assert not [entry for entry in world.journal[before:] if entry.startswith("external delete")]
    assert world.status() == ({} if changed is None else status), "what lives is not told to be deleting"

"""Creating and updating: what is written before and after the call, and when the next look is."""

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.external import Change
from edgetenants_runtime.kube.errors import Forbidden, KubeError, Operation
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.testing import TOYS, World, toy
from edgetenants_runtime.testing.cases import (
    BACKOFF,
    CREATE,
    CREATING,
    EARLY,
    ERROR,
    FAILED,
    GENERATED,
    HELD,
    HELD_MR,
    NAMED,
    NEVER_FAILED,
    OBSERVE,
    POLL,
    READY,
    REAL_BACKOFF,
    REAL_BACKOFF_FAILED,
    SETTLED_MR,
    SYNCED,
    Case,
    Naming,
    Variant,
    name,
    pairs,
    run,
)

PENDING, SUCCEEDED = names.EXTERNAL_CREATE_PENDING, names.EXTERNAL_CREATE_SUCCEEDED
FAILED_AT = names.EXTERNAL_CREATE_FAILED
AGAIN = ["external create acme", "metadata external-create-succeeded", *CREATE[-2:]]
REFUSED = "AccessDenied: not yours"
RBAC = Forbidden(Operation("patch", TOYS), 403, "no")
JUST_NOW = "2026-01-01T00:00:00Z"
UNCERTAIN = ["event Warning CannotInitializeManagedResource", f"status {CREATING} {ERROR}"]
DIFFERS = {"mr": SETTLED_MR, "toys": {"acme": 7}}


def refused(call: str, **fields: object) -> dict[str, object]:
    return {"refusing": {call: [ExternalError(REFUSED, made_nothing=True, **fields)]}}  # type: ignore[arg-type]


CASES = [
    Case(
        "a new resource is created with one write before the call",
        "creation.order",
        CREATE,
        BACKOFF,
        conditions={"Ready": "False/Creating", "Synced": "True/ReconcileSuccess"},
    ),
    Case(
        "a creation may say when to look again",
        "change.requeue",
        CREATE,
        Outcome(Next.AFTER, 3.0),
        external={"change": Change(external_name="acme", requeue_after=3.0)},
        generated=[
            "external observe None",
            "metadata +finalizer external-create-pending",
            "external create None",
            "metadata external-create-succeeded external-name",
            *CREATE[-2:],
        ],
    ),
    Case(
        "a refused creation is noted and told",
        "creation.failed",
        [
            *CREATE[:3],
            "metadata external-create-failed",
            "event Warning CannotCreateExternalResource",
            f"status {CREATING} {ERROR}",
        ],
        FAILED,
        external=refused("create"),
        says=f"create failed: {REFUSED}",
        conditions={"Ready": "False/Creating", "Synced": "False/ReconcileError"},
    ),
    Case(
        "a client's word on Ready wins over the step's own",
        "conditions.client-wins",
        [
            *CREATE[:3],
            "metadata external-create-failed",
            "event Warning CannotCreateExternalResource",
            f"status Ready=False/Unavailable {ERROR}",
        ],
        FAILED,
        external=refused("create", conditions=[conditions.unavailable("taken")]),
    ),
    Case(
        "what a creation says of Ready wins over the step's own",
        "conditions.client-wins",
        [*CREATE[:5], f"status {READY} {SYNCED}"],
        BACKOFF,
        external={"change": Change(external_name="acme", conditions=(conditions.available(),))},
        generated=[
            "external observe None",
            "metadata +finalizer external-create-pending",
            "external create None",
            "metadata external-create-succeeded external-name",
            "event Normal CreatedExternalResource",
            f"status {READY} {SYNCED}",
        ],
    ),
    Case(
        "a creation that cannot begin yet is no error",
        "not-yet",
        [
            *CREATE[:3],
            "metadata external-create-failed",
            "event Normal PendingExternalResource",
            f"status {CREATING} {SYNCED}",
        ],
        Outcome(Next.AFTER, 9.0),
        external={"refusing": {"create": [NotYet("the parent is being deployed", after=9.0)]}},
        conditions={"Ready": "False/Creating", "Synced": "True/ReconcileSuccess"},
    ),
    Case(
        "a failed creation that cannot be noted is told with its cause",
        "creation.unnoted",
        [
            *CREATE[:3],
            *["metadata external-create-failed"] * 6,
            "event Warning CannotUpdateManagedResource",
            "event Warning CannotCreateExternalResource",
            f"status {CREATING} {ERROR}",
        ],
        FAILED,
        external=refused("create"),
        failing={"metadata external-create-failed": [RBAC] * 6},
    ),
    Case(
        "critical annotations are tried again until they are written",
        "creation.critical",
        [*CREATE[:3], *["metadata external-create-succeeded"] * 3, *CREATE[-2:]],
        BACKOFF,
        failing={
            "metadata external-create-succeeded": [KubeError(Operation("patch", TOYS), 503, "down")] * 2
        },
    ),
    Case(
        "an interrupted creation heals where the name is deterministic",
        "creation.uncertain-deterministic",
        [OBSERVE, "metadata +finalizer", *AGAIN],
        BACKOFF,
        {"annotations": NAMED | {PENDING: EARLY}},
        naming=Naming.DETERMINISTIC,
    ),
    Case(
        "an interrupted creation of a generated name stops, though a name is given",
        "creation.uncertain-generated",
        UNCERTAIN,
        NEVER_FAILED,
        {"annotations": NAMED | {PENDING: EARLY}},
        naming=Naming.GENERATED,
    ),
    Case(
        "a creation that failed is tried again, announced anew only for a generated name",
        "creation.again",
        [OBSERVE, *AGAIN],
        BACKOFF,
        {"finalizers": HELD, "annotations": NAMED | {PENDING: EARLY, FAILED_AT: EARLY}},
        generated=[OBSERVE, "metadata external-create-pending", *AGAIN],
    ),
    Case(
        "a creation after one that succeeded long ago is announced anew",
        "creation.recreates",
        [OBSERVE, "metadata external-create-pending", *AGAIN],
        BACKOFF,
        {"finalizers": HELD, "annotations": NAMED | {PENDING: EARLY, SUCCEEDED: EARLY}},
    ),
    Case(
        "an external resource that was just created may not show yet",
        "creation.grace",
        [OBSERVE, "event Normal PendingExternalResource"],
        REAL_BACKOFF,
        {"annotations": NAMED | {PENDING: EARLY, SUCCEEDED: JUST_NOW}},
    ),
    # Updates.
    Case(
        "a difference is updated",
        "update",
        [OBSERVE, "external update acme", "event Normal UpdatedExternalResource"],
        POLL,
        **DIFFERS,
    ),
    Case(
        "a difference is left where updates are not permitted",
        "policies.no-update",
        [OBSERVE],
        POLL,
        SETTLED_MR | {"managementPolicies": ["Observe", "Create", "Delete"]},
        {"acme": 7},
    ),
    Case(
        "an update reports what it made",
        "change.requeue",
        [
            OBSERVE,
            "external update acme",
            "event Normal UpdatedExternalResource",
            f"status {READY} {SYNCED} atProvider",
        ],
        Outcome(Next.AFTER, 3.0),
        HELD_MR,
        {"acme": 7},
        {"change": Change(at_provider={"size": 1}, requeue_after=3.0)},
    ),
    Case(
        "a refused update is told, and Ready stays as it was seen",
        "update.failed",
        [OBSERVE, "external update acme", "event Warning CannotUpdateExternalResource", f"status {ERROR}"],
        FAILED,
        **DIFFERS,
        external=refused("update"),
        says=f"update failed: {REFUSED}",
        conditions={"Ready": "True/Available", "Synced": "False/ReconcileError"},
    ),
]


@pytest.mark.parametrize(("case", "variant"), pairs(CASES), ids=name)
def test_change(case: Case, variant: Variant) -> None:
    run(case, variant)


def test_repeated_failing_creations_of_a_deterministic_name_write_no_more_metadata() -> None:
    """Rule: creation.again"""
    world = World(toy())
    world.external.refusing = {"create": [ExternalError("quota", made_nothing=True)] * 3}
    world.reconcile()
    first = len(world.journal)
    world.reconcile()
    assert world.journal[first:] == [
        OBSERVE,
        "external create acme",
        "event Warning CannotCreateExternalResource",
    ]


def test_a_generated_name_that_cannot_be_written_stops_the_next_creation() -> None:
    """Rule: creation.uncertain-generated"""
    world = World(toy(), GENERATED)
    world.external.change = Change(external_name="toy-7")
    world.objects.failing = {"metadata external-create-succeeded": [RBAC] * 6}
    assert world.reconcile() == REAL_BACKOFF_FAILED
    world.restart()
    assert world.reconcile() == NEVER_FAILED
    assert world.recorder.messages[-1].startswith("cannot determine creation result - ")
    assert world.external.created == 1


def test_a_creation_is_announced_on_the_newest_version_or_not_begun() -> None:
    """Rule: creation.conflict"""
    world = World(toy())
    mr = world.mr
    assert mr is not None
    world.objects.touch(world.kind, world.key)
    assert world.reconciler.reconcile(mr) == REAL_BACKOFF
    assert world.journal == CREATE[:2]
    assert world.external.created == 0


def test_a_name_that_comes_with_the_creation_is_written_whatever_the_version() -> None:
    """Rule: creation.critical"""
    world = World(toy(), GENERATED)
    world.external.change = Change(external_name="toy-7")
    create = world.external.create

    def meanwhile(*args: object) -> Change:
        world.objects.touch(world.kind, world.key)
        return create(*args)  # type: ignore[arg-type]

    world.external.create = meanwhile  # type: ignore[method-assign]
    world.reconcile()
    assert world.mr is not None
    assert world.mr.external_name == "toy-7"

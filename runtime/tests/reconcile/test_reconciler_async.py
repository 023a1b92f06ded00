"""Work in the outside world that outlasts a reconcile: told as upjet tells it, nothing begun meanwhile."""

import pytest

from edgetenants_runtime import AsyncOperation, Change, Observation, OperationState
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.errors import ExternalError
from edgetenants_runtime.testing import World, toy
from edgetenants_runtime.testing.cases import (
    CREATE,
    CREATING,
    EARLY,
    ERROR,
    FAILED,
    HELD_MR,
    NAMED,
    OBSERVE,
    POLL,
    SETTLED,
    SETTLED_MR,
    SYNCED,
    Case,
    Variant,
    condition,
    conditions_of,
    name,
    pairs,
    run,
)

AVAILABLE = conditions.available()
REFUSED = "AccessDenied: not yours"
JUST_CREATED = {
    names.EXTERNAL_CREATE_PENDING: EARLY,
    names.EXTERNAL_CREATE_SUCCEEDED: "2026-01-01T00:00:00Z",
}
ONGOING = AsyncOperation(OperationState.ONGOING, "rebuilding")
SUCCEEDED = AsyncOperation(OperationState.SUCCEEDED)
BROKEN = AsyncOperation(OperationState.FAILED, "no space left")
UNDER_WAY = condition("AsyncOperation", "True", "Ongoing", "rebuilding")


def seen(operation: AsyncOperation) -> dict[str, object]:
    return {"observation": Observation(True, conditions=(AVAILABLE,), operation=operation)}


def told(*more: dict[str, object]) -> dict[str, object]:
    stored = [*SETTLED["conditions"], *more]  # type: ignore[misc]
    return HELD_MR | {"status": {"conditions": stored, "observedGeneration": 1}}


CASES = [
    Case(
        "work under way is told of, and nothing else is begun",
        "async.ongoing",
        [OBSERVE, "status AsyncOperation=True/Ongoing"],
        POLL,
        SETTLED_MR,
        {"acme": 7},
        seen(ONGOING),
    ),
    Case(
        "work that goes on is not written again",
        "async.quiet",
        [OBSERVE],
        POLL,
        told(UNDER_WAY),
        {"acme": 7},
        seen(ONGOING),
    ),
    Case(
        "a creation under way is not begun again",
        "async.creation",
        [OBSERVE, f"status {CREATING} AsyncOperation=True/Ongoing {SYNCED}"],
        POLL,
        HELD_MR,
        external={"absent": Observation(False, operation=ONGOING)},
    ),
    Case(
        "a creation under way is told of though it succeeded just now",
        "async.creation",
        [OBSERVE, f"status {CREATING} AsyncOperation=True/Ongoing {SYNCED}"],
        POLL,
        HELD_MR | {"annotations": NAMED | JUST_CREATED},
        external={"absent": Observation(False, operation=ONGOING)},
    ),
    Case(
        "a creation under way is no error where it may not be begun",
        "async.creation",
        [OBSERVE, f"status {CREATING} AsyncOperation=True/Ongoing {SYNCED}"],
        POLL,
        HELD_MR | {"managementPolicies": ["Observe"]},
        external={"absent": Observation(False, operation=ONGOING)},
    ),
    Case(
        "work that ended well is told of",
        "async.success",
        [OBSERVE, "status AsyncOperation=True/Finished LastAsyncOperation=True/Success"],
        POLL,
        told(UNDER_WAY),
        {"acme": 1},
        seen(SUCCEEDED),
    ),
    Case(
        "work that is seen no more has ended, well where the resource is up to date",
        "async.vanished",
        [OBSERVE, "status AsyncOperation=True/Finished LastAsyncOperation=True/Success"],
        POLL,
        told(UNDER_WAY),
        {"acme": 1},
    ),
    Case(
        "work that is seen no more and has not led where it should is only finished",
        "async.vanished",
        [
            OBSERVE,
            "external update acme",
            "event Normal UpdatedExternalResource",
            "status AsyncOperation=True/Finished",
        ],
        POLL,
        told(UNDER_WAY),
        {"acme": 7},
    ),
    Case(
        "how the last work ended stays told until other work ends",
        "async.quiet",
        [OBSERVE],
        POLL,
        told(
            condition("AsyncOperation", "True", "Finished"),
            condition("LastAsyncOperation", "False", "ApplyFailure", "no space left"),
        ),
        {"acme": 1},
    ),
    Case(
        "work that failed is told of, and tried again",
        "async.apply-failure",
        [
            OBSERVE,
            "external update acme",
            "event Normal UpdatedExternalResource",
            "status AsyncOperation=True/Finished LastAsyncOperation=False/ApplyFailure",
        ],
        POLL,
        told(UNDER_WAY),
        {"acme": 7},
        seen(BROKEN),
    ),
    Case(
        "an update may begin work",
        "async.begun",
        [
            OBSERVE,
            "external update acme",
            "event Normal UpdatedExternalResource",
            "status AsyncOperation=True/Ongoing",
        ],
        POLL,
        SETTLED_MR,
        {"acme": 7},
        {"change": Change(operation=ONGOING)},
    ),
    Case(
        "what cannot be looked at has not ended",
        "async.unseen",
        [OBSERVE, "event Warning CannotObserveExternalResource", f"status {ERROR}"],
        FAILED,
        told(UNDER_WAY),
        {"acme": 1},
        {"refusing": {"observe": [ExternalError(REFUSED)]}},
        conditions={
            "Ready": "True/Available",
            "Synced": "False/ReconcileError",
            "AsyncOperation": "True/Ongoing",
        },
    ),
    Case(
        "a deletion under way is not begun again",
        "async.deletion",
        [OBSERVE, f"status Ready=False/Deleting AsyncOperation=True/Ongoing {SYNCED}"],
        POLL,
        {"deleted": True, "annotations": HELD_MR["annotations"]},
        {"acme": 1},
        seen(ONGOING),
    ),
]


@pytest.mark.parametrize(("case", "variant"), pairs(CASES), ids=name)
def test_work(case: Case, variant: Variant) -> None:
    run(case, variant)


def test_a_creation_that_outlasts_the_reconcile_is_followed_to_its_end() -> None:
    """Rule: async.creation"""
    world = World(toy())
    world.external.change = Change(operation=ONGOING)
    world.reconcile()
    assert world.journal == [*CREATE[:5], f"status {CREATING} AsyncOperation=True/Ongoing {SYNCED}"]
    world.settle()
    assert conditions_of(world.mr) == {
        "Ready": "True/Available",
        "AsyncOperation": "True/Finished",
        "LastAsyncOperation": "True/Success",
        "Synced": "True/ReconcileSuccess",
    }
    assert world.external.created == 1

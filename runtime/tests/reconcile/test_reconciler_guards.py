"""What comes before the outside world is met: pause, policies, name, uncertain creations, requests,
intervals."""

from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.external import Change
from edgetenants_runtime.reconcile.collaborators import Pace
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.testing import World, toy
from edgetenants_runtime.testing.cases import (
    CREATING,
    EARLY,
    ERROR,
    FAILED,
    HELD_MR,
    NAMED,
    NEVER,
    NEVER_FAILED,
    OBSERVE,
    POLL,
    READY,
    SETTLED,
    SETTLED_MR,
    SYNCED,
    Case,
    Naming,
    Variant,
    name,
    pairs,
    ready,
    run,
    synced,
)

PAUSED = ["event Normal ReconciliationPaused", "status Synced=False/ReconcilePaused"]
PAUSE = {names.PAUSED: "true"}
WORDS = (
    "Reconciliation is paused via the annotation crossplane.io/paused. Remove it to resume reconciliation."
)
PENDING = names.EXTERNAL_CREATE_PENDING
REQUEST = {names.RECONCILE_REQUESTED_AT: "now"}
NO_CALL_REMOVES = "remove the crossplane.io/external-create-pending annotation if it is safe to proceed"


def paused(message: str) -> dict[str, object]:
    stored = [ready("Available", "True"), synced("ReconcilePaused", message=message)]
    return {"conditions": stored, "observedGeneration": 1}


def unreadable(annotation: str, value: str) -> dict[str, object]:
    return SETTLED_MR | {"annotations": NAMED | {annotation: value}}


CASES = [
    Case(
        "paused by annotation: nothing outside",
        "pause.annotation",
        PAUSED,
        NEVER,
        {"annotations": PAUSE},
        says=WORDS,
        conditions={"Synced": "False/ReconcilePaused"},
    ),
    Case(
        "paused by empty policies",
        "pause.policies",
        PAUSED,
        NEVER,
        {"managementPolicies": []},
        says="is paused via an empty spec.managementPolicies. Remove it to resume reconciliation.",
    ),
    Case(
        "what is paused stays as it was last seen, and is told of once",
        "pause.quiet",
        [],
        NEVER,
        HELD_MR | {"annotations": NAMED | PAUSE, "status": paused(WORDS)},
        {"acme": 7},
        conditions={"Ready": "True/Available", "Synced": "False/ReconcilePaused"},
    ),
    Case(
        "only the value true pauses",
        "pause.only-true",
        [OBSERVE],
        POLL,
        SETTLED_MR | {"annotations": NAMED | {names.PAUSED: "yes"}},
        {"acme": 1},
    ),
    Case(
        "a pause that ends is seen in Synced",
        "pause.ends",
        [OBSERVE, f"status {SYNCED}"],
        POLL,
        HELD_MR | {"status": paused(WORDS)},
        {"acme": 1},
    ),
    Case(
        "a paused one that is deleted stays held, and says so",
        "pause.deleted",
        PAUSED,
        NEVER,
        {"deleted": True, "annotations": PAUSE},
        {"acme": 1},
        says="the annotation crossplane.io/paused. Remove it to resume the deletion.",
    ),
    Case(
        "one that was paused and is deleted then says so too",
        "pause.deleted",
        PAUSED,
        NEVER,
        {"deleted": True, "annotations": PAUSE, "status": paused(WORDS)},
        {"acme": 1},
        says="Remove it to resume the deletion.",
    ),
    Case(
        "a paused one does not handle requests",
        "request.paused",
        PAUSED,
        NEVER,
        {"annotations": PAUSE | REQUEST},
    ),
    Case(
        "unsupported policies are an error that names the allowed ones",
        "policies.others",
        ["event Warning CannotUseInvalidManagementPolicy", f"status {ERROR}"],
        NEVER_FAILED,
        {"managementPolicies": ["Create"]},
        says="spec.managementPolicies [Create] is not supported; set one of: [*], ",
    ),
    Case(
        "unsupported policies hold a deletion, and say why",
        "policies.others",
        ["event Warning CannotUseInvalidManagementPolicy", f"status {ERROR}"],
        NEVER_FAILED,
        {"deleted": True, "managementPolicies": ["Delete"]},
        {"acme": 1},
        says="spec.managementPolicies [Delete] is not supported; set one of: [*], ",
    ),
    # The external name, and creations of unknown result.
    Case(
        "the external name is metadata.name where none is given",
        "name.default",
        [OBSERVE, "metadata +finalizer external-name", f"status {READY} {SYNCED}"],
        POLL,
        toys={"acme": 1},
    ),
    Case(
        "a given external name is used as it is",
        "name.given",
        ["external observe other", "metadata +finalizer", f"status {READY} {SYNCED}"],
        POLL,
        {"annotations": {names.EXTERNAL_NAME: "other"}},
        {"other": 1},
    ),
    Case(
        "an unreadable creation annotation stops, and names itself",
        "creation.unreadable",
        ["event Warning CannotInitializeManagedResource", f"status {CREATING} {ERROR}"],
        NEVER_FAILED,
        {"annotations": {PENDING: "yesterday"}},
        says="annotation crossplane.io/external-create-pending is not an RFC 3339 time: 'yesterday'",
    ),
    Case(
        "an uncertain creation of a generated name stops with the well-known message",
        "creation.uncertain-generated",
        ["event Warning CannotInitializeManagedResource", f"status {CREATING} {ERROR}"],
        NEVER_FAILED,
        {"annotations": {PENDING: EARLY}},
        says=f"cannot determine creation result - {NO_CALL_REMOVES}",
        naming=Naming.GENERATED,
    ),
    # Intervals.
    Case(
        "the poll interval of the annotation is respected",
        "poll.annotation",
        [OBSERVE],
        Outcome(Next.AFTER, 300.0),
        SETTLED_MR | {"annotations": NAMED | {names.POLL_INTERVAL: "5m"}},
        {"acme": 1},
    ),
    Case(
        "a poll interval below the shortest is raised to it",
        "poll.shortest",
        [OBSERVE],
        Outcome(Next.AFTER, 10.0),
        SETTLED_MR | {"annotations": NAMED | {names.POLL_INTERVAL: "1s"}},
        {"acme": 1},
    ),
    *(
        Case(
            f"a poll interval of {none} counts as none",
            "poll.none",
            [OBSERVE],
            POLL,
            SETTLED_MR | {"annotations": NAMED | {names.POLL_INTERVAL: none}},
            {"acme": 1},
        )
        for none in ("0s", "0", "0h0m")
    ),
    Case(
        "an unreadable poll interval is an error",
        "poll.unreadable",
        ["event Warning CannotInitializeManagedResource", f"status {ERROR}"],
        NEVER_FAILED,
        unreadable(names.POLL_INTERVAL, "often"),
        says="annotation crossplane.io/poll-interval is not a duration such as 30s, 5m or 1h30m: 'often'",
    ),
    # Requests.
    Case(
        "a requested reconcile is noted",
        "request.handled",
        [OBSERVE, "event Normal ReconcileRequestHandled", "status lastHandledReconcileAt"],
        POLL,
        SETTLED_MR | {"annotations": NAMED | REQUEST},
        {"acme": 1},
    ),
    Case(
        "a request that was handled is not handled again",
        "request.once",
        [OBSERVE],
        POLL,
        SETTLED_MR | {"annotations": NAMED | REQUEST, "status": SETTLED | {"lastHandledReconcileAt": "now"}},
        {"acme": 1},
    ),
    Case(
        "a request is handled by a reconcile that fails, too",
        "request.handled",
        [
            "event Warning CannotConnectToProvider",
            "event Normal ReconcileRequestHandled",
            f"status {ERROR} Unknown=False/Unknown lastHandledReconcileAt",
        ],
        FAILED,
        SETTLED_MR | {"annotations": NAMED | REQUEST},
        external={"refusing": {"connect": [KeyError("bug")]}},
        says="Handled the reconcile requested at now",
        conditions={
            "Ready": "True/Available",
            "Synced": "False/ReconcileError",
            "Unknown": "False/Unknown",
        },
    ),
]


@pytest.mark.parametrize(("case", "variant"), pairs(CASES), ids=name)
def test_guard(case: Case, variant: Variant) -> None:
    run(case, variant)


def test_looks_spread_by_the_jitter() -> None:
    """Rule: poll.jitter"""
    world = World(toy(**SETTLED_MR))
    world.external.toys = {"acme": 1}
    world.pace = Pace(poll_interval=60.0, jitter=0.1)
    world.restart()
    outcomes = [world.reconcile() for _ in range(50)]
    seconds = sorted(outcome.seconds for outcome in outcomes if outcome)
    assert seconds[0] >= 54.0
    assert seconds[-1] <= 66.0
    assert seconds[-1] - seconds[0] > 6.0


def test_a_generated_name_heals_when_the_annotation_is_removed() -> None:
    """Rule: creation.uncertain-generated"""
    generated = Variant(generated=True)
    world = World(toy(annotations={PENDING: EARLY}), generated.kind)
    world.external.change = Change(external_name="toy-7")
    assert world.reconcile() == NEVER_FAILED
    stored = world.objects.find(world.kind, world.key)
    assert stored is not None
    del stored["metadata"]["annotations"][PENDING]
    world.objects.put(world.kind, stored)
    world.settle()
    assert world.external.toys == {"toy-7": 1}
    assert world.external.created == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"managementPolicies": ["Create"]},
        {"annotations": {PENDING: EARLY}},
        {"annotations": {PENDING: "yesterday"}},
        {"annotations": {names.POLL_INTERVAL: "often"}},
    ],
    ids=["policies", "uncertain creation", "creation annotation", "poll interval"],
)
def test_what_only_a_change_of_the_resource_mends_is_told_once_and_not_tried_again(
    changes: dict[str, Any],
) -> None:
    """Rule: retry.never"""
    world = World(toy(**changes), Variant(generated=True).kind)
    assert world.reconcile() == NEVER_FAILED
    assert [line for line in world.journal if line.startswith("event")] != []
    told = len(world.journal)
    for restarts in (False, True):
        if restarts:
            world.restart()
        assert world.reconcile() == NEVER_FAILED
        assert world.journal[told:] == []

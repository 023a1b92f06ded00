"""What is seen and told: connecting, observing, observe-only and late initialization."""

import pytest

from edgetenants_runtime import Change, Observation
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.errors import Conflict, Operation
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.reconcile.writer import ManagedWriter
from edgetenants_runtime.testing import TOYS, World, toy
from edgetenants_runtime.testing.cases import (
    CREATING,
    ERROR,
    FAILED,
    HELD_MR,
    NAMED,
    OBSERVE,
    POLL,
    POLL_FAILED,
    READY,
    REAL_BACKOFF,
    SETTLED_MR,
    SYNCED,
    Case,
    Variant,
    condition,
    name,
    pairs,
    ready,
    run,
    synced,
)

AVAILABLE = conditions.available()
BUG = "observe failed: unexpected KeyError; see the provider's log for details"
REFUSED = "AccessDenied: not yours"
COLOURED = Observation(exists=True, conditions=(AVAILABLE,), late_initialized={"colour": "red", "size": 9})
OBSERVE_ONLY = {"managementPolicies": ["Observe"]}


def seen(**fields: object) -> dict[str, object]:
    return {"observation": Observation(True, conditions=(AVAILABLE,), **fields)}  # type: ignore[arg-type]


CASES = [
    Case(
        "a settled resource is observed and nothing written",
        "steady",
        [OBSERVE],
        POLL,
        SETTLED_MR,
        {"acme": 1},
    ),
    Case(
        "an existing external resource is adopted with one write of metadata and one of status",
        "observe.adopts",
        [OBSERVE, "metadata +finalizer external-name", f"status {READY} {SYNCED}"],
        POLL,
        toys={"acme": 1},
        conditions={"Ready": "True/Available", "Synced": "True/ReconcileSuccess"},
    ),
    Case(
        "another finalizer is kept beside ours",
        "finalizer.others",
        [OBSERVE, "metadata +finalizer external-name", f"status {READY} {SYNCED}"],
        POLL,
        {"finalizers": ["example.org/backup"]},
        {"acme": 1},
    ),
    Case(
        "drift that is left is told where it is news",
        "events.drift",
        [OBSERVE, "event Warning DriftDetected"],
        POLL,
        SETTLED_MR,
        {"acme": 1},
        seen(drifted="colour: asked red, there is blue"),
    ),
    Case(
        "drift that was repaired is told where somebody has to know of it",
        "events.drift",
        [
            OBSERVE,
            "external update acme",
            "event Normal UpdatedExternalResource",
            "event Warning DriftDetected",
        ],
        POLL,
        SETTLED_MR,
        {"acme": 7},
        {"change": Change(drifted="somebody else goes on")},
    ),
    Case(
        "a refused connection is told",
        "connect.error",
        ["event Warning CannotConnectToProvider", f"status {ERROR}"],
        FAILED,
        external={"refusing": {"connect": [ExternalError(REFUSED)]}},
        says=f"connect failed: {REFUSED}",
        conditions={"Synced": "False/ReconcileError"},
    ),
    Case(
        "a refused look is told",
        "observe.error",
        [OBSERVE, "event Warning CannotObserveExternalResource", f"status {ERROR}"],
        FAILED,
        external={"refusing": {"observe": [ExternalError(REFUSED)]}},
        says=f"observe failed: {REFUSED}",
        conditions={"Synced": "False/ReconcileError"},
    ),
    Case(
        "what was Ready stays so while it cannot be looked at",
        "conditions.ready-is-observed",
        [OBSERVE, "event Warning CannotObserveExternalResource", f"status {ERROR}"],
        FAILED,
        SETTLED_MR,
        {"acme": 1},
        {"refusing": {"observe": [ExternalError(REFUSED)]}},
        conditions={"Ready": "True/Available", "Synced": "False/ReconcileError"},
    ),
    Case(
        "an error of the outside world may say when to come again",
        "retry.after",
        [OBSERVE, "event Warning CannotObserveExternalResource", f"status {ERROR}"],
        Outcome(Next.AFTER, 7.0, failed=True),
        external={"refusing": {"observe": [ExternalError("throttled", retry=Retry.after(7.0))]}},
    ),
    Case(
        "an error that only a change can heal is tried at the poll interval",
        "retry.poll",
        [OBSERVE, "event Warning CannotObserveExternalResource", f"status {ERROR}"],
        POLL_FAILED,
        external={"refusing": {"observe": [ExternalError("taken", retry=Retry.poll())]}},
    ),
    Case(
        "a bug before anything was seen leaves Ready unknown",
        "conditions.unknown",
        [
            OBSERVE,
            "event Warning CannotObserveExternalResource",
            f"status Ready=Unknown/Unknown Unknown=False/Unknown {ERROR}",
        ],
        FAILED,
        external={"refusing": {"observe": [KeyError("AKIASECRET")]}},
        says=BUG,
    ),
    Case(
        "a bug leaves Ready as it was seen last",
        "conditions.unknown",
        [
            OBSERVE,
            "event Warning CannotObserveExternalResource",
            f"status {ERROR} Unknown=False/Unknown",
        ],
        FAILED,
        SETTLED_MR,
        {"acme": 1},
        {"refusing": {"observe": [KeyError("AKIASECRET")]}},
        conditions={"Ready": "True/Available", "Synced": "False/ReconcileError", "Unknown": "False/Unknown"},
    ),
    Case(
        "a bug that goes on is written once",
        "conditions.unknown",
        [OBSERVE, "event Warning CannotObserveExternalResource"],
        FAILED,
        HELD_MR
        | {
            "status": {
                "conditions": [
                    ready("Available", "True"),
                    synced("ReconcileError", message=BUG),
                    condition("Unknown", "False", "Unknown", BUG),
                ],
                "observedGeneration": 1,
            }
        },
        {"acme": 1},
        {"refusing": {"observe": [KeyError("AKIASECRET")]}},
    ),
    Case(
        "the unforeseen is taken back when a reconcile ends otherwise",
        "conditions.unknown-withdrawn",
        [OBSERVE, f"status {SYNCED}"],
        POLL,
        HELD_MR
        | {
            "status": {
                "conditions": [
                    ready("Available", "True"),
                    synced("ReconcileError"),
                    condition("Unknown", "False", "Unknown"),
                ]
            }
        },
        {"acme": 1},
        conditions={"Ready": "True/Available", "Synced": "True/ReconcileSuccess"},
    ),
    # Observe-only.
    Case(
        "observe-only and absent is an error",
        "observe-only.absent",
        [OBSERVE, "event Warning CannotObserveExternalResource", f"status Ready=False/Unavailable {ERROR}"],
        POLL_FAILED,
        OBSERVE_ONLY,
        says="observe failed: external resource does not exist",
    ),
    Case(
        "observe-only is not Ready any more when what was there is gone",
        "observe-only.absent",
        [OBSERVE, "event Warning CannotObserveExternalResource", f"status Ready=False/Unavailable {ERROR}"],
        POLL_FAILED,
        SETTLED_MR | OBSERVE_ONLY,
        external={"absent": Observation(False, conditions=(conditions.creating(),))},
        says="set the annotation crossplane.io/external-name to the name of an existing one",
    ),
    Case(
        "observe-only and present is reported, never changed",
        "observe-only.no-writes",
        [OBSERVE, "metadata +finalizer external-name", f"status {READY} {SYNCED}"],
        POLL,
        OBSERVE_ONLY,
        {"acme": 7},
    ),
    Case(
        "observe-only fills everything into atProvider",
        "observe-only.at-provider",
        [OBSERVE, f"status {READY} {SYNCED} atProvider"],
        POLL,
        HELD_MR | OBSERVE_ONLY,
        {"acme": 7},
        seen(at_provider={"size": 7, "colour": "red"}),
    ),
    Case(
        "absent without the Create policy is an error under every policy",
        "policies.no-create",
        [OBSERVE, "event Warning CannotObserveExternalResource", f"status Ready=False/Unavailable {ERROR}"],
        POLL_FAILED,
        {"managementPolicies": ["Observe", "Update"]},
        says="spec.managementPolicies [Observe, Update] does not permit creating it",
    ),
    # Late initialization.
    Case(
        "late initialization fills what is empty and is told of its new generation",
        "late.fills",
        [OBSERVE, "spec colour", f"status {READY} {SYNCED}"],
        POLL,
        SETTLED_MR,
        {"acme": 1},
        {"observation": COLOURED},
    ),
    Case(
        "late initialization leaves what people wrote",
        "late.keeps",
        [OBSERVE],
        POLL,
        SETTLED_MR | {"forProvider": {"size": 1, "colour": "blue"}},
        {"acme": 1},
        {"observation": COLOURED},
    ),
    Case(
        "late initialization needs its policy",
        "late.policy",
        [OBSERVE],
        POLL,
        SETTLED_MR | {"managementPolicies": ["Observe", "Create", "Update", "Delete"]},
        {"acme": 1},
        {"observation": COLOURED},
    ),
    Case(
        "late initialization meets a newer version",
        "conflict.quiet",
        [OBSERVE, "spec colour"],
        REAL_BACKOFF,
        SETTLED_MR,
        {"acme": 1},
        {"observation": COLOURED},
        {"spec": [Conflict(Operation("patch", TOYS), 409, "modified")]},
    ),
    Case(
        "an observation may ask to be repeated sooner",
        "poll.sooner",
        [OBSERVE],
        Outcome(Next.AFTER, 5.0),
        SETTLED_MR,
        {"acme": 1},
        seen(poll_after=5.0),
    ),
    Case(
        "a client that notices changes itself is polled less often",
        "poll.watched",
        [OBSERVE],
        Outcome(Next.AFTER, 600.0),
        SETTLED_MR,
        {"acme": 1},
        seen(watched_for=600.0),
    ),
    Case(
        "it is never polled more often than the interval",
        "poll.watched",
        [OBSERVE],
        Outcome(Next.AFTER, 60.0),
        SETTLED_MR,
        {"acme": 1},
        seen(watched_for=6.0),
    ),
    Case(
        "nor at another time that the client plans",
        "poll.watched",
        [OBSERVE],
        Outcome(Next.AFTER, 600.0),
        SETTLED_MR,
        {"acme": 1},
        seen(watched_for=600.0, poll_after=5.0),
    ),
]


@pytest.mark.parametrize(("case", "variant"), pairs(CASES), ids=name)
def test_look(case: Case, variant: Variant) -> None:
    run(case, variant)


@pytest.mark.parametrize("call", ["connect", "observe", "update"])
def test_a_world_that_is_not_ready_is_no_error(call: str) -> None:
    """Rule: not-yet"""
    world = World(toy(**HELD_MR))
    world.external.toys = {"acme": 7}
    world.external.refusing = {
        call: [NotYet("the parent is being deployed", after=9.0, conditions=[conditions.creating()])]
    }
    assert world.reconcile() == Outcome(Next.AFTER, 9.0)
    assert world.journal[-2:] == ["event Normal PendingExternalResource", f"status {CREATING} {SYNCED}"]


def test_the_same_refusal_with_another_request_id_is_not_written_again() -> None:
    """Rule: status.request-id"""
    world = World(toy())
    world.external.refusing = {"observe": [ExternalError("denied", request_id=str(n)) for n in range(3)]}
    for _ in range(3):
        world.reconcile()
    assert [entry for entry in world.journal if entry.startswith("status")] == [f"status {ERROR}"]
    assert "(request id: 0)" in world.status()["conditions"][0]["message"]


def test_a_status_field_that_the_crd_drops_is_not_written_for_ever() -> None:
    """Rule: status.futile"""
    world = World(toy(**SETTLED_MR))
    world.external.toys = {"acme": 1}
    world.external.observation = Observation(exists=True, status={"unknown": 1})
    stored = world.objects.find(world.kind, world.key)
    assert stored is not None
    world.objects.patch = lambda *a, **k: world.journal.append("status unknown") or stored  # type: ignore[method-assign]
    world.reconcile()
    world.reconcile()
    assert world.journal == [OBSERVE, "status unknown", OBSERVE]


def test_late_initialization_fills_in_what_is_missing_inside() -> None:
    """Rule: late.keeps"""
    world = World(toy(**SETTLED_MR | {"forProvider": {"size": 1, "paint": {"base": "red"}, "tags": ["a"]}}))
    writer, mr = ManagedWriter(world.objects, world.kind, Cache()), world.mr
    assert mr is not None
    filled = {"paint": {"base": "blue", "gloss": 3}, "tags": ["b"], "new": None}
    mr = writer.fill_in(mr, filled)
    assert mr.for_provider == {"size": 1, "paint": {"base": "red", "gloss": 3}, "tags": ["a"]}
    assert writer.fill_in(mr, filled) is mr
    assert world.journal == ["spec paint"]


def test_a_generation_that_moved_is_told_in_every_condition_that_is_reported() -> None:
    """Rule: conditions.observed-generation"""
    world = World(toy(**SETTLED_MR | {"generation": 5}))
    world.external.toys = {"acme": 1}
    world.reconcile()
    assert world.status()["observedGeneration"] == 5
    assert {c["type"]: c["observedGeneration"] for c in world.status()["conditions"]} == {
        "Ready": 5,
        "Synced": 5,
    }
    assert {c["lastTransitionTime"] for c in world.status()["conditions"]} == {"2025-12-31T23:00:00Z"}


def test_a_name_that_leads_elsewhere_is_observed_as_it_is_now() -> None:
    """Rule: name.given"""
    world = World(toy(**SETTLED_MR | {"annotations": NAMED | {names.EXTERNAL_NAME: "moved"}}))
    world.external.toys = {"moved": 1}
    world.reconcile()
    assert world.journal == ["external observe moved"]


def test_a_quiet_wait_is_not_reported() -> None:
    """Rule: not-yet.quiet"""
    world = World(toy(**SETTLED_MR))
    world.external.toys = {"acme": 1}
    world.external.refusing = {"observe": [NotYet("the first list", after=2.0, quiet=True).but()]}
    assert world.reconcile() == Outcome(Next.AFTER, 2.0)
    assert world.journal[-1] == OBSERVE

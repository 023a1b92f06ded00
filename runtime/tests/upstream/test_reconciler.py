"""crossplane-runtime's own cases, under its names: TestReconciler (here with a cluster-scoped kind),
TestModernReconciler (with a namespaced one), TestRetryingCriticalAnnotationUpdater, and the tests of poll
intervals and requests.

A row has what upstream arranges, and what upstream's test asserts: when the reconcile is repeated, and the
reasons of Ready and Synced that were written, None where nothing was. Where this runtime differs on purpose,
the row has what it does instead, and words of docs/contract.md, which gives the reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from edgetenants_runtime import Change, ExternalError, Observation
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.references import ReferenceField, ReferenceTarget
from edgetenants_runtime.kube.errors import Conflict, Invalid, KubeError, Operation, TooLarge
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.reconcile.collaborators import Pace
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.rules import meta
from edgetenants_runtime.rules.meta import MalformedAnnotation
from edgetenants_runtime.testing import CLUSTER_TOYS, TOYS, World, toy
from edgetenants_runtime.testing.cases import EARLY, HELD, NAMED, synced

CONTRACT = Path(__file__).parents[3] / "docs" / "contract.md"
BOOM = ExternalError("boom", made_nothing=True)
API_BOOM = KubeError(Operation("patch", TOYS), 400, "boom")
"""What the API server says of a request that it does not like; of its own trouble nothing is written."""

AGAIN, POLL, DONE = "requeued with back-off", "requeued after the poll interval", "not requeued"
CHANGING = tuple(f"external {method}" for method in ("create", "update", "delete"))
OB, CR, UP, DE, LI = "Observe", "Create", "Update", "Delete", "LateInitialize"

HELD_ONE: dict[str, Any] = {"finalizers": HELD, "annotations": NAMED}
GOING: dict[str, Any] = {"deleted": True, "annotations": NAMED}
THERE, DIFFERS = {"acme": 1}, {"acme": 7}
SECRET = {"writeConnectionSecretToRef": {"name": "edge", "namespace": "shop"}}
DETAILS = {"url": b"https://x"}
SEEN = Observation(exists=True)
BOX = ReferenceTarget("toys.m.example.org", ("v1",), "Box", "boxes", namespaced=False)


def policies(*actions: str) -> dict[str, Any]:
    return {"managementPolicies": list(actions)}


def annotated(**annotations: str) -> dict[str, Any]:
    return {"annotations": NAMED | {getattr(names, name): value for name, value in annotations.items()}}


@dataclass(frozen=True)
class Row:
    """One case."""

    name: str
    """Upstream's."""
    repeated: str
    ready: str | None = None
    synced: str | None = None
    mr: Mapping[str, Any] = field(default_factory=dict)
    """As `toy` takes it; `legacy` and `modern` are added in TestReconciler and TestModernReconciler."""
    legacy: Mapping[str, Any] = field(default_factory=dict)
    modern: Mapping[str, Any] = field(default_factory=dict)
    toys: Mapping[str, int] = field(default_factory=dict)
    """What exists outside; one of another size than 1 is not up to date."""
    raises: Mapping[str, Exception] = field(default_factory=dict)
    """By method of the external client."""
    refuses: str = ""
    """The write that the API server refuses."""
    seen: Observation = SEEN
    made: Change = field(default_factory=Change)
    generated: bool = False
    """Not upstream's WithDeterministicExternalName(true)."""
    jitter: float = 0.0
    refers: bool = False
    outside: str = ""
    """What is called that changes something; upstream's mocks fail on any other call."""
    gone: bool = False
    """The managed resource is gone afterwards."""
    because: str = ""
    """Where this is not what upstream asserts: words of docs/contract.md."""


ORPHAN = {"legacy": {"deletionPolicy": "Orphan"}, "modern": policies(OB, CR, UP, LI)}

ROWS = [
    # Deleting.
    Row(
        "RemoveFinalizerErrorDeletionPolicyOrphan",
        AGAIN,
        "Deleting",
        "ReconcileError",
        mr=GOING,
        **ORPHAN,
        refuses="metadata -finalizer",
    ),
    Row("DeleteSuccessfulDeletionPolicyOrphan", DONE, mr=GOING, **ORPHAN, toys=THERE, gone=True),
    Row(
        "ExtraFinalizersDelayDelete",
        AGAIN,
        "",
        "ReconcileSuccess",
        because="Synced says which other finalizers a deletion waits for",
        mr=GOING | {"finalizers": [*HELD, "finalizer2"]},
        toys=THERE,
    ),
    Row(
        "ExternalDeleteError",
        AGAIN,
        "Deleting",
        "ReconcileError",
        mr=GOING,
        toys=THERE,
        raises={"delete": BOOM},
        outside="delete",
    ),
    Row(
        "ExternalDeleteSuccessful",
        AGAIN,
        "Deleting",
        "ReconcileSuccess",
        mr=GOING,
        toys=THERE,
        outside="delete",
    ),
    Row(
        "RemoveFinalizerErrorDeletionPolicyDelete",
        AGAIN,
        "Deleting",
        "ReconcileError",
        mr=GOING,
        refuses="metadata -finalizer",
    ),
    Row("DeleteSuccessfulDeletionPolicyDelete", DONE, mr=GOING, gone=True),
    # Before and at the look.
    Row(
        "ExternalCreatePending",
        DONE,
        "Creating",
        "ReconcileError",
        mr=annotated(EXTERNAL_CREATE_PENDING=EARLY),
        generated=True,
    ),
    Row(
        "ResolveReferencesError",
        AGAIN,
        "Creating",
        "ReconcileError",
        mr={"forProvider": {"size": 1, "boxRef": {"name": "a"}}},
        refers=True,
        because="Ready is Creating while a reference cannot be resolved",
    ),
    Row("ExternalConnectError", AGAIN, None, "ReconcileError", raises={"connect": BOOM}),
    Row(
        "ExternalDisconnectError",
        POLL,
        None,
        "ReconcileSuccess",
        mr=HELD_ONE,
        toys=THERE,
        raises={"disconnect": BOOM},
    ),
    Row("ExternalObserveError", AGAIN, None, "ReconcileError", raises={"observe": BOOM}),
    Row(
        "CreationGracePeriod",
        AGAIN,
        mr=annotated(EXTERNAL_CREATE_SUCCEEDED="2026-01-01T00:00:00Z"),
    ),
    Row(
        "PublishObservationConnectionDetailsError",
        AGAIN,
        None,
        "ReconcileError",
        mr=HELD_ONE | SECRET,
        toys=THERE,
        seen=replace(SEEN, connection_details=DETAILS),
        refuses="create Secret",
    ),
    Row(
        "AddFinalizerError",
        AGAIN,
        None,
        "ReconcileError",
        mr={"annotations": NAMED},
        toys=THERE,
        refuses="metadata",
    ),
    # Creating.
    Row("UpdateCreatePendingError", AGAIN, "Creating", "ReconcileError", refuses="metadata"),
    Row(
        "CreateExternalError", AGAIN, "Creating", "ReconcileError", raises={"create": BOOM}, outside="create"
    ),
    Row(
        "UpdateCriticalAnnotationsError",
        AGAIN,
        "Creating",
        "ReconcileError",
        refuses="metadata external-create-succeeded",
        outside="create",
    ),
    Row(
        "PublishCreationConnectionDetailsError",
        AGAIN,
        "Creating",
        "ReconcileError",
        mr=SECRET,
        made=Change(connection_details=DETAILS),
        refuses="create Secret",
        outside="create",
    ),
    Row("CreateSuccessful", AGAIN, "Creating", "ReconcileSuccess", outside="create"),
    Row(
        "CreateSuccessfulAfterExternalCreatePendingAndDeterministicName",
        AGAIN,
        "Creating",
        "ReconcileSuccess",
        mr=annotated(EXTERNAL_CREATE_PENDING=EARLY),
        outside="create",
    ),
    # What is there.
    Row(
        "LateInitializeUpdateError",
        AGAIN,
        None,
        "ReconcileError",
        mr=HELD_ONE,
        toys=THERE,
        seen=replace(SEEN, late_initialized={"colour": "red"}),
        refuses="spec",
    ),
    Row("ExternalResourceUpToDate", POLL, None, "ReconcileSuccess", mr=HELD_ONE, toys=THERE),
    Row(
        "ExternalResourceUpToDateWithJitter",
        POLL,
        None,
        "ReconcileSuccess",
        mr=HELD_ONE,
        toys=THERE,
        jitter=0.1,
    ),
    Row(
        "UpdateExternalError",
        AGAIN,
        None,
        "ReconcileError",
        mr=HELD_ONE,
        toys=DIFFERS,
        raises={"update": BOOM},
        outside="update",
    ),
    Row(
        "PublishUpdateConnectionDetailsError",
        AGAIN,
        None,
        "ReconcileError",
        mr=HELD_ONE | SECRET,
        toys=DIFFERS,
        made=Change(connection_details=DETAILS),
        refuses="create Secret",
        outside="update",
    ),
    Row("UpdateSuccessful", POLL, None, "ReconcileSuccess", mr=HELD_ONE, toys=DIFFERS, outside="update"),
    Row(
        "TypedReconcilerUpdateSuccessful",
        POLL,
        None,
        "ReconcileSuccess",
        mr=HELD_ONE,
        toys=DIFFERS,
        outside="update",
    ),
    # Pausing.
    Row("ReconciliationPausedSuccessful", DONE, None, "ReconcilePaused", mr=annotated(PAUSED="true")),
    Row("ManagementPolicyReconciliationPausedSuccessful", DONE, None, "ReconcilePaused", mr=policies()),
    Row(
        "ReconciliationResumes",
        POLL,
        None,
        "ReconcileSuccess",
        mr=HELD_ONE | annotated(PAUSED="false") | {"status": {"conditions": [synced("ReconcilePaused")]}},
        toys=THERE,
    ),
    Row("ReconciliationPausedError", AGAIN, mr=annotated(PAUSED="true"), refuses="status"),
    # Policies.
    Row("ManagementPolicyNotSupported", DONE, None, "ReconcileError", mr=policies(CR)),
    Row(
        "ObserveOnlyResourceDoesNotExist",
        POLL,
        "Unavailable",
        "ReconcileError",
        mr=policies(OB),
        because="tried at the poll interval; Ready is Unavailable",
    ),
    Row(
        "ObserveOnlyPublishConnectionDetailsError",
        AGAIN,
        None,
        "ReconcileError",
        mr=HELD_ONE | SECRET | policies(OB),
        toys=THERE,
        seen=replace(SEEN, connection_details=DETAILS),
        refuses="create Secret",
    ),
    Row("ObserveOnlySuccessfulObserve", POLL, None, "ReconcileSuccess", mr=policies(OB), toys=THERE),
    Row(
        "ManagementPolicyAllCreateSuccessful",
        AGAIN,
        "Creating",
        "ReconcileSuccess",
        mr=policies("*"),
        outside="create",
    ),
    Row(
        "ManagementPolicyCreateCreateSuccessful",
        AGAIN,
        "Creating",
        "ReconcileSuccess",
        mr=policies(OB, CR),
        outside="create",
    ),
    Row(
        "ManagementPolicyImmutable",
        POLL,
        None,
        "ReconcileSuccess",
        mr=HELD_ONE | policies(OB, LI, CR, DE),
        toys=DIFFERS,
        raises={"update": BOOM},
    ),
    Row(
        "ManagementPolicyAllUpdateSuccessful",
        POLL,
        None,
        "ReconcileSuccess",
        mr=HELD_ONE | policies("*"),
        toys=DIFFERS,
        outside="update",
    ),
    Row(
        "ManagementPolicyUpdateUpdateSuccessful",
        POLL,
        None,
        "ReconcileSuccess",
        mr=HELD_ONE | policies(OB, UP),
        toys=DIFFERS,
        outside="update",
    ),
    Row(
        "ManagementPolicySkipLateInitialize",
        POLL,
        None,
        "ReconcileSuccess",
        mr=HELD_ONE | policies(OB, UP, CR, DE),
        toys=THERE,
        seen=replace(SEEN, late_initialized={"colour": "red"}),
        refuses="spec",
    ),
    Row("ObserveAndLateInitializePolicy", POLL, None, "ReconcileSuccess", mr=policies(OB, LI), toys=THERE),
    Row(
        "ObserveUpdateAndLateInitializePolicy",
        POLL,
        None,
        "ReconcileSuccess",
        mr=policies(OB, UP, LI),
        toys=THERE,
    ),
]

NOTHING_TO_TEST = {
    "GetManagedError": "Reconciles begin from the cache",
    "ManagedNotFound": "Reconciles begin from the cache",
    "UnpublishConnectionDetailsDeletionPolicyDeleteOrpahn": "CannotUnpublishConnectionDetails: not recorded",
    "UnpublishConnectionDetailsDeletionPolicyOrphan": "CannotUnpublishConnectionDetails: not recorded",
    "UnpublishConnectionDetailsDeletionPolicyDeleteError": "CannotUnpublishConnectionDetails: not recorded",
    "InitializeError": "The runtime writes it together with the finalizer",
    "ExternalResourceUpToDateWithPollIntervalHook": "Hooks for the poll interval",
    "ExternalResourceUpToDateWithMultiplePollIntervalHooks": "Hooks for the poll interval",
    "ManagementPoliciesUsedButNotEnabled": "Management policies are always enabled",
    "CustomManagementPolicyNotSupported": "Sets of supported policies for one kind",
}
"""Upstream's cases of what is not here, with words of docs/contract.md."""


def arranged(row: Row, *, modern: bool) -> World:
    scope = row.modern if modern else row.legacy
    refers = (ReferenceField("box", BOX),) if row.refers else ()
    kind = replace(TOYS if modern else CLUSTER_TOYS, deterministic_name=not row.generated, references=refers)
    world = World(toy(cluster=not modern, **{"generation": 42} | row.mr | scope), kind)  # type: ignore[arg-type]
    world.pace = Pace(jitter=row.jitter)
    world.restart()
    external = world.external
    external.toys, external.observation, external.change = dict(row.toys), row.seen, row.made
    external.refusing = {method: [error] for method, error in row.raises.items()}
    if "disconnect" in row.raises:
        external.disconnect = raising(row.raises["disconnect"])  # type: ignore[attr-defined]
    world.objects.failing = {row.refuses: [API_BOOM] * 6} if row.refuses else {}
    return world


def raising(error: Exception) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


def repeated(outcome: Outcome | None) -> str:
    if outcome is None or outcome.next is Next.NEVER:
        return DONE
    if outcome.next is Next.AFTER:
        assert 54.0 <= outcome.seconds <= 66.0
        return POLL
    assert outcome.next in (Next.BACKOFF, Next.REAL_BACKOFF)
    return AGAIN


def written(before: Managed | None, after: Managed | None) -> dict[str, tuple[str, int | None]]:
    """The reason and the generation of each condition that was written."""
    old = before.conditions if before else ()
    news = [each for each in after.conditions if each not in old] if after else []
    return {each["type"]: (each["reason"], each["observedGeneration"]) for each in news}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("modern", [False, True], ids=["TestReconciler", "TestModernReconciler"])
def test_reconciler(row: Row, modern: bool) -> None:
    world = arranged(row, modern=modern)
    before = world.mr
    outcome = world.reconcile()
    assert repeated(outcome) == row.repeated
    told = {"Ready": row.ready, "Synced": row.synced}
    assert written(before, world.mr) == {name: (reason, 42) for name, reason in told.items() if reason}
    assert (world.mr is None) is row.gone
    assert [line for line in world.journal if line.startswith(CHANGING)] == [
        f"external {row.outside} acme"
    ] * bool(row.outside)


@pytest.mark.parametrize("why", sorted({row.because for row in ROWS} - {""} | {*NOTHING_TO_TEST.values()}))
def test_each_difference_has_its_reason(why: str) -> None:
    if not CONTRACT.exists():
        pytest.skip("the runtime stands alone")
    assert why in CONTRACT.read_text()


@pytest.mark.parametrize(
    ("file", "test"),
    [("reconciler_legacy_test.go", "TestReconciler"), ("reconciler_modern_test.go", "TestModernReconciler")],
)
def test_no_case_is_missing(upstream: Callable[[str, str], set[str]], file: str, test: str) -> None:
    theirs = upstream(f"pkg/reconciler/managed/{file}", test)
    ours = {row.name for row in ROWS} | {*NOTHING_TO_TEST}
    spelt_otherwise = {name for name in ours if name.startswith("UnpublishConnectionDetailsDeletionPolicy")}
    assert theirs <= ours
    assert ours - theirs <= spelt_otherwise


# TestRetryingCriticalAnnotationUpdater. The third of upstream's mocks refuses, too, against its own reason.

MODIFIED = Conflict(Operation("patch", TOYS), 409, "modified")
UPDATES = {
    # name: (answers of the API server, what is raised in the end)
    "UpdateError": ([API_BOOM] * 6, API_BOOM),
    "SuccessfulGetAfterAConflict": ([MODIFIED] * 6, MODIFIED),
    "Success": ([API_BOOM] * 5, None),
}


@pytest.mark.parametrize("name", UPDATES)
def test_critical_annotations(name: str) -> None:
    answers, raised = UPDATES[name]
    world = World(toy())
    world.objects.failing = {"metadata": list(answers)}
    mr, writer = world.mr, world.reconciler._deps.writer
    assert mr is not None
    if raised is None:
        assert writer.set_critical_annotations(mr, NAMED).external_name == "acme"
        return
    with pytest.raises(type(raised)):
        writer.set_critical_annotations(mr, NAMED)
    assert world.journal == ["metadata external-name"] * 6


HOPELESS = [
    Invalid(Operation("patch", TOYS), 422, "metadata.annotations: Too long: at most 262144 bytes"),
    TooLarge(Operation("patch", TOYS), 413, "limit is 3145728"),
]


@pytest.mark.parametrize("answer", HOPELESS, ids=str)
def test_critical_annotations_that_can_never_be_written_are_told_at_once(answer: KubeError) -> None:
    """Filled-up annotations of a few resources would keep all workers waiting."""
    world = World(toy())
    world.objects.failing = {"metadata": [answer] * 6}
    mr, writer = world.mr, world.reconciler._deps.writer
    assert mr is not None
    with pytest.raises(type(answer)):
        writer.set_critical_annotations(mr, NAMED)
    assert world.journal == ["metadata external-name"]
    why = "It reports a write that no retry can fix (invalid, too large) at once"
    assert not CONTRACT.exists() or why in CONTRACT.read_text()


def test_no_case_of_critical_annotations_is_missing(upstream: Callable[[str, str], set[str]]) -> None:
    theirs = upstream("pkg/reconciler/managed/api_test.go", "TestRetryingCriticalAnnotationUpdater")
    # Nothing is read after a conflict: the patch names the uid, and no version.
    assert theirs == {*UPDATES, "UpdateConflictGetError"}


# TestEffectivePollInterval, TestReconcilePollIntervalAnnotation, TestReconcileRequestAnnotation.

INTERVALS: dict[str, tuple[float, float, str, float | None]] = {
    # name: (poll interval, shortest, annotation, in effect; None: an error that names the annotation)
    "NoAnnotationReturnsDefault": (600, 1, "", 600),
    "ValidAnnotationAboveMinimumReturnsAnnotation": (600, 1, "24h", 86400),
    "ValidAnnotationAtMinimumReturnsAnnotation": (600, 30, "30s", 30),
    "ValidAnnotationBelowMinimumReturnsMinimum": (600, 30, "1s", 30),
    "InvalidAnnotationReturnsDefault": (300, 1, "not-a-duration", None),
    "AnnotationOverridesPollInterval": (60, 1, "24h", 86400),
    "InvalidAnnotationFallsBack": (300, 1, "not-a-duration", None),
    "AnnotationBelowMinimumClampsToMin": (600, 30, "1s", 30),
    "NoAnnotationUsesDefault": (600, 1, "", 600),
}


@pytest.mark.parametrize("name", INTERVALS)
def test_poll_intervals(name: str) -> None:
    default, shortest, annotation, expected = INTERVALS[name]
    annotations = NAMED | ({names.POLL_INTERVAL: annotation} if annotation else {})
    world = World(toy(finalizers=HELD, annotations=annotations))
    world.pace, world.external.toys = Pace(default, shortest, jitter=0.0), THERE
    world.restart()
    outcome = world.reconcile()
    if expected is None:
        assert outcome == Outcome(Next.NEVER, failed=True)
        with pytest.raises(MalformedAnnotation, match=r"crossplane\.io/poll-interval is not a duration"):
            meta.poll_interval(annotations, default=default, shortest=shortest)
        return
    assert outcome == Outcome(Next.AFTER, expected)
    assert meta.poll_interval(annotations, default=default, shortest=shortest) == expected


REQUESTS = {
    # name: (the annotation, what was handled before)
    "NewReconcileRequestRecordsToken": ("1705312200", None),
    "AlreadyHandledReconcileRequestIsNoOp": ("already-handled", "already-handled"),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests(name: str) -> None:
    token, handled = REQUESTS[name]
    status = {"lastHandledReconcileAt": handled} if handled else {}
    world = World(toy(finalizers=HELD, status=status, **annotated(RECONCILE_REQUESTED_AT=token)))
    world.external.toys = dict(THERE)
    assert repeated(world.reconcile()) == POLL
    assert world.status()["lastHandledReconcileAt"] == token
    assert ("event Normal ReconcileRequestHandled" in world.journal) is (handled is None)


def test_no_case_of_intervals_and_requests_is_missing(upstream: Callable[[str, str], set[str]]) -> None:
    file = "pkg/reconciler/managed/reconciler_modern_test.go"
    intervals = upstream(file, "TestEffectivePollInterval") | upstream(
        file, "TestReconcilePollIntervalAnnotation"
    )
    assert intervals == {*INTERVALS}
    assert upstream(file, "TestReconcileRequestAnnotation") == {*REQUESTS}

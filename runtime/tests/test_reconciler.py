"""The reconciler's journeys: what is done, in order, for each way a reconcile can go; both scopes."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api import conditions
from edgetenants_runtime.errors import ExternalError, NotYet, Retry
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.kube.errors import Forbidden, KubeError, Operation
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import ManagedKind, ObjectKey
from edgetenants_runtime.steps import Next, Outcome
from edgetenants_runtime.testing import TOYS, World, toy

SYNCED = "Synced=True/ReconcileSuccess"
ERROR = "Synced=False/ReconcileError"
READY = "Ready=True/Available"
CREATING = "Ready=False/Creating"
DELETING = "Ready=False/Deleting"
HELD = [names.FINALIZER]
NAMED = {names.EXTERNAL_NAME: "acme"}
GENERATED = ManagedKind(
    "toys.m.example.org", "v1alpha1", "Toy", "toys", namespaced=True, deterministic_name=False
)
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
        says="Reconciliation is paused via the annotation crossplane.io/paused. Its deletion is held until then.",
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
        {"observation": Observation(exists=True, conditions=(conditions.available(),), late_initialized={"colour": "red"})},
    ),
    Case(
        "late initialization needs its policy",
        [OBSERVE],
        POLL,
        SETTLED_MR | {"managementPolicies": ["Observe", "Create", "Update", "Delete"]},
        {"acme": 1},
        {"observation": Observation(exists=True, conditions=(conditions.available(),), late_initialized={"colour": "red"})},
    ),
    # Deletion.
    Case(
        "deletion deletes, reports and looks again",
        [OBSERVE, "external delete acme", "event Normal DeletedExternalResource", f"status {DELETING} {SYNCED}"],
        BACKOFF,
        {"deleted": True},
        {"acme": 1},
    ),
    Case("deletion of what is gone releases the resource", [OBSERVE, "metadata -finalizer"], NEVER, {"deleted": True}),
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
        [OBSERVE, "external delete acme", "event Normal DeletedExternalResource", f"status {DELETING} {SYNCED}"],
        BACKOFF,
        {"deleted": True, "finalizers": ["foregroundDeletion", *HELD]},
        {"acme": 1},
    ),
    Case("deletion without our finalizer is not ours", [], NEVER, {"deleted": True, "finalizers": ["example.org/x"]}, {"acme": 1}),
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
        [OBSERVE, "metadata +finalizer", "external create acme", "metadata external-create-succeeded",
         "event Normal CreatedExternalResource", f"status {CREATING} {SYNCED}"],
        BACKOFF,
        {"annotations": NAMED | {names.EXTERNAL_CREATE_PENDING: EARLY}},
    ),
    Case(
        "a creation after one that succeeded long ago is announced anew",
        [OBSERVE, "metadata external-create-pending", "external create acme", "metadata external-create-succeeded",
         "event Normal CreatedExternalResource", f"status {CREATING} {SYNCED}"],
        BACKOFF,
        {"finalizers": HELD, "annotations": NAMED | {names.EXTERNAL_CREATE_PENDING: EARLY, names.EXTERNAL_CREATE_SUCCEEDED: EARLY}},
    ),
    Case(
        "an external resource that was just created may not show yet",
        [OBSERVE, "event Normal PendingExternalResource"],
        Outcome(Next.REAL_BACKOFF),
        {"annotations": NAMED | {names.EXTERNAL_CREATE_PENDING: EARLY, names.EXTERNAL_CREATE_SUCCEEDED: "2026-01-01T00:00:00Z"}},
    ),
]  # fmt: skip


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


REFUSED = "AccessDenied: not yours"
UPDATING = SETTLED_MR, {"acme": 7}

FAILURES = [
    Case("connect", ["event Warning CannotConnectToProvider", f"status {ERROR}"], FAILED, says=f"connect failed: {REFUSED}"),
    Case("observe", [OBSERVE, "event Warning CannotObserveExternalResource", f"status {ERROR}"], FAILED,
         says=f"observe failed: {REFUSED}"),
    Case("create", [*CREATE[:3], "metadata external-create-failed", "event Warning CannotCreateExternalResource",
                    f"status {CREATING} {ERROR}"], FAILED, says=f"create failed: {REFUSED}"),
    Case("update", [OBSERVE, "external update acme", "event Warning CannotUpdateExternalResource", f"status {ERROR}"], FAILED,
         *UPDATING, says=f"update failed: {REFUSED}"),
    Case("delete", [OBSERVE, "external delete acme", "event Warning CannotDeleteExternalResource", f"status {DELETING} {ERROR}"],
         FAILED, {"deleted": True}, {"acme": 1}, says=f"delete failed: {REFUSED}"),
]  # fmt: skip


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
    assert world.journal == [OBSERVE, f"status {READY} {SYNCED}", "event Warning CannotUpdateManagedResource"]
    assert 'resources: ["toys/status"]' in world.recorder.messages[0]


def test_from_creation_to_ready_to_gone() -> None:
    world = World(toy())
    world.settle()
    assert world.journal == [*CREATE, OBSERVE, f"status {READY}", OBSERVE]
    stored = world.objects.find(world.kind, world.key)
    assert stored is not None
    stored["metadata"]["deletionTimestamp"] = "2026-01-01T01:00:00Z"
    world.objects.put(world.kind, stored)
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


# A process that dies.


def lives() -> list[tuple[int, str]]:
    world = World(toy())
    world.settle()
    return [(index, when) for index in range(len(world.journal)) for when in ("before", "after")]


@pytest.mark.parametrize(("index", "when"), lives())
def test_death_at_any_point_leaves_one_external_resource(index: int, when: str) -> None:
    world = World(toy())
    world.kill_at(index, when)
    with pytest.raises(BaseException, match=r".*"):
        world.settle()
    world.restart()
    world.time += world.time.resolution * 60_000_000
    world.settle()
    assert world.external.created == 1
    assert world.external.toys == {"acme": 1}
    assert {c["type"]: c["status"] for c in world.status()["conditions"]} == {
        "Ready": "True",
        "Synced": "True",
    }


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("index", range(7))
def test_death_at_any_point_of_a_deletion_leaves_nothing(index: int, when: str) -> None:
    world = World(toy(deleted=True, **HELD_MR))
    world.external.toys = {"acme": 1}
    world.kill_at(index, when)
    with pytest.raises(BaseException, match=r".*"):
        world.settle()
    world.restart()
    world.settle()
    assert world.mr is None
    assert world.external.toys == {}


# Names that the outside world chooses.


def test_a_generated_name_is_written_with_the_success() -> None:
    world = World(toy(), GENERATED)
    world.external.change = Change(external_name="toy-7")
    world.reconcile()
    assert world.journal == [
        "external observe None",
        "metadata +finalizer external-create-pending",
        "external create None",
        "metadata external-create-succeeded external-name",
        "event Normal CreatedExternalResource",
        f"status {CREATING} {SYNCED}",
    ]


def test_an_uncertain_creation_of_a_generated_name_stops_with_the_well_known_message() -> None:
    world = World(toy(), GENERATED)
    world.external.change = Change(external_name="toy-7")
    world.kill_at(2, "after")
    with pytest.raises(BaseException, match="create"):
        world.reconcile()
    world.restart()
    assert world.reconcile() == POLL_FAILED
    assert world.recorder.messages == [
        f"cannot determine creation result - remove the {names.EXTERNAL_CREATE_PENDING} annotation"
        + " if it is safe to proceed"
    ]
    assert world.external.created == 1


def test_a_failed_creation_of_a_generated_name_is_tried_again() -> None:
    world = World(toy(), GENERATED)
    world.external.change = Change(external_name="toy-7")
    world.external.refusing = {"create": [ExternalError("busy")]}
    world.reconcile()
    world.reconcile()
    assert world.journal.count("metadata external-create-pending") == 1
    assert world.external.created == 1


# Connection details.

DETAILS = Observation(
    exists=True, conditions=(conditions.available(),), connection_details={"url": b"https://x"}
)
WANTS_SECRET = SETTLED_MR | {"writeConnectionSecretToRef": {"name": "edge", "namespace": "shop"}}
EDGE = ObjectKey("shop", "edge")


@pytest.mark.parametrize("cluster", [False, True])
def test_connection_details_are_published_once(cluster: bool) -> None:
    world = World(toy(cluster=cluster, **WANTS_SECRET))
    world.external.toys, world.external.observation = {"acme": 1}, DETAILS
    world.reconcile()
    world.reconcile()
    world.restart()
    world.reconcile()
    assert world.journal == [OBSERVE, "create Secret shop/edge", OBSERVE, OBSERVE]
    secret = world.objects.find(SECRETS, EDGE)
    assert secret is not None
    assert secret["type"] == "connection.crossplane.io/v1alpha1"
    assert secret["data"] == {"url": "aHR0cHM6Ly94"}
    assert (
        secret["metadata"]["ownerReferences"][0] | {"controller": True, "uid": "uid-acme"}
        == secret["metadata"]["ownerReferences"][0]
    )


def secret(**changes: Any) -> dict[str, Any]:
    metadata = {"name": "edge", "namespace": "shop", "resourceVersion": "5"}
    return {
        "metadata": metadata | changes.pop("metadata", {}),
        "type": "Opaque",
        "data": {"other": "eA=="},
    } | changes


OWNED = {"ownerReferences": [{"uid": "uid-acme", "controller": True}]}
OTHERS = {"ownerReferences": [{"uid": "uid-other", "controller": True}]}


@pytest.mark.parametrize(
    "stored",
    [secret(), secret(metadata=OTHERS), secret(metadata=OTHERS, type="connection.crossplane.io/v1alpha1")],
    ids=["opaque", "somebody's", "another resource's"],
)
def test_a_foreign_secret_is_never_written(stored: dict[str, Any]) -> None:
    world = World(toy(**WANTS_SECRET))
    world.external.toys, world.external.observation = {"acme": 1}, DETAILS
    world.objects.put(SECRETS, stored)
    assert world.reconcile() == FAILED
    assert world.journal == [OBSERVE, "event Warning CannotPublishConnectionDetails", f"status {ERROR}"]
    assert "Secret shop/edge exists and is not this resource's" in world.recorder.messages[0]
    assert world.objects.find(SECRETS, EDGE) == stored


@pytest.mark.parametrize(
    "stored",
    [secret(metadata=OWNED), secret(type="connection.crossplane.io/v1alpha1")],
    ids=["ours", "ownerless"],
)
def test_publishing_adds_and_takes_nothing_away(stored: dict[str, Any]) -> None:
    world = World(toy(**WANTS_SECRET))
    world.external.toys, world.external.observation = {"acme": 1}, DETAILS
    world.objects.put(SECRETS, stored)
    world.reconcile()
    written = world.objects.find(SECRETS, EDGE)
    assert world.journal == [OBSERVE, "patch Secret shop/edge"]
    assert written is not None
    assert written["data"] == {"other": "eA==", "url": "aHR0cHM6Ly94"}
    assert written["metadata"]["ownerReferences"][0]["uid"] == "uid-acme"


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

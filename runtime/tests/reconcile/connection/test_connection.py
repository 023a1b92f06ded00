"""Connection details: whose Secrets are written, and how often."""

from dataclasses import replace
from typing import Any

import pytest

from edgetenants_runtime.api import conditions
from edgetenants_runtime.errors import NotYet
from edgetenants_runtime.external import AsyncOperation, Change, Observation, OperationState
from edgetenants_runtime.kube.errors import Operation, refusal
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.testing import World, toy
from edgetenants_runtime.testing.cases import ERROR, FAILED, OBSERVE, SETTLED_MR, conditions_of

DETAILS = Observation(
    exists=True, conditions=(conditions.available(),), connection_details={"url": b"https://x"}
)
WANTS_SECRET = SETTLED_MR | {"writeConnectionSecretToRef": {"name": "edge", "namespace": "shop"}}
EDGE = ObjectKey("shop", "edge")


@pytest.mark.parametrize("toys", [{}, {"acme": 7}], ids=["created", "updated"])
def test_details_that_a_change_brings_are_published(toys: dict[str, int]) -> None:
    world = World(toy(**WANTS_SECRET))
    world.external.toys = toys
    world.external.change = Change(connection_details={"password": b"x"})
    world.reconcile()
    assert "create Secret shop/edge" in world.journal


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
    assert "Secret shop/edge already exists and is not this resource's" in world.recorder.messages[0]
    found = world.objects.find(SECRETS, EDGE)
    assert found is not None
    assert found["data"] == stored["data"]


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


def test_a_foreign_secret_does_not_keep_the_external_resource_from_its_spec() -> None:
    """A user could keep a change of the platform team away with it."""
    world = World(toy(**WANTS_SECRET))
    world.external.toys, world.external.observation = {"acme": 7}, DETAILS
    world.external.change = Change(at_provider={"size": 2}, status={"applied": "2"})
    world.objects.put(SECRETS, secret())
    assert world.reconcile() == FAILED
    assert "external update acme" in world.journal
    assert world.mr.status["atProvider"] == {"size": 2}
    assert world.mr.status["applied"] == "2"
    assert conditions_of(world.mr)["Synced"] == "False/ReconcileError"
    assert "already exists and is not this resource's" in world.recorder.messages[-1]


def test_while_an_update_waits_a_foreign_secret_is_told() -> None:
    world = World(toy(**WANTS_SECRET))
    world.external.toys, world.external.observation = {"acme": 7}, DETAILS
    world.objects.put(SECRETS, secret())
    world.external.refusing = {"update": [NotYet("the domain is still served", after=60)]}
    assert world.reconcile() == Outcome(Next.AFTER, 60)
    assert conditions_of(world.mr)["Synced"] == "False/ReconcileError"
    pending, refused = world.recorder.messages[-2:]
    assert "the domain is still served" in pending
    assert "already exists and is not this resource's" in refused


def test_an_operation_that_an_update_starts_is_told_beside_a_foreign_secret() -> None:
    """The client also says when to look at it."""
    world = World(toy(**WANTS_SECRET))
    world.external.toys, world.external.observation = {"acme": 7}, DETAILS
    operation = AsyncOperation(OperationState.ONGOING, "rebuilding")
    world.external.change = Change(operation=operation, requeue_after=5.0)
    world.objects.put(SECRETS, secret())
    assert world.reconcile() == Outcome(Next.AFTER, 5.0, failed=True)
    assert conditions_of(world.mr)["AsyncOperation"] == "True/Ongoing"
    assert conditions_of(world.mr)["Synced"] == "False/ReconcileError"


def test_an_operation_that_ended_before_is_told_too() -> None:
    world = World(toy(**WANTS_SECRET))
    world.external.toys = {"acme": 7}
    world.external.observation = replace(DETAILS, operation=AsyncOperation(OperationState.SUCCEEDED))
    world.external.change = Change(operation=AsyncOperation(OperationState.ONGOING))
    world.objects.put(SECRETS, secret())
    world.reconcile()
    told = conditions_of(world.mr)
    assert (told["AsyncOperation"], told["LastAsyncOperation"]) == ("True/Ongoing", "True/Success")


def test_no_client_delays_the_next_look_beyond_the_poll_interval() -> None:
    world = World(toy(**WANTS_SECRET))
    world.external.toys, world.external.observation = {"acme": 7}, DETAILS
    world.external.change = Change(requeue_after=1e6)
    world.objects.put(SECRETS, secret())
    outcome = world.reconcile()
    assert outcome.next is Next.AFTER
    assert outcome.seconds < 1e4


CONNECTION = "connection.crossplane.io/v1alpha1"
CREATED, PATCHED = "create Secret", "patch Secret"


@pytest.mark.parametrize(
    ("write", "code", "reason", "details"),
    [
        (CREATED, 403, "Forbidden", {}),
        (CREATED, 403, "Forbidden", {"name": "edge", "causes": [{"reason": "NamespaceTerminating"}]}),
        (CREATED, 404, "NotFound", {"name": "shop", "kind": "namespaces"}),
        (CREATED, 422, "Invalid", {"name": "edge"}),
        (PATCHED, 422, "Invalid", {"name": "edge"}),
        (PATCHED, 422, "Invalid", {"causes": [{"reason": "FieldValueTooLong", "field": "data"}]}),
        (PATCHED, 413, "RequestEntityTooLarge", {}),
    ],
    ids=["forbidden", "namespace ends", "no namespace", "invalid", "immutable", "full", "too large"],
)
def test_a_secret_that_the_api_server_refuses_keeps_no_update_away(
    write: str, code: int, reason: str, details: dict[str, Any]
) -> None:
    """The author of a claim can bring about each of them."""
    world = World(toy(**WANTS_SECRET))
    world.external.toys, world.external.observation = {"acme": 7}, DETAILS
    world.external.change = Change(at_provider={"size": 2})
    if write == PATCHED:
        world.objects.put(SECRETS, secret(type=CONNECTION))
    status = {"reason": reason, "message": "the reason in full", "details": details}
    operation = Operation(write.split(maxsplit=1)[0], SECRETS, name="edge", namespace="shop")
    world.objects.failing[write] = [refusal(operation, code, status) for _ in range(2)]
    assert world.reconcile() == Outcome(Next.REAL_BACKOFF, failed=True)
    assert world.journal == [
        OBSERVE,
        f"{write} shop/edge",
        "external update acme",
        f"{write} shop/edge",
        "event Normal UpdatedExternalResource",
        "event Warning CannotPublishConnectionDetails",
        f"status {ERROR} atProvider",
    ]
    assert "the reason in full" in world.recorder.messages[-1]


@pytest.mark.parametrize(
    ("code", "reason"), [(0, ""), (409, "AlreadyExists"), (409, "Conflict"), (500, ""), (429, "")], ids=str
)
def test_a_write_that_succeeds_when_repeated_is_repeated_before_the_update(code: int, reason: str) -> None:
    world = World(toy(**WANTS_SECRET))
    world.external.toys, world.external.observation = {"acme": 7}, DETAILS
    operation = Operation("create", SECRETS, name="edge", namespace="shop")
    world.objects.failing[CREATED] = [refusal(operation, code, {"reason": reason})]
    assert world.reconcile().next is Next.REAL_BACKOFF
    assert "external update acme" not in world.journal


@pytest.mark.parametrize("name", ["a..b", "a.-b", "a-.b", ".a", "-a", "a/b", "A", "a\n", "a" * 254, ""])
def test_a_name_that_kubernetes_refuses_is_not_tried(name: str) -> None:
    world = World(toy(**SETTLED_MR, writeConnectionSecretToRef={"name": name, "namespace": "shop"}))
    world.external.toys, world.external.observation = {"acme": 7}, DETAILS
    world.reconcile()
    assert world.journal == [
        OBSERVE,
        "external update acme",
        "event Normal UpdatedExternalResource",
        "event Warning CannotPublishConnectionDetails",
        f"status {ERROR}",
    ]
    assert "writeConnectionSecretToRef.name: expected the name of a Secret" in world.recorder.messages[-1]


@pytest.mark.parametrize("name", ["a", "a-b.c-d", "a.b.c", "7", "a--b", "a" * 253])
def test_a_name_that_kubernetes_accepts_is_used(name: str) -> None:
    world = World(toy(**SETTLED_MR, writeConnectionSecretToRef={"name": name, "namespace": "shop"}))
    world.external.toys, world.external.observation = {"acme": 1}, DETAILS
    world.reconcile()
    assert world.journal == [OBSERVE, f"create Secret shop/{name}"]

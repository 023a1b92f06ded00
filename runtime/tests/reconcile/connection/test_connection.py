"""Connection details: whose Secrets are written, and how often."""

from typing import Any

import pytest

from edgetenants_runtime.api import conditions
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import ObjectKey
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

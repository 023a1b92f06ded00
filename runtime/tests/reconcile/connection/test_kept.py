"""Connection details that are told once, and Secrets that another client deletes or edits."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from edgetenants_runtime import Managed
from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.errors import NotYet
from edgetenants_runtime.external import Change, Observation
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import Forbidden, KubeError, Operation
from edgetenants_runtime.kube.kinds import SECRETS
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.reconcile.connection import ConnectionPublisher
from edgetenants_runtime.reconcile.secret_watch import PublishedSecrets
from edgetenants_runtime.reconcile.steps import Next
from edgetenants_runtime.testing import FakeObjects, Journal, World, toy
from edgetenants_runtime.testing.cases import NAMED, conditions_of

EDGE = ObjectKey("shop", "edge")
WANTS = {"writeConnectionSecretToRef": {"name": "edge"}}
ON = Operation("create", SECRETS)
DOWN, DENIED = KubeError(ON, 503, "etcd is down"), Forbidden(ON, 403, "no")
ANNOTATE = "metadata external-create-succeeded"


def creating(**failing: list[KubeError]) -> World:
    world = World(toy(annotations=NAMED, **WANTS))
    world.external.change = Change(connection_details={"password": b"once"})
    world.objects.failing = failing  # type: ignore[assignment]
    return world


def published(world: World) -> dict[str, str]:
    return (world.objects.find(SECRETS, EDGE) or {}).get("data") or {}


@pytest.mark.parametrize("error", [DOWN, DENIED], ids=["no answer", "forbidden"])
@pytest.mark.parametrize("times", [1, 3])
def test_what_only_a_creation_tells_is_kept_until_it_is_published(error: KubeError, times: int) -> None:
    """Rule: connection.kept"""
    world = creating(**{"create Secret": [error] * times})
    for _ in range(times):
        outcome = world.reconcile()
        assert outcome is not None
        assert (outcome.next, outcome.failed) == (Next.REAL_BACKOFF, True)
        assert conditions_of(world.mr).get("Synced") != "True/ReconcileSuccess"
    world.external.observation = Observation(True, connection_details={"url": b"https://x"})
    world.reconcile()
    assert published(world) == {"password": "b25jZQ==", "url": "aHR0cHM6Ly94"}
    assert conditions_of(world.mr)["Synced"] == "True/ReconcileSuccess"


def test_it_is_kept_while_the_creation_itself_cannot_be_noted() -> None:
    """Rule: connection.kept"""
    world = creating(**{ANNOTATE: [DOWN] * 6})
    world.reconcile()
    assert published(world) == {}
    world.reconcile()
    assert published(world) == {"password": "b25jZQ=="}


def test_what_is_kept_of_an_external_resource_that_is_gone_does_not_stop_the_next_one() -> None:
    """The Secret belongs to someone else, and a user deletes the external resource."""
    world = creating(**{"create Secret": [DENIED]})
    world.reconcile()
    world.objects.put(SECRETS, {"metadata": {"name": "edge", "namespace": "shop", "uid": "theirs"}})
    world.external.toys.clear()
    world.external.change = Change()
    world.time += timedelta(minutes=5)
    world.reconcile()
    assert world.external.toys == {"acme": 1}


def test_it_is_kept_if_the_external_resource_shows_late_and_its_creation_is_repeated() -> None:
    """Rule: connection.kept"""
    world = creating(**{ANNOTATE: [DOWN] * 6})
    world.reconcile()
    world.external.observation = Observation(False)
    world.external.change = Change()
    world.reconcile()
    assert published(world) == {"password": "b25jZQ=="}


def test_it_is_kept_if_the_external_resource_seems_gone_and_none_is_created() -> None:
    """Rule: connection.kept"""
    world = creating(**{"create Secret": [DENIED]})
    world.reconcile()
    world.time += timedelta(minutes=5)
    world.external.observation = Observation(False)
    world.external.refusing = {"create": [NotYet("many others are gone", after=60, made_nothing=True)]}
    world.reconcile()
    assert published(world) == {}
    world.external.observation = Observation(True, connection_details={"url": b"https://x"})
    world.reconcile()
    assert published(world) == {"password": "b25jZQ==", "url": "aHR0cHM6Ly94"}


@pytest.mark.parametrize(
    ("details", "stored"),
    [({"password": b"new"}, {"password": "bmV3"}), ({"user": b"second"}, {"user": "c2Vjb25k"})],
    ids=["the same name", "another name"],
)
def test_the_next_creation_replaces_what_the_former_one_told(
    details: dict[str, bytes], stored: dict[str, str]
) -> None:
    """Rule: connection.kept"""
    world = creating(**{"create Secret": [DENIED]})
    world.reconcile()
    world.external.toys.clear()
    world.external.change = Change(connection_details=details)
    world.time += timedelta(minutes=5)
    world.reconcile()
    assert published(world) == stored


def test_nothing_is_kept_for_a_resource_that_names_no_secret() -> None:
    world = World(toy(annotations=NAMED))
    world.external.change = Change(connection_details={"password": b"once"})
    world.reconcile()
    assert world.reconciler._deps.connections._unpublished == {}


def test_what_is_kept_goes_with_the_resource() -> None:
    world = creating(**{"create Secret": [DOWN]})
    world.reconcile()
    connections = world.reconciler._deps.connections
    assert connections._unpublished
    world.reconciler.forget("uid-acme")
    assert connections._unpublished == {}


class Watched:
    """A publisher over an API server in memory, whose watch brings what is told to."""

    def __init__(self, client: KubeClient, *, synced: bool = True) -> None:
        self.log = Journal()
        self.objects = FakeObjects(self.log)
        self.gets: list[ObjectKey] = []
        get = self.objects.get
        self.objects.get = lambda kind, key: (self.gets.append(key), get(kind, key))[1]  # type: ignore[method-assign]
        self.watch = PublishedSecrets(client, random.Random(1))
        if synced:
            self.watch.informer._synced.set()
        self.publisher = ConnectionPublisher(self.objects, watch=self.watch)
        self.mr = Managed(toy(**WANTS))

    def poll(self) -> tuple[int, list[str]]:
        """Gets and writes of one poll."""
        gets, entries = len(self.gets), len(self.log.entries)
        self.publisher.publish(self.mr, {"url": b"https://x"})
        return len(self.gets) - gets, self.log.entries[entries:]

    def stored(self) -> dict[str, Any]:
        return self.objects.get(SECRETS, EDGE)

    def deleted(self) -> None:
        self.watch.informer.cache.deleted(self.stored())
        del self.objects._objects[SECRETS.resource, EDGE]
        # The next one has the same uid here, which no API server gives twice.
        self.watch.informer.cache._deleted.clear()


def test_a_poll_without_news_asks_for_nothing(client: KubeClient) -> None:
    """Rule: connection.watched"""
    watched = Watched(client)
    assert watched.poll() == (1, ["create Secret shop/edge"])
    assert [watched.poll() for _ in range(5)] == [(0, [])] * 5


def test_a_deleted_secret_is_back_at_the_next_poll(client: KubeClient) -> None:
    """Rule: connection.watched"""
    watched = Watched(client)
    watched.poll()
    watched.deleted()
    assert watched.poll() == (1, ["create Secret shop/edge"])
    assert watched.poll() == (0, [])


def test_an_edited_one_is_put_right_and_looked_at_once(client: KubeClient) -> None:
    """Rule: connection.watched"""
    watched = Watched(client)
    watched.poll()
    for data, writes in (({"url": "eA=="}, ["patch Secret shop/edge"]), ({"other": "eA=="}, [])):
        watched.objects.patch(SECRETS, EDGE, {"data": data})
        watched.watch.informer.cache.changed(watched.stored())
        assert watched.poll() == (1, writes)
        assert watched.poll() == (0, [])


def test_while_nothing_can_be_watched_it_is_looked_at_now_and_then(
    client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule: connection.watched"""
    watched = Watched(client, synced=False)
    watched.poll()
    assert watched.poll() == (0, [])
    monkeypatch.setattr(ConnectionPublisher, "RECHECK_SECONDS", 0.0)
    assert watched.poll() == (1, [])


def test_a_secret_of_another_type_is_not_taken_for_a_deleted_one(client: KubeClient) -> None:
    watched = Watched(client)
    owned = {"uid": watched.mr.uid, "controller": True}
    metadata = {"name": "edge", "namespace": "shop", "resourceVersion": "5", "ownerReferences": [owned]}
    watched.objects.put(SECRETS, {"metadata": metadata, "type": "Opaque"})
    watched.poll()
    assert watched.poll() == (0, [])


def test_the_watch_begins_with_the_first_secret_and_reads_no_content(
    api: Any, client: KubeClient, until: Callable[[Callable[[], Any]], None]
) -> None:
    """Rule: connection.watched"""
    watch = PublishedSecrets(client, random.Random(1))
    watch.informer.GATE_SECONDS = 0.01  # type: ignore[misc]
    api.lists = [api.listed()]
    watch.informer.start()
    assert api.requests == []
    watch.written({"type": names.CONNECTION_SECRET_TYPE, "metadata": {"name": "a", "namespace": "b"}})
    until(lambda: watch.informer.synced)
    watch.informer.stop()
    (query,) = api.queries(watch=False)
    assert query["fieldSelector"] == "type=connection.crossplane.io/v1alpha1"
    assert "labelSelector" not in query

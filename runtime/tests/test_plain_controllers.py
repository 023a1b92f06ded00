"""A controller of a kind that is no managed resource, with the manager's queue, probes and metrics."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from edgetenants_runtime import Managed, SystemClock
from edgetenants_runtime.kube.cache import ObjectChange
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import Conflict
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.managed import ObjectKey, ResourceKind
from edgetenants_runtime.manager import Manager, Settings
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.testing import toy

Until = Callable[[Callable[[], Any]], None]
TOYS = ResourceKind("toys.m.example.org", "v1alpha1", "Toy", "toys", namespaced=True)
PATH = "/apis/toys.m.example.org/v1alpha1/namespaces/shop/toys/a"


class Plain:
    """Notes what it reconciles."""

    def __init__(self, informer: Informer) -> None:
        self.informer = informer
        self.seen: list[tuple[str, str]] = []
        self.forgotten = threading.Event()

    def reconcile(self, mr: Managed) -> Outcome:
        self.seen.append((mr.name, mr.annotations.get("example.org/read", "")))
        return Outcome(Next.NEVER)

    def makes(self, change: ObjectChange) -> bool:
        return False

    def forget(self, uid: str) -> None:
        self.forgotten.set()


def named(name: str) -> dict[str, Any]:
    obj = toy()
    obj["metadata"] |= {"name": name, "uid": f"uid-{name}", "resourceVersion": "7"}
    obj["metadata"]["annotations"] = {"example.org/read": "yes", "example.org/other": "no"}
    return obj


@pytest.fixture
def plain(api: Any, client: KubeClient) -> Iterator[tuple[Manager, list[Plain]]]:
    made: list[Plain] = []

    def reconciler(informer: Informer) -> Plain:
        made.append(Plain(informer))
        return made[0]

    manager = Manager(client, SystemClock(), Settings(health_port=0, metrics_port=0, stop_seconds=5))
    manager.control(TOYS, reconciler, annotations={"example.org/read": 10})
    yield manager, made
    manager.stop()


def scraped(manager: Manager) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{manager.metrics_port}/metrics") as answer:
        return str(answer.read().decode())


def test_objects_are_reconciled_with_the_annotations_that_are_read(
    api: Any, plain: tuple[Manager, list[Plain]], until: Until
) -> None:
    manager, [reconciler] = plain
    gone = {
        "type": "DELETED",
        "object": named("a") | {"metadata": named("a")["metadata"] | {"resourceVersion": "8"}},
    }
    api.lists = [(200, {"metadata": {"resourceVersion": "7"}, "items": [named("a")]})]
    seen = threading.Event()
    api.watches = [[seen, gone, "hang"]]
    manager.start()
    until(lambda: reconciler.seen == [("a", "yes")])
    seen.set()
    until(reconciler.forgotten.is_set)
    assert manager.ready()[0]


def test_it_has_the_metrics_of_a_queue_and_none_of_managed_resources(
    api: Any, plain: tuple[Manager, list[Plain]], until: Until
) -> None:
    manager, [reconciler] = plain
    api.lists = [(200, {"metadata": {"resourceVersion": "7"}, "items": [named("a")]})]
    manager.start()
    until(lambda: reconciler.seen)
    controller = 'controller="toy.toys.m.example.org"'
    until(
        lambda: f'controller_runtime_reconcile_total{{{controller},result="success"}} 1.0' in scraped(manager)
    )
    text = scraped(manager)
    assert f"workqueue_depth{{{controller}" in text
    assert "crossplane_managed_resource_exists{" not in text


def test_it_lists_no_secrets(api: Any, plain: tuple[Manager, list[Plain]], until: Until) -> None:
    manager, [reconciler] = plain
    api.lists = [(200, {"metadata": {"resourceVersion": "7"}, "items": [named("a")]})]
    manager.start()
    until(lambda: reconciler.seen)
    assert [path for _, path, _, _ in api.requests if "secrets" in path] == []


def test_a_watched_kind_has_a_cache(api: Any, client: KubeClient, until: Until) -> None:
    manager = Manager(client, SystemClock(), Settings(stop_seconds=5))
    informer = manager.watch(TOYS, annotations={"example.org/other": 10})
    api.lists = [(200, {"metadata": {"resourceVersion": "7"}, "items": [named("a")]})]
    assert manager.may_act()
    manager.start()
    until(lambda: informer.synced)
    kept = informer.cache.get(ObjectKey("shop", "a"))
    assert kept is not None
    assert kept["metadata"]["annotations"] == {"example.org/other": "no"}
    manager.stop()


def test_an_apply_names_its_manager_and_takes_no_field_of_another(api: Any, client: KubeClient) -> None:
    key, fields = (
        ObjectKey("shop", "a"),
        {"metadata": {"uid": "u", "labels": {"a": "b"}}, "spec": {"size": 1}},
    )
    client.apply(TOYS, key, fields, manager="me")
    client.apply(TOYS, key, fields, manager="me", force=True)
    assert [each[:2] for each in api.requests] == [("PATCH", PATH)] * 2
    assert api.requests[0][3] == {
        "apiVersion": "toys.m.example.org/v1alpha1",
        "kind": "Toy",
        "metadata": {"name": "a", "namespace": "shop", "uid": "u", "labels": {"a": "b"}},
        "spec": {"size": 1},
    }
    content = "application/apply-patch+yaml"
    assert api.written == [
        ("PATCH", content, {"fieldManager": "me", "force": "false"}),
        ("PATCH", content, {"fieldManager": "me", "force": "true"}),
    ]
    api.others[f"PATCH {PATH}"] = 409, {"code": 409, "reason": "Conflict", "message": "Apply failed"}
    with pytest.raises(Conflict):
        client.apply(TOYS, key, fields, manager="me")


def test_any_text_can_be_applied(api: Any, client: KubeClient) -> None:
    """The API server reads an apply as YAML, also if it is JSON."""
    texts = [chr(code) for code in (*range(0x300), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF, 0x1F600, 0x10FFFF)]
    texts += ["\\ud83d\\ude00", "\\\x7f"]
    fields = {"metadata": {}, "spec": {"texts": texts, "\U0001f600\x7f": 1}}
    client.apply(TOYS, ObjectKey("shop", "a"), fields, manager="me")
    assert yaml.safe_load(api.bodies[0])["spec"] == fields["spec"]
    assert json.loads(api.bodies[0])["spec"] == fields["spec"]


def test_a_watched_kind_keeps_the_labels_that_are_read(client: KubeClient) -> None:
    manager = Manager(client, SystemClock(), Settings(stop_seconds=5))
    informer = manager.watch(TOYS, labels=("z/read",))
    labels = {f"a{n:03}": "x" for n in range(200)} | {"z/read": "yes"}
    kept = informer.cache.kept({"metadata": {"name": "a", "labels": labels}})["metadata"]["labels"]
    assert (kept["z/read"], len(kept)) == ("yes", 100)


def test_a_deletion_is_of_one_version(api: Any, client: KubeClient) -> None:
    client.delete(TOYS, ObjectKey("shop", "a"), uid="u", resource_version="7")
    [(method, path, _, body)] = api.requests
    assert (method, path) == ("DELETE", PATH)
    assert body["preconditions"] == {"uid": "u", "resourceVersion": "7"}

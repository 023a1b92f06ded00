"""Usages and what counts users, in the cluster-scoped tree; the lock between beginning and ending a use."""

import random
import threading
from collections.abc import Callable
from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.config.resolved import PRIMARY
from edgetenants_runtime.config.shared_lock import SharedLock
from edgetenants_runtime.config.usages import BY_CONFIG, UsageTracker, Users, by_config
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.errors import Conflict, Invalid, Operation
from edgetenants_runtime.kube.informer import Informer
from edgetenants_runtime.managed import Managed, ObjectKey, ProviderConfigKey, ResourceKind
from edgetenants_runtime.testing import FakeObjects, Journal, toy

LEGACY = ResourceKind(
    "example.org", "v1alpha1", "ProviderConfigUsage", "providerconfigusages", namespaced=False
)
DEFAULT = ProviderConfigKey("ProviderConfig", "default", "")
KEY = ObjectKey("", "uid-acme")


class Usages:
    """A tracker of cluster-scoped usages over an API server in memory."""

    def __init__(self) -> None:
        self.log = Journal()
        self.objects = FakeObjects(self.log)
        client: Any = self.objects
        self.informer = Informer(client, LEGACY, random.Random(1), indexes={BY_CONFIG: by_config})
        self.tracker = UsageTracker(self.objects, self.informer)
        self.users = Users(self.informer.cache)


def test_a_usage_with_an_owner_reference_that_is_too_long_is_not_written() -> None:
    """The cache has a part of it, and the patch would write that part."""
    usages, mr = Usages(), Managed(toy(cluster=True))
    usages.tracker.track(mr, DEFAULT)
    owners = [{"apiVersion": "v1", "kind": "Node", "name": "n" * 300, "uid": "another"}]
    usages.informer.cache.observed(
        usages.objects.patch(LEGACY, KEY, {"metadata": {"ownerReferences": owners}})
    )
    with pytest.raises(Invalid, match=r"ownerReferences\[\]\.name: the provider keeps at most 253"):
        usages.tracker.track(mr, DEFAULT)
    assert usages.objects.get(LEGACY, KEY)["metadata"]["ownerReferences"] == owners


def test_a_cluster_scoped_usage_names_no_kind_and_has_no_namespace() -> None:
    usages = Usages()
    usages.tracker.track(Managed(toy(cluster=True)), DEFAULT)
    stored = usages.objects.get(LEGACY, KEY)
    assert stored["providerConfigRef"] == {"name": "default"}
    assert stored["metadata"]["labels"] == {"crossplane.io/provider-config": "default"}
    assert "namespace" not in stored["metadata"]
    assert usages.tracker.recorded(Managed(toy(cluster=True)), DEFAULT)
    assert usages.users.count(DEFAULT) == 1


def test_a_version_that_is_too_old_is_read_anew_for_the_next_attempt() -> None:
    usages = Usages()
    mr, other = Managed(toy(cluster=True)), ProviderConfigKey("ProviderConfig", "other", "")
    usages.tracker.track(mr, DEFAULT)
    usages.objects.failing["patch"] = [Conflict(Operation("patch", LEGACY), 409, "moved")]
    usages.objects.touch(LEGACY, KEY)
    with pytest.raises(Conflict):
        usages.tracker.track(mr, other)
    usages.tracker.track(mr, other)
    assert (usages.users.count(DEFAULT), usages.users.count(other)) == (0, 1)


def test_resources_count_as_long_as_they_hold_something_outside() -> None:
    usages, resources = Usages(), Cache()
    usages.users.add(resources, PRIMARY)
    held = toy(cluster=True, finalizers=[names.FINALIZER])
    resources.changed(held)
    assert usages.users.count(DEFAULT) == 1
    usages.tracker.track(Managed(held), DEFAULT)
    assert usages.users.count(DEFAULT) == 1, "one resource, one user"
    free = toy(cluster=True, finalizers=["other/x"])
    free["metadata"]["resourceVersion"] = "9"
    resources.changed(free)
    usages.informer.cache.deleted(usages.objects.get(LEGACY, KEY))
    assert usages.users.count(DEFAULT) == 0


def test_a_usage_without_controller_counts_for_nothing() -> None:
    usages = Usages()
    stray = {"metadata": {"name": "stray", "uid": "u"}, "providerConfigRef": {"name": "default"}}
    usages.informer.cache.changed(stray)
    assert usages.users.count(DEFAULT) == 0


Until = Callable[[Callable[[], Any]], None]


def test_sharers_go_together_and_who_wants_it_alone_waits_for_them_and_goes_next(until: Until) -> None:
    lock, said = SharedLock(), []

    def alone() -> None:
        with lock.alone():
            said.append("alone")

    def late() -> None:
        with lock.shared():
            said.append("late")

    with lock.shared(), lock.shared():
        said.append("together")
        waiting = threading.Thread(target=alone, daemon=True)
        waiting.start()
        until(lambda: lock._wanting)
        sharer = threading.Thread(target=late, daemon=True)
        sharer.start()
        assert said == ["together"]
    for thread in (waiting, sharer):
        thread.join(5)
    assert said == ["together", "alone", "late"]


def test_a_failure_gives_the_lock_back() -> None:
    lock = SharedLock()
    for hold in (lock.shared, lock.alone):
        with pytest.raises(ValueError, match="x"), hold():
            raise ValueError("x")
    with lock.alone():
        pass

"""The fakes with a kind of another name, and settings of one kind among several."""

from dataclasses import fields
from typing import Any

import pytest

from edgetenants_runtime import ManagedKind, ResourceKind, SystemClock
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.manager import KindSettings, Manager, Settings
from edgetenants_runtime.testing import TOYS, FakeObjects, Journal, World, toy
from edgetenants_runtime.testing.cases import CREATE

BUCKETS = ManagedKind("buckets.example.org", "v1", "Bucket", "buckets", namespaced=True)
PLAIN = ResourceKind("", "v1", "ConfigMap", "configmaps", namespaced=True)


def bucket() -> dict[str, Any]:
    return toy() | {"apiVersion": BUCKETS.api_version, "kind": BUCKETS.kind}


def test_a_journal_says_the_same_of_every_managed_kind() -> None:
    world = World(bucket(), BUCKETS)
    world.reconcile()
    assert world.journal == CREATE


def test_a_write_of_any_managed_kind_can_be_made_to_fail_by_what_it_says() -> None:
    toys, buckets = World(toy()), World(bucket(), BUCKETS)
    for world in (toys, buckets):
        world.kill_at(1, "before")
        with pytest.raises(
            BaseException, match=r"metadata \+finalizer external-name external-create-pending"
        ):
            world.reconcile()


def test_what_is_not_managed_is_named() -> None:
    objects = FakeObjects(journal := Journal())
    objects.put(PLAIN, {"metadata": {"name": "a", "namespace": "shop"}})
    objects.patch(PLAIN, ObjectKey("shop", "a"), {"data": {"x": "y"}})
    assert journal.entries == ["patch ConfigMap shop/a"]


OWN = KindSettings(
    poll_interval=300.0,
    shortest_poll=30.0,
    creation_grace=5.0,
    workers=2,
    timeout=20.0,
    hold_deletions=True,
)


def test_a_kind_has_settings_of_its_own(client: KubeClient) -> None:
    manager = Manager(client, SystemClock(), Settings())
    common = manager.manage(TOYS, World(toy()).external)
    own = manager.manage(BUCKETS, World(toy()).external, settings=OWN)
    assert (common._limits.workers, common._limits.timeout) == (16, 60.0)
    assert (own._limits.workers, own._limits.timeout) == (2, 20.0)
    pace = own._reconciler._deps.pace
    assert (pace.poll_interval, pace.shortest_poll, pace.creation_grace) == (300.0, 30.0, 5.0)
    assert pace.uncertain_grace == 20.0 + 60.0, "follows the time-out"
    assert common._reconciler._deps.pace.poll_interval == 60.0
    held: Any = own._reconciler._deps.deletion_held
    free: Any = common._reconciler._deps.deletion_held
    assert (held.everything, free.everything) == (True, False)


def test_every_setting_of_a_kind_is_one_of_the_manager_and_counts() -> None:
    known = {each.name for each in fields(Settings)}
    assert {each.name for each in fields(KindSettings)} <= known
    assert KindSettings().over(Settings(workers=3)) == Settings(workers=3)
    over = OWN.over(Settings())
    assert all(getattr(over, each.name) == getattr(OWN, each.name) for each in fields(KindSettings))

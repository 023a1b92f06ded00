"""Tenants that wait for a domain are reconciled as soon as one of their namespace lets go of it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.cache import Cache, ChangeType, ObjectChange
from edgetenants_runtime.managed import Managed, ObjectKey, key_of
from edgetenants_runtime.queueing.queue import WorkQueue
from provider import waiting
from tests.unit.provider.world import managed


def tenant(
    name: str, *wanted: str, has: tuple[str, ...] = (), version: int = 1, **meta: Any
) -> dict[str, Any]:
    obj = managed({"domains": list(wanted)}, uid=meta.pop("uid", name))
    obj["metadata"] |= {"name": name, "resourceVersion": str(version), **meta}
    obj["status"] = {"atProvider": {"domains": [{"domain": each, "status": "active"} for each in has]}}
    return obj


class Counting(Cache):
    """A cache that counts what is read of it."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = self.objects_read = 0

    def keys_by_index(self, index: str, value: str, most: int | None = None) -> list[ObjectKey]:
        found = super().keys_by_index(index, value, most)
        self.entries += len(found)
        return found

    def by_index(self, index: str, value: str) -> list[Mapping[str, Any]]:
        found = super().by_index(index, value)
        self.entries += len(found)
        self.objects_read += len(found)
        return found

    def get(self, key: ObjectKey) -> Mapping[str, Any] | None:
        self.objects_read += 1
        return super().get(key)


class Watched:
    """Controllers of both trees, whose informers have caches and handlers."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        self.clock = FakeClock()
        self.queue: WorkQueue[ObjectKey] = WorkQueue(self.clock, random.Random(1), real_clock=self.clock)
        self.hurried: list[str] = []
        self.handlers: list[Any] = []
        self.controllers = [self._controller(), self._controller()]
        waiting.follow([waiting.Waiter(each, self.hurried.append) for each in self.controllers])

    def _controller(self) -> Any:
        informer = SimpleNamespace(cache=Counting(), add_handler=self.handlers.append)
        return SimpleNamespace(informer=informer, enqueue_after=self._enqueue)

    def _enqueue(self, key: ObjectKey, seconds: float) -> None:
        self.woken.append(key.name)
        self.queue.add_after_real(key, seconds)

    def reconciled(self) -> list[str]:
        """The tenants that are reconciled now."""
        return [key.name for key in iter(lambda: self.queue.get(block=False), None)]

    @property
    def entries(self) -> int:
        """How many entries of the index were read."""
        return sum(each.informer.cache.entries for each in self.controllers)

    def tell(self, change: ObjectChange | None) -> None:
        assert change is not None
        for handler in self.handlers[:1]:
            handler(change)

    def put(self, obj: dict[str, Any], tree: int = 0) -> None:
        for change in self.controllers[tree].informer.cache.changed(obj):
            self.tell(change)

    def wrote(self, obj: dict[str, Any]) -> None:
        self.controllers[0].informer.cache.observed(obj)


@pytest.fixture
def watched() -> Watched:
    watched = Watched()
    watched.put(tenant("giver", "a.test", "b.test", has=("a.test", "b.test")))
    watched.put(tenant("waits", "c.test", "A.test", has=("c.test",)))
    watched.put(tenant("has-all", "c.test", has=("c.test",)))
    watched.put(tenant("elsewhere", "a.test", namespace="other"))
    assert watched.woken == []
    return watched


def test_who_waits_for_a_domain_that_was_given_up_is_woken(watched):
    watched.put(tenant("giver", "b.test", has=("b.test",), version=2))
    assert watched.woken == ["waits"], "the letters' case does not matter"
    assert watched.hurried == ["waits"], "its next retries come soon"


def test_what_this_process_wrote_wakes_too(watched):
    watched.wrote(tenant("giver", "b.test", has=("b.test",), version=2))
    assert watched.woken == ["waits"]


def test_who_goes_gives_up_all(watched):
    cache = watched.controllers[0].informer.cache
    watched.tell(cache.deleted(tenant("giver", version=3)))
    assert watched.woken == ["waits"]


def test_one_that_was_made_again_under_its_name_has_nothing_of_the_former(watched):
    watched.put(tenant("giver", "a.test", has=(), version=2, uid="second"))
    assert "waits" in watched.woken


def test_neither_who_lost_a_domain_nor_who_has_it_is_woken(watched):
    watched.put(tenant("waits", "c.test", has=(), version=2))
    assert watched.woken == []


def test_the_other_tree_is_woken_as_well(watched):
    legacy = managed({"domains": ["b.test"]}, uid="legacy", cluster=True)
    legacy["metadata"] |= {"name": "legacy", "resourceVersion": "1"}
    watched.put(legacy, tree=1)
    watched.put(tenant("giver", "a.test", has=("a.test",), version=2))
    assert watched.woken == ["legacy"]


def in_init_provider(obj: dict[str, Any], *domains: str) -> dict[str, Any]:
    obj["spec"]["initProvider"] = {"domains": list(domains)}
    return obj


def test_domains_that_it_is_to_be_made_with_count(watched):
    made = in_init_provider(tenant("made-with"), "a.test")
    del made["spec"]["forProvider"]["domains"]
    watched.put(made)
    watched.put(in_init_provider(tenant("has-others", "c.test"), "a.test"))
    watched.put(tenant("giver", "b.test", has=("b.test",), version=2))
    assert sorted(watched.woken) == ["made-with", "waits"], "forProvider takes precedence"


def test_who_has_a_domain_does_not_wait_for_it_in_other_letters():
    assert waiting.waits_for(tenant("has", "A.test", has=("a.test",))) == ()


def test_what_stays_wakes_nobody(watched):
    giver = tenant("giver", "a.test", "b.test", has=("b.test", "a.test"), version=2)
    giver["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    watched.put(giver)
    assert watched.woken == []


@pytest.mark.parametrize(
    "forged",
    [None, {"domains": None}, {"domains": "a.test"}, {"domains": [{"domain": 1}, 2, None]}],
)
def test_a_status_or_spec_that_makes_no_sense_breaks_nothing(watched, forged):
    obj = tenant("giver", version=2)
    obj["status"]["atProvider"] = forged
    obj["spec"]["forProvider"] = forged
    change = ObjectChange(ChangeType.MODIFIED, key_of(obj), tenant("giver", has=("a.test",)), obj)
    assert waiting.freed(change) == ("shop/a.test",)
    assert waiting.waits_for(obj) == ()
    assert Managed(obj).name == "giver"


def test_who_lost_a_domain_in_aws_and_still_lists_it_gets_it_back_first(watched):
    watched.put(tenant("giver", "a.test", "b.test", has=("b.test",), version=2))
    assert watched.woken == []


def test_the_tenants_of_the_same_claim_come_first(watched):
    claim = {"labels": {"crossplane.io/composite": "shop"}}
    watched.put(tenant("old", "d.test", "e.test", has=("d.test", "e.test"), **claim))
    watched.put(tenant("new", "d.test", **claim))
    watched.put(tenant("another", "d.test", "e.test"))
    watched.put(tenant("a-third", "d.test"))
    old = tenant("old", "d.test", "e.test", version=2, **claim)
    old["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    watched.put(old)
    assert sorted(watched.woken) == ["another", "new"], "for e.test, no tenant of the claim waits"


# A status that anyone may write.


@pytest.mark.parametrize(("waiting_for_them", "domains"), [(20, 10), (100, 200)])
def test_a_forged_status_wakes_each_tenant_once_and_costs_little(watched, waiting_for_them, domains):
    names = [f"d{number}.test" for number in range(domains)]
    for number in range(waiting_for_them):
        watched.put(tenant(f"waits-{number}", *names))
    watched.put(tenant("forger", has=tuple(names)))
    cache = watched.controllers[0].informer.cache
    cache.entries = cache.objects_read = 0
    watched.put(tenant("forger", version=2))
    assert sorted(watched.woken) == sorted(f"waits-{number}" for number in range(waiting_for_them))
    assert watched.hurried == [f"waits-{number}" for number in range(waiting_for_them)]
    assert watched.entries <= 2000
    assert cache.objects_read <= waiting_for_them


@pytest.mark.parametrize("tree", [0, 1])
def test_one_domain_that_very_many_wait_for_wakes_some_of_them(watched, tree):
    for number in range(2100):
        watched.put(tenant(f"waits-{number}", "d.test"), tree=tree)
    watched.put(tenant("forger", has=("d.test",)))
    watched.put(tenant("forger", version=2))
    assert len(set(watched.woken)) == len(watched.woken) == 2000


def test_who_waits_for_the_last_of_many_domains_is_woken(watched):
    names = [f"d{number:03}.test" for number in range(500)]
    watched.put(tenant("takes-over", *names))
    watched.put(tenant("rival", *names))
    watched.put(tenant("waits-for-last", names[-1]))
    watched.put(tenant("old", has=tuple(names)))
    watched.put(tenant("old", version=2))
    assert sorted(watched.woken) == ["rival", "takes-over", "waits-for-last"]


def test_many_changes_in_a_moment_reconcile_a_tenant_once(watched):
    for version in range(2, 52, 2):
        watched.put(tenant("giver", has=("a.test",), version=version))
        watched.put(tenant("giver", version=version + 1))
        watched.clock.advance(0.01)
    assert watched.reconciled() == []
    watched.clock.advance(1.0)
    assert watched.reconciled() == ["waits"]

"""Tenants that wait for a domain are reconciled as soon as one of their namespace lets go of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from edgetenants_runtime.kube.cache import Cache, ChangeType, ObjectChange
from edgetenants_runtime.managed import Managed, key_of
from provider import waiting
from tests.unit.provider.world import managed


def tenant(
    name: str, *wanted: str, has: tuple[str, ...] = (), version: int = 1, **meta: Any
) -> dict[str, Any]:
    obj = managed({"domains": list(wanted)}, uid=meta.pop("uid", name))
    obj["metadata"] |= {"name": name, "resourceVersion": str(version), **meta}
    obj["status"] = {"atProvider": {"domains": [{"domain": each, "status": "active"} for each in has]}}
    return obj


class Watched:
    """Controllers of both trees, whose informers have caches and handlers."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        self.hurried: list[str] = []
        self.handlers: list[Any] = []
        self.controllers = [self._controller(), self._controller()]
        waiting.follow([waiting.Waiter(each, self.hurried.append) for each in self.controllers])

    def _controller(self) -> Any:
        informer = SimpleNamespace(cache=Cache(), add_handler=self.handlers.append)
        return SimpleNamespace(informer=informer, enqueue=lambda key: self.woken.append(key.name))

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
    old = tenant("old", "d.test", "e.test", version=2, **claim)
    old["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    watched.put(old)
    assert sorted(watched.woken) == ["another", "new"]
    assert watched.hurried.count("another") == 1, "for e.test, for which no tenant of the claim waits"

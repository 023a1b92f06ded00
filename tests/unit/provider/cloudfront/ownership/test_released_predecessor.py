"""Two resources with one tenant: the former is being deleted and leaves it in AWS, so the latter owns it."""

from __future__ import annotations

from typing import Any

import pytest

from edgetenants_runtime.managed import Managed
from tests.unit.provider.world import FOR_PROVIDER, World, managed

KEEP = ["Observe", "Create", "Update", "LateInitialize"]
OURS, OTHERS = "finalizer.managedresource.crossplane.io", "example.org/other"


class Pair:
    """A former resource that keeps its tenant, and its successor."""

    def __init__(self, policies: list[str], **for_provider: Any) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        former = self._named("old", "acme-1", managementPolicies=policies)
        self.former = self._world(former)
        self.former.settle()
        self.former.delete()
        asked = FOR_PROVIDER | for_provider
        later = self._named("new", "acme-2", asked, created="2026-01-02T00:00:00Z")
        self.later = self._world(later, cloudfront=self.former.cloudfront)
        self.later.memory, self.later.clock = self.former.memory, self.former.clock

    def _named(self, uid: str, name: str, *args: Any, **changes: Any) -> dict[str, Any]:
        obj = managed(*args, uid=uid, **changes)
        obj["metadata"] |= {"name": name, "finalizers": [OURS]}
        self.objects[uid] = obj
        return obj

    def _world(self, obj: dict[str, Any], **given: Any) -> World:
        def everyone() -> list[Managed]:
            return [Managed(each) for each in self.objects.values()]

        return World(
            obj, peers=lambda mr, _: [e for e in everyone() if e.uid != mr.uid], everyone=everyone, **given
        )

    def go_on(self) -> None:
        for _ in range(8):
            if self.later.gone:
                return
            self.later.cloudfront.deploy()
            self.later.reconcile()
            self.later.clock.advance(60)

    @property
    def tenants(self) -> list[Any]:
        return list(self.later.cloudfront.tenants.values())


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("finalizer", [OURS, OTHERS])
def test_the_successor_is_deleted_with_its_tenant(restarted: bool, finalizer: str) -> None:
    pair = Pair(KEEP)
    pair.objects["old"]["metadata"]["finalizers"] = [finalizer]
    pair.later.reconcile()
    pair.later.delete()
    if restarted:
        pair.former.restart()
        pair.later.memory = pair.former.memory
    pair.go_on()
    assert pair.later.gone
    assert not pair.tenants


def test_the_successor_changes_the_tenant() -> None:
    pair = Pair(KEEP, enabled=False)
    pair.objects["old"]["metadata"]["finalizers"] = [OTHERS]
    pair.go_on()
    assert [each.enabled for each in pair.tenants] == [False]


@pytest.mark.parametrize("tagged", ["acme-1", "acme-2"])
@pytest.mark.parametrize("restarted", [False, True])
def test_the_former_one_takes_nothing_back(restarted: bool, tagged: str) -> None:
    """Someone gives it the policy Delete again, and the other finalizer goes. The tag may still name it, as a
    drift policy lets it."""
    pair = Pair(KEEP)
    pair.objects["old"]["metadata"]["finalizers"] = [OTHERS]
    pair.go_on()
    assert pair.later.ready()[0] == "True"
    (tenant,) = pair.tenants
    tenant.tags["crossplane-name"] = tagged
    if restarted:
        pair.former.restart()
        pair.later.memory = pair.former.memory
    pair.objects["old"]["metadata"]["finalizers"] = [OURS]
    pair.objects["old"]["spec"]["managementPolicies"] = ["*"]
    for _ in range(3):
        pair.former.reconcile()
    assert [each.enabled for each in pair.tenants] == [True]
    pair.go_on()
    assert pair.later.ready()[0] == "True"


def test_a_tenant_that_is_deleted_with_the_former_one_is_waited_for() -> None:
    pair = Pair(["*"], enabled=False)
    pair.go_on()
    assert [each.enabled for each in pair.tenants] == [True]
    assert "acme-1, which manages it and is being deleted" in str(pair.later.error)


def created_again() -> Pair:
    """The tenant of the former resource is deleted, and its successor has created the next one. Before the
    API server knew either, the provider died."""
    pair = Pair(["*"])
    pair.former.cloudfront.tenants.clear()
    pair.objects["new"]["metadata"]["annotations"] = dict(pair.objects["old"]["metadata"]["annotations"])
    pair.later.obj["metadata"]["annotations"]["crossplane.io/external-create-pending"] = (
        "2026-01-02T00:00:00Z"
    )
    others, pair.later.context["peers"] = pair.later.context["peers"], lambda *_: []
    pair.later.reconcile()
    pair.later.context["peers"] = others
    assert len(pair.tenants) == 1
    pair.objects["new"].pop("status", None)
    pair.former.restart()
    pair.later.memory = pair.former.memory
    return pair


def test_a_deletion_that_is_over_leaves_the_tenant_that_the_successor_created() -> None:
    pair = created_again()
    pair.former.settle()
    assert pair.former.gone
    assert len(pair.tenants) == 1
    del pair.objects["old"]
    pair.later.settle()
    assert pair.later.ready() == ("True", "Available")


def test_a_deletion_goes_on_if_the_successor_is_going_too() -> None:
    pair = created_again()
    pair.later.delete()
    pair.former.settle()
    assert not pair.tenants


def test_a_deletion_goes_on_if_the_resource_that_the_tags_name_has_another_tenant() -> None:
    pair = created_again()
    pair.objects["new"]["status"] = {"atProvider": {"id": "dt_of_another_account"}}
    pair.former.settle()
    assert not pair.tenants

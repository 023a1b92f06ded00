"""Who holds a deletion, and what is the way out."""

from collections.abc import Callable
from typing import Any

import pytest

from edgetenants_runtime import Change, Observation, SystemClock
from edgetenants_runtime.kube import crds
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import Forbidden, KubeError, Operation
from edgetenants_runtime.kube.kinds import CRDS
from edgetenants_runtime.managed import Managed
from edgetenants_runtime.manager import Manager, Settings
from edgetenants_runtime.reconcile.deletion import DeletionHold
from edgetenants_runtime.testing import TOYS, World, toy
from edgetenants_runtime.testing.cases import HELD_MR, NAMED

NO_ANSWER = KubeError(Operation("get", CRDS), 503, "etcd is down")
CONFIRMED = {"example.org/confirm": "uid-acme"}


@pytest.mark.parametrize(
    ("leaves", "everything", "annotations", "held"),
    [
        (False, False, {}, ""),
        (True, False, {}, "the CRD of this kind is being deleted"),
        (False, True, {}, "the provider is configured to hold deletions"),
        (True, True, {}, "the provider is configured to hold deletions"),
        (True, True, CONFIRMED, ""),
        (True, False, {"example.org/confirm": "true"}, "the CRD of this kind is being deleted"),
    ],
)
def test_what_holds_a_deletion_and_what_confirms_it(
    leaves: bool, everything: bool, annotations: dict[str, str], held: str
) -> None:
    """Rule: deletion.held-confirmed"""
    hold = DeletionHold(lambda: leaves, everything=everything, confirm_annotation="example.org/confirm")
    why = hold(Managed(toy(annotations=annotations | NAMED, deleted=True)))
    assert held in why
    assert bool(held) is bool(why)
    if why:
        assert "set the annotation example.org/confirm to uid-acme" in why
        assert "remove Delete (or *) from spec.managementPolicies" in why


def test_without_an_annotation_only_the_policies_are_the_way_out() -> None:
    """Rule: deletion.held-orphan"""
    why = DeletionHold(lambda: True)(Managed(toy(deleted=True, **HELD_MR)))
    assert "annotation" not in why
    assert "spec.managementPolicies" in why


class Definitions:
    """What the API server says about CRDs."""

    def __init__(self, answer: dict[str, object] | KubeError) -> None:
        self.answer = answer

    def get(self, *_: object) -> dict[str, object]:
        if isinstance(self.answer, KubeError):
            raise self.answer
        return {"metadata": self.answer}

    create = patch = get


@pytest.mark.parametrize(
    ("answer", "leaves"),
    [
        ({}, False),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True),
        (Forbidden(Operation("get", CRDS), 403, "no"), False),
    ],
    ids=["there", "being deleted", "not to be read"],
)
def test_whether_a_crd_leaves(answer: dict[str, object] | KubeError, leaves: bool) -> None:
    """Rule: deletion.held"""
    assert crds.leaves(Definitions(answer), TOYS) is leaves


def test_a_crd_that_is_gone_takes_its_objects_with_it() -> None:
    """Rule: deletion.held"""
    world = World(toy())
    assert crds.leaves(world.objects, TOYS) is True


def test_an_api_server_in_trouble_is_no_answer() -> None:
    """Rule: deletion.held-unknown"""
    with pytest.raises(KubeError):
        crds.leaves(Definitions(NO_ANSWER), TOYS)


CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/toys.toys.m.example.org"


class Toys:
    """Toys that all exist; notes the deletions."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    def connect(self, mr: Managed) -> "Toys":
        return self

    def observe(self, mr: Managed) -> Observation:
        return Observation(exists=True)

    def delete(self, mr: Managed, seen: Observation) -> Change:
        self.deleted.append(mr.name)
        return Change(requeue_after=1000.0)

    create = update = delete


@pytest.mark.parametrize(
    ("crd", "settings", "deleted"),
    [
        ({}, Settings(), ["acme"]),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, Settings(), []),
        ({}, Settings(hold_deletions=True), []),
        ({}, Settings(hold_deletions=True, confirm_annotation="example.org/confirm"), ["acme"]),
    ],
    ids=["not held", "the CRD leaves", "told to hold", "confirmed"],
)
def test_the_manager_asks_before_it_deletes(
    api: Any,
    client: KubeClient,
    until: Callable[[Callable[[], Any]], None],
    crd: dict[str, str],
    settings: Settings,
    deleted: list[str],
) -> None:
    """Rule: deletion.held"""
    mr = toy(deleted=True, annotations=NAMED | CONFIRMED)
    path = f"/apis/{TOYS.group}/v1alpha1/namespaces/shop/toys/acme"
    written = mr | {"metadata": mr["metadata"] | {"resourceVersion": "20"}}
    api.others[f"PATCH {path}/status"] = 200, written
    api.others[f"GET {CRD}"] = 200, {"metadata": crd}
    api.others[f"GET {path}"] = 200, mr
    api.lists = [api.listed(mr)]
    outside = Toys()
    manager = Manager(client, SystemClock(), settings)
    manager.manage(TOYS, outside)
    manager.start()
    try:
        until(lambda: [body for _, asked, _, body in api.requests if asked == f"{path}/status"])
    finally:
        manager.stop()
    assert outside.deleted == deleted
    told = next(body for _, asked, _, body in api.requests if asked == f"{path}/status")
    reasons = {c["type"]: c["reason"] for c in told["status"]["conditions"]}
    assert (reasons["Synced"] == "DeletionHeld") is not bool(deleted)

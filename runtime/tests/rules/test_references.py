"""What is filled in from other objects: the rules, the reconcile around them, and who is woken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.conditions import available
from edgetenants_runtime.api.references import ReferenceField, ReferenceTarget
from edgetenants_runtime.errors import ExternalError, NotYet
from edgetenants_runtime.kube.errors import KubeError, Operation
from edgetenants_runtime.managed import Managed, ObjectKey
from edgetenants_runtime.reconcile.steps import Next, Outcome
from edgetenants_runtime.reconcile.targets import kinds_of
from edgetenants_runtime.rules import references
from edgetenants_runtime.testing import TOYS, Killed, World, toy

BOX = ReferenceTarget("toys.m.example.org", ("v1",), "Box", "boxes", namespaced=True, value="status.at.id")
PAINT = ReferenceTarget(
    "paint.example.org",
    ("v2", "v1"),
    "Paint",
    "paints",
    namespaced=False,
    provider="provider-paint",
    hint="the ClusterRole paint has it",
)
BOX_ID = ReferenceField("boxId", BOX)
COAT = ReferenceField("look.coat", PAINT)
CRATE_IDS = ReferenceField("crateIds", BOX, many=True)
FIELDS = (BOX_ID, COAT, CRATE_IDS)
KIND = replace(TOYS, references=FIELDS)

OWNER = {"kind": "Shelf", "name": "s", "uid": "uid-shelf", "controller": True}
OTHER_OWNER = {**OWNER, "uid": "uid-other"}
ALWAYS, OPTIONAL = {"resolve": "Always"}, {"resolution": "Optional"}
SIBLING = {"matchControllerRef": True}


def box(name: str, id_: str = "", namespace: str = "shop", **metadata: Any) -> dict[str, Any]:
    given = {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", **metadata}}
    return given | ({"status": {"at": {"id": id_}}} if id_ else {})


def paint(name: str, external_name: str = "") -> dict[str, Any]:
    annotations = {names.EXTERNAL_NAME: external_name} if external_name else {}
    return {"metadata": {"name": name, "uid": f"uid-{name}", "annotations": annotations}}


class Shelf:
    """A lookup over a list, in the order given; notes what it was asked for."""

    def __init__(self, *objects: dict[str, Any]) -> None:
        self.objects = [Managed(obj) for obj in objects]
        self.asked: list[str] = []

    def get(self, target: ReferenceTarget, key: ObjectKey) -> Managed | None:
        self.asked.append(f"{target.kind} {key}")
        return next((each for each in self.objects if each.key == key), None)

    def select(self, target: ReferenceTarget, namespace: str, labels: Mapping[str, str]) -> list[Managed]:
        self.asked.append(f"{target.kind} in {namespace}")
        return [o for o in self.objects if o.namespace == namespace and labels.items() <= o.labels.items()]


def resolve(asked: dict[str, Any], *objects: dict[str, Any], **changes: Any) -> dict[str, Any]:
    owners = changes.pop("owners", [OWNER])
    mr = toy(**changes)
    mr["metadata"]["ownerReferences"] = owners
    mr["spec"]["forProvider"] = asked
    return references.resolve(Managed(mr), FIELDS, Shelf(*objects)).patch


@dataclass
class Found:
    id: str
    asked: dict[str, Any]
    objects: list[dict[str, Any]]
    patch: dict[str, Any] = field(default_factory=dict)


RED, BLUE = {"labels": {"c": "red"}}, {"labels": {"c": "blue"}}
FOUND = [
    Found("nothing is referred to", {"size": 1}, [box("a", "1")]),
    Found("by name", {"boxIdRef": {"name": "a"}}, [box("a", "1")], {"boxId": "1"}),
    Found(
        "by name in another namespace",
        {"boxIdRef": {"name": "a", "namespace": "far"}},
        [box("a", "1"), box("a", "2", "far")],
        {"boxId": "2"},
    ),
    Found("a set field is left alone", {"boxId": "9", "boxIdRef": {"name": "a"}}, [box("a", "1")]),
    Found(
        "a set field follows with Always",
        {"boxId": "9", "boxIdRef": {"name": "a", "policy": ALWAYS}},
        [box("a", "1")],
        {"boxId": "1"},
    ),
    Found(
        "nothing changed, nothing is written",
        {"boxId": "1", "boxIdRef": {"name": "a", "policy": ALWAYS}},
        [box("a", "1")],
    ),
    Found(
        "by labels, and what was found is noted",
        {"boxIdSelector": {"matchLabels": {"c": "red"}}},
        [box("b", "2", **BLUE), box("a", "1", **RED)],
        {"boxId": "1", "boxIdRef": {"name": "a"}},
    ),
    Found(
        "the first by name of several",
        {"boxIdSelector": {"matchLabels": {"c": "red"}}},
        [box("b", "2", **RED), box("a", "1", **RED)],
        {"boxId": "1", "boxIdRef": {"name": "a"}},
    ),
    Found(
        "not one that is going",
        {"boxIdSelector": {}},
        [box("a", "1", deletionTimestamp="2026-01-01T00:00:00Z"), box("b", "2")],
        {"boxId": "2", "boxIdRef": {"name": "b"}},
    ),
    Found(
        "of the same controller",
        {"boxIdSelector": SIBLING},
        [box("a", "1"), box("b", "2", ownerReferences=[OTHER_OWNER]), box("c", "3", ownerReferences=[OWNER])],
        {"boxId": "3", "boxIdRef": {"name": "c"}},
    ),
    Found(
        "selected in another namespace",
        {"boxIdSelector": {"namespace": "far"}},
        [box("a", "1"), box("b", "2", "far")],
        {"boxId": "2", "boxIdRef": {"name": "b", "namespace": "far"}},
    ),
    Found(
        "a reference wins over a selector",
        {"boxIdRef": {"name": "b"}, "boxIdSelector": {}},
        [box("a", "1"), box("b", "2")],
        {"boxId": "2"},
    ),
    Found(
        "a selector with Always wins, and forgets the other namespace",
        {
            "boxId": "2",
            "boxIdRef": {"name": "b", "namespace": "far"},
            "boxIdSelector": {"policy": ALWAYS},
        },
        [box("a", "1"), box("b", "2", "far")],
        {"boxId": "1", "boxIdRef": {"name": "a", "namespace": None}},
    ),
    Found(
        "a selector with Always that finds the same again",
        {"boxId": "1", "boxIdRef": {"name": "a"}, "boxIdSelector": {"policy": ALWAYS}},
        [box("a", "1")],
    ),
    Found("an optional one that is not there", {"boxIdRef": {"name": "a", "policy": OPTIONAL}}, []),
    Found("an optional one without a value", {"boxIdRef": {"name": "a", "policy": OPTIONAL}}, [box("a")]),
    Found(
        "what is gone leaves what it gave, when optional",
        {"boxId": "1", "boxIdRef": {"name": "a", "policy": {**OPTIONAL, **ALWAYS}}},
        [],
    ),
    Found(
        "further down, of another provider, by its external name",
        {"look": {"shine": 1, "coatRef": {"name": "p"}}},
        [paint("p", "red-7")],
        {"look": {"coat": "red-7"}},
    ),
    Found(
        "several by name, in their order",
        {"crateIdRefs": [{"name": "b"}, {"name": "a"}]},
        [box("a", "1"), box("b", "2")],
        {"crateIds": ["2", "1"]},
    ),
    Found(
        "several by selector, in the order of their values",
        {"crateIdSelector": {}},
        [box("b", "1"), box("a", "2")],
        {"crateIds": ["1", "2"], "crateIdRefs": [{"name": "b"}, {"name": "a"}]},
    ),
    Found(
        "several by selector, each value once, with the first by name that has it",
        {"crateIdSelector": {}},
        [box("c", "1"), box("b", "2"), box("a", "1")],
        {"crateIds": ["1", "2"], "crateIdRefs": [{"name": "a"}, {"name": "b"}]},
    ),
    Found(
        "several by name, the same value twice",
        {"crateIdRefs": [{"name": "b"}, {"name": "a"}]},
        [box("a", "1"), box("b", "1")],
        {"crateIds": ["1", "1"]},
    ),
    Found(
        "several by selector, found again",
        {"crateIds": ["1"], "crateIdRefs": [{"name": "a"}], "crateIdSelector": {"policy": ALWAYS}},
        [box("a", "1")],
    ),
    Found(
        "an optional selector that finds none",
        {"crateIdSelector": {"matchLabels": {"c": "no"}, "policy": OPTIONAL}},
        [box("b", "2", **RED)],
    ),
]


@pytest.mark.parametrize("case", FOUND, ids=lambda case: case.id)
def test_what_is_found(case: Found) -> None:
    assert resolve(case.asked, *case.objects) == ({"forProvider": case.patch} if case.patch else {})


UNRESOLVED = [
    ({"boxIdRef": {"name": "a"}}, [], ExternalError, "spec.forProvider.boxIdRef: Box shop/a does not exist"),
    (
        {"boxIdRef": {"name": "a"}},
        [box("a")],
        NotYet,
        "spec.forProvider.boxIdRef: waiting for Box shop/a to have its id",
    ),
    (
        {"boxIdSelector": {"matchLabels": {"c": "red"}, **SIBLING}},
        [box("a", "1", **RED)],
        ExternalError,
        "spec.forProvider.boxIdSelector: there is no Box in namespace shop with the label c=red and Shelf",
    ),
    ({"boxIdSelector": {}}, [], ExternalError, "there is no Box in namespace shop"),
    (
        {"look": {"coatRef": {"name": "p"}}},
        [],
        ExternalError,
        "spec.forProvider.look.coatRef: Paint p of provider-paint does not exist",
    ),
    (
        {"look": {"coatRef": {"name": "p"}}},
        [paint("p")],
        NotYet,
        "waiting for Paint p of provider-paint to have its external name",
    ),
    (
        {"boxId": "1", "boxIdRef": {"name": "a", "policy": ALWAYS}},
        [],
        ExternalError,
        "Box shop/a does not exist",
    ),
]


@pytest.mark.parametrize(("asked", "objects", "kind", "message"), UNRESOLVED)
def test_what_cannot_be_resolved_says_which_and_why(
    asked: dict[str, Any], objects: list[dict[str, Any]], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as raised:
        resolve(asked, *objects)
    assert message in str(raised.value)
    [condition] = raised.value.conditions  # type: ignore[attr-defined]
    assert (condition.type, condition.status, condition.reason) == ("Ready", "False", "Creating")
    assert condition.message == raised.value.message  # type: ignore[attr-defined]


def test_a_selector_by_controller_without_one_says_so() -> None:
    with pytest.raises(ExternalError, match="this resource has no controller"):
        resolve({"boxIdSelector": SIBLING}, box("a", "1"), owners=[])


def test_what_serves_goes_on_serving_while_it_cannot_be_resolved() -> None:
    serves = {"conditions": [available().to_json() | {"lastTransitionTime": "2026-01-01T00:00:00Z"}]}
    with pytest.raises(ExternalError) as raised:
        resolve({"boxIdRef": {"name": "a"}}, status=serves)
    assert raised.value.conditions == ()


@pytest.mark.parametrize(
    ("above", "annotations", "patch"),
    [
        ({}, {}, {"initProvider": {"boxId": "1"}}),
        ({"boxId": "9"}, {}, {}),
        ({"boxIdRef": {"name": "b"}}, {}, {"forProvider": {"boxId": "2"}}),
        ({}, {names.EXTERNAL_CREATE_SUCCEEDED: "2026-01-01T00:00:00Z"}, {}),
    ],
    ids=["filled in", "below a value", "below a reference", "of no effect after the creation"],
)
def test_references_of_init_provider(above: Any, annotations: Any, patch: Any) -> None:
    init = {"boxIdRef": {"name": "a"}}
    objects = [box("a", "1"), box("b", "2")]
    assert resolve(above, *objects, annotations=annotations, initProvider=init) == patch


# The reconcile.

OBSERVE, BOXES = "external observe acme", kinds_of(BOX)[0]
HELD = "metadata +finalizer external-name"


def world_of(asked: dict[str, Any], **changes: Any) -> World:
    return World(toy(**changes) | {"spec": {"forProvider": {"size": 1, **asked}}}, KIND)


def filled_in(world: World) -> Any:
    return world.mr and world.mr.for_provider.get("boxId")


def test_what_is_resolved_costs_no_write_of_its_own() -> None:
    world = world_of({"boxIdSelector": {}})
    world.objects.put(BOXES, box("a", "1"))
    world.reconcile()
    assert world.journal[:3] == [
        OBSERVE,
        "metadata +finalizer external-name external-create-pending spec boxId boxIdRef",
        "external create acme",
    ]
    assert filled_in(world) == "1"
    world.settle()
    assert sum("spec" in entry for entry in world.journal) == 1


def test_a_value_that_follows_is_written_alone_once_the_rest_is_there() -> None:
    world = world_of({"boxIdRef": {"name": "a", "policy": ALWAYS}})
    world.objects.put(BOXES, box("a", "1"))
    world.settle()
    before = len(world.journal)
    world.objects.put(BOXES, box("a", "2"))
    world.settle()
    wrote = [entry for entry in world.journal[before:] if entry != OBSERVE]
    assert wrote[0] == "spec boxId"
    assert [entry.split()[0] for entry in wrote] == ["spec", "status"]
    assert filled_in(world) == "2"


def test_a_write_of_what_is_resolved_fails_on_a_conflict() -> None:
    world = world_of({"boxIdRef": {"name": "a"}})
    world.objects.put(BOXES, box("a", "1"))
    mr = world.mr
    assert mr is not None
    world.objects.touch(KIND, mr.key)
    outcome = world.reconciler.reconcile(mr)
    assert outcome == Outcome(Next.REAL_BACKOFF)
    assert world.external.created == 0


def test_a_missing_object_is_told_and_tried_again_in_real_time() -> None:
    world = world_of({"boxIdRef": {"name": "a"}})
    outcome = world.reconcile()
    assert outcome == Outcome(Next.REAL_BACKOFF, failed=True)
    assert world.journal == [
        HELD,
        "event Warning CannotResolveResourceReferences",
        "status Ready=False/Creating Synced=False/ReconcileError",
    ]
    [synced] = [c for c in world.status()["conditions"] if c["type"] == "Synced"]
    message = "cannot resolve references: spec.forProvider.boxIdRef: Box shop/a does not exist"
    assert synced["message"] == message
    world.reconcile()
    assert world.journal[3:] == world.journal[1:2], "the same again is no news"


@pytest.mark.parametrize(("code", "told"), [(503, 0), (400, 2)], ids=["in trouble", "refusing"])
def test_an_api_server_that_does_not_answer_is_met_in_real_time(
    monkeypatch: pytest.MonkeyPatch, code: int, told: int
) -> None:
    world = world_of({"boxIdRef": {"name": "a"}})
    error = KubeError(Operation("get", BOXES, name="a"), code, "no")
    monkeypatch.setattr(world.objects, "get", lambda *_: (_ for _ in ()).throw(error))
    assert world.reconcile() == Outcome(Next.REAL_BACKOFF, failed=True)
    assert len(world.journal) == told


@pytest.mark.parametrize("exists", [True, False])
def test_a_deletion_before_references_are_resolved_looks_for_the_external_resource(exists: bool) -> None:
    """It may be that of a former resource of this name, which released it."""
    world = world_of({"boxIdRef": {"name": "a"}})
    if exists:
        world.external.toys["acme"] = 1
    world.reconcile()
    world.delete()
    world.settle()
    assert world.mr is None
    assert ("external delete acme" in world.journal) == exists


@pytest.mark.parametrize("why", ["waits for its predecessor", "requests for this account are paused"])
def test_a_resource_whose_first_look_waits_has_a_finalizer(why: str) -> None:
    world = World(toy() | {"spec": {"forProvider": {"size": 1}}}, KIND)
    world.external.toys["acme"] = 1
    world.external.refusing["observe"] = [NotYet(why, after=5.0)]
    world.reconcile()
    assert world.mr is not None
    assert names.FINALIZER in world.mr.finalizers
    world.delete()
    world.settle()
    assert "external delete acme" in world.journal


def test_what_cannot_be_connected_waits_for_its_references_without_a_finalizer() -> None:
    """Its deletion could not look, and would wait until the provider config is usable."""
    world = world_of({"boxIdRef": {"name": "a"}})
    world.external.refusing["connect"] = [ExternalError("spec.providerConfigRef: does not exist")]
    world.reconcile()
    assert HELD not in world.journal
    assert world.mr is not None
    assert world.mr.finalizers == ()


def test_an_object_without_a_value_is_waited_for_quietly() -> None:
    world = world_of({"boxIdRef": {"name": "a"}})
    world.objects.put(BOXES, box("a"))
    outcome = world.reconcile()
    assert outcome == Outcome(Next.AFTER, 15.0)
    assert world.journal == [
        HELD,
        "event Normal PendingExternalResource",
        "status Ready=False/Creating Synced=True/ReconcileSuccess",
    ]
    world.objects.put(BOXES, box("a", "1"))
    world.reconcile()
    assert "external create acme" in world.journal


def test_nothing_is_looked_up_while_deleting() -> None:
    world = world_of({"boxIdRef": {"name": "a"}}, deleted=True)
    world.external.toys = {"acme": 1}
    world.settle()
    assert world.mr is None


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_death_at_any_write_leaves_one_toy_and_the_value(when: str) -> None:
    for index in range(5):
        world = world_of({"boxIdRef": {"name": "a"}})
        world.objects.put(BOXES, box("a", "1"))
        world.kill_at(index, when)
        with pytest.raises(Killed):
            world.reconcile()
        world.restart()
        world.settle()
        assert world.external.created == 1
        assert filled_in(world) == "1"


def test_a_referenced_field_is_never_late_initialized() -> None:
    with pytest.raises(ValueError, match="would override the reference of boxId"):
        replace(KIND, late_initialized=("size", "boxId"))

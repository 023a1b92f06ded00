"""How what is referred to is read, and who is woken when it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from edgetenants_runtime.api import annotations as names
from edgetenants_runtime.api.references import ReferenceField, ReferenceTarget
from edgetenants_runtime.errors import ExternalError, RetryMode
from edgetenants_runtime.kube.cache import Cache
from edgetenants_runtime.kube.errors import Forbidden, KubeError, NotFound, NotServed, Operation
from edgetenants_runtime.managed import Managed, ObjectKey, ResourceKind
from edgetenants_runtime.reconcile.targets import BY_TARGET, Targets, by_target, follow, kinds_of, own_kinds
from edgetenants_runtime.rules import references
from edgetenants_runtime.testing import CLUSTER_TOYS, TOYS, toy

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
FIELDS = (
    ReferenceField("boxId", BOX),
    ReferenceField("look.coat", PAINT),
    ReferenceField("crateIds", BOX, many=True),
)
KIND = replace(TOYS, references=FIELDS)
BOXES = kinds_of(BOX)[0]
ALWAYS, OPTIONAL = {"resolve": "Always"}, {"resolution": "Optional"}
RED = {"labels": {"c": "red"}}


def box(name: str, id_: str = "", namespace: str = "shop", **metadata: Any) -> dict[str, Any]:
    given = {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", **metadata}}
    return given | ({"status": {"at": {"id": id_}}} if id_ else {})


def paint(name: str, external_name: str = "") -> dict[str, Any]:
    annotations = {names.EXTERNAL_NAME: external_name} if external_name else {}
    return {"metadata": {"name": name, "uid": f"uid-{name}", "annotations": annotations}}


class Api:
    """Answers each version as told."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def get(self, kind: ResourceKind, key: ObjectKey) -> dict[str, Any]:
        return self._answer("get", kind, key)  # type: ignore[no-any-return]

    def select(self, kind: ResourceKind, namespace: str, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        return [self._answer("list", kind, ObjectKey(namespace, ""))]

    def _answer(self, verb: str, kind: ResourceKind, key: ObjectKey) -> Any:
        self.asked.append(f"{verb} {kind.api_version} {kind.plural} {key}")
        answer = self.answers.get(kind.version, NotServed)
        if isinstance(answer, type):
            raise answer(Operation(verb, kind, name=key.name), 404, "no")
        return answer


def test_the_first_version_that_is_served_is_read() -> None:
    api = Api(v1=paint("p", "red"))
    found = Targets(api).get(PAINT, ObjectKey("", "p"))
    assert found is not None
    assert found.external_name == "red"
    assert api.asked == ["get paint.example.org/v2 paints p", "get paint.example.org/v1 paints p"]


@pytest.mark.parametrize(
    ("answers", "target", "message"),
    [
        ({}, PAINT, "Paint (paints.paint.example.org, version v2 or v1) is not served by this cluster; "),
        ({}, BOX, "Box (boxes.toys.m.example.org, version v1) is not served by this cluster; activate it"),
        ({"v2": Forbidden}, PAINT, "; the ClusterRole paint has it"),
        ({"v2": Forbidden}, PAINT, 'apiGroups: ["paint.example.org"], resources: ["paints"]'),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_what_to_do(answers: Any, target: ReferenceTarget, message: str) -> None:
    targets = Targets(Api(**answers))
    for read in (
        lambda: targets.get(target, ObjectKey("", "p")),
        lambda: targets.select(target, "", {}),
    ):
        with pytest.raises(ExternalError) as raised:
            read()
        assert message in raised.value.message


def test_a_missing_right_is_told_even_when_the_reference_is_optional() -> None:
    obj = toy()
    obj["spec"]["forProvider"] = {"look": {"coatRef": {"name": "p", "policy": OPTIONAL}}}
    with pytest.raises(ExternalError, match=r"spec\.forProvider\.look\.coatRef: .*forbidden") as raised:
        references.resolve(Managed(obj), FIELDS, Targets(Api(v2=Forbidden)))
    assert raised.value.retry.mode is RetryMode.REAL_BACKOFF
    assert raised.value.conditions


@pytest.mark.parametrize(("error", "found"), [(NotFound, None), (KubeError, KubeError)])
def test_only_not_found_means_that_there_is_none(error: type[KubeError], found: Any) -> None:
    targets = Targets(Api(v1=error))
    if found is None:
        assert targets.get(BOX, ObjectKey("shop", "a")) is None
    else:
        with pytest.raises(found):
            targets.get(BOX, ObjectKey("shop", "a"))


class Watched:
    """An informer as far as `targets` knows one."""

    def __init__(self, kind: ResourceKind, *, synced: bool = True, served: bool = True) -> None:
        self.kind, self.cache, self.handlers = kind, Cache(), []  # type: ignore[var-annotated]
        self.synced, self.served = synced, served

    def add_handler(self, handler: Any) -> None:
        self.handlers.append(handler)

    def see(self, obj: dict[str, Any]) -> None:
        for change in self.cache.changed(obj):
            for handler in self.handlers:
                handler(change)


@pytest.mark.parametrize(
    ("state", "asked"), [({}, 0), ({"synced": False}, 2), ({"served": False}, 2)], ids=["", "unread", "gone"]
)
def test_our_own_kinds_are_read_from_their_informer_while_it_knows(state: Any, asked: int) -> None:
    informer = Watched(BOXES, **state)
    informer.see(versioned(box("a", "1", **RED), 1))
    api = Api(v1=box("a", "1", **RED))
    targets = Targets(api, lambda kind: informer if kind == BOXES else None)  # type: ignore[arg-type,return-value]
    found = targets.get(BOX, ObjectKey("shop", "a"))
    assert found is not None
    assert found.raw["status"] == {"at": {"id": "1"}}
    assert [each.name for each in targets.select(BOX, "shop", {"c": "red"})] == ["a"]
    assert len(api.asked) == asked
    if not asked:
        assert targets.select(BOX, "far", {}) == []
        assert targets.select(BOX, "shop", {"c": "blue"}) == []


# Who is woken.


def versioned(obj: dict[str, Any], version: int) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(version)}}


def referrer(name: str, asked: dict[str, Any]) -> dict[str, Any]:
    obj = versioned(toy(), 1)
    obj["metadata"] |= {"name": name, "uid": f"uid-{name}"}
    return obj | {"spec": {"forProvider": asked}}


def woken_by(*changes: tuple[str, dict[str, Any]], **referrers: dict[str, Any]) -> list[str]:
    cache = Cache({BY_TARGET: by_target(KIND)})
    for name, asked in referrers.items():
        cache.changed(referrer(name, asked))
    boxes, woken = Watched(BOXES), []  # type: ignore[var-annotated]
    follow(boxes, KIND, cache, lambda key: woken.append(key.name))  # type: ignore[arg-type]
    for version, (how, obj) in enumerate(changes, start=10):
        woken.clear()
        (boxes.cache.observed if how == "own" else boxes.see)(versioned(obj, version))
    return sorted(woken)


WAITING = {
    "named": {"boxIdRef": {"name": "a"}},
    "other": {"boxIdRef": {"name": "b"}},
    "selecting": {"boxIdSelector": {}},
    "settled": {"boxId": "1", "boxIdRef": {"name": "a"}},
    "following": {"boxId": "1", "boxIdRef": {"name": "a", "policy": ALWAYS}},
    "several": {"crateIdRefs": [{"name": "b"}, {"name": "a"}]},
    "elsewhere": {"boxIdRef": {"name": "a", "namespace": "far"}},
}


@pytest.mark.parametrize(
    ("changes", "woken"),
    [
        ([("watch", box("a", "1"))], ["following", "named", "selecting", "several"]),
        ([("own", box("a", "1"))], ["following", "named", "selecting", "several"]),
        ([("watch", box("c"))], ["selecting"]),
        ([("watch", box("a", "1", "far"))], ["elsewhere"]),
        ([("watch", box("a")), ("own", box("a", "1"))], ["following", "named", "selecting", "several"]),
        ([("watch", box("a", "1")), ("own", box("a", "1", annotations={"x": "y"}))], []),
        (
            [("watch", box("a", "1")), ("watch", box("a", "1", finalizers=["x"], deletionTimestamp="now"))],
            ["following", "named", "selecting", "several"],
        ),
        (
            [("watch", box("a", "1")), ("watch", box("a", "1", **RED))],
            ["following", "named", "selecting", "several"],
        ),
    ],
    ids=["appears", "is ours", "unnamed", "far", "gets its value", "no news", "begins to go", "labels"],
)  # fmt: skip
def test_a_change_wakes_who_waits_for_it(changes: Any, woken: list[str]) -> None:
    assert woken_by(*changes, **WAITING) == woken


def test_an_object_that_goes_wakes_who_follows_it() -> None:
    cache = Cache({BY_TARGET: by_target(KIND)})
    cache.changed(referrer("following", WAITING["following"]))
    boxes, woken = Watched(BOXES), []  # type: ignore[var-annotated]
    follow(boxes, KIND, cache, woken.append)  # type: ignore[arg-type]
    leaving = box("a", "1", deletionTimestamp="2026-01-01T00:00:00Z")
    boxes.see(versioned(box("a", "1", finalizers=["x"]), 1))
    woken.clear()
    boxes.cache.observed(versioned(leaving, 2))
    assert [key.name for key in woken] == ["following"]


def test_what_is_resolved_waits_no_more() -> None:
    cache = Cache({BY_TARGET: by_target(KIND)})
    cache.changed(referrer("r", WAITING["named"]))
    [entry] = by_target(KIND)(referrer("r", WAITING["named"]))
    assert cache.by_index(BY_TARGET, entry)
    cache.observed(versioned(referrer("r", WAITING["settled"]), 2))
    assert cache.by_index(BY_TARGET, entry) == []


def test_an_unreadable_annotation_does_not_stop_the_informer() -> None:
    obj = referrer("r", {})
    obj["spec"]["initProvider"] = {"boxIdRef": {"name": "a"}}
    obj["metadata"]["annotations"] = {names.EXTERNAL_CREATE_SUCCEEDED: "yesterday"}
    assert by_target(KIND)(obj) == ()


def test_only_our_own_kinds_are_followed() -> None:
    assert own_kinds(KIND) == (BOXES,)
    assert own_kinds(CLUSTER_TOYS) == ()

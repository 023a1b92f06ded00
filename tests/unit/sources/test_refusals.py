"""A write that is refused stops no other, is not tried with each read, and shows no text of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.errors import KubeError, Operation, refusal
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.manager import Settings
from edgetenants_runtime.process.start import connect
from sources import main
from sources.objects import OWNER
from sources.reading import Allowed
from sources.reconciler import FINALIZER
from tests.unit.sources.tables import CLAIMS, KEY, NAMESPACE, SOURCES, Scene, row

SECRET = "the-value-of-another-object"


def answer(code: int, message: str = SECRET, **status: Any) -> KubeError:
    body = {"message": message, "details": {"name": "a"}, **status}
    return refusal(Operation("patch", CLAIMS, "", "a", NAMESPACE), code, body)


WEBHOOK = f'admission webhook "x" denied the request: spec.{SECRET} of b is bad'
ANSWERS = [
    answer(400, WEBHOOK),
    answer(403, WEBHOOK),
    answer(403, f"ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {SECRET}"),
    answer(404, SECRET),
    answer(409, SECRET, reason="AlreadyExists"),
    answer(413),
    answer(418),
    answer(422, WEBHOOK),
    answer(500, f'failed calling webhook "x": {SECRET}'),
    answer(504),
]


@pytest.mark.parametrize("error", ANSWERS, ids=lambda each: str(each.code))
def test_one_object_that_is_refused_stops_no_other_and_its_text_is_not_shown(error: KubeError) -> None:
    scene = Scene(row("a"), row("b"), row("c"))
    scene.server.answers["a"] = error
    for _ in range(3):
        scene.look()
    assert sorted(scene.claims) == ["b", "c"]
    [problem] = scene.status["problems"]
    assert problem["key"] == "a"
    assert SECRET not in json.dumps(scene.status)
    assert scene.reason("Synced") == ("WriteFailed" if error.transient else "Synced")
    scene.server.answers.clear()
    scene.look(3600)
    assert (sorted(scene.claims), scene.reason("Synced")) == (["a", "b", "c"], "Synced")


def test_an_api_server_that_takes_no_writes_gets_few() -> None:
    scene = Scene(*(row(f"r{n}") for n in range(20)))
    scene.server.answers = {f"r{n}": answer(503) for n in range(20)}
    outcome = scene.look()
    assert outcome is not None
    assert outcome.failed
    assert len(scene.take_writes()) == 3
    assert scene.reason("Synced") == "WriteFailed"
    assert "HTTP 503" in scene.message("Synced")


def test_some_objects_that_always_fail_do_not_end_each_round() -> None:
    scene = Scene(*(row(f"r{n}") for n in range(8)))
    scene.server.answers = {f"r{n}": answer(500) for n in range(5)}
    for _ in range(3):
        scene.look()
    assert sorted(scene.claims) == ["r5", "r6", "r7"]


def test_failures_between_successes_do_not_add_up() -> None:
    scene = Scene(*(row(f"r{n}") for n in range(10)))
    scene.server.answers = {f"r{n}": answer(500) for n in range(0, 10, 2)}
    scene.look()
    assert sorted(scene.claims) == ["r1", "r3", "r5", "r7", "r9"]


def test_updates_that_always_fail_come_after_the_others() -> None:
    scene = Scene(*(row(f"r{n}") for n in range(6)))
    scene.look()
    scene.store.rows = [row(f"r{n}", f"new{n}.example.com") for n in range(6)]
    scene.server.answers = {f"r{n}": answer(500) for n in range(3)}
    scene.look()
    scene.look()
    domains = [scene.claims[f"r{n}"]["spec"]["domains"][0] for n in range(6)]
    assert domains[3:] == ["new3.example.com", "new4.example.com", "new5.example.com"]


@pytest.mark.parametrize("code", [403, 422, 500])
def test_a_mark_or_deletion_that_is_refused_stops_no_creation(code: int) -> None:
    for refused_from_read in (1, 2):
        scene = Scene(row("a"), row("b"), row("c"), whenGone="Delete", after="0s")
        scene.look()
        scene.store.rows = [row("b"), row("c")]
        if refused_from_read == 2:
            scene.look()
        scene.server.answers["a"] = answer(code, WEBHOOK)
        for number in range(4):
            scene.store.rows.append(row(f"new{number}"))
            scene.look()
        assert sorted(scene.claims) == ["a", "b", "c", "new0", "new1", "new2", "new3"]


def test_objects_that_always_fail_stop_no_removal() -> None:
    names = [f"r{n}" for n in range(6)]
    scene = Scene(*map(row, names), whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = [row(name, f"new.{name}.example.com") for name in names[:5]]
    scene.server.answers = {name: answer(500) for name in names[:5]}
    for _ in range(3):
        scene.look()
    assert sorted(scene.claims) == names[:5]
    assert scene.reason("Synced") == "WriteFailed"


def test_rows_that_are_refused_do_not_use_up_the_pace_of_the_others() -> None:
    scene = Scene(*(row(f"r{n}") for n in range(10)), maxNew=3)
    scene.server.answers = {f"r{n}": answer(422) for n in range(4)}
    for _ in range(3):
        scene.look()
    assert sorted(scene.claims) == ["r4", "r5", "r6", "r7", "r8"]
    scene.take_writes()
    scene.look()
    # And they are not tried with each read either.
    assert scene.take_writes() == [("apply", "r9")]
    assert scene.status["waiting"] == 0
    assert [each["key"] for each in scene.status["problems"]] == ["r0", "r1", "r2", "r3"]


def test_a_row_that_was_refused_is_tried_again_after_the_others_and_when_it_changes() -> None:
    scene = Scene(*(row(f"r{n}") for n in range(3)), maxNew=1)
    scene.server.answers = {"r0": answer(422)}
    scene.look()
    assert scene.take_writes() == [("apply", "r0")]
    scene.look(700)
    scene.look()
    assert scene.take_writes() == [("apply", "r1"), ("apply", "r2")]
    scene.look()
    assert scene.take_writes() == [("apply", "r0")]
    # Twice as long as before.
    scene.look(700)
    assert scene.take_writes() == []
    scene.store.rows[0] = row("r0", "new.example.com")
    scene.look()
    assert scene.take_writes() == [("apply", "r0")]


def test_an_adoption_that_is_refused_is_not_tried_with_each_read() -> None:
    scene = Scene(row("a"), adopt={"matchLabels": {"x": "y"}})
    theirs = {"metadata": {"labels": {"x": "y"}}, "spec": {"domains": ["other.example.com"]}}
    scene.server.apply(CLAIMS, ObjectKey(NAMESPACE, "a"), theirs, manager="kubectl")
    scene.take_writes()
    scene.look()
    assert scene.take_writes() == [("apply", "a")]
    for _ in range(5):
        scene.look()
    assert scene.take_writes() == []
    assert "kubectl" in scene.status["problems"][0]["expected"]
    scene.look(600)
    assert scene.take_writes() == [("apply", "a")]


def test_a_confirmation_that_is_refused_is_not_tried_each_second() -> None:
    scene = Scene(row("a"), row("b"), whenGone="Delete", after="0s")
    scene.look()
    scene.store.rows = []
    scene.look()
    scene.look()
    scene.annotate(confirm=scene.status["removal"]["token"])
    scene.server.answers = {"a": answer(422), "b": answer(422)}
    outcome = scene.look()
    assert outcome is not None
    assert outcome.seconds == 60.0


def test_a_deletion_that_is_refused_keeps_no_other_object_of_a_source_that_goes() -> None:
    scene = Scene(row("a"), row("b"), row("c"), onDelete="Delete")
    scene.look()
    scene.server.answers["a"] = answer(500, WEBHOOK)
    stored = scene.server.find(SOURCES, KEY)
    assert stored is not None
    stored["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    scene.server.put(SOURCES, stored)
    scene.server.touch(SOURCES, KEY)
    scene.look()
    assert sorted(scene.claims) == ["a"]
    assert (scene.server.find(SOURCES, KEY) or {})["metadata"]["finalizers"] == [FINALIZER]
    scene.server.answers.clear()
    scene.look()
    scene.look()
    assert not scene.claims
    assert scene.server.find(SOURCES, KEY) is None


def test_an_api_server_that_is_away_gets_few_deletions_of_a_source_that_goes() -> None:
    scene = Scene(*(row(f"r{n}") for n in range(20)), onDelete="Delete")
    scene.look()
    stored = scene.server.find(SOURCES, KEY)
    assert stored is not None
    stored["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    scene.server.put(SOURCES, stored)
    scene.server.touch(SOURCES, KEY)
    tried: list[str] = []

    def delete(kind: Any, key: ObjectKey, **_: Any) -> None:
        tried.append(key.name)
        raise answer(503)

    scene.server.delete = delete  # type: ignore[method-assign]
    scene.look()
    assert len(tried) == 3


def unconnected(folder: Path) -> KubeClient:
    """A client of an API server that does not exist."""
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "c"}}
    config = {"clusters": [cluster], "contexts": [context], "users": [{"name": "c", "user": {}}]}
    (folder / "config").write_text(json.dumps({**config, "current-context": "c"}))
    return connect(str(folder / "config"), "edgetenants-sources")


def test_an_object_with_very_many_labels_stays_ours(tmp_path: Path) -> None:
    manager = main.wire(unconnected(tmp_path), FakeClock(), Settings(), Allowed())
    labels = {f"a{n:03}": "x" for n in range(200)} | {OWNER: "customers"}
    informers = [each for each in manager._followed if each.kind.kind != "TenantSource"]
    assert len(informers) == 2
    for informer in informers:
        kept = informer.cache.kept({"metadata": {"name": "a", "namespace": "shop", "labels": labels}})
        assert kept["metadata"]["labels"][OWNER] == "customers"

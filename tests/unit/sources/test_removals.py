"""What is removed, and when: accidents of tables, processes, people and clocks that must remove nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from apis.tenantsource import parse
from edgetenants_runtime.kube.errors import Forbidden, KubeError, Operation
from edgetenants_runtime.leading import StandDown
from edgetenants_runtime.managed import ObjectKey
from sources.objects import GONE
from sources.rows import digest_of
from sources.stores.store import Row
from tests.unit.sources.tables import CLAIMS, NAMESPACE, SOURCES, SPEC, FakeStore, Scene, row

HOUR = 3600.0
DAY = 24 * HOUR
OTHER = {"configMap": {"name": "others", "key": "rows", "format": "csv"}}


def names(scene: Scene) -> list[str]:
    return sorted(scene.claims)


def suspended(scene: Scene) -> list[str]:
    return sorted(name for name, claim in scene.claims.items() if claim["spec"].get("suspended"))


def looks(scene: Scene, seconds: float, every: float = 60.0) -> None:
    for _ in range(round(seconds / every)):
        scene.look(every)


def made(*names: str, **spec: Any) -> tuple[Scene, dict[str, Row]]:
    rows = {name: row(name) for name in names}
    scene = Scene(*rows.values(), **{"whenGone": "Delete", **spec})
    scene.look()
    return scene, rows


def annotate(scene: Scene, name: str, mark: str | None) -> None:
    body = {"metadata": {"annotations": {GONE: mark}}}
    scene.server.patch(CLAIMS, ObjectKey(NAMESPACE, name), body)


# The grace


@pytest.mark.parametrize("pause", ["unreachable", "suspended", "invalid", "standing still", "no process"])
def test_no_grace_passes_while_the_table_is_not_read(pause: str) -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    scene.look()
    if pause == "unreachable":
        scene.store.fails_at = 0
        looks(scene, DAY, HOUR)
        scene.store.fails_at = None
    elif pause == "suspended":
        scene.put_source(whenGone="Delete", after="1h", suspend=True)
        looks(scene, DAY, HOUR)
        scene.put_source(whenGone="Delete", after="1h")
    elif pause == "invalid":
        scene.put_source(whenGone="Delete", after="1h", template={"name": "{id}", "spec": {"domians": []}})
        looks(scene, DAY, HOUR)
        scene.put_source(whenGone="Delete", after="1h")
    elif pause == "no process":
        scene.clock.advance(DAY)
        scene.restart()
    else:
        scene.clock.advance(DAY)
    looks(scene, HOUR - 180)
    assert names(scene) == ["a", "b"]
    looks(scene, 240)
    assert names(scene) == ["a"]


def test_a_failed_read_does_not_begin_the_grace_again() -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 1800)
    scene.store.fails_at = 0
    scene.look()
    scene.store.fails_at = None
    looks(scene, 1800)
    assert names(scene) == ["a", "b"]
    looks(scene, 180)
    assert names(scene) == ["a"]


def test_two_reads_are_one_poll_apart_from_the_end_of_the_first() -> None:
    class Slow(FakeStore):
        def _rows(self) -> Iterator[Row]:
            yield from list(self.rows)
            scene.clock.advance(50)

    scene, rows = made("a", "b", after="0s")
    scene.store = Slow([rows["a"]])
    scene.look()
    for number in range(3):
        # Each request reads at once.
        scene.annotate(confirm=f"no-token-{number}")
        scene.look(15)
    assert names(scene) == ["a", "b"]
    scene.look()
    assert names(scene) == ["a"]


def test_a_row_that_was_back_while_nothing_was_removed_begins_again() -> None:
    scene, rows = made("a", "b", after="0s")
    scene.store.rows = [rows["a"]]
    scene.look()
    scene.put_source(whenGone="Orphan", after="0s")
    scene.store.rows = list(rows.values())
    looks(scene, 600)
    scene.put_source(whenGone="Delete", after="0s")
    scene.store.rows = [rows["a"]]
    scene.look(1)
    scene.put_source(whenGone="Delete", after="0s", maxNew=50)
    scene.look(1)
    assert names(scene) == ["a", "b"]


def test_a_process_under_orphan_clears_what_an_earlier_one_counted() -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 3500)
    scene.put_source(whenGone="Orphan")
    scene.restart()
    scene.store.rows = list(rows.values())
    scene.look()
    scene.put_source(whenGone="Delete", after="1h")
    scene.restart()
    scene.store.rows = [rows["a"]]
    looks(scene, 3500)
    assert names(scene) == ["a", "b"]


def test_a_row_without_a_key_begins_the_grace_of_all_again() -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 3500)
    scene.store.rows = [rows["a"], row(None, "b.example.com")]
    scene.look()
    scene.store.rows = [rows["a"]]
    looks(scene, 3500)
    assert names(scene) == ["a", "b"]


def test_the_grace_goes_on_after_a_restart() -> None:
    scene, rows = made("a", "b", after="24h")
    scene.store.rows = [rows["a"]]
    looks(scene, 12 * HOUR)
    scene.restart()
    # At most ten minutes of it are not stored yet.
    looks(scene, 12 * HOUR)
    assert names(scene) == ["a", "b"]
    looks(scene, 720)
    assert names(scene) == ["a"]


def test_another_object_or_row_begins_the_grace_again() -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 3000)
    body = {"metadata": {"annotations": {"edgetenants.io/source-key": "c"}}}
    scene.server.patch(CLAIMS, ObjectKey(NAMESPACE, "b"), body)
    looks(scene, 3000)
    assert names(scene) == ["a", "b"]


def test_an_object_without_a_key_is_not_removed() -> None:
    scene, rows = made("a", "b", "c", after="0s")
    scene.store.rows = [rows["a"]]
    body = {"metadata": {"annotations": {"edgetenants.io/source-key": None}}}
    scene.server.patch(CLAIMS, ObjectKey(NAMESPACE, "b"), body)
    looks(scene, 600)
    assert names(scene) == ["a", "b"]


@pytest.mark.parametrize("change", ["suspend", "orphan", "another token", "deleted"])
def test_who_stops_a_source_during_its_read_stops_its_removals(change: str) -> None:
    class Slow(FakeStore):
        def _rows(self) -> Iterator[Row]:
            yield from list(self.rows)
            {
                "suspend": lambda: scene.put_source(whenGone="Delete", after="0s", suspend=True),
                "orphan": lambda: scene.put_source(whenGone="Orphan"),
                "another token": lambda: scene.annotate(confirm="another"),
                "deleted": scene.delete_source,
            }[change]()

    scene, rows = made("a", "b", after="0s")
    scene.store.rows = [rows["a"]]
    scene.look()
    scene.store = Slow([rows["a"]])
    scene.look()
    assert names(scene) == ["a", "b"]


def test_who_stops_a_source_amid_many_removals_stops_the_others() -> None:
    most = {"rows": 90, "percent": 0}
    scene, rows = made(*(f"k{n:02}" for n in range(90)), after="0s", maxGone=most)
    scene.store.rows = [rows["k00"]]
    scene.look()
    delete = scene.server.delete

    def stopping(*given: Any, **more: Any) -> None:
        delete(*given, **more)
        scene.put_source(whenGone="Delete", after="0s", maxGone=most, suspend=True)

    scene.server.delete = stopping  # type: ignore[method-assign]
    scene.look()
    assert len(scene.claims) == 70


@pytest.mark.parametrize("stopped", ["suspend", "delete", "again"])
@pytest.mark.parametrize("when", ["create", "update", "remove"])
def test_who_stops_a_source_amid_many_writes_stops_the_others(when: str, stopped: str) -> None:
    spec: dict[str, Any] = {"whenGone": "Suspend", "after": "0s", "maxGone": {"rows": 90, "percent": 0}}
    scene, rows = made(*(f"k{n:02}" for n in range(90)), **spec)
    if when == "create":
        scene.store.rows += [row(f"new{n:02}") for n in range(50)]
    elif when == "update":
        scene.store.rows = [row(name, f"new.{name}.example.com") for name in rows]
    else:
        scene.store.rows = [rows["k00"]]
        scene.look()
    apply = scene.server.apply
    scene.take_writes()

    def stopping(*given: Any, **more: Any) -> dict[str, Any]:
        stored = apply(*given, **more)
        if len(scene.server.writes) == 7:
            if stopped == "suspend":
                scene.put_source(**spec, suspend=True)
            elif stopped == "delete":
                scene.delete_source()
            else:
                scene.recreate_source()
            scene.sources.sync()
        return stored

    scene.server.apply = stopping  # type: ignore[method-assign]
    scene.look()
    assert len(scene.take_writes()) == 7


def test_a_change_that_is_taken_back_leaves_the_writes_to_the_next_read() -> None:
    scene, _ = made("a", pollInterval="1h")
    scene.store.rows.append(row("b"))
    pass_time = scene.store.pass_time

    def changing(seconds: float) -> None:
        pass_time(seconds)
        if scene.store.reads == reads + 1:
            scene.sources.cache.restored([])

    reads, scene.store.pass_time = scene.store.reads, changing
    scene.look(HOUR)
    assert names(scene) == ["a"]
    scene.look(1.0)
    assert names(scene) == ["a", "b"]


@pytest.mark.parametrize("at", ["before", "within"])
@pytest.mark.parametrize("change", ["owner", "key", "deleted"])
def test_an_object_that_someone_takes_out_meanwhile_is_not_suspended(at: str, change: str) -> None:
    scene, rows = made("a", "b", whenGone="Suspend", after="0s")
    del rows["a"]
    scene.store.rows = list(rows.values())
    scene.look()
    key = ObjectKey(NAMESPACE, "a")
    get, apply = scene.server.get, scene.server.apply

    def take_out() -> None:
        stored = get(CLAIMS, key)
        if change == "owner":
            stored["metadata"]["labels"].pop("edgetenants.io/source")
        elif change == "key":
            stored["metadata"]["annotations"]["edgetenants.io/source-key"] = "other"
        scene.server.put(CLAIMS, stored)
        scene.server.touch(CLAIMS, key)
        if change == "deleted":
            metadata = get(CLAIMS, key)["metadata"]
            scene.server.delete(
                CLAIMS, key, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
            )

    def taking_out(*given: Any, **more: Any) -> Any:
        if at == "before" and given[1] == key:
            scene.server.get = get  # type: ignore[method-assign]
            take_out()
        return get(*given, **more)

    def applied(*given: Any, **more: Any) -> Any:
        if at == "within" and given[1] == key:
            scene.server.apply = apply  # type: ignore[method-assign]
            take_out()
        return apply(*given, **more)

    scene.server.get, scene.server.apply = taking_out, applied  # type: ignore[method-assign]
    scene.look()
    assert suspended(scene) == []
    assert (change == "deleted") == ("a" not in scene.claims)
    if change != "deleted":
        assert "did not change since the read" in scene.message("Degraded")


# Marks


@pytest.mark.parametrize(
    "mark", ["2020-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "x"]
)
def test_a_mark_that_others_set_is_no_proof_and_harms_nothing(mark: str) -> None:
    scene, rows = made("a", "b", "c", after="1h")
    spec = parse({**SPEC, "whenGone": "Delete"})
    # As an earlier version wrote it, which believed it.
    table = digest_of([spec.source.to_json(), spec.key], characters=8)
    for suffix in ("", f" {table}"):
        annotate(scene, "b", mark + suffix)
        scene.look()
        # It was taken back, or is of another manager: once is enough.
        scene.take_writes()
        looks(scene, 300)
        assert scene.take_writes() == []
        scene.restart()
        scene.look()
        scene.take_writes()
        looks(scene, 300)
        assert scene.take_writes() == []
    scene.store.rows = [rows["a"], rows["c"], row("new")]
    scene.look()
    annotate(scene, "b", f"{mark} {table}")
    looks(scene, 3000)
    assert names(scene) == ["a", "b", "c", "new"]
    looks(scene, 720)
    assert names(scene) == ["a", "c", "new"]


# Confirmations


def test_a_confirmation_counts_once() -> None:
    scene, rows = made(*(f"k{n:02}" for n in range(12)), whenGone="Suspend", after="0s")
    scene.store.rows = []
    looks(scene, 120)
    token = scene.status["removal"]["token"]
    scene.annotate(confirm=token)
    looks(scene, 120)
    assert len(suspended(scene)) == 12
    scene.store.rows = list(rows.values())
    looks(scene, 120)
    assert suspended(scene) == []
    looks(scene, 7200)
    scene.store.rows = []
    looks(scene, 600)
    assert suspended(scene) == []
    assert scene.status["removal"]["token"] != token


def test_a_confirmation_counts_once_though_no_time_was_counted() -> None:
    scene, rows = made("a", "b", whenGone="Suspend", after="0s")
    tokens = set()
    for _ in range(3):
        scene.store.rows = []
        scene.restart()
        scene.look()
        tokens.add(scene.status["removal"]["token"])
        scene.annotate(confirm=scene.status["removal"]["token"])
        scene.restart()
        scene.look()
        scene.store.rows = list(rows.values())
        scene.restart()
        scene.look()
    assert len(tokens) == 3


def test_a_confirmation_is_for_one_policy() -> None:
    scene, _ = made("a", "b", whenGone="Suspend", after="0s")
    scene.store.rows = []
    looks(scene, 120)
    scene.annotate(confirm=scene.status["removal"]["token"])
    scene.put_source(whenGone="Delete", after="0s")
    looks(scene, 600)
    assert names(scene) == ["a", "b"]


def test_who_came_back_is_no_longer_confirmed() -> None:
    scene, rows = made(*"abcdefgh", after="1h")
    scene.store.rows = []
    looks(scene, 120)
    scene.annotate(confirm=scene.status["removal"]["token"])
    looks(scene, 120)
    scene.store.rows = [rows["a"]]
    looks(scene, 120)
    scene.store.rows = []
    looks(scene, 3 * HOUR)
    assert names(scene) == ["a"]
    assert scene.status["removal"]["names"] == ["a"]


def test_a_confirmation_goes_on_after_a_restart_amid_the_removal() -> None:
    scene, rows = made(*(f"k{n:02}" for n in range(20)), after="0s")
    scene.store.rows = list(rows.values())[10:]
    looks(scene, 180)
    scene.annotate(confirm=scene.status["removal"]["token"])
    # The record is one write; then each deletion is one.
    scene.server.die_at = 4
    with pytest.raises(BaseException, match="delete"):
        scene.look()
    assert len(scene.claims) == 17
    scene.restart()
    looks(scene, 180)
    assert len(scene.claims) == 10


# Many at once


@pytest.mark.parametrize("in_steps", [False, True])
def test_all_keys_that_change_wait_although_there_are_new_rows(in_steps: bool) -> None:
    scene, rows = made(*"abcde", after="1h")
    new = [row(f"new-{name}") for name in "abcde"]
    if in_steps:
        scene.store.rows = [rows["e"], *new[:4]]
        scene.look()
    scene.store.rows = list(new)
    looks(scene, 3 * HOUR)
    assert names(scene) == [*"abcde", *(f"new-{name}" for name in "abcde")]
    assert scene.status["removal"]["names"] == [*"abcde"]
    scene.annotate(confirm=scene.status["removal"]["token"])
    looks(scene, 2 * HOUR)
    assert names(scene) == [f"new-{name}" for name in "abcde"]


def test_new_rows_make_the_limit_no_larger() -> None:
    limit = {"rows": 0, "percent": 50}
    scene, rows = made(*(f"k{n:02}" for n in range(10)), after="0s", maxGone=limit)
    scene.store.rows = [*list(rows.values())[6:], *(row(f"new{n}") for n in range(20))]
    looks(scene, 600)
    assert len(scene.claims) == 30
    assert scene.status["removal"]["count"] == 6


def test_a_renamed_key_waits_for_its_domain() -> None:
    scene, _ = made("a", "b", "c", after="1h")
    scene.store.rows = [row("renamed", "a.example.com"), row("b", "B.example.com"), row("c")]
    looks(scene, 1800)
    assert names(scene) == ["a", "b", "c"]
    [problem] = scene.status["problems"]
    assert (problem["key"], problem["field"]) == ("renamed", "domains")
    assert "a, whose row is gone, has it still" in problem["expected"]
    looks(scene, 2 * HOUR)
    assert names(scene) == ["b", "c", "renamed"]


def test_a_row_keeps_its_domain_although_an_object_without_a_row_has_it_too() -> None:
    scene, rows = made("a", "b", whenGone="Orphan")
    scene.store.rows = [rows["a"]]
    looks(scene, 120)
    scene.server.edit("a", {"domains": ["b.example.com"]}, manager="edgetenants-source-customers")
    scene.store.rows = [row("a", "b.example.com")]
    looks(scene, 120)
    assert "problems" not in scene.status


def test_what_is_suspended_is_not_deleted_at_once_by_another_policy() -> None:
    keys = [f"k{n:02}" for n in range(60)]
    scene, rows = made(*keys, whenGone="Suspend", after="1h")
    left = list(rows.values())
    for _ in range(6):
        left = left[2:]
        scene.store.rows = list(left)
        looks(scene, 3 * HOUR)
    assert len(suspended(scene)) == 12
    scene.put_source(whenGone="Delete", after="1h")
    looks(scene, 1800)
    assert len(scene.claims) == 60
    looks(scene, 3 * HOUR)
    assert len(scene.claims) == 60
    assert scene.status["removal"]["count"] == 12
    assert len(suspended(scene)) == 12


def test_few_that_are_suspended_have_a_grace_before_they_are_deleted() -> None:
    scene, rows = made("a", "b", "c", whenGone="Suspend", after="1h")
    scene.store.rows = [rows["a"], rows["b"]]
    looks(scene, 2 * HOUR)
    assert suspended(scene) == ["c"]
    scene.put_source(whenGone="Delete", after="1h")
    looks(scene, HOUR - 120)
    assert names(scene) == ["a", "b", "c"]
    looks(scene, 240)
    assert names(scene) == ["a", "b"]


@pytest.mark.parametrize("restarts", [False, True])
def test_suspensions_one_after_the_other_count_together(restarts: bool) -> None:
    scene, rows = made(*(f"k{n:02}" for n in range(40)), whenGone="Suspend", after="0s", pollInterval="10s")
    left = list(rows.values())
    for _ in range(8):
        left = left[5:]
        scene.store.rows = list(left)
        for _ in range(4):
            scene.look(11)
        if restarts:
            scene.restart()
    assert len(suspended(scene)) == 5
    assert scene.reason("Degraded") == "RemovalHeld"


def test_what_was_removed_an_hour_ago_no_longer_counts_though_all_polls_were_alike() -> None:
    scene, rows = made(*(f"k{n:02}" for n in range(40)), after="0s")
    scene.store.rows = list(rows.values())[5:]
    looks(scene, 2 * HOUR)
    assert len(scene.claims) == 35
    scene.store.rows = list(rows.values())[6:]
    looks(scene, 300)
    assert len(scene.claims) == 34


# The record


def records(scene: Scene) -> list[dict[str, Any]]:
    return [
        each for each in scene.server.all(scene.config_maps) if each["metadata"]["namespace"] != NAMESPACE
    ]


def test_a_table_from_which_nothing_goes_has_no_record() -> None:
    scene, _ = made("a", "b")
    looks(scene, HOUR)
    assert records(scene) == []
    scene, rows = made("a", "b", whenGone="Orphan")
    scene.store.rows = [rows["a"]]
    looks(scene, HOUR)
    assert records(scene) == []


def test_the_record_is_written_when_it_changes_and_every_ten_minutes() -> None:
    scene, rows = made("a", "b", "c", after="24h")
    scene.store.rows = [rows["a"], rows["b"]]
    scene.look()
    [first] = records(scene)
    assert first["metadata"]["namespace"] == "crossplane-system"
    scene.take_journal()
    looks(scene, 6 * HOUR)
    assert 30 <= len(scene.take_journal()) <= 36
    assert scene.take_writes() == [("apply", name) for name in "abc"]


@pytest.mark.parametrize("spoilt", ["{", "null", "[]", "{}", '{"form":1}', "[" * 100_000])
def test_a_record_that_cannot_be_read_begins_again(spoilt: str) -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 3000)
    [stored] = records(scene)
    stored["data"]["record"] = spoilt
    scene.put_record(stored)
    scene.restart()
    looks(scene, 3000)
    assert names(scene) == ["a", "b"]
    looks(scene, 900)
    assert names(scene) == ["a"]


@pytest.mark.parametrize(
    "change",
    [
        {"counted": "1e9"},
        {"counted": "-1"},
        {"counted": str(10**15)},
        {"first": -1},
        {"first": True},
        {"first": 1.5},
        {"first": "0"},
        {"objects": "short"},
        {"last": 0},
    ],
)
def test_numbers_that_no_process_stores_begin_again(change: dict[str, Any]) -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 3000)
    [stored] = records(scene)
    told = json.loads(stored["data"]["record"])
    for name, value in change.items():
        if name == "counted":
            stored["data"][name] = value
        elif name == "last":
            told[name] = value
        else:
            told["batches"]["1"][name] = value
    stored["data"]["record"] = json.dumps(told)
    scene.put_record(stored)
    scene.restart()
    looks(scene, 3000)
    assert names(scene) == ["a", "b"]


def test_a_record_that_is_deleted_only_delays() -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 3000)
    scene.drop_record()
    scene.restart()
    looks(scene, 3000)
    assert names(scene) == ["a", "b"]


def test_a_record_of_a_backup_takes_reads_of_this_process() -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 3540)
    [old] = records(scene)
    scene.store.rows = list(rows.values())
    looks(scene, 120)
    old["data"]["counted"] = str(10**10)
    scene.put_record(old)
    scene.restart()
    scene.store.rows = [rows["a"]]
    scene.look()
    assert names(scene) == ["a", "b"]


def test_of_two_processes_that_believe_they_lead_none_continues_the_other_ones_time() -> None:
    scene, rows = made("a", "b", "c", after="1h")
    scene.store.rows = [rows["a"], rows["b"]]
    looks(scene, 3000)
    other = scene.reconciler
    scene.restart()
    scene.store.rows = [rows["a"]]
    scene.look()
    # The first one did not see that, and wakes up.
    scene.reconciler, scene.store.rows = other, [rows["a"], rows["b"]]
    looks(scene, 1200)
    assert names(scene) == ["a", "b", "c"]


def test_nothing_is_removed_while_the_record_cannot_be_stored_and_it_is_said() -> None:
    scene, rows = made("a", "b", "c", after="0s")
    scene.store.rows = [rows["a"], rows["b"]]
    scene.look()
    failing = KubeError(Operation("patch", scene.config_maps), 500, "down")
    scene.server.failing["patch ConfigMap"] = [failing] * 5
    scene.store.rows.append(row("new"))
    looks(scene, 180)
    assert names(scene) == ["a", "b", "c", "new"]
    assert scene.reason("Synced") == "WriteFailed"
    assert "record of rows that are gone cannot be stored" in scene.message("Synced")
    looks(scene, 300)
    assert names(scene) == ["a", "b", "new"]
    assert scene.reason("Synced") == "Synced"


def test_a_write_that_succeeded_without_an_answer_is_continued() -> None:
    scene, rows = made("a", "b", "c", after="10m")
    scene.store.rows = [rows["a"], rows["b"]]
    scene.look()
    scene.server.unanswered = 1
    looks(scene, 900)
    assert names(scene) == ["a", "b"]


def test_the_table_is_not_read_without_the_record() -> None:
    scene, rows = made("a", "b", after="0s")
    scene.store.rows = [rows["a"]]
    looks(scene, 60)
    scene.restart()
    reads = scene.store.reads
    scene.server.refused = Forbidden(Operation("get", scene.config_maps), 403, "no")
    looks(scene, 120)
    assert scene.store.reads == reads
    assert scene.reason("Synced") == "WriteFailed"
    assert "the RBAC rule" in scene.message("Synced")
    # Who removes nothing needs no record; but what is seen without it is not forgotten.
    scene.put_source(whenGone="Orphan")
    scene.store.rows = list(rows.values())
    looks(scene, 120)
    assert scene.store.reads == reads + 2
    scene.server.refused = None
    scene.put_source(whenGone="Delete", after="0s")
    scene.store.rows = [rows["a"]]
    scene.look()
    assert names(scene) == ["a", "b"]


def test_a_source_that_is_created_again_begins_again() -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 3000)
    scene.recreate_source()
    scene.restart()
    looks(scene, 3000)
    assert names(scene) == ["a", "b"]
    assert len(records(scene)) == 1


def test_records_of_sources_that_are_gone_do_not_gather() -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    scene.look()
    [mine] = records(scene)
    scene.put_record(mine, name="edgetenants-source-of-another", of="shop/another")
    scene.put_record(mine, name=None, of="shop/former")
    assert len(records(scene)) == 3
    scene.drop_record()
    scene.restart()
    looks(scene, 120)
    found = {each["metadata"]["name"] for each in records(scene)}
    assert found == {mine["metadata"]["name"], "edgetenants-source-of-another"}


def test_another_process_that_leads_writes_no_record() -> None:
    scene, rows = made("a", "b", after="1h")
    scene.acts = False
    scene.store.rows = [rows["a"]]
    with pytest.raises(StandDown, match="record"):
        scene.look()
    assert records(scene) == []


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "policy": ({"whenGone": "Suspend"}, {"whenGone": "Delete"}),
    "table": ({"whenGone": "Delete"}, {"whenGone": "Delete", "source": OTHER}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_table_or_policy_begins_the_grace_again(what: str) -> None:
    before, after = CHANGES[what]
    scene, rows = made("a", "b", after="1h", **before)
    scene.store.rows = [rows["a"]]
    looks(scene, 50 * 60)
    scene.put_source(after="1h", **after)
    looks(scene, 50 * 60)
    assert names(scene) == ["a", "b"]
    assert suspended(scene) == []
    looks(scene, 15 * 60)
    assert names(scene) == ["a"]


def test_no_time_counts_from_before_a_suspension_that_was_short() -> None:
    """A long poll interval could span it."""
    scene, rows = made("a", "b", after="1h", pollInterval="1h")
    scene.store.rows = [rows["a"]]
    scene.look(HOUR)
    scene.clock.advance(HOUR - 120)
    spec: dict[str, Any] = {"whenGone": "Delete", "after": "1h", "pollInterval": "1h"}
    scene.put_source(**spec, suspend=True)
    scene.look()
    scene.put_source(**spec)
    scene.look()
    looks(scene, 600)
    assert names(scene) == ["a", "b"]


def test_a_row_that_was_back_while_the_record_was_not_read_begins_its_grace_again() -> None:
    scene, rows = made("a", "b", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 50 * 60)
    scene.put_source(whenGone="Orphan", after="1h")
    scene.restart()
    scene.server.refused = Forbidden(Operation("get", scene.config_maps), 403, "no")
    scene.store.rows = list(rows.values())
    looks(scene, 120)
    scene.server.refused = None
    scene.put_source(whenGone="Delete", after="1h")
    scene.store.rows = [rows["a"]]
    looks(scene, 20 * 60)
    assert names(scene) == ["a", "b"]
    looks(scene, 45 * 60)
    assert names(scene) == ["a"]


@pytest.mark.parametrize("code", [403, 500])
def test_a_source_that_cannot_be_read_is_read_no_more_often(code: int) -> None:
    scene, rows = made("a", "b", after="0s")
    get = scene.server.get

    def refuse(kind: Any, key: ObjectKey) -> dict[str, Any]:
        if kind == SOURCES:
            error = Forbidden if code == 403 else KubeError
            raise error(Operation("get", kind, "", key.name, key.namespace), code, "no")
        return get(kind, key)

    scene.server.get = refuse  # type: ignore[method-assign]
    scene.store.rows = [rows["a"]]
    for _ in range(5):
        outcome = scene.look()
        assert outcome is not None
        assert outcome.seconds == 60.0
    assert names(scene) == ["a", "b"]
    assert scene.reason("Synced") == "WriteFailed"
    assert "the TenantSource cannot be read, so nothing is removed" in scene.message("Synced")
    scene.server.get = get  # type: ignore[method-assign]
    scene.look()
    assert names(scene) == ["a"]
    assert scene.reason("Synced") == "Synced"

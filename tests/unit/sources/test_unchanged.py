"""Where nothing changed, nothing is compared; and whatever changes is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from apis.tenantsource import SourceChoice
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.kube.errors import Invalid, KubeError, Operation
from edgetenants_runtime.managed import ObjectKey
from sources import quiet, reconciler
from sources.quiet import Tally
from sources.reading import Allowed, opener
from sources.stores.config_map import TextStore
from sources.stores.store import Conditional, Row, Store
from tests.unit.sources.tables import CLAIMS, KEY, NAMESPACE, SOURCES, FakeStore, Scene, row

A, B = ObjectKey(NAMESPACE, "a"), ObjectKey(NAMESPACE, "b")
DELETE = {"whenGone": "Delete", "after": "24h"}


class Compared:
    """Counts how often rows are compared."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        original = quiet.read_table

        def counted(*args: Any) -> Any:
            self.times += 1
            return original(*args)

        monkeypatch.setattr(quiet, "read_table", counted)

    def take(self) -> int:
        times, self.times = self.times, 0
        return times


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Compared:
    return Compared(monkeypatch)


def settled(*rows: Row, **spec: Any) -> Scene:
    """After two reads: the first one writes, and the second one finds nothing to do."""
    scene = Scene(*rows, **spec)
    scene.look()
    scene.look()
    scene.take_writes()
    return scene


def test_rows_that_did_not_change_are_not_compared_in_any_order(compared: Compared) -> None:
    scene = settled(row("a"), row("b"), row("bad", "no domain"))
    assert compared.take() == 2
    before = scene.server.find(SOURCES, KEY)
    for _ in range(5):
        scene.store.rows.reverse()
        outcome = scene.look()
        assert outcome is not None
        assert outcome.seconds == 60.0
    assert (compared.take(), scene.store.reads, scene.take_writes()) == (0, 7, [])
    assert scene.server.find(SOURCES, KEY) == before
    scene.set_live("a")
    scene.look()
    assert (compared.take(), scene.status["live"]) == (0, 1)


def test_the_age_of_a_read_that_found_no_change_is_that_of_this_read() -> None:
    scene = settled(row("a"))
    scene.look()
    scene.clock.advance(7)
    ages = [
        sample.value
        for family in scene.reconciler._parts.metrics.collect()
        for sample in family.samples
        if family.name == "edgetenants_source_read_age_seconds"
    ]
    assert ages == [7.0]


def changed_spec(scene: Scene) -> None:
    scene.server.edit("a", {"plan": "other"})


def deleted(scene: Scene) -> None:
    stored = scene.claims["a"]["metadata"]
    scene.server.delete(CLAIMS, A, uid=stored["uid"], resource_version=stored["resourceVersion"])


CHANGES: dict[str, Callable[[Scene], object]] = {
    "a value": lambda scene: scene.store.rows.__setitem__(0, row("a", "new.example.com")),
    "a type": lambda scene: scene.store.rows.__setitem__(0, row("a", n="1")),
    "a value that has no form": lambda scene: scene.store.rows.__setitem__(
        0, Row({"id": "a", "n": 1}, unfit={"domain": "x"})
    ),
    "a new row": lambda scene: scene.store.rows.append(row("c")),
    "a row twice": lambda scene: scene.store.rows.append(row("a", n=1)),
    "a row that is gone": lambda scene: scene.store.rows.pop(),
    "the spec of an object": changed_spec,
    "a label of an object": lambda scene: scene.server.patch(CLAIMS, A, {"metadata": {"labels": {"x": "y"}}}),
    "the owner of an object": lambda scene: scene.server.patch(
        CLAIMS, A, {"metadata": {"labels": {"edgetenants.io/source": None}}}
    ),
    "an annotation of an object": lambda scene: scene.server.patch(
        CLAIMS, A, {"metadata": {"annotations": {"edgetenants.io/source-hash": "x"}}}
    ),
    "an object that is gone": deleted,
    "the TenantSource": lambda scene: scene.put_source(pollInterval="2m"),
    "a request": lambda scene: scene.server.patch(
        SOURCES, KEY, {"metadata": {"annotations": {"crossplane.io/reconcile-requested-at": "1"}}}
    ),
    "a confirmation": lambda scene: scene.annotate(confirm="x"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_all_is_compared_after_a_change(compared: Compared, change: Callable[[Scene], object]) -> None:
    scene = settled(row("a", n=1), row("b"))
    scene.look()
    assert compared.take() == 2
    change(scene)
    scene.look()
    assert compared.take() == 1


def test_all_is_compared_after_a_read_that_failed_and_what_was_said_of_it_is_taken_back(
    compared: Compared,
) -> None:
    scene = settled(row("a"))
    scene.store.fails_at = 0
    scene.look()
    scene.store.fails_at = None
    compared.take()
    scene.look()
    assert (compared.take(), scene.reason("Synced")) == (1, "Synced")
    informer = scene.informers["TenantClaim"]
    scene.look()
    informer.synced = informer.served = False
    scene.look()
    assert scene.reason("Synced") == "WriteFailed"
    informer.synced = informer.served = True
    scene.look()
    assert scene.reason("Synced") == "Synced"


@pytest.mark.parametrize("pause", [1.0, 60.0])
@pytest.mark.parametrize("breaks", [True, False])
def test_what_a_read_found_is_said_again_until_the_api_server_takes_it(pause: float, *, breaks: bool) -> None:
    scene = settled(row("a"))
    scene.store.fails_at = None if breaks else 0
    scene.look()
    scene.store.fails_at = 0 if breaks else None
    patch, lost = scene.server.patch, []

    def losing(kind: Any, key: Any, change: Any, *, subresource: str = "") -> Any:
        if kind == SOURCES and len(lost) < 2:
            lost.append(change)
            raise KubeError(Operation("patch", SOURCES, "status", key.name, key.namespace), 500, "no leader")
        return patch(kind, key, change, subresource=subresource)

    scene.server.patch = losing  # type: ignore[method-assign]
    scene.look()
    scene.look(1.0)
    assert (len(lost), scene.reason("Synced")) == (2, "Synced" if breaks else "Unreachable")
    scene.look(pause)
    assert scene.reason("Synced") == ("Unreachable" if breaks else "Synced")
    assert scene.status["live"] == 0


def test_a_template_is_checked_once_for_each_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    def compiled(template: Any) -> Any:
        made.append(template)
        return template_of(template)

    template_of = reconciler.compile_template
    monkeypatch.setattr(reconciler, "compile_template", compiled)
    scene = Scene(row("a"))
    for _ in range(3):
        scene.look()
    assert len(made) == 1
    scene.put_source(template={"name": "b-{id}", "spec": {"domains": ["{domain}"]}})
    scene.store.rows.append(row("b"))
    scene.look()
    assert (len(made), sorted(scene.claims)) == (2, ["a", "b-b"])


def test_all_is_compared_once_in_an_hour_whatever_the_store_says(compared: Compared) -> None:
    scene = settled(row("a"))
    compared.take()
    for _ in range(59):
        scene.look()
    assert compared.take() == 0
    scene.look()
    assert compared.take() == 1


def test_rows_that_are_gone_are_compared_each_time_unless_they_only_stay(compared: Compared) -> None:
    for spec, expected in (({}, 0), (DELETE, 3)):
        scene = settled(row("a"), row("b"), row("c"), **spec)
        scene.store.rows.pop()
        scene.look()
        scene.look()
        compared.take()
        for _ in range(3):
            scene.look()
        assert compared.take() == expected


def test_rows_that_wait_are_compared_each_time(compared: Compared) -> None:
    scene = settled(row("a"), row("b"), maxNotLive=1)
    compared.take()
    scene.look()
    assert compared.take() == 1
    scene.set_live("a")
    scene.look()
    assert sorted(scene.claims) == ["a", "b"]


def test_a_name_that_someone_else_gives_up_is_taken(compared: Compared) -> None:
    scene = Scene(row("a"), row("b"))
    scene.server.apply(CLAIMS, A, {"metadata": {}, "spec": {"domains": ["x.example.com"]}}, manager="kubectl")
    scene.look()
    scene.look()
    compared.take()
    scene.look()
    assert compared.take() == 0
    stored = scene.claims["a"]["metadata"]
    scene.server.delete(CLAIMS, A, uid=stored["uid"], resource_version=stored["resourceVersion"])
    scene.look()
    assert scene.claims["a"]["spec"]["domains"] == ["a.example.com"]


def test_a_write_that_was_refused_is_compared_again_when_it_is_due(compared: Compared) -> None:
    scene = Scene(row("a"), row("b"))
    scene.server.answers["b"] = Invalid(Operation("patch", CLAIMS), 422, "no")
    scene.look()
    scene.look()
    compared.take()
    scene.look(500)
    assert (compared.take(), scene.status["invalid"]) == (0, 1)
    scene.server.answers.clear()
    scene.look(100)
    assert (compared.take(), sorted(scene.claims)) == (1, ["a", "b"])


def test_a_round_that_had_no_time_is_not_the_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(row("a"))
    left = iter([100.0, 0.0])
    with monkeypatch.context() as patched:
        patched.setattr(reconciler.deadline, "remaining", lambda: next(left, 100.0))
        scene.look()
    assert not scene.claims
    scene.look()
    assert list(scene.claims) == ["a"]


def test_a_large_table_is_compared_each_time_and_not_kept(
    compared: Compared, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = settled(row("a"), row("b"), row("c"))
    monkeypatch.setattr(quiet, "LARGEST", 10)
    compared.take()
    for _ in range(3):
        scene.look()
    assert (compared.take(), scene.status["rows"]) == (3, 3)


class Versioned(FakeStore):
    """Knows its version."""

    version, served = "1", 0

    @contextmanager
    def read_since(self, position: str) -> Iterator[Any]:
        self.reads += 1
        yield None if position == self.version else self.reading()

    @contextmanager
    def read(self) -> Iterator[Any]:
        self.reads += 1
        yield self.reading()

    def reading(self) -> Any:
        store = self

        class Reading:
            position = store.version

            def __iter__(self) -> Iterator[Row]:
                store.served += 1
                return store._rows()

        return Reading()


def test_a_store_that_says_that_nothing_changed_is_not_read(compared: Compared) -> None:
    scene = Scene()
    scene.store = store = Versioned([row("a"), row("b")])
    assert isinstance(store, Conditional)
    for _ in range(6):
        scene.look()
    assert (store.reads, store.served, compared.take()) == (6, 2, 2)
    store.rows[0], store.version = row("a", "new.example.com"), "2"
    scene.look()
    assert scene.claims["a"]["spec"]["domains"] == ["new.example.com"]
    scene.look()
    # An object changed, so the rows are needed, whatever the store says.
    scene.take_writes()
    deleted(scene)
    scene.look()
    assert scene.take_writes()[-1] == ("apply", "a")


def test_a_config_map_has_the_position_of_its_version() -> None:
    obj: dict[str, Any] = {
        "metadata": {"uid": "u", "resourceVersion": "1"},
        "data": {"rows": "id\na\n"},
    }
    choice = SourceChoice.model_validate({"configMap": {"name": "c", "key": "rows", "format": "csv"}})
    open_store = opener(lambda _kind, _key: obj, FakeClock(), Allowed())

    def read(position: str) -> list[Row] | None:
        store: Store = open_store("shop", choice)
        assert isinstance(store, TextStore)
        with store.read_since(position) as reading:
            return None if reading is None else list(reading)

    store = open_store("shop", choice)
    with store.read() as reading:
        position = reading.position  # type: ignore[attr-defined]
    assert read(position) is None
    for metadata in ({"uid": "u", "resourceVersion": "2"}, {"uid": "v", "resourceVersion": "1"}, {}):
        obj["metadata"] = metadata
        assert len(read(position) or ()) == 1


def test_the_sum_of_rows_tells_values_and_types_apart() -> None:
    tables = [
        [],
        [row("a")],
        [row("a"), row("a")],
        [row("a"), row("b")],
        [Row({"id": 1})],
        [Row({"id": "1"})],
        [Row({"id": True})],
        [Row({"id": 1.0})],
        [Row({"id": None})],
        [Row({})],
        [Row({}, unfit={"id": "x"})],
        [Row({"id": {"a": [1]}})],
        [Row({"id": {"a": ["1"]}})],
        [Row({"id": "\U0001f600", "n": 10**400})],
    ]
    totals = []
    for table in tables:
        tally = Tally(table)
        assert list(tally) == table
        totals.append(tally.total)
    assert len(set(totals)) == len(tables)
    again = Tally([row("b"), row("".join("a"))])
    list(again)
    assert again.total == totals[3]

"""The plan by itself: what cannot be seen in a history of one process."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apis import kinds
from apis.tenantsource import MaxGone, parse
from edgetenants_runtime.clock import rfc3339
from sources.objects import Existing
from sources.plan import Reads, Verb, World, contains, limit, planned, table_digest
from sources.rows import Desired, Table
from tests.unit.sources.tables import BEGIN, SPEC

SPECIFIED = parse({**SPEC, "whenGone": "Delete", "after": "1h"})
LONG_AGO = BEGIN - timedelta(days=2)


def existing(name: str, gone: Any = None, **annotations: str) -> Existing:
    marks = {"edgetenants.io/source-key": name, **annotations}
    if gone is not None:
        marks["edgetenants.io/row-gone"] = f"{rfc3339(gone)} {table_digest(SPECIFIED)}"
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "annotations": marks}
    return Existing(kinds.TENANT_CLAIM, {"metadata": metadata, "spec": {}})


def deleted(each: Existing) -> Existing:
    metadata = {**each.raw["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    return Existing(each.kind, {**each.raw, "metadata": metadata})


def world(*objects: Existing, clock: float = 1000.0) -> World:
    return World(SPECIFIED, {each.name: each for each in objects}, lambda _: None, "", BEGIN, clock)


def table(*names: str) -> Table:
    rows = {name: Desired(name, name, {}, {}, frozenset()) for name in names}
    return Table(len(rows), rows)


def verbs(plan: Any) -> list[tuple[str, str]]:
    return [(each.verb, each.name) for each in plan.actions if each.verb not in (Verb.CREATE, Verb.UPDATE)]


def reads(**first_gone: float) -> Reads:
    return Reads(table_digest(SPECIFIED), {f"uid-{name}": at for name, at in first_gone.items()})


def test_a_removal_takes_the_mark_and_reads_of_this_process() -> None:
    objects = (existing("a"), existing("b", LONG_AGO))
    assert verbs(planned(table("a"), world(*objects), Reads())) == []
    assert verbs(planned(table("a"), world(*objects), reads(b=940.5))) == []
    assert verbs(planned(table("a"), world(*objects), reads(b=940.0))) == [("delete", "b")]
    unmarked = (existing("a"), existing("b"))
    assert verbs(planned(table("a"), world(*unmarked), reads(b=0.0))) == [("mark", "b")]


def test_reads_of_another_table_do_not_count() -> None:
    objects = (existing("a"), existing("b", LONG_AGO))
    seen = Reads("another", {"uid-b": 0.0})
    assert verbs(planned(table("a"), world(*objects), seen)) == []


def test_what_was_removed_within_the_hour_counts() -> None:
    objects = (existing("a"), existing("b", LONG_AGO), existing("c", LONG_AGO))
    for times, removed in ((3, True), (4, False)):
        seen = reads(b=0.0, c=0.0)
        seen.removed.extend([100.0] * times)
        plan = planned(table("a"), world(*objects, clock=3000.0), seen)
        assert bool(verbs(plan)) is removed, times
        assert (plan.removal is None) is removed
    seen = reads(b=0.0, c=0.0)
    seen.removed.extend([100.0] * 4)
    assert verbs(planned(table("a"), world(*objects, clock=3701.0), seen)) == [
        ("delete", "b"),
        ("delete", "c"),
    ]


def test_the_last_object_waits_although_others_are_going_still() -> None:
    objects = (deleted(existing("a", LONG_AGO)), existing("b", LONG_AGO))
    plan = planned(table("c"), world(*objects), reads(b=0.0))
    assert verbs(plan) == []
    assert plan.removal is not None
    assert plan.removal.names == ("b",)


def test_what_an_earlier_process_removed_counts_while_it_is_going() -> None:
    for times, removed in ((4, True), (5, False)):
        going = [deleted(existing(f"g{n}", LONG_AGO)) for n in range(times)]
        plan = planned(table("a"), world(existing("a"), existing("b", LONG_AGO), *going), reads(b=0.0))
        assert bool(verbs(plan)) is removed, times


def test_a_mark_in_the_future_only_makes_it_later() -> None:
    objects = (existing("a"), existing("b", BEGIN + timedelta(days=1)))
    assert verbs(planned(table("a"), world(*objects), reads(b=0.0))) == []


def test_a_mark_that_is_no_time_is_made_again() -> None:
    broken = existing("b", **{"edgetenants.io/row-gone": f"yesterday {table_digest(SPECIFIED)}"})
    assert verbs(planned(table("a"), world(existing("a"), broken), reads(b=0.0))) == [("mark", "b")]


@pytest.mark.parametrize(
    ("rows", "percent", "objects", "most"), [(5, 2, 100, 5), (5, 2, 1000, 20), (0, 0, 9, 0)]
)
def test_the_larger_of_two_limits_holds(rows: int, percent: int, objects: int, most: int) -> None:
    assert limit(MaxGone(rows=rows, percent=percent), objects) == most


def test_an_object_may_have_more_than_its_row_asks_for() -> None:
    stored = {"a": 1, "list": [{"x": 1, "y": 2}], "more": True}
    assert contains(stored, {"a": 1, "list": [{"x": 1}]})
    for wanted in ({"a": 2}, {"b": 1}, {"list": [{"x": 1}, {}]}, {"list": "x"}, {"a": {"b": 1}}):
        assert not contains(stored, wanted)

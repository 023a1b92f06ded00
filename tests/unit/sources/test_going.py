"""The judgement on its own: what cannot be seen in a history of a few rows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apis import kinds
from apis.tenantsource import MaxGone, parse
from sources import going
from sources.going import Before, Judgement, Record, judged, limit, step
from sources.objects import Existing
from sources.plan import World, planned
from sources.rows import Desired, Table
from tests.unit.sources.tables import BEGIN, SPEC

SPECIFIED = parse({**SPEC, "whenGone": "Delete", "after": "1h"})
HOUR = 3600_000


def existing(name: str, **metadata: Any) -> Existing:
    annotations = {"edgetenants.io/source-key": name}
    metadata = {
        "name": name,
        "namespace": "shop",
        "uid": f"uid-{name}",
        "annotations": annotations,
        **metadata,
    }
    return Existing(kinds.TENANT_CLAIM, {"metadata": metadata, "spec": {}})


def leaving(name: str) -> Existing:
    return existing(name, deletionTimestamp="2026-01-01T00:00:00Z")


def after(found: Judgement, seconds: int, begun: int = 0) -> Before:
    return Before(found.record, begun, seconds * 1000)


@pytest.mark.parametrize(
    ("rows", "percent", "objects", "most"), [(5, 2, 100, 5), (5, 2, 1000, 20), (0, 0, 9, 0)]
)
def test_the_larger_of_two_limits_holds(rows: int, percent: int, objects: int, most: int) -> None:
    assert limit(MaxGone(rows=rows, percent=percent), objects) == most


@pytest.mark.parametrize(
    ("ended", "begun", "counts"),
    [(None, 60.0, 0), (0.0, 60.0, 60_000), (0.0, 1e6, 120_000), (60.0, 0.0, 0), (0.1, 60.1, 60_000)],
)
def test_the_time_that_counts_between_two_reads(ended: float | None, begun: float, counts: int) -> None:
    assert step(ended, begun, 60.0) == counts


def test_what_is_being_deleted_counts_though_its_removal_is_not_on_record() -> None:
    for number, removed in ((4, True), (5, False)):
        going = [leaving(f"g{n}") for n in range(number)]
        first = judged(SPECIFIED, Before(Record.new()), [existing("b")], [existing("a")], going)
        found = judged(SPECIFIED, after(first, 3600), [existing("b")], [existing("a")], going)
        assert bool(found.due) is removed, number
        assert (found.removal is None) is removed


def test_an_object_that_is_being_deleted_is_no_company() -> None:
    """Nor is one that has no key."""
    row = Desired("c", "c", {}, {}, frozenset())
    for other in (leaving("a"), existing("a", annotations={})):
        mine = {"a": other, "b": existing("b")}
        world = World(SPECIFIED, mine, lambda _: None, "", BEGIN, Before(Record.new()))
        plan = planned(Table(1, {"c": row}), world)
        assert plan.removal is not None
        assert plan.removal.names == ("b",)


def test_what_went_within_an_hour_and_what_was_removed_in_it_count_together() -> None:
    company = [existing(f"k{n}") for n in range(9)]
    first = judged(SPECIFIED, Before(Record.new()), [existing("a"), existing("b"), existing("c")], company)
    removed = judged(SPECIFIED, after(first, 3600), [existing("a"), existing("b"), existing("c")], company)
    assert len(removed.due) == 3
    more = [existing(name) for name in "def"]
    second = judged(SPECIFIED, after(removed, 60), more, company)
    assert second.removal is not None
    later = judged(SPECIFIED, after(second, 3500), more, company)
    assert later.removal is not None
    assert judged(SPECIFIED, after(later, 200), more, company).removal is None


def test_a_record_has_a_bound_and_what_has_no_place_in_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(going, "MOST_BYTES", 2_000)
    company = [existing(f"k{n}") for n in range(9)]
    gone = [existing(f"gone{n:03}") for n in range(300)]
    found = judged(SPECIFIED, Before(Record.new()), gone, company)
    assert found.removal is not None
    recorded = set(found.removal.names)
    assert 100 < len(recorded) < 160
    # A few others have a place once some are free. They are not a few that went.
    free = sorted(recorded)[:15]
    gone = [each for each in gone if each.name not in free]
    found = judged(SPECIFIED, after(found, 7200), gone, company)
    assert found.removal is not None
    others = set(found.removal.names) - recorded
    assert 1 <= len(others) <= 5
    found = judged(SPECIFIED, after(found, 7200), gone, company)
    assert found.due == ()


def test_fifty_thousand_fit_into_a_config_map() -> None:
    gone = [existing(f"k{n}") for n in range(50_000)]
    record = judged(SPECIFIED, Before(Record.new()), gone, []).record
    size = sum(len(json.dumps(sorted(batch.objects))) for batch in record.batches.values())
    assert sum(len(batch.objects) for batch in record.batches.values()) > 49_000
    assert size < 1_000_000


def test_a_removal_that_is_tried_again_takes_one_place() -> None:
    company = [existing(f"k{n}") for n in range(9)]
    found = judged(SPECIFIED, Before(Record.new()), [existing("a")], company)
    for _ in range(100):
        found = judged(SPECIFIED, after(found, 60), [existing("a")], company)
    assert len(found.due) == 1
    assert len(found.record.removed) == 1
    assert found.removal is None

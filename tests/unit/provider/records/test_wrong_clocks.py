"""A wall clock that is wrong ends no record: only time that the provider has seen pass counts."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from edgetenants_runtime.kube.errors import Conflict, KubeError, Operation
from edgetenants_runtime.kube.kinds import CONFIG_MAPS
from edgetenants_runtime.managed import ObjectKey
from provider.records.config_maps import config_map
from provider.records.life import data_key, shard_of
from tests.unit.provider.records.test_rounds import DOMAIN, START, Cluster

HOUR = 3600
KEEP = 72 * HOUR
WRONG = [timedelta(hours=-73), timedelta(hours=73), timedelta(days=-20_000), timedelta(days=20_000)]
KEY = ObjectKey("crossplane-system", config_map(shard_of(DOMAIN)))


def in_a_gap() -> Cluster:
    """Another resource of the namespace lists the domain that no tenant has."""
    cluster = Cluster()
    cluster.looks.note(cluster.holds(), frozenset())
    cluster.looks.note(cluster.lists("again"), frozenset())
    return cluster


def stored(cluster: Cluster) -> dict:
    return json.loads(cluster.api.get(CONFIG_MAPS, KEY)["data"][data_key(DOMAIN)])


@pytest.mark.parametrize("wrong", WRONG, ids=str)
@pytest.mark.parametrize("known", [True, False], ids=["a gap", "a gap that begins"])
def test_one_round_with_a_wrong_clock_ends_nothing(wrong, known):
    cluster = in_a_gap()
    if known:
        assert cluster.passes(seconds=10) == "shop"
    cluster.now += wrong
    assert cluster.passes(seconds=10) == "shop"
    cluster.now -= wrong
    for _ in range(3):
        assert cluster.passes(seconds=10) == "shop"
    assert cluster.passes(hours=71) == "shop"
    assert cluster.passes(hours=1) is None, "nor does it keep the domain for longer"


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_nor_does_a_new_leader_with_a_wrong_clock(wrong):
    cluster = in_a_gap()
    cluster.passes(seconds=10)
    cluster.now += wrong
    cluster.restart()
    for mr in cluster.mrs:
        cluster.looks.note(mr, frozenset())
    for _ in range(3):
        assert cluster.passes(seconds=10) == "shop"
    cluster.now -= wrong
    assert cluster.passes(seconds=10) == "shop"


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_what_is_given_up_is_kept_for_its_seconds_too(wrong):
    """A resource that is being replaced is gone for a moment."""
    cluster = Cluster()
    cluster.holds()
    cluster.goes()
    assert cluster.passes(seconds=1) == "shop"
    cluster.now += wrong
    assert cluster.passes(seconds=1) == "shop"
    cluster.now -= wrong
    assert cluster.passes(seconds=7) == "shop"
    cluster.passes(seconds=2)
    assert cluster.passes(seconds=2) is None


# What counts.


def test_what_counted_is_stored_every_ten_minutes_and_known_to_the_next_process():
    cluster = in_a_gap()
    cluster.passes(seconds=10)
    assert "notHeldSeconds" not in stored(cluster)
    cluster.passes(minutes=25)
    assert stored(cluster)["notHeldSeconds"] == 1200
    cluster.restart()
    for mr in cluster.mrs:
        cluster.looks.note(mr, frozenset())
    cluster.passes(hours=71, minutes=30)
    assert cluster.passes(minutes=10) == "shop"
    assert cluster.passes(minutes=10) is None


def test_a_process_that_did_not_run_counts_five_minutes():
    cluster = in_a_gap()
    cluster.passes(seconds=10)
    cluster.clock.advance(100 * HOUR)
    cluster.rounds.round()
    assert cluster.records.holder(DOMAIN) == "shop"
    cluster.passes(minutes=5)
    assert stored(cluster)["notHeldSeconds"] == 600


def test_time_in_which_it_is_uncertain_does_not_count():
    cluster = in_a_gap()
    cluster.passes(minutes=1)
    cluster.looks.note_hold(cluster.mrs[0])
    cluster.passes(hours=23)
    assert "notHeldSeconds" not in stored(cluster)
    cluster.passes(hours=2)
    assert 3600 - 600 <= stored(cluster)["notHeldSeconds"] <= 3660


def test_nor_does_time_in_which_no_round_could_read():
    cluster = in_a_gap()
    cluster.passes(seconds=10)
    cluster.read = False
    cluster.passes(hours=100)
    cluster.read = True
    assert cluster.passes(seconds=10) == "shop"
    assert "notHeldSeconds" not in stored(cluster), "five minutes at most"


def test_the_counts_of_a_config_map_are_written_together_and_not_told():
    cluster = in_a_gap()
    shard = shard_of(DOMAIN)
    more = [d for n in range(2000) if shard_of(d := f"d{n}.example.com") == shard][:3]
    for domain in more:
        cluster.records.hold([domain], "sales")
        cluster.passes(minutes=3)
    before = cluster.writes
    with capture_logs() as told:
        cluster.passes(hours=1)
    assert cluster.writes - before == 6
    assert told == []


def test_a_released_and_recorded_domain_begins_anew():
    cluster = in_a_gap()
    cluster.passes(hours=71)
    cluster.api.patch(CONFIG_MAPS, KEY, {"data": {data_key(DOMAIN): None}})
    assert cluster.passes(seconds=10) is None
    cluster.records.hold([DOMAIN], "sales")
    cluster.passes(hours=71)
    assert cluster.records.holder(DOMAIN) == "sales"


def test_so_does_one_that_was_held_between_two_rounds():
    cluster = in_a_gap()
    cluster.passes(hours=71)
    cluster.records.hold([DOMAIN], "shop")
    assert cluster.passes(hours=71) == "shop"
    assert cluster.passes(hours=2) is None


@pytest.mark.parametrize("count", [0, 9 * HOUR])
def test_what_an_administrator_sets_counts(count):
    cluster = in_a_gap()
    cluster.passes(hours=71)
    record = {**stored(cluster), "notHeldSeconds": count}
    cluster.api.patch(CONFIG_MAPS, KEY, {"data": {data_key(DOMAIN): json.dumps(record)}})
    assert cluster.passes(seconds=KEEP - count - HOUR) == "shop"
    assert cluster.passes(hours=2) is None


@pytest.mark.parametrize(
    "count", [-1, -1e300, float("nan"), float("inf"), 10**40, "259200", True, [KEEP], None]
)
def test_a_spoilt_count_stops_no_round_and_ends_nothing(count):
    cluster = in_a_gap()
    cluster.passes(seconds=10)
    record = {**stored(cluster), "notHeldSeconds": count}
    cluster.api.patch(CONFIG_MAPS, KEY, {"data": {data_key(DOMAIN): json.dumps(record)}})
    assert cluster.passes(hours=71) == "shop"
    assert cluster.passes(hours=2) is None


def test_a_conflict_counts_no_time_twice():
    cluster = in_a_gap()
    cluster.passes(seconds=10)
    cluster.passes(minutes=5)
    conflict = Conflict(Operation("patch", CONFIG_MAPS), 409, "changed")
    cluster.api.failing["patch ConfigMap"] = [conflict] * 3
    cluster.passes(minutes=5)
    assert stored(cluster)["notHeldSeconds"] == 600


def test_what_cannot_be_written_ends_as_soon_as_it_can():
    cluster = in_a_gap()
    cluster.passes(hours=71, minutes=59)
    down = KubeError(Operation("patch", CONFIG_MAPS), 500, "down")
    cluster.api.failing["patch ConfigMap"] = [down] * 1000
    assert cluster.passes(minutes=30) == "shop"
    cluster.api.failing.clear()
    assert cluster.passes(seconds=1) is None


STEPS = st.tuples(
    st.floats(0, 2 * HOUR),  # of the clock of the process
    st.floats(-3e9, 3e9),  # by which the wall clock is set, beside that
    st.booleans(),  # whether another process leads from then on
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(STEPS, min_size=1, max_size=120))
def test_no_record_ends_before_its_time(steps):
    """Whatever the wall clock says: earlier than by the time that passed, and later than by what was seen."""
    cluster, passed = in_a_gap(), 0.0
    kept = cluster.passes(seconds=1)
    for seconds, wrong, another in steps:
        cluster.now = START + timedelta(seconds=wrong)
        if another:
            cluster.restart()
            for mr in cluster.mrs:
                cluster.looks.note(mr, frozenset())
        kept = cluster.passes(seconds=seconds) if seconds else kept
        passed += seconds
        assert kept == "shop" or passed >= KEEP
        if kept is None:
            return
    lost = 600 + 300  # of each process: what it had not stored, and its first step
    counted = passed - lost * sum(another for _, _, another in steps)
    assert counted <= KEEP

"""When the record that a domain is kept for a namespace begins, changes and ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from provider.records import life
from provider.records.life import MOST_NOT_HELD, UNREADABLE, Record, Use

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
EARLIER = NOW - timedelta(days=9)
KEEP = timedelta(hours=72)
HELD = Record("shop")
GIVEN_UP = Use(held=False, listed=False, given_up=True)
DELETED = Use(held=False, listed=True, deleted=True)
LISTED = Use(held=False, listed=True)
BEGUN = Record("shop", NOW)


def idle(**seen) -> Record:
    """A record that was seen not held for so long, which is not how long ago that began."""
    return Record("shop", EARLIER, not_held_seconds=timedelta(**seen).total_seconds())


@pytest.mark.parametrize(
    ("before", "use", "after"),
    [
        pytest.param(HELD, Use(held=True, listed=True), HELD, id="held"),
        pytest.param(HELD, Use(held=True, listed=False), HELD, id="held, and taken out of the spec"),
        pytest.param(idle(hours=1), Use(held=True, listed=True), HELD, id="found again"),
        pytest.param(HELD, LISTED, BEGUN, id="lost"),
        pytest.param(HELD, Use(held=False, listed=None), BEGUN, id="lost, and who lists it is unknown"),
        pytest.param(HELD, GIVEN_UP, BEGUN, id="gone for a moment"),
        pytest.param(idle(seconds=9), GIVEN_UP, idle(seconds=9), id="still short"),
        pytest.param(idle(seconds=10), GIVEN_UP, None, id="nobody lists it"),
        pytest.param(idle(hours=71), Use(held=False, listed=False), idle(hours=71), id="left in AWS"),
        pytest.param(idle(hours=71), LISTED, idle(hours=71), id="waited for"),
        pytest.param(idle(hours=71), Use(held=False, listed=None), idle(hours=71), id="nobody can tell"),
        pytest.param(idle(hours=72), LISTED, None, id="too long"),
        pytest.param(idle(hours=99), Use(held=None, listed=False), idle(hours=99), id="not looked at"),
        pytest.param(HELD, DELETED, replace(BEGUN, deleted=True), id="deleted by the provider"),
        pytest.param(HELD, replace(DELETED, held=None), replace(HELD, deleted=True), id="and made again"),
        pytest.param(HELD, replace(DELETED, held=True), replace(HELD, deleted=True), id="since it was found"),
        pytest.param(
            replace(idle(hours=1), deleted=True), Use(held=True, listed=True), HELD, id="and found again"
        ),
    ],
)
def test_what_a_record_becomes(before, use, after):
    assert life.next_record(before, use, 0, NOW, KEEP) == after


@pytest.mark.parametrize(
    ("before", "use", "after"),
    [
        pytest.param(HELD, LISTED, BEGUN, id="the time that passed before it began does not count"),
        pytest.param(idle(hours=1), LISTED, idle(hours=1, seconds=60), id="not held"),
        pytest.param(idle(hours=1), replace(LISTED, held=None), idle(hours=1), id="nobody can tell"),
        pytest.param(idle(hours=71, minutes=59), LISTED, None, id="too long"),
        pytest.param(idle(seconds=0), GIVEN_UP, None, id="nobody lists it"),
    ],
)
def test_what_it_becomes_when_a_minute_passed(before, use, after):
    assert life.next_record(before, use, 60, NOW, KEEP) == after


@pytest.mark.parametrize("since", [NOW - timedelta(days=9999), NOW + timedelta(days=9999)])
def test_what_a_wall_clock_said_ends_nothing(since):
    record = Record("shop", since, not_held_seconds=9)
    for use in (LISTED, GIVEN_UP):
        assert life.next_record(record, use, 0, NOW, KEEP) == record


def test_a_record_is_read_as_it_was_written():
    for record in (HELD, idle(hours=3), Record(""), Record("shop", NOW, deleted=True)):
        assert Record.of_value(record.to_value()) == record


@pytest.mark.parametrize("record", [HELD, BEGUN, replace(idle(hours=3, seconds=0.7), not_held_since=NOW)])
def test_what_is_stored_has_whole_seconds(record):
    if record.not_held_since:
        record = replace(record, not_held_since=record.not_held_since.replace(microsecond=7))
    assert Record.of_value(record.to_value()) == record.as_stored()


@pytest.mark.parametrize(
    "count",
    [
        *("-1", "-1e9", "NaN", "Infinity", "-Infinity", "1e300", "31536001", "9" * 999),
        *('"259200"', "true", "[9]", "{}", "null"),
    ],
)
def test_a_count_that_no_version_stores_begins_anew(count):
    value = f'{{"namespace": "shop", "notHeldSince": "2026-03-04T12:00:00Z", "notHeldSeconds": {count}}}'
    assert Record.of_value(value) == BEGUN


def test_a_record_of_an_earlier_version_begins_to_count():
    assert Record.of_value('{"namespace": "shop", "notHeldSince": "2026-03-04T12:00:00Z"}') == BEGUN


def test_what_is_held_has_no_count():
    assert Record.of_value('{"namespace": "shop", "notHeldSeconds": 9999}') == HELD


BEFORE_TIME = '{"namespace": "shop", "notHeldSince": "0001-01-01T00:00:00+14:00"}'
LONG_AGO = '{"namespace": "shop", "notHeldSince": "0999-01-01T00:00:00Z"}'


@pytest.mark.parametrize(
    "value", ["", "shop", "[]", "{}", '{"namespace": "shop", "notHeldSince": "soon"}', BEFORE_TIME, LONG_AGO]
)
def test_a_spoilt_record_gives_the_domain_to_nobody(value):
    assert Record.of_value(value).namespace == UNREADABLE


def test_every_domain_is_found_again_and_fits_a_config_map():
    for domain in ("a.example.com", "*.example.com", "x" * 63 + ".example.com"):
        key = life.data_key(domain)
        assert life.domain_of(key) == domain
        assert len(key) <= 253
        assert "*" not in key
    assert [life.shard_of(d) for d in ("a.example.com", "*.example.com")] == [54, 7]


def test_churn_costs_a_namespace_its_own_oldest_records():
    busy = {f"{n}.example.com": Record("busy", NOW - timedelta(seconds=n)) for n in range(MOST_NOT_HELD + 2)}
    others = {"shop.example.com": idle(hours=70), "held.example.com": Record("busy")}
    gone = life.superfluous(busy | others)
    assert gone == {f"{n}.example.com" for n in (MOST_NOT_HELD, MOST_NOT_HELD + 1)}


def test_the_oldest_are_those_not_held_for_longest_whatever_a_wall_clock_said():
    records = {
        "first.example.com": Record("busy", NOW, not_held_seconds=1200),
        "behind.example.com": Record("busy", EARLIER, not_held_seconds=600),
        "last.example.com": Record("busy", NOW),
    }
    assert life.superfluous(records, 2) == {"first.example.com"}

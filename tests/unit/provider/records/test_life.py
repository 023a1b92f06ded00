"""When the record that a domain is kept for a namespace begins, changes and ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from provider.records import life
from provider.records.life import MOST_NOT_HELD, UNREADABLE, Record, Use

NOW = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
KEEP = timedelta(hours=72)
HELD = Record("shop")
GIVEN_UP = Use(held=False, listed=False, given_up=True)
DELETED = Use(held=False, listed=True, deleted=True)


def since(**ago) -> Record:
    return Record("shop", NOW - timedelta(**ago))


@pytest.mark.parametrize(
    ("before", "use", "after"),
    [
        pytest.param(HELD, Use(held=True, listed=True), HELD, id="held"),
        pytest.param(HELD, Use(held=True, listed=False), HELD, id="held, and taken out of the spec"),
        pytest.param(since(hours=1), Use(held=True, listed=True), HELD, id="found again"),
        pytest.param(HELD, Use(held=False, listed=True), since(), id="lost"),
        pytest.param(HELD, Use(held=False, listed=None), since(), id="lost, and who lists it is unknown"),
        pytest.param(HELD, GIVEN_UP, since(), id="gone for a moment"),
        pytest.param(since(seconds=9), GIVEN_UP, since(seconds=9), id="still short"),
        pytest.param(since(seconds=10), GIVEN_UP, None, id="nobody lists it"),
        pytest.param(since(hours=71), Use(held=False, listed=False), since(hours=71), id="left in AWS"),
        pytest.param(since(hours=71), Use(held=False, listed=True), since(hours=71), id="waited for"),
        pytest.param(since(hours=71), Use(held=False, listed=None), since(hours=71), id="nobody can tell"),
        pytest.param(since(hours=72), Use(held=False, listed=True), None, id="too long"),
        pytest.param(since(hours=99), Use(held=None, listed=False), since(hours=99), id="not looked at"),
        pytest.param(HELD, DELETED, replace(since(), deleted=True), id="deleted by the provider"),
        pytest.param(HELD, replace(DELETED, held=None), replace(HELD, deleted=True), id="and made again"),
        pytest.param(
            replace(since(hours=1), deleted=True), Use(held=True, listed=True), HELD, id="and found again"
        ),
        pytest.param(since(hours=-9), Use(held=False, listed=True), since(), id="a time to come"),
    ],
)
def test_what_a_record_becomes(before, use, after):
    assert life.next_record(before, use, NOW, KEEP) == after


def test_a_record_is_read_as_it_was_written():
    for record in (HELD, since(hours=3), Record(""), Record("shop", NOW, deleted=True)):
        assert Record.of_value(record.to_value()) == record


BEFORE_TIME = '{"namespace": "shop", "notHeldSince": "0001-01-01T00:00:00+14:00"}'


@pytest.mark.parametrize(
    "value", ["", "shop", "[]", "{}", '{"namespace": "shop", "notHeldSince": "soon"}', BEFORE_TIME]
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
    others = {"shop.example.com": since(hours=70), "held.example.com": Record("busy")}
    gone = life.superfluous(busy | others)
    assert gone == {f"{n}.example.com" for n in (MOST_NOT_HELD, MOST_NOT_HELD + 1)}

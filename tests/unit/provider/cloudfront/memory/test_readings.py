"""What is read of the tenants that others say are in a group is bounded, whatever they write meanwhile."""

from __future__ import annotations

from contextlib import suppress

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.cloudfront.memory.readings import NotRead, Reading, Readings


class Calls:
    """Reads that are counted."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.readings = Readings(self.clock)
        self.made = 0

    def of(self, group: str = "cg_1") -> Reading:
        return self.readings.of("uid", group)

    def read(self, reading: Reading, share: str, name: str) -> int:
        """The number of calls so far."""
        with suppress(NotRead):
            reading.get(share, name, self._call)
        return self.made

    def _call(self) -> None:
        self.made += 1


@pytest.fixture
def calls() -> Calls:
    return Calls()


def test_nothing_is_read_twice(calls):
    assert [calls.read(calls.of(), "red", "dt_1") for _ in range(3)] == [1, 1, 1]
    assert calls.read(calls.of(), "red", "dt_2") == 2


def test_what_another_namespace_was_told_of_a_name_does_not_count(calls):
    """It may name a tenant before that exists."""
    calls.read(calls.of(), "red", "blue.new")
    assert calls.read(calls.of(), "blue", "blue.new") == 2


def test_each_namespace_has_so_many_reads_and_all_have_no_more_than_so_many(calls):
    reading = calls.of()
    for number in range(100):
        calls.read(reading, "red", f"dt_{number}")
    assert calls.made == 20
    with pytest.raises(NotRead):
        reading.get("red", "dt_99", calls._call)
    assert calls.read(reading, "blue", "dt_1") == 21
    for share in range(20):
        for number in range(20):
            calls.read(reading, f"ns-{share}", f"dt_{number}")
    assert calls.made == 200


def test_the_namespaces_take_turns_also_when_their_names_change(calls):
    reading = calls.of()
    for name in ("a", "b"):
        calls.read(reading, "red", name)
    new = [("red", "c"), ("green", "1"), ("red", "a"), ("green", "2"), ("green", "3"), ("blue", "1")]
    expected = [("red", "a"), ("green", "1"), ("blue", "1"), ("green", "2"), ("red", "c"), ("green", "3")]
    assert reading.in_turn(new) == expected


def test_a_read_that_fails_is_made_again(calls):
    def fail() -> None:
        raise KeyError

    for _ in range(30):
        with pytest.raises(KeyError):
            calls.of().get("red", "dt_1", fail)
    assert calls.read(calls.of(), "red", "dt_1") == 1


@pytest.mark.parametrize("pause", [10, 80])
def test_a_reading_that_takes_long_goes_on(calls, pause):
    for number in range(20):
        calls.read(calls.of(), "red", f"dt_{number}")
        calls.clock.advance(pause)
    assert calls.read(calls.of(), "red", "dt_20") == 20


def test_a_reading_that_is_never_complete_begins_again(calls):
    """While AWS is throttling requests, for example: what it said first is too old by then."""
    for _ in range(17):
        calls.read(calls.of(), "red", "dt_1")
        calls.clock.advance(100)
    assert calls.made == 1
    calls.clock.advance(100)
    assert calls.read(calls.of(), "red", "dt_1") == 2


def test_a_complete_reading_is_good_for_five_minutes_however_often_it_is_used(calls):
    reading = calls.of()
    calls.read(reading, "red", "dt_1")
    for _ in range(29):
        calls.readings.end(calls.of())
        assert calls.of() is reading
        calls.clock.advance(10)
    calls.clock.advance(10)
    assert calls.read(calls.of(), "red", "dt_1") == 2


def test_one_that_was_given_up_begins_again(calls):
    calls.read(calls.of(), "red", "dt_1")
    calls.clock.advance(300)
    assert calls.read(calls.of(), "red", "dt_1") == 2


def test_another_group_or_resource_has_a_reading_of_its_own(calls):
    reading = calls.of()
    assert calls.readings.of("other", "cg_1") is not reading
    assert calls.of() is reading
    assert calls.of("cg_2") is not reading


def test_a_resource_that_is_gone_is_forgotten(calls):
    reading = calls.of()
    calls.readings.forget("uid")
    assert calls.of() is not reading

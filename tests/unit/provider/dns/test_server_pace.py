"""The pace of one DNS server."""

from __future__ import annotations

import threading
import time

import pytest

from edgetenants_runtime import deadline
from edgetenants_runtime.clock import FakeClock
from provider.dns import server_pace
from provider.dns.errors import DnsError, Failure, NoConnection, Unreachable
from provider.dns.server_pace import HostedPace, Patience, ServerPace, connections_to, waiting
from tests.unit.provider.dns.taken_turns import all_turns_taken


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def pace(clock):
    return ServerPace(clock, "DNS server x port 53")


def fail(pace, error=None):
    with pytest.raises(DnsError), pace.turn():
        raise error or Unreachable(Failure.LATER, "no answer")


def paused(pace):
    """The seconds of a pause; 0.0 if a request may be made. It counts as one that is answered."""
    try:
        with pace.turn():
            return 0.0
    except DnsError as error:
        found = error
    assert found.failure is Failure.LATER
    assert "x port 53: it did not answer" in str(found)
    return found.after


def test_after_a_failure_all_requests_fail_at_once_for_a_growing_time(pace, clock):
    for seconds in (2.0, 4.0, 8.0, 16.0, 30.0, 30.0):
        fail(pace)
        assert paused(pace) == pytest.approx(seconds)
        clock.advance(seconds)
    assert paused(pace) == 0.0
    fail(pace)
    assert paused(pace) == pytest.approx(2.0), "one that was answered ends it"


def test_after_a_pause_one_request_tries_and_the_others_wait_for_it(pace, clock):
    fail(pace)
    clock.advance(2.0)
    with pace.turn():
        assert paused(pace) == pytest.approx(10.0)
    assert paused(pace) == 0.0


def test_a_refusal_is_an_answer(pace):
    fail(pace, DnsError(Failure.NOT_PERMITTED, "no"))
    fail(pace, DnsError(Failure.LATER, "SERVFAIL"))
    assert paused(pace) == 0.0


def test_a_reconcile_that_is_out_of_time_says_nothing_about_the_server(pace, clock):
    with deadline.within(0.5, FakeClock()):
        fail(pace)
    assert paused(pace) == 0.0


def test_a_request_without_a_turn_counts_too(pace):
    with pytest.raises(Unreachable), pace.watched():
        raise Unreachable(Failure.LATER, "no answer")
    assert paused(pace) > 0
    with pytest.raises(DnsError), pace.watched():
        pass


def test_only_some_requests_at_the_same_time(pace, monkeypatch):
    monkeypatch.setattr(server_pace, "_TURN_SECONDS", 0.05)
    with all_turns_taken(pace):
        with pytest.raises(DnsError, match="4 other requests") as told, pace.turn():
            pass
        assert (told.value.failure, told.value.after) == (Failure.LATER, 2.0)
    assert paused(pace) == 0.0


def test_who_waited_for_a_turn_does_not_ask_a_server_that_did_not_answer(pace):
    """Otherwise each of the waiting workers would wait as long again."""
    begun, ends, asked = threading.Barrier(5), threading.Event(), []

    def fails():
        begun.wait(5)
        ends.wait(5)
        raise Unreachable(Failure.LATER, "no answer")

    def hang():
        with pytest.raises(Unreachable), pace.turn():
            fails()

    def wait():
        with pytest.raises(DnsError, match="it did not answer"), pace.turn():
            asked.append(1)

    threads = [threading.Thread(target=hang) for _ in range(4)]
    for each in threads:
        each.start()
    begun.wait(5)
    waiting = threading.Thread(target=wait)
    waiting.start()
    ends.set()
    for each in (*threads, waiting):
        each.join(5)
    assert asked == []


def test_a_reconcile_waits_once_however_many_domains_it_has(pace, monkeypatch):
    monkeypatch.setattr(server_pace, "_TURN_SECONDS", 0.2)
    began = time.monotonic()
    with all_turns_taken(pace), waiting(Patience()):
        for _ in range(50):
            with pytest.raises(DnsError, match="4 other requests"), pace.turn():
                pass
    assert 0.15 < time.monotonic() - began < 2
    with waiting(Patience(left=0.0)):
        assert paused(pace) == 0.0, "a turn that is free is taken without a wait"


def test_the_words_of_a_pause_are_the_same_at_each_attempt(pace, clock):
    fail(pace)
    said = set()
    for _ in range(3):
        with pytest.raises(DnsError) as told, pace.turn():
            pass
        said.add(str(told.value))
        clock.advance(0.6)
    assert len(said) == 1


class TestHosted:
    """Two namespaces at one service."""

    @pytest.fixture
    def connections(self, clock):
        return connections_to(clock, "DNS server x port 53")

    @pytest.fixture
    def red(self, clock, connections):
        return HostedPace(ServerPace(clock, "DNS server x port 53"), connections)

    @pytest.fixture
    def blue(self, clock, connections):
        return HostedPace(ServerPace(clock, "DNS server x port 53"), connections)

    def test_an_answer_that_takes_too_long_is_the_own_matter(self, red, blue):
        fail(red)
        assert paused(red) == pytest.approx(2.0)
        assert paused(blue) == 0.0

    def test_turns_are_the_own_matter(self, red, blue, monkeypatch):
        monkeypatch.setattr(server_pace, "_TURN_SECONDS", 0.05)
        with all_turns_taken(red):
            assert paused(blue) == 0.0

    def test_without_a_connection_no_one_asks(self, red, blue, clock):
        fail(red, NoConnection(Failure.LATER, "no connection"))
        assert paused(blue) == pytest.approx(2.0)
        clock.advance(4.1)
        assert paused(blue) == 0.0
        assert paused(red) == 0.0

    def test_what_is_watched_has_both_paces(self, red, blue):
        with pytest.raises(NoConnection), red.watched():
            raise NoConnection(Failure.LATER, "no connection")
        assert paused(blue) > 0

"""Changes of many workers: one request at a time, each change once, and no worker that waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from edgetenants_runtime.clock import FakeClock, SystemClock
from provider.dns.errors import DnsError, Failure
from provider.dns.records import RecordSet
from provider.dns.route53 import zone_writer
from provider.dns.route53.zone_writer import ZoneWriter
from provider.dns.store import Change
from tests.unit.provider.dns.route53.zone_calls import FakeZoneCalls, cname


def creation(name: str) -> Change:
    return Change(f"{name}.example.com", creates=(cname(name),))


def writer(calls: FakeZoneCalls, clock: FakeClock | SystemClock | None = None) -> ZoneWriter:
    return ZoneWriter(calls, clock or SystemClock(), lambda zone, change, ticket: None)


@pytest.mark.parametrize("failure", [Failure.CHANGED, Failure.REFUSED, Failure.NOT_PERMITTED])
def test_one_change_that_cannot_be_made_stops_no_other(failure):
    calls = FakeZoneCalls()

    def refuse(creates: Sequence[RecordSet]) -> None:
        if any(each.name == "d5.example.com" for each in creates):
            raise DnsError(failure, "no")

    calls.before_change = refuse
    results = writer(calls).write("Z1", [creation(f"d{n}") for n in range(16)])
    assert [n for n, each in enumerate(results) if isinstance(each, DnsError)] == [5]
    assert len(calls.sets) == 15


def test_the_halves_of_a_batch_stop_when_route_53_is_busy():
    calls = FakeZoneCalls()

    def busy(creates: Sequence[RecordSet]) -> None:
        raise DnsError(Failure.CHANGED if len(creates) == 64 else Failure.LATER, "busy", after=2.0)

    calls.before_change = busy
    results = writer(calls).write("Z1", [creation(f"d{n}") for n in range(64)])
    assert {each.failure for each in results} == {Failure.LATER}
    assert len(calls.batches) == 2


def test_nothing_is_sent_before_route_53_has_asked_for():
    calls, clock = FakeZoneCalls(), FakeClock()
    answers = [DnsError(Failure.LATER, "busy", after=5.0)]

    def busy(creates: Sequence[RecordSet]) -> None:
        if answers:
            raise answers.pop()

    calls.before_change = busy
    made = writer(calls, clock)
    assert [each.failure for each in made.write("Z1", [creation("a")])] == [Failure.LATER]
    assert [each.failure for each in made.write("Z1", [creation("a")])] == [Failure.LATER]
    assert len(calls.batches) == 1
    clock.advance(5.0)
    assert made.write("Z1", [creation("a")]) == ["C2"]


def test_a_request_has_at_most_500_changes():
    calls = FakeZoneCalls()
    writer(calls).write("Z1", [creation(f"d{n}") for n in range(700)])
    assert calls.batches == [500, 200]


def test_all_changes_of_a_worker_wait_no_longer_than_one(monkeypatch):
    monkeypatch.setattr(zone_writer, "_LONGEST_WAIT", 0.2)
    calls, entered, go = FakeZoneCalls(), threading.Event(), threading.Event()

    def hang(creates: Sequence[RecordSet]) -> None:
        entered.set()
        go.wait(20)

    calls.before_change = hang
    made = writer(calls)
    first = threading.Thread(target=made.write, args=("Z1", [creation("first")]))
    first.start()
    entered.wait(5)
    began = time.monotonic()
    results = made.write("Z1", [creation(f"d{n}") for n in range(30)])
    took = time.monotonic() - began
    go.set()
    first.join(10)
    assert {each.failure for each in results} == {Failure.LATER}
    assert took < 2.0
    assert made.write("Z1", [creation("next")]) == ["C2"]


def test_with_many_threads_each_change_is_made_once_and_all_end():
    calls = FakeZoneCalls()
    blows = iter(range(10**6))

    def now_and_then(creates: Sequence[RecordSet]) -> None:
        time.sleep(0.001)
        if next(blows) % 7 == 3:
            raise RuntimeError("a defect in a leader")

    calls.before_change = now_and_then
    made, ended = writer(calls), []

    def work(worker: int) -> None:
        for n in range(10):
            try:
                results = made.write("Z1", [creation(f"w{worker}-{n}-{k}") for k in range(2)])
            except RuntimeError:
                results = []
            ended.append(len(results))

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(24)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(20)
    assert len(ended) == 240
    assert calls.most_in_flight == 1
    assert set(calls.applied.values()) == {1}

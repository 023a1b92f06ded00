"""What is known of a zone, how long, and what a write changes in it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.dns.errors import DnsError, Failure
from provider.dns.route53.change_marks import ChangeMarks
from provider.dns.route53.zone_views import ZoneViews
from provider.dns.store import Change
from tests.unit.provider.dns.route53.zone_calls import ZONE, FakeZoneCalls, cname

A = cname("a")
LARGE = replace(ZONE, size=100_000)
"""It is read name by name."""


def test_a_view_serves_for_ten_minutes():
    calls, clock = FakeZoneCalls(A), FakeClock()
    views = ZoneViews(calls, clock)
    for _ in range(3):
        assert views.read(ZONE, [A.name, "b.example.com"]).of(A.name) == (A,)
    assert calls.pages == 1
    clock.advance(601)
    views.read(ZONE, [A.name])
    assert calls.pages == 2
    views.read(ZONE, [A.name], fresh=True)
    assert calls.pages == 3


def test_own_writes_are_seen_at_once():
    calls = FakeZoneCalls(A)
    views = ZoneViews(calls, FakeClock())
    views.read(ZONE, [A.name])
    views.wrote("Z1", Change(A.name, deletes=(A,), creates=(cname("a", "d2.cloudfront.net"),)))
    assert views.read(ZONE, [A.name]).of(A.name) == (cname("a", "d2.cloudfront.net"),)
    assert calls.pages == 1


def test_a_write_while_pages_are_read_counts():
    calls = FakeZoneCalls(*(cname(f"d{n:03}") for n in range(400)))
    views, new = ZoneViews(calls, FakeClock()), cname("d000", "d2.cloudfront.net")

    def write() -> None:
        calls.after_page = lambda: None
        calls.sets[new.name, "CNAME"] = new
        views.wrote("Z1", Change(new.name, deletes=(cname("d000"),), creates=(new,)))

    calls.after_page = write
    assert views.read(ZONE, [new.name]).of(new.name) == (new,)


def test_a_write_while_its_name_is_read_counts():
    calls, new = FakeZoneCalls(A), cname("a", "d2.cloudfront.net")
    views = ZoneViews(calls, FakeClock())

    def write() -> None:
        calls.after_page = lambda: None
        calls.sets[new.name, "CNAME"] = new
        views.wrote("Z1", Change(A.name, deletes=(A,), creates=(new,)))

    calls.after_page = write
    views.read(LARGE, [A.name])
    assert views.read(LARGE, [A.name]).of(A.name) == (new,)


def test_a_change_is_asked_for_every_ten_seconds_at_most():
    calls, clock = FakeZoneCalls(), FakeClock()
    marks = ChangeMarks(calls, clock)
    marks.made("C1")
    assert not marks.is_served("C1")
    assert calls.asked_sync == 0
    clock.advance(15)
    assert not marks.is_served("C1")
    assert not marks.is_served("C1")
    assert calls.asked_sync == 1
    calls.insync = True
    clock.advance(10)
    assert marks.is_served("C1")
    assert marks.is_served("C1")
    assert calls.asked_sync == 2


def test_an_old_view_serves_while_route_53_is_busy():
    calls, clock = FakeZoneCalls(A), FakeClock()
    views = ZoneViews(calls, clock)
    views.read(ZONE, [A.name])
    clock.advance(700)

    def busy() -> None:
        raise DnsError(Failure.LATER, "Rate exceeded")

    calls.after_page = busy
    assert views.read(ZONE, [A.name]).of(A.name) == (A,)
    clock.advance(3600)
    with pytest.raises(DnsError):
        views.read(ZONE, [A.name])

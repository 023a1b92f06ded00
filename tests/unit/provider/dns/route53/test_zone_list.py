"""The hosted zones that a provider config names by their ids."""

from __future__ import annotations

import pytest

from edgetenants_runtime.clock import FakeClock
from provider.dns.errors import DnsError, Failure
from provider.dns.records import Zone
from provider.dns.route53.calls import ListedZone
from provider.dns.route53.store import Route53Store
from provider.dns.route53.zone_list import ZoneList
from provider.dns.store import is_deleted
from tests.unit.provider.dns.route53.zone_calls import FakeZoneCalls

IDS = [f"Z{number}" for number in range(150)]


class Calls(FakeZoneCalls):
    """Some zones, and what is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.gone: set[str] = set()
        self.most = 1000

    def zone(self, id_: str) -> ListedZone:
        if len(self.asked) >= self.most:
            raise DnsError(Failure.LATER, "not sent yet")
        self.asked.append(id_)
        if id_ in self.gone:
            raise DnsError(Failure.NO_ZONE, "gone")
        return ListedZone(Zone(id_, f"{id_.lower()}.test"), private=False, size=10)


@pytest.fixture
def calls():
    return Calls()


@pytest.fixture
def clock():
    return FakeClock()


def test_a_zone_of_an_id_is_read_once_and_then_some_of_them_an_hour_later(calls, clock):
    zones = ZoneList(calls, clock, IDS)
    for _ in range(11):
        assert zones.of("a.z7.test").zone.id == "Z7"
        clock.advance(301)
    assert calls.asked == IDS
    clock.advance(301)
    for _ in range(8):
        before = len(calls.asked)
        zones.of("a.z7.test")
        assert len(calls.asked) - before <= 20
        clock.advance(301)
    assert set(calls.asked[150:300]) == set(IDS)


def test_what_was_read_before_a_failure_is_not_read_again(calls, clock):
    zones = ZoneList(calls, clock, IDS)
    calls.most = 100
    with pytest.raises(DnsError):
        zones.of("a.z7.test")
    calls.most = 1000
    zones.of("a.z7.test")
    assert calls.asked == IDS


def test_a_zone_that_does_not_exist_is_asked_for_again_soon(calls, clock):
    calls.gone = {"Z1"}
    zones = ZoneList(calls, clock, ["Z1", "Z2"])
    assert zones.of("a.z1.test") is None
    calls.gone = set()
    clock.advance(301)
    assert zones.of("a.z1.test").zone.id == "Z1"
    assert calls.asked == ["Z1", "Z2", "Z1"]


def test_a_zone_that_is_gone_is_asked_for_again_at_once_and_no_other(calls, clock):
    zones = ZoneList(calls, clock, ["Z1", "Z2"])
    zones.of("a.z1.test")
    calls.gone = {"Z1"}
    zones.forget("Z1")
    assert zones.of("a.z1.test") is None
    assert calls.asked == ["Z1", "Z2", "Z1"]


@pytest.mark.parametrize("ids", [["Z1"], ["Z1", "Z9"], None])
def test_a_zone_that_was_never_found_may_have_records_elsewhere(calls, clock, ids):
    """The provider config names other zones, or has the credentials of another account now."""
    calls.gone = {"Z9"}
    store = Route53Store(calls, clock, ids)
    assert store.zone_of("a.other.test") is None
    assert not is_deleted(store, "a.other.test")


def test_a_zone_that_was_found_and_is_gone_has_no_records(calls, clock):
    store = Route53Store(calls, clock, ["Z1", "Z2"])
    assert store.zone_of("a.z1.test") is not None
    assert not is_deleted(store, "a.z11.test")
    calls.gone = {"Z1"}
    clock.advance(3601.0)
    assert store.zone_of("a.z1.test") is None
    assert is_deleted(store, "a.z1.test")

"""The store for Cloudflare, by its SDK, against a server that answers as Cloudflare's description has it."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from edgetenants_runtime.clock import FakeClock, SystemClock
from provider.dns import ownership, plan
from provider.dns.cloudflare import CloudflareStore
from provider.dns.errors import DnsError, Failure
from provider.dns.records import RecordSet, Zone
from provider.dns.store import Change
from tests.contract.dns import cloudflare_dns, described
from tests.contract.dns.cloudflare_dns import CloudflareDns
from tests.contract.dns.faulted import Faulted, World
from tests.contract.dns.servers import ZONE
from tests.unit.provider.dns.conformance import TARGET, US, Bench, Conformance, cname


@pytest.fixture
def cloudflare():
    service = CloudflareDns()
    with described.serving(service) as service.url:
        service.put(RecordSet(f"*.wild.{ZONE}", "CNAME", ("elsewhere.example.net",), 300))
        service.put(RecordSet(f"key.many.{ZONE}", "SSHFP", (f"4 2 {'ab' * 32}",), 300))
        yield service


class Test(Conformance):
    @pytest.fixture
    def bench(self, cloudflare) -> Bench:
        @contextmanager
        def losing():
            cloudflare.fault = lambda _, request: "unanswered" if request.writes else None
            yield cloudflare_dns.store(cloudflare.url, SystemClock())
            cloudflare.fault = lambda *_: None

        store = cloudflare_dns.store(cloudflare.url, SystemClock())
        parts = (cloudflare.put, cloudflare.drop, cloudflare.truth, losing)
        return Bench(store, cloudflare.zone, *parts, compares=False)


class TestFaults(Faulted):
    @pytest.fixture
    def world(self, cloudflare) -> World:
        return World(cloudflare, cloudflare.zone, lambda: cloudflare_dns.store(cloudflare.url, SystemClock()))


class TestRecords:
    """What other services do not have."""

    def test_the_apex_has_a_cname_beside_mail_records(self, cloudflare):
        store = cloudflare_dns.store(cloudflare.url, SystemClock())
        cloudflare.put(RecordSet(ZONE, "MX", ("10 mail.example.net",), 300))
        wanted = plan.Wanted(ZONE, store.apex(ZONE, TARGET, 60))
        step = plan.settle(wanted, store.read(cloudflare.zone, wanted.names), US)
        store.write(cloudflare.zone, step.change)
        rows = [row for row in cloudflare.rows.values() if row["name"] == ZONE]
        assert sorted((row["type"], row["content"], row["proxied"]) for row in rows) == [
            ("CNAME", TARGET, False),
            ("MX", "mail.example.net", False),
        ]
        found = store.read(cloudflare.zone, wanted.names, fresh=True)
        assert plan.settle(wanted, found, US).standing is plan.Standing.OURS
        store.write(cloudflare.zone, plan.release(wanted, found, US, lambda _: True))
        assert [each.type for each in cloudflare.truth(ZONE)] == ["MX"]

    def test_a_proxied_record_is_another_one(self, cloudflare):
        store, wanted = cloudflare_dns.store(cloudflare.url, SystemClock()), cname(f"shop.{ZONE}")
        cloudflare.post(
            {"name": wanted.domain, "type": "CNAME", "content": TARGET, "ttl": 60, "proxied": True}
        )
        found = store.read(cloudflare.zone, wanted.names)
        step = plan.settle(wanted, found, US)
        assert (step.standing, str(step.there[0])) == (plan.Standing.TAKEN, f"CNAME alias {TARGET}")

    def test_looks_take_few_requests_and_show_what_was_written_at_once(self, cloudflare):
        clock = FakeClock()
        store = cloudflare_dns.store(cloudflare.url, clock)
        first = cname(f"a.{ZONE}")
        store.read(cloudflare.zone, first.names)
        before = len(cloudflare.seen)
        for number in range(50):
            assert not store.read(cloudflare.zone, [f"x{number}.{ZONE}"]).of(f"x{number}.{ZONE}")
        assert len(cloudflare.seen) == before
        step = plan.settle(first, store.read(cloudflare.zone, first.names), US)
        store.write(cloudflare.zone, step.change)
        found = store.read(cloudflare.zone, first.names)
        assert plan.settle(first, found, US).standing is plan.Standing.OURS
        cloudflare.put(RecordSet(f"b.{ZONE}", "A", ("192.0.2.1",), 60))
        assert not store.read(cloudflare.zone, [f"b.{ZONE}"]).of(f"b.{ZONE}")
        clock.advance(601)
        assert store.read(cloudflare.zone, [f"b.{ZONE}"]).of(f"b.{ZONE}")

    def test_values_that_others_add_to_a_new_set_are_not_mixed_with_ours(self, cloudflare):
        """Cloudflare takes two A records of two writers. What was added is deleted again."""
        store, name = cloudflare_dns.store(cloudflare.url, SystemClock()), f"a.{ZONE}"
        people = {"name": name, "type": "A", "content": "192.0.2.9", "ttl": 60}

        def fault(_, request):
            if request.writes and not cloudflare.truth(name):
                cloudflare.post(people)

        cloudflare.fault = fault
        change = Change(name, creates=(RecordSet(name, "A", ("192.0.2.1",), 60), ownership.mark(name, US)))
        with pytest.raises(DnsError, match="undone") as told:
            store.write(cloudflare.zone, change)
        assert told.value.failure is Failure.CHANGED
        assert [each.values for each in cloudflare.truth(name)] == [("192.0.2.9",)]
        assert not cloudflare.truth(ownership.mark_name(name))

    def test_the_values_of_a_set_are_replaced_in_place(self, cloudflare):
        store, name = cloudflare_dns.store(cloudflare.url, SystemClock()), f"a.{ZONE}"
        sets = [
            RecordSet(name, "A", values, 60)
            for values in (("192.0.2.1", "192.0.2.2"), ("192.0.2.2", "192.0.2.3"))
        ]
        cloudflare.put(sets[0])
        store.write(cloudflare.zone, Change(name, deletes=(sets[0],), creates=(sets[1],)))
        assert list(cloudflare.truth(name)) == [sets[1]]
        store.write(
            cloudflare.zone,
            Change(name, deletes=(sets[1],), creates=(RecordSet(name, "A", ("192.0.2.3",), 60),)),
        )
        assert [each.values for each in cloudflare.truth(name)] == [("192.0.2.3",)]


class TestCopies:
    """Of zones, which are for looks only."""

    @pytest.fixture
    def clock(self):
        return FakeClock()

    def reads(self, cloudflare):
        """Names that were read, and "" for a whole zone."""
        listed = [each for each in cloudflare.seen if each.operation == "list records"]
        return [each.query.get("name.exact", "") for each in listed]

    def made(self, cloudflare, clock, most):
        connect = cloudflare_dns.connect(cloudflare.url)
        store = CloudflareStore(cloudflare_dns.SETTINGS, clock, connect, most_copied=most)
        cloudflare.seen.clear()
        return store

    def test_without_copies_each_name_is_read(self, cloudflare, clock):
        store = self.made(cloudflare, clock, 0)
        for name in ("a", "b"):
            store.read(cloudflare.zone, [f"{name}.{ZONE}"])
        assert self.reads(cloudflare) == [f"a.{ZONE}", f"b.{ZONE}"]

    def test_a_zone_that_is_too_large_is_read_by_name_for_an_hour(self, cloudflare, clock):
        for number in range(10):
            cloudflare.put(RecordSet(f"x{number}.{ZONE}", "A", ("192.0.2.1",), 60))
        store = self.made(cloudflare, clock, 6)
        found = store.read(cloudflare.zone, [f"x1.{ZONE}"])
        assert [each.values for each in found.of(f"x1.{ZONE}")] == [("192.0.2.1",)]
        store.read(cloudflare.zone, [f"b.{ZONE}"])
        assert self.reads(cloudflare) == ["", f"x1.{ZONE}", f"b.{ZONE}"]
        clock.advance(3601)
        store.read(cloudflare.zone, [f"b.{ZONE}"])
        assert self.reads(cloudflare)[3:] == ["", f"b.{ZONE}"]

    def test_the_copies_of_all_zones_have_one_limit(self, cloudflare, clock):
        for number in range(10):
            cloudflare.put(RecordSet(f"x{number}.{ZONE}", "A", ("192.0.2.1",), 60))
        store = self.made(cloudflare, clock, 15)
        store.read(cloudflare.zone, [f"a.{ZONE}"])
        (other,) = [id_ for id_, each in cloudflare.zones.items() if each[0] == "other.test"]
        cloudflare.zone = Zone(other, ZONE)
        store.read(cloudflare.zone, [f"a.{ZONE}"])
        assert self.reads(cloudflare)[-1] == f"a.{ZONE}"
        assert "" in self.reads(cloudflare)

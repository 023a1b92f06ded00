"""What a store for dynamic updates does beside what every store does, against a real server."""

from __future__ import annotations

import pytest

from provider.dns.errors import DnsError, Failure
from provider.dns.records import Zone
from provider.dns.rfc2136 import Key, serving
from provider.dns.store import Change, Written
from tests.contract.dns.benches import HOST, rfc2136_store
from tests.contract.dns.servers import KEY, SMALL, WEAK, ZONE
from tests.unit.provider.dns.conformance import a_cname, cname

SECRET = b"ffffffffffffffffffffffffffffffff"


class Updated:
    """The tests; a subclass has the fixtures `running` and `bench`."""

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            (None, ("NOTAUTH: it is not authoritative", "REFUSED: its policy")),
            (WEAK, ("BADKEY: it does not have this key, or does not permit it", "REFUSED: its policy")),
            (Key(KEY.name, SECRET), ("BADSIG: it has another secret",)),
            (Key("unknown", SECRET), ("BADKEY: it does not have this key",)),
        ],
        ids=["no key", "no right", "another secret", "unknown key"],
    )
    def test_a_key_that_does_not_permit_it_is_told(self, running, bench, key, words):
        store, wanted = rfc2136_store(running, key=key), cname(bench.name())
        with pytest.raises(DnsError) as told:
            store.write(bench.zone, Change(wanted.domain, creates=wanted.records))
        assert told.value.failure is Failure.NOT_PERMITTED
        assert any(each in str(told.value) for each in words), told.value
        assert bench.has(wanted.domain) == set()

    def test_a_zone_of_another_server_is_told(self, running, bench):
        zone = Zone("example.org", "example.org")
        with pytest.raises(DnsError, match=r"NOTAUTH|REFUSED") as told:
            bench.store.write(zone, Change("a.example.org", creates=cname("a.example.org").records))
        assert told.value.failure is Failure.NOT_PERMITTED

    def test_a_name_outside_of_the_zone_is_told(self, running, bench):
        with pytest.raises(DnsError, match="NOTZONE") as told:
            bench.store.write(bench.zone, Change("a.example.org", creates=cname("a.example.org").records))
        assert told.value.failure is Failure.NO_ZONE

    def test_the_deepest_zone_is_found_and_none_below_a_delegation(self, running, bench):
        assert bench.store.zone_of(f"a.b.{SMALL}") == Zone(SMALL, SMALL)
        assert bench.store.zone_of(f"a.away.{ZONE}") is None
        assert bench.store.zone_of(f"x.wild.{ZONE}") == bench.zone

    def test_configured_zones_are_used_without_a_query(self, running):
        store = rfc2136_store(running, zones=["Example.org.", "b.example.org"], port=1)
        assert store.zone_of("a.b.example.org") == Zone("b.example.org", "b.example.org")
        assert store.zone_of("a.c.example.org") == Zone("example.org", "example.org")
        assert store.zone_of(f"a.{ZONE}") is None

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            (f"a.away.{ZONE}", f"away.{ZONE} is delegated to other name servers"),
            (f"a.renamed.{ZONE}", f"renamed.{ZONE} has a DNAME record, which covers it"),
            (f"a.{SMALL}", f"zone {SMALL} of the same server answers for it"),
        ],
    )
    def test_a_name_for_which_the_zone_does_not_answer_is_told(self, bench, name, words):
        with pytest.raises(DnsError, match=words) as told:
            bench.store.read(bench.zone, [name])
        assert told.value.failure is Failure.REFUSED

    def test_all_types_of_a_name_are_read(self, bench):
        found = bench.store.read(bench.zone, [f"mail.many.{ZONE}", ZONE])
        assert [each.type for each in found.of(f"mail.many.{ZONE}")] == ["A", "MX"]
        assert [each.type for each in found.of(ZONE)] == ["NS", "SOA"]

    def test_a_server_that_is_not_there_was_not_asked(self, running, bench):
        store, wanted = rfc2136_store(running, port=1), cname(bench.name())
        with pytest.raises(DnsError, match=f"{HOST} port 1: no connection: ") as told:
            store.write(bench.zone, Change(wanted.domain, creates=wanted.records))
        assert told.value.failure is Failure.LATER

    def test_a_serial_to_come_is_not_served_yet_without_the_record(self, running, bench):
        wanted = bench.made(cname(bench.name()))
        assert not bench.store.is_served(bench.zone, Written(f"4000000 {wanted.domain} CNAME 00"))
        assert not bench.store.is_served(bench.zone, Written(f"4000000 {wanted.domain} CNAME -"))
        assert bench.store.is_served(bench.zone, Written(f"4000000 not-there.{ZONE} CNAME -"))

    def test_a_name_server_that_does_not_answer_is_told(self, running, bench, monkeypatch):
        monkeypatch.setattr(serving, "_SECONDS", 0.1)
        written = bench.write(bench.step(cname(bench.name())))
        names = type(bench.store._name_servers)(1, lambda _: [HOST])
        with pytest.raises(DnsError, match=f"name server ns.{ZONE} of zone {ZONE}: {HOST} does not") as told:
            rfc2136_store(running, name_servers=names).is_served(bench.zone, written)
        assert told.value.failure is Failure.LATER
        assert rfc2136_store(running, name_servers=None).is_served(bench.zone, written)

    def test_several_domains_in_a_row(self, bench):
        for _ in range(5):
            assert bench.has(bench.made(cname(bench.name())).domain) == a_cname()

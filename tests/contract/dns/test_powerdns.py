"""The store for PowerDNS against PowerDNS."""

import pytest

from provider.dns.errors import DnsError, Failure
from provider.dns.plan import Standing, Wanted
from provider.dns.records import Zone
from provider.dns.store import Change
from tests.contract.dns import benches
from tests.contract.dns.benches import powerdns_store
from tests.contract.dns.servers import SMALL, ZONE
from tests.unit.provider.dns.conformance import TARGET, Conformance, cname

WRONG = "a-wrong-key-that-stays-secret"


class Test(Conformance):
    @pytest.fixture
    def bench(self, powerdns):
        return benches.powerdns(powerdns)

    def test_a_wrong_key_is_told_without_it(self, powerdns, bench):
        store = powerdns_store(powerdns, key=WRONG)
        with pytest.raises(DnsError, match=r"look for zone .*: 401: ") as told:
            store.zone_of(bench.name())
        assert told.value.failure is Failure.NOT_PERMITTED
        assert WRONG not in str(told.value)
        assert WRONG not in repr(store)

    def test_a_zone_that_is_gone_is_told(self, bench):
        with pytest.raises(DnsError, match="404: Not Found") as told:
            bench.store.read(Zone("gone.test.", "gone.test"), ["a.gone.test"])
        assert told.value.failure is Failure.NO_ZONE

    def test_the_deepest_zone_is_found_and_none_that_is_a_copy(self, powerdns, bench):
        assert bench.store.zone_of(f"a.b.{SMALL}") == Zone(f"{SMALL}.", SMALL)
        assert bench.store.zone_of(f"a.copied.{ZONE}") is None
        only = powerdns_store(powerdns, zones=[f"{SMALL}."])
        assert only.zone_of(f"a.{SMALL}") == Zone(f"{SMALL}.", SMALL)
        assert only.zone_of(f"a.{ZONE}") is None

    def test_the_apex_has_an_alias(self, bench):
        wanted = bench.made(Wanted(ZONE, bench.store.apex(ZONE, TARGET, 60)))
        (alias,) = [each for each in bench.store.read(bench.zone, [ZONE]).of(ZONE) if each.alias]
        assert (alias.type, alias.values, alias.ttl) == ("ALIAS", (TARGET,), 60)
        assert bench.step(wanted).standing is Standing.OURS
        bench.store.write(bench.zone, bench.release(wanted))
        assert [each.type for each in bench.store.read(bench.zone, [ZONE]).of(ZONE)] == ["NS", "SOA"]

    def test_what_powerdns_refuses_is_in_its_words(self, bench):
        change = Change("a.example.org", creates=cname("a.example.org").records)
        with pytest.raises(DnsError, match=r"change of .*: 422: .*a\.example\.org") as told:
            bench.store.write(bench.zone, change)
        assert told.value.failure is Failure.REFUSED

"""The store for Azure DNS, by Azure's SDK, against a server that answers as Azure's description has it."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from edgetenants_runtime.clock import SystemClock
from provider.dns import ownership, plan
from provider.dns.errors import DnsError, Failure
from provider.dns.records import RecordSet, Zone
from tests.contract.dns import azure_dns, described
from tests.contract.dns.azure_dns import AzureDns
from tests.contract.dns.faulted import Faulted, World
from tests.contract.dns.servers import ZONE
from tests.unit.provider.dns.conformance import US, Bench, Conformance, cname


@pytest.fixture
def azure():
    service = AzureDns()
    with described.serving(service) as service.url:
        service.put(RecordSet(f"*.wild.{ZONE}", "CNAME", ("elsewhere.example.net",), 300))
        service.put(RecordSet(f"key.many.{ZONE}", "PTR", ("elsewhere.example.net",), 300))
        yield service


class Test(Conformance):
    @pytest.fixture
    def bench(self, azure) -> Bench:
        @contextmanager
        def losing():
            azure.fault = lambda _, request: (
                "unanswered" if request.writes and request.parameters["type"] == "CNAME" else None
            )
            yield azure_dns.store(azure.url, SystemClock())
            azure.fault = lambda *_: None

        store = azure_dns.store(azure.url, SystemClock())
        return Bench(store, Zone(ZONE, ZONE), azure.put, azure.drop, azure.truth, losing, rare="PTR")


class TestFaults(Faulted):
    @pytest.fixture
    def world(self, azure) -> World:
        return World(azure, Zone(ZONE, ZONE), lambda: azure_dns.store(azure.url, SystemClock()))


class TestMark:
    """The mark of a creation that is refused halfway."""

    def test_a_mark_beside_records_of_others_is_deleted_again(self, azure):
        domain = f"shop.{ZONE}"

        def fault(_, request):
            if request.writes and request.parameters["type"] == "CNAME":
                azure.put(RecordSet(domain, "A", ("192.0.2.1",), 120))

        store, zone = azure_dns.store(azure.url, SystemClock()), Zone(ZONE, ZONE)
        azure.fault = fault
        wanted = cname(domain)
        step = plan.settle(wanted, store.read(zone, wanted.names), US)
        with pytest.raises(DnsError) as told:
            store.write(zone, step.change)
        assert told.value.failure is Failure.CHANGED
        assert not azure.truth(ownership.mark_name(domain))
        assert [each.type for each in azure.truth(domain)] == ["A"]

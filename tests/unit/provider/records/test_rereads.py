"""However often refusals ask for the records, they are read a bounded number of times."""

from __future__ import annotations

from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.testing import FakeObjects, Journal
from provider.records.config_maps import DomainRecords
from provider.records.rereads import Rereads
from provider.records.use import Looks


class Counted(FakeObjects):
    """An API server that counts reads."""

    gets = 0

    def get(self, *request):
        self.gets += 1
        return super().get(*request)


def test_a_flood_of_refusals_reads_each_config_map_every_few_seconds():
    clock, api = FakeClock(), Counted(Journal())
    records = DomainRecords(api, "crossplane-system", Looks(clock, 60), clock=clock)
    records.load()
    domains = [f"d{number}.example.com" for number in range(500)]
    for _ in range(20):
        records.reread(domains)
    assert api.gets <= 128 + 64
    for _ in range(200):
        clock.advance(0.05)
        records.reread(domains)
    assert api.gets <= 128 + 64 + 10 * (10 + 64 / 5) + 64


def test_a_few_refusals_read_at_once():
    rereads = Rereads(FakeClock())
    assert all(rereads.due(7) for _ in range(100))


def test_a_config_map_that_was_not_read_lately_is_read_in_any_case():
    clock = FakeClock()
    rereads = Rereads(clock)
    spent = [rereads.due(1) for _ in range(200)]
    assert spent.count(True) == 128
    assert rereads.due(2)
    assert not rereads.due(2)
    clock.advance(60)
    assert [rereads.due(2) for _ in range(200)].count(True) == 128, "no more are saved up"

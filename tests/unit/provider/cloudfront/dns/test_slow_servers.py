"""A tenant with many domains on a DNS server that is slow: its reconcile ends soon, and says why it waits."""

from __future__ import annotations

import time

import pytest

from apis.drift import DriftPolicy
from edgetenants_runtime.clock import FakeClock
from edgetenants_runtime.errors import NotYet
from edgetenants_runtime.managed import Managed
from provider.cloudfront.dns.access import RecordsAccess
from provider.cloudfront.dns.work import TenantRecords
from provider.cloudfront.memory.record_tickets import RecordTickets
from provider.dns import ownership, server_pace
from provider.dns.errors import Failure, SilentNameServer
from provider.dns.ownership import Owner
from provider.dns.records import RecordSet
from provider.dns.remembering import RememberingStore
from provider.dns.server_pace import ServerPace
from provider.dns.store import Written
from tests.unit.provider.dns.memory import MemoryStore
from tests.unit.provider.dns.taken_turns import all_turns_taken
from tests.unit.provider.world import managed

ENDPOINT = "d1.cloudfront.net"
DOMAINS = [f"n{number}.example.test" for number in range(50)]


class Slow(MemoryStore):
    """Its name servers do not answer."""

    def __init__(self, *zones: str) -> None:
        super().__init__("example.test")
        self.asked: list[str] = []

    def is_served(self, zone, written):
        self.asked.append(written.ticket)
        raise SilentNameServer(Failure.LATER, f"name servers of {zone.name}: no answer")


def of(store, tickets=None) -> TenantRecords:
    access = RecordsAccess(store=store, owner=Owner.of("i", "n", "r"), tickets=tickets or RecordTickets())
    return TenantRecords(Managed(managed()), access, DriftPolicy.ENFORCE, succeeds=lambda _: False)


def test_a_busy_server_is_waited_for_once(monkeypatch):
    monkeypatch.setattr(server_pace, "_TURN_SECONDS", 0.2)
    pace = ServerPace(FakeClock(), "server")
    records = of(RememberingStore(Slow(), pace, FakeClock()))
    with all_turns_taken(pace):
        began = time.monotonic()
        look = records.look(DOMAINS, ENDPOINT)
        with pytest.raises(NotYet):
            records.release(DOMAINS)
        took = time.monotonic() - began
    assert took < 2
    assert {each.later for each in look.domains.values()} == {2.0}


def test_silent_name_servers_of_a_zone_are_asked_once(monkeypatch):
    store, tickets = Slow(), RecordTickets()
    records = of(store, tickets)
    for each in DOMAINS:
        tickets.note(records.mr.uid, each, store.zone, Written(each))
    records.look(DOMAINS, ENDPOINT)
    assert len(store.asked) == 1
    with pytest.raises(NotYet) as told:
        records.release(DOMAINS)
    assert len(store.asked) == 2
    said = str(told.value)
    assert "waiting until no name server answers with them: name servers of example.test: no answer. " in said
    assert "set propagation to Primary in spec.dns.rfc2136 of the ProviderConfig" in said
    assert [(each.reason, each.message) for each in told.value.conditions] == [("DNSPropagating", said)]


def test_why_records_are_not_seen_everywhere_is_told():
    store, tickets = Slow(), RecordTickets()
    (domain,) = DOMAINS[:1]
    owner = Owner.of("i", "n", "r")
    store.records = [RecordSet(domain, "CNAME", (ENDPOINT,), 300), ownership.mark(domain, owner)]
    records = of(store, tickets)
    tickets.note(records.mr.uid, domain, store.zone, Written("1"))
    records.look([domain], ENDPOINT)
    told = records.condition()
    assert told.reason == "DNSPropagating"
    assert (
        "not on every name server yet: name servers of example.test: no answer. If this lasts" in told.message
    )
    store.is_served = lambda zone, written: False
    records.look([domain], ENDPOINT)
    assert records.condition().message.endswith("not on every name server yet. No action is needed.")

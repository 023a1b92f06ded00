"""Whether the name servers of a zone have a change."""

from __future__ import annotations

import pytest

from edgetenants_emulator.dns.server import DnsServer
from edgetenants_emulator.zones.authority import Answer, Code
from edgetenants_emulator.zones.authority import RecordSet as Served
from provider.dns.errors import DnsError, Failure
from provider.dns.records import RecordSet, Zone
from provider.dns.rfc2136 import serving
from provider.dns.rfc2136.serving import Mark
from provider.dns.store import Change

ZONE = Zone("example.test", "example.test")
RECORD = RecordSet("a.example.test", "CNAME", ("d1.cloudfront.net",), 60)
TEXT = RecordSet("a.example.test", "TXT", ("x" * 4000,), 60)
CREATION = Change("a.example.test", creates=(RECORD,))
REMOVAL = Change("a.example.test", deletes=(RECORD,))


def has(mark: Mark, serial: int, *records: RecordSet, authoritative: bool = True) -> bool:
    """Whether a name server with that serial and these records has a change."""

    def look_up(name: str, kind: str) -> Answer:
        soa = f"ns.example.test. admin.example.test. {serial} 3600 600 86400 60"
        there = [Served(each.name, each.type, each.values, each.ttl) for each in records]
        there.append(Served(ZONE.name, "SOA", (soa,), 60))
        found = tuple(each for each in there if (each.name, each.type) == (name, kind))
        return Answer(Code.NO_ERROR, found, authoritative=authoritative)

    server = DnsServer(look_up)
    server.start()
    try:
        address, port = server.address
        return serving.has(ZONE, mark, "ns", [address], port)
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (5, 5, True),
        (5, 6, True),
        (5, 4, False),
        (2**32 - 1, 1, True),
        (1, 2**32 - 1, False),
    ],
)
def test_a_serial_is_compared_in_a_circle(ours, theirs, expected):
    assert has(Mark.of(ours, CREATION), theirs) is expected


def test_a_server_with_other_serials_has_what_it_answers_with():
    mark = Mark.of(5, CREATION)
    assert has(mark, 1, RECORD)
    other = RecordSet("a.example.test", "CNAME", ("d2.cloudfront.net",), 60)
    assert not has(mark, 1, other)
    assert not has(Mark.of(5, REMOVAL), 1, RECORD)
    assert has(Mark.of(5, REMOVAL), 1)


def test_a_server_that_is_not_authoritative_has_nothing():
    assert not has(Mark.of(5, CREATION), 9, RECORD, authoritative=False)
    assert not has(Mark.of(5, REMOVAL), 9, authoritative=False)


def test_a_text_that_is_too_long_for_a_datagram_is_read_over_tcp():
    pieces = RecordSet("a.example.test", "TXT", (" ".join(f'"{"x" * 250}"' for _ in range(16)),), 60)
    assert has(Mark.of(5, Change("a.example.test", creates=(TEXT,))), 1, pieces)


def test_a_ticket_is_read_back():
    for change in (CREATION, REMOVAL, Change("a", keeps=(RECORD,))):
        mark = Mark.of(7, change)
        assert Mark.parse(str(mark)) == mark
    for ticket in ("", "7", "x a CNAME -", "7 a CNAME"):
        assert Mark.parse(ticket) is None


@pytest.mark.parametrize("addresses", [[], ["127.0.0.1"]])
def test_a_name_server_that_does_not_answer_is_told(addresses, monkeypatch):
    monkeypatch.setattr(serving, "_SECONDS", 0.05)
    with pytest.raises(DnsError, match=r"name server ns\.example\.net of zone example\.test") as told:
        serving.has(ZONE, Mark.of(1, CREATION), "ns.example.net", addresses, 1)
    assert told.value.failure is Failure.LATER


def test_the_next_address_is_asked_when_the_first_does_not_answer(monkeypatch):
    monkeypatch.setattr(serving, "_SECONDS", 0.2)
    asked = []

    def _has(zone: Zone, mark: Mark, address: str, port: int) -> bool:
        asked.append(address)
        if address == "2001:db8::1":
            raise OSError("Network is unreachable")
        return True

    monkeypatch.setattr(serving, "_has", _has)
    assert serving.has(ZONE, Mark.of(1, CREATION), "ns", ["2001:db8::1", "192.0.2.1", "192.0.2.2"], 53)
    assert asked == ["2001:db8::1", "192.0.2.1"]
    asked.clear()
    with pytest.raises(DnsError):
        serving.has(ZONE, Mark.of(1, CREATION), "ns", ["2001:db8::1"] * 100, 53)
    assert len(asked) == 4


def test_the_system_resolves_names():
    assert "127.0.0.1" in serving.system_addresses("localhost")
    assert not list(serving.system_addresses("no name.invalid"))

"""Whether the name servers of a zone have a change."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import dns.name
import dns.resolver
import pytest

from edgetenants_emulator.dns.server import DnsServer
from edgetenants_emulator.zones.authority import Answer, Code
from edgetenants_emulator.zones.authority import RecordSet as Served
from edgetenants_runtime import deadline
from edgetenants_runtime.clock import FakeClock
from provider.dns.errors import DnsError, Failure, SilentNameServer
from provider.dns.records import RecordSet, Zone
from provider.dns.rfc2136 import Server, serving, silence, store
from provider.dns.rfc2136.serving import Mark
from provider.dns.rfc2136.silence import SilentServers
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


@pytest.mark.parametrize("change", [CREATION, REMOVAL])
def test_a_server_that_does_not_serve_the_zone_is_named(change):
    """The provider would wait for it without a word, for ever."""
    with pytest.raises(DnsError, match=r"name server ns of zone .* does not serve"):
        has(Mark.of(5, change), 9, *([RECORD] if change is CREATION else []), authoritative=False)


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
        if address == "2001:db8::1" or address.startswith("192.0.2.0"):
            raise OSError("Network is unreachable")
        return True

    monkeypatch.setattr(serving, "_has", _has)
    for addresses in (["2001:db8::1", "192.0.2.0"], ["192.0.2.0", "2001:db8::1", "192.0.2.0"]):
        asked.clear()
        with pytest.raises(DnsError, match="2001:db8::1 does not answer"):
            serving.has(ZONE, Mark.of(1, CREATION), "ns", addresses, 53)
        assert asked == ["192.0.2.0", "2001:db8::1"], "the words do not change with the order"
    asked.clear()
    assert serving.has(ZONE, Mark.of(1, CREATION), "ns", ["2001:db8::1", "192.0.2.0", "192.0.2.2"], 53)
    assert asked == ["192.0.2.0", "192.0.2.2"]
    asked.clear()
    many = [f"192.0.2.0/{number}" for number in range(100)]
    with pytest.raises(DnsError):
        serving.has(ZONE, Mark.of(1, CREATION), "ns", many, 53)
    assert len(asked) == 4


@contextmanager
def resolver(monkeypatch: pytest.MonkeyPatch, address: str, port: int) -> Iterator[None]:
    """The system has this one."""
    made = dns.resolver.Resolver(configure=False)
    made.nameservers, made.port, made.search = [address], port, [dns.name.from_text("cluster.local.")]
    with monkeypatch.context() as patched:
        patched.setattr(dns.resolver, "Resolver", lambda: made)
        yield


def test_the_resolvers_of_the_system_find_addresses(monkeypatch):
    known = {("ns.example.test", "A"): "192.0.2.1", ("ns.example.test", "AAAA"): "2001:db8::1"}
    asked = []

    def look_up(name: str, kind: str) -> Answer:
        asked.append(name)
        value = known.get((name, kind))
        found = (Served(name, kind, (value,), 60),) if value else ()
        return Answer(Code.NO_ERROR if found else Code.NO_SUCH_NAME, found)

    server = DnsServer(look_up)
    server.start()
    try:
        with resolver(monkeypatch, *server.address):
            assert set(serving.system_addresses("ns.example.test")) == {"192.0.2.1", "2001:db8::1"}
            assert not list(serving.system_addresses("other.example.test"))
            assert not list(serving.system_addresses("no name..invalid"))
    finally:
        server.stop()
    assert set(asked) == {"ns.example.test", "other.example.test"}, "no name is completed"


def test_a_resolver_that_does_not_answer_takes_little_time(monkeypatch):
    monkeypatch.setattr(serving, "_SECONDS", 0.2)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        began = time.monotonic()
        with resolver(monkeypatch, *silent.getsockname()):
            assert not list(serving.system_addresses("ns.example.test"))
    assert time.monotonic() - began < 2


def test_a_system_without_resolvers_finds_none(monkeypatch):
    def missing() -> None:
        raise dns.resolver.NoResolverConfiguration

    monkeypatch.setattr(dns.resolver, "Resolver", missing)
    assert not list(serving.system_addresses("ns.example.test"))


def test_name_servers_that_are_slow_are_not_all_asked(monkeypatch):
    monkeypatch.setattr(store, "_SERVED_SECONDS", -1.0)
    mark, how = Mark.of(1, CREATION), store.NameServers(53, lambda _: ["192.0.2.1"])
    made = store.Rfc2136Store(Server("127.0.0.1"), None, clock=FakeClock())
    with pytest.raises(
        DnsError, match=r"the name servers of zone example\.test did not answer within"
    ) as told:
        made._all_have(ZONE, mark, ["ns1", "ns2"], how)
    assert told.value.failure is Failure.LATER


class TestSilence:
    """A name server that is gone costs some seconds for each question."""

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def asked(self, monkeypatch) -> list[str]:
        """The name servers that were asked; those in `silent` do not answer."""
        asked: list[str] = []
        self.silent = {"ns2"}

        def has(zone: Zone, mark: Mark, server: str, addresses: object, port: int) -> bool:
            asked.append(f"{server} {zone.name}")
            if server in self.silent:
                raise SilentNameServer(Failure.LATER, f"name server {server}: it is gone")
            return True

        monkeypatch.setattr(serving, "has", has)
        return asked

    def ask(self, made: store.Rfc2136Store, zone: Zone = ZONE) -> str:
        how = store.NameServers(53, lambda _: ["192.0.2.1"])
        try:
            return str(made._all_have(zone, Mark.of(1, CREATION), ["ns1", "ns2"], how))
        except SilentNameServer as error:
            return str(error)

    def test_it_is_left_alone_for_a_minute(self, clock, asked):
        made = store.Rfc2136Store(Server("127.0.0.1"), None, clock=clock)
        said = [self.ask(made) for _ in range(5)]
        assert said == ["name server ns2: it is gone"] * 5
        assert asked.count("ns2 example.test") == 1
        clock.advance(61)
        self.ask(made)
        assert asked.count("ns2 example.test") == 2

    @pytest.mark.parametrize(("seconds", "times"), [(1.0, 2), (30.0, 1)])
    def test_a_reconcile_without_time_says_nothing_about_it(self, clock, asked, seconds, times):
        made = store.Rfc2136Store(Server("127.0.0.1"), None, clock=clock)
        with deadline.within(seconds, clock):
            self.ask(made)
        self.ask(made)
        assert asked.count("ns2 example.test") == times

    def test_one_without_an_address_is_looked_up_again(self, clock, asked):
        made = store.Rfc2136Store(Server("127.0.0.1"), None, clock=clock)
        how = store.NameServers(53, lambda _: ())
        for _ in range(2):
            with pytest.raises(SilentNameServer):
                made._all_have(ZONE, Mark.of(1, CREATION), ["ns2"], how)
        assert asked.count("ns2 example.test") == 2

    def test_it_is_asked_for_other_zones(self, clock, asked):
        made = store.Rfc2136Store(Server("127.0.0.1"), None, clock=clock)
        self.ask(made)
        self.ask(made, Zone("other.test", "other.test"))
        assert asked.count("ns2 other.test") == 1

    def test_one_that_answers_again_is_asked_as_any(self, clock, asked):
        made = store.Rfc2136Store(Server("127.0.0.1"), None, clock=clock)
        self.ask(made)
        self.silent.clear()
        clock.advance(61)
        assert self.ask(made) == "True"
        clock.advance(-30)
        assert self.ask(made) == "True"

    def test_an_answer_clears_what_was_known(self, clock):
        silent = SilentServers(clock)
        silent.note("z", "ns1", "gone")
        assert silent.why("z", "ns1") == "gone"
        silent.answered("z", "ns1")
        silent.answered("z", "ns1")
        assert silent.why("z", "ns1") == ""

    def test_what_is_remembered_is_bounded(self, clock, monkeypatch):
        monkeypatch.setattr(silence, "_MOST", 2)
        silent = SilentServers(clock)
        for number in range(4):
            silent.note("z", f"ns{number}", "gone")
        assert [silent.why("z", f"ns{number}") for number in range(4)] == ["", "", "gone", "gone"]

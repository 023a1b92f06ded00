"""Odd answers, certificates and errors of what answers in the place of PowerDNS: each is a DnsError, and its
words are the same at each attempt."""

from __future__ import annotations

import json
import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trustme

from edgetenants_runtime.clock import FakeClock
from provider.dns import powerdns
from provider.dns.errors import DnsError, Failure, Unreachable
from provider.dns.powerdns import Api, PowerDnsStore
from provider.dns.records import Zone
from tests.unit.provider.dns import scripted
from tests.unit.provider.dns.scripted import HOST, http

ZONE = Zone("example.test.", "example.test")
NAME = "a.example.test"
KEY = "a-key"
DEEP = b"[" * 200_000


def asked(status: int, body: object, *, zone: bool = False, **headers: str) -> DnsError:
    """How a read, or a look for a zone, fails with this answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with http(lambda *_: (status, headers, data)) as port:
        store = PowerDnsStore(Api(f"http://{HOST}:{port}", KEY))
        with pytest.raises(DnsError) as told:
            store.zone_of(NAME) if zone else store.read(ZONE, [NAME])
    return told.value


def rrset(**fields: object) -> dict[str, object]:
    records = [{"content": "192.0.2.1", "disabled": False}]
    return {"rrsets": [{"name": f"{NAME}.", "type": "A", "ttl": 60, "records": records, **fields}]}


@pytest.mark.parametrize(
    "body",
    [
        rrset(name=7),
        rrset(name=None),
        rrset(name={"a": 1}),
        rrset(type=7),
        rrset(ttl="60"),
        rrset(ttl=-1),
        rrset(ttl=2**31),
        rrset(ttl=1.5),
        rrset(records={"content": "x"}),
        rrset(records="x"),
        rrset(records=[1]),
        rrset(records=[{"content": 7}]),
        rrset(records=[{"content": "\ud83d"}]),
        {"rrsets": {"name": NAME}},
        {"rrsets": [None]},
        [],
        7,
        b'{"rrsets": [{"name": "a.example.test.", "type": "A", "ttl": Infinity, "records": []}]}',
        DEEP,
        b"\xff\xfe",
    ],
)
def test_an_odd_answer_to_a_read_is_told(body):
    assert asked(200, body).failure is Failure.LATER


@pytest.mark.parametrize(
    "body",
    [
        {"name": NAME},
        [7],
        [{"name": 7, "id": "x", "kind": "Native"}],
        [{"name": f"{NAME}.", "id": 7, "kind": "Native"}],
        [{"name": f"{NAME}.", "id": "\ud83d", "kind": "Native"}],
        [{"name": f"{NAME}.", "id": "x", "kind": None}],
        [{"name": f"{NAME}."}],
        DEEP,
    ],
)
def test_an_odd_answer_to_a_look_for_a_zone_is_told(body):
    told = asked(200, body, zone=True)
    assert told.failure is Failure.LATER
    assert f"look for zone {NAME}" in str(told)


@pytest.mark.parametrize("body", [DEEP, {"error": 7}, {"error": ["x"]}, [], b"\xff"])
def test_an_odd_refusal_is_told(body):
    assert "403: without words of PowerDNS" in str(asked(403, body))


def test_the_words_of_a_refusal_are_the_same_at_each_attempt():
    """A proxy's page has the time and the number of the request."""
    pages = (b"<html>request 17 at 10:01</html>", b"<html>request 18 at 10:02</html>")
    numbers = re.compile(r"127\.0\.0\.1:\d+")
    first, second = (numbers.sub("", str(asked(403, each))) for each in pages)
    assert first == second
    assert "it said no" in str(asked(422, {"error": "it\n  said\tno"}))


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7.0), ("99999999", 3600.0), ("9" * 400, 3600.0), ("x", None)]
)
def test_no_wait_that_the_server_asks_for_lasts_for_ever(header, seconds):
    assert asked(429, {"error": "slowly"}, **{"Retry-After": header}).after == seconds


@contextmanager
def tls(authority: trustme.CA, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a server that has a certificate of this authority, and no zones."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)

    class Server(scripted.ThreadingHTTPServer):
        def get_request(self):
            opened, address = super().get_request()
            return context.wrap_socket(opened, server_side=True), address

        def handle_error(self, *_: object) -> None:
            """Print nothing."""

    monkeypatch.setattr(scripted, "ThreadingHTTPServer", Server)
    with http(lambda *_: (200, {}, b"[]")) as port:
        yield port


class TestAuthorities:
    def test_those_of_the_config_are_trusted_and_no_other(self, monkeypatch):
        mine, other = trustme.CA(), trustme.CA()
        pem, wrong = (each.cert_pem.bytes().decode() for each in (mine, other))
        with tls(mine, monkeypatch) as port:
            api = Api(f"https://localhost:{port}", KEY)
            assert PowerDnsStore(api, authorities=f"# a comment\n{wrong}\n{pem}").zone_of(NAME) is None
            with pytest.raises(DnsError, match="its certificate is not valid or not trusted: ") as told:
                PowerDnsStore(api, authorities=wrong).zone_of(NAME)
        assert told.value.failure is Failure.NOT_PERMITTED
        assert not isinstance(told.value, Unreachable), "it has answered, so it needs no pause"

    @pytest.mark.parametrize(
        ("pem", "words"),
        [
            ("", "got no line -----BEGIN CERTIFICATE-----"),
            (" ", "got no line -----BEGIN CERTIFICATE-----"),
            ("-----BEGIN CERTIFICATE-----\nAAAA", "got no line -----BEGIN CERTIFICATE-----"),
            ("-----BEGIN CERTIFICATE----- \u00e9", "got characters that are not ASCII"),
            ("\ud83d", "got characters that are not ASCII"),
        ],
    )
    def test_what_is_no_certificate_is_told(self, pem, words):
        with pytest.raises(ValueError, match=words):
            PowerDnsStore(Api("https://a", KEY), authorities=pem)

    def test_the_broken_one_of_several_is_told(self):
        good = trustme.CA().cert_pem.bytes().decode()
        broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        with pytest.raises(ValueError, match=r"^certificate 2 of 2 cannot be read: [^()]+$"):
            PowerDnsStore(Api("https://a", KEY), authorities=good + broken)

    def test_many_begins_take_no_time(self):
        ended = threading.Event()

        def read() -> None:
            with pytest.raises(ValueError, match="got no line"):
                PowerDnsStore(Api("https://a", KEY), authorities="-----BEGIN CERTIFICATE-----\n" * 2000)
            ended.set()

        threading.Thread(target=read, daemon=True).start()
        assert ended.wait(1)


class TestZones:
    """Without `zones`, each name from the domain upwards may be one."""

    @contextmanager
    def asking(self, *zones: str) -> Iterator[tuple[PowerDnsStore, list[str], FakeClock]]:
        asked: list[str] = []

        def answer(_: str, path: str, __: bytes) -> tuple[int, dict[str, str], bytes]:
            name = path.partition("zone=")[2].removesuffix(".")
            asked.append(name)
            there = [{"name": f"{name}.", "id": f"{name}.", "kind": "Native"}] if name in zones else []
            return 200, {}, json.dumps(there).encode()

        clock = FakeClock()
        with http(answer) as port:
            yield PowerDnsStore(Api(f"http://{HOST}:{port}", KEY), clock=clock), asked, clock

    def test_the_names_above_are_asked_for_once(self):
        with self.asking("example.test") as (store, asked, _):
            for number in range(5):
                assert store.zone_of(f"n{number}.a.b.example.test") == ZONE
            assert [asked.count(name) for name in ("a.b.example.test", "b.example.test")] == [1, 1]

    def test_for_a_minute(self):
        with self.asking("example.test") as (store, asked, clock):
            store.zone_of("n.a.example.test")
            clock.advance(61)
            store.zone_of("m.a.example.test")
            assert asked.count("a.example.test") == 2

    def test_a_zone_that_is_there_is_not_remembered(self):
        with self.asking("example.test") as (store, asked, _):
            store.zone_of(NAME)
            store.zone_of(NAME)
            assert asked.count("example.test") == 2, "it may be deleted"

    def test_a_long_name_takes_some_looks_with_a_few_requests(self):
        name = f"{'x.' * 30}example.test"
        with self.asking("example.test") as (store, asked, clock):
            for tries in range(1, 6):
                with pytest.raises(DnsError, match="there are more names to ask for") as told:
                    store.zone_of(name)
                assert (told.value.failure, told.value.after) == (Failure.LATER, 1.0)
                assert len(asked) == 6 * tries
                clock.advance(1.0)
            assert store.zone_of(name) == ZONE
            assert len(asked) == 31

    def test_what_is_remembered_is_bounded(self, monkeypatch):
        monkeypatch.setattr(powerdns, "_MOST_WITHOUT", 3)
        without = powerdns._NoZones(FakeClock())
        for number in range(5):
            without.note(f"n{number}")
        assert [without.has(f"n{number}") for number in range(5)] == [False, False, True, True, True]

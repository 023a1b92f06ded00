"""What a store for PowerDNS makes of answers that a real one seldom gives."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable

import pytest

from edgetenants_runtime import deadline
from provider.dns import bounded_http, plan
from provider.dns.errors import DnsError, Failure, Unreachable
from provider.dns.expectations import differs_before
from provider.dns.powerdns import Api, PowerDnsStore
from provider.dns.records import RecordSet, Zone
from provider.dns.store import Change, Found
from tests.unit.provider.dns.conformance import US, cname
from tests.unit.provider.dns.scripted import HOST, bytes_over_tcp, http

KEY = "a-key-that-no-text-may-contain"
ZONE = Zone("example.test.", "example.test")
WANTED = cname("a.example.test")
CHANGE = Change(WANTED.domain, creates=WANTED.records)
Given = tuple[int, dict[str, str], bytes] | None


def zone(*rrsets: dict[str, object]) -> Given:
    return 200, {}, json.dumps({"rrsets": rrsets}).encode()


def rrset(name: str, kind: str, *contents: str, disabled: bool = False) -> dict[str, object]:
    records = [{"content": each, "disabled": disabled} for each in contents]
    return {"name": name, "type": kind, "ttl": 60, "records": records}


def failure(given: Callable[[], Given] | Given, *, write: bool, first: Given = None) -> DnsError:
    """How a write, after a read of nothing, or a read fails with that answer."""

    def answer(method: str, path: str, body: bytes) -> Given:
        if write and method == "GET":
            return first or zone()
        return given() if callable(given) else given

    with http(answer) as port:
        store = PowerDnsStore(Api(f"http://{HOST}:{port}", KEY))
        assert KEY not in repr(store) + str(store) + repr(Api("", KEY))
        with pytest.raises(DnsError) as told:
            store.write(ZONE, CHANGE) if write else store.read(ZONE, [WANTED.domain])
    assert KEY not in str(told.value)
    return told.value


@pytest.mark.parametrize(
    ("status", "read", "written"),
    [
        (301, Failure.REFUSED, Failure.REFUSED),
        (400, Failure.REFUSED, Failure.REFUSED),
        (401, Failure.NOT_PERMITTED, Failure.NOT_PERMITTED),
        (403, Failure.NOT_PERMITTED, Failure.NOT_PERMITTED),
        (404, Failure.NO_ZONE, Failure.NO_ZONE),
        (422, Failure.REFUSED, Failure.REFUSED),
        (429, Failure.LATER, Failure.LATER),
        (408, Failure.LATER, Failure.UNCERTAIN),
        (500, Failure.LATER, Failure.UNCERTAIN),
        (502, Failure.LATER, Failure.UNCERTAIN),
        (503, Failure.LATER, Failure.UNCERTAIN),
        (504, Failure.LATER, Failure.UNCERTAIN),
    ],
)
def test_what_a_status_means(status, read, written):
    body = json.dumps({"error": f"it said {KEY}"}).encode()
    given = (status, {"Retry-After": "7", "Location": "http://127.0.0.1:1/"}, body)
    for write, expected in ((False, read), (True, written)):
        told = failure(given, write=write)
        assert (told.failure, told.after) == (expected, 7)
        assert f"{status}: it said ***" in str(told)


def test_long_words_are_cut():
    assert len(str(failure((422, {}, json.dumps({"error": "x" * 5000}).encode()), write=False))) < 500


def test_no_answer_to_a_change_is_uncertain_and_to_a_read_is_not():
    assert failure(None, write=True).failure is Failure.UNCERTAIN
    assert failure(None, write=False).failure is Failure.LATER


def test_no_wait_outlasts_the_reconcile():
    ends = threading.Event()
    with deadline.within(0.3):
        told = failure(lambda: ends.wait(5) and None, write=True)
    ends.set()
    assert told.failure is Failure.UNCERTAIN


def test_a_server_that_is_not_there_was_not_asked():
    store = PowerDnsStore(Api(f"http://{HOST}:1", KEY))
    with pytest.raises(DnsError, match="no connection") as told:
        store.zone_of("a.example.test")
    assert told.value.failure is Failure.LATER


@pytest.mark.parametrize(
    "body", [b"<html>", b'{"rrsets": [{"name": "a.example.test."}]}', b'{"rrsets": [1]}']
)
def test_an_answer_of_another_form_is_no_reading(body):
    assert failure((200, {}, body), write=False).failure is Failure.LATER


def test_a_change_that_is_not_there_afterwards_is_told():
    told = failure((204, {}, b""), write=True)
    assert told.failure is Failure.UNCERTAIN
    assert "accepted, but not confirmed: expected a.example.test CNAME d111111abcdef8.cloudf" in str(told)


def test_nothing_is_written_over_records_that_are_in_the_way():
    told = failure((500, {}, b""), write=True, first=zone(rrset("a.example.test.", "A", "192.0.2.1")))
    assert told.failure is Failure.CHANGED


def read(*rrsets: dict[str, object]) -> tuple[RecordSet, ...]:
    with http(lambda *_: zone(*rrsets)) as port:
        store = PowerDnsStore(Api(f"http://{HOST}:{port}/", KEY))
        return store.read(ZONE, [WANTED.domain]).of(WANTED.domain)


def test_other_names_in_an_answer_are_left_out():
    """An older version does not know the filter, and answers with the whole zone."""
    found = read(rrset("b.example.test.", "A", "192.0.2.1"), rrset("A.example.test.", "A", "192.0.2.2"))
    assert [each.values for each in found] == [("192.0.2.2",)]


def test_a_type_of_powerdns_only_is_read_as_it_is():
    (found,) = read(rrset("a.example.test.", "LUA", "A \"ifportup(443, {'192.0.2.1'})\""))
    assert (found.type, found.values) == ("LUA", ("A \"ifportup(443, {'192.0.2.1'})\"",))


@pytest.mark.parametrize("kind", ["CNAME", "ALIAS"])
def test_a_record_that_is_put_aside_is_never_deleted(kind):
    with http(lambda *_: zone(rrset("a.example.test.", kind, "b.example.net.", disabled=True))) as port:
        found = PowerDnsStore(Api(f"http://{HOST}:{port}", KEY)).read(ZONE, WANTED.names)
    assert plan.settle(WANTED, found, US, take_over=True).standing is plan.Standing.TAKEN


def test_a_zone_of_a_kind_that_takes_no_changes_hides_those_above_it():
    listed = {"copied.example.test.": "Consumer", "example.test.": "Native"}

    def answer(method: str, path: str, body: bytes) -> Given:
        name = path.partition("zone=")[2]
        kind = listed.get(name)
        zones = [{"id": name, "name": name, "kind": kind}] if kind else []
        return 200, {}, json.dumps(zones).encode()

    with http(answer) as port:
        store = PowerDnsStore(Api(f"http://{HOST}:{port}", KEY))
        assert store.zone_of("a.copied.example.test") is None
        assert store.zone_of("*.example.test") == ZONE


@pytest.mark.parametrize("kind", ["A", "AAAA", "HTTPS", "SVCB", "ANAME", "CNAME", "ALIAS"])
def test_no_alias_is_written_beside_what_answers_with_addresses(kind):
    """PowerDNS accepts it, and answers with one of them."""
    alias = RecordSet(ZONE.name, "ALIAS", ("d1.cloudfront.net",), 60, alias=True)
    there = RecordSet(ZONE.name, kind, ("192.0.2.1",), 60)
    found = Found({ZONE.name: (there, RecordSet(ZONE.name, "SOA", ("x",), 60))})
    assert "no records in the way" in differs_before(Change(ZONE.name, creates=(alias,)), found)
    assert differs_before(Change(ZONE.name, deletes=(there,), creates=(alias,)), found) == ""
    assert differs_before(Change(ZONE.name, creates=(there,)), Found({ZONE.name: (alias,)}))


@pytest.mark.parametrize("kind", ["MX", "TXT", "NS", "CAA"])
def test_an_alias_is_written_beside_other_types(kind):
    alias = RecordSet(ZONE.name, "ALIAS", ("d1.cloudfront.net",), 60, alias=True)
    found = Found({ZONE.name: (RecordSet(ZONE.name, kind, ("x",), 60),)})
    assert differs_before(Change(ZONE.name, creates=(alias,)), found) == ""


@pytest.mark.parametrize(
    "begin",
    [b"", b"HTTP/1.1 100 Continue\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"],
    ids=["status", "continue", "body"],
)
@pytest.mark.parametrize("write", [True, False])
def test_an_answer_that_comes_byte_by_byte_ends_in_time(monkeypatch, begin, write):
    monkeypatch.setattr(bounded_http.Bounded, "SECONDS", 0.4)
    ends = threading.Event()

    def send(write: Callable[[bytes], None]) -> None:
        write(begin)
        while not ends.wait(0.02):
            write(b"1")

    began = time.monotonic()
    with bytes_over_tcp(send) as port:
        store = PowerDnsStore(Api(f"http://{HOST}:{port}", KEY))
        with pytest.raises(Unreachable) as told:
            store._asked("PATCH" if write else "GET", "/zones", "look")
    ends.set()
    assert time.monotonic() - began < 3
    assert told.value.failure is (Failure.UNCERTAIN if write else Failure.LATER)


def test_many_bytes_of_an_answer_are_not_read():
    told = failure((200, {}, b"[" + b"1," * 600_000 + b"1]"), write=False)
    assert told.failure is Failure.LATER
    assert "expected at most 1048576 bytes" in str(told)
    assert failure((204, {}, b" " * 1_100_000), write=True).failure is Failure.UNCERTAIN


def test_an_answer_is_not_unpacked():
    body = gzip.compress(b"[" + b" " * 50_000_000 + b"]")
    told = failure((200, {"Content-Encoding": "gzip"}, body), write=False)
    assert (told.failure, "the answer is no JSON" in str(told)) == (Failure.LATER, True)


def test_a_connection_is_used_again():
    ports = set()

    def answer(method: str, path: str, body: bytes) -> Given:
        return zone()

    with http(answer) as port:
        store = PowerDnsStore(Api(f"http://{HOST}:{port}", KEY))
        for _ in range(3):
            store.read(ZONE, [WANTED.domain])
            (pool,) = store._http.pools._container.values()
            ports.add(pool.num_connections)
    assert ports == {1}

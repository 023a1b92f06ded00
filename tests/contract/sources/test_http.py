"""JSON pages from a server of the test, over TLS on loopback."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network

import pytest
import trustme

from apis.tenantsource import Paging
from edgetenants_runtime.clock import FakeClock, SystemClock
from sources.stores import http
from sources.stores.http import Confinement, HttpStore, Limits, Pages
from sources.stores.store import StoreError, StoreReason

SECRET, CANARY = "canary-of-the-token", "canary-of-a-row"
LOOPBACK = ip_network("127.0.0.0/8")
SIX = [{"key": str(n), "plan": CANARY} for n in range(6)]


class Api:
    def __init__(self):
        self.requests, self.answers, self.port, self.ca = [], {}, 0, ""

    def put(self, path, body, status=200, cut=0, **headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers.setdefault(path, []).append((status, headers, data, cut))

    def store(
        self, path="/a", allowed=None, limits=None, resolve=lambda host, port: ["127.0.0.1"], **changes
    ):
        url = f"https://api.example:{self.port}{path}"
        pages = Pages(url, Paging.SINGLE, headers={"Authorization": SECRET}, ca=self.ca)
        allowed = allowed or Confinement([f"api.example:{self.port}"], [LOOPBACK])
        limits = limits or Limits(connect=2, silence=2)
        return HttpStore(replace(pages, **changes), allowed, SystemClock(), limits=limits, resolve=resolve)


@contextmanager
def serving(name="api.example"):
    api, authority = Api(), trustme.CA()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            api.requests.append((self.path, dict(self.headers)))
            queue = api.answers[self.path]
            status, headers, data, cut = queue.pop(0) if len(queue) > 1 else queue[0]
            if headers.get("ETag") and self.headers.get("If-None-Match") == headers["ETag"]:
                status, data = 304, b""
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) - cut])

        def log_message(self, *_):
            pass

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(name).configure_cert(context)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None
    server.socket = context.wrap_socket(server.socket, server_side=True)
    api.port, api.ca = server.server_port, authority.cert_pem.bytes().decode()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def api():
    with serving() as found:
        yield found


def rows(store):
    with store.read() as reading:
        return [dict(row.columns) for row in reading]


def failure(store):
    with pytest.raises(StoreError) as caught:
        rows(store)
    said = f"{caught.value} {caught.value.__cause__}"
    assert SECRET not in said
    assert CANARY not in said
    return caught.value.reason


@pytest.mark.parametrize(
    "written", ['</b>; rel="last next"', "</b>; Rel=Next", "</b>; rel='next'", '</b>; rel = "next"']
)
def test_a_next_page_in_other_words_is_not_the_end(api, written):
    api.put("/a", SIX[:3], Link=written)
    for paging in (Paging.LINK, Paging.SINGLE):
        assert failure(api.store(paging=paging)) == StoreReason.INVALID_DATA


def test_pages_by_link_url_and_cursor(api):
    api.put("/a", SIX[:3], Link='</b>; rel="prev", </b>; rel="next"')
    api.put("/b", SIX[3:], Link='</a>; rel="prev"')
    assert rows(api.store(paging=Paging.LINK)) == SIX
    api.put("/c", {"data": {"items": SIX[:3]}, "next": "/d"})
    api.put("/d", {"data": {"items": SIX[3:]}, "next": None})
    assert rows(api.store("/c", items="/data/items", paging=Paging.NEXT_URL, next_url="/next")) == SIX
    api.put("/e?size=3", {"items": SIX[:3], "after": "x/ y"})
    api.put("/e?size=3&cursor=x%2F+y", {"items": SIX[3:], "after": ""})
    assert rows(api.store("/e?size=3", items="/items", paging=Paging.CURSOR, cursor="/after")) == SIX
    assert {headers["Host"] for _, headers in api.requests} == {f"api.example:{api.port}"}
    assert {headers["Authorization"] for _, headers in api.requests} == {SECRET}


def test_an_empty_list_is_complete_and_no_list_is_an_error(api):
    api.put("/a", [])
    assert rows(api.store()) == []
    for number, body in enumerate(({"error": CANARY}, "x", None, b"{", b'{"a":[],"a":[]}', b"[" * 100_000)):
        api.put(f"/{number}", body)
        assert failure(api.store(f"/{number}")) == StoreReason.INVALID_DATA


def test_a_value_without_an_exact_form_concerns_its_own_row_only(api):
    deep = "[" * 5000 + "]" * 5000
    bad = f'{{"key": "b", "n": NaN, "m": {deep}, "o": 1, "o": 2, "p": {"9" * 5000}, "q": 3}}'
    api.put("/a", f'[{{"key": "a"}}, {bad}, ["{CANARY}"], {{"key": "c"}}]'.encode())
    with api.store().read() as reading:
        first, bad, damaged, last = reading
    assert (first.columns, damaged.columns, last.columns) == ({"key": "a"}, {}, {"key": "c"})
    assert (bad.columns, sorted(bad.unfit)) == ({"key": "b", "q": 3}, ["m", "n", "o", "p"])
    assert damaged.place == "page 1, row 3"


def test_a_page_has_a_bound_of_values_too(api):
    api.put("/a", b"[" + b"[]," * 999_999 + b"[]]")
    assert failure(api.store()) == StoreReason.INVALID_DATA


def test_a_missing_next_is_an_error(api):
    api.put("/a", {"items": SIX})
    assert (
        failure(api.store(items="/items", paging=Paging.NEXT_URL, next_url="/next"))
        == StoreReason.INVALID_DATA
    )
    assert (
        failure(api.store(items="/items", paging=Paging.CURSOR, cursor="/next")) == StoreReason.INVALID_DATA
    )


@pytest.mark.parametrize("odd", [False, True, 1.5, [], {}])
def test_a_next_page_of_another_kind_is_not_the_last_page(api, odd):
    api.put("/a", {"items": SIX, "next": odd})
    assert (
        failure(api.store(items="/items", paging=Paging.CURSOR, cursor="/next")) == StoreReason.INVALID_DATA
    )


def test_a_cursor_may_be_zero(api):
    api.put("/a", {"items": SIX[:3], "next": 0})
    api.put("/a?cursor=0", {"items": SIX[3:], "next": None})
    assert rows(api.store(items="/items", paging=Paging.CURSOR, cursor="/next")) == SIX


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_body_that_is_cut_never_ends_normally(api, cut):
    api.put("/a", SIX, cut=cut)
    assert failure(api.store()) == StoreReason.UNREACHABLE
    api.put("/b", SIX, Link="</a>; rel=next")
    assert failure(api.store("/b", paging=Paging.LINK)) == StoreReason.INCOMPLETE


@pytest.mark.parametrize(
    "body",
    [
        {"data": SIX, "next": "/b"},
        {"data": SIX, "links": {"next": {"href": "/b"}}},
        {"data": SIX, "meta": {"has_more": True}},
        {"data": SIX, "nextPageToken": "x"},
        {"data": SIX, "@odata.nextLink": "x"},
    ],
)
def test_a_page_that_names_a_next_one_is_not_the_whole_table(api, body):
    api.put("/a", body)
    assert failure(api.store(items="/data")) == StoreReason.INVALID_DATA
    api.put("/b", {"all": body})
    assert failure(api.store("/b", items="/all/data")) == StoreReason.INVALID_DATA


@pytest.mark.parametrize(
    "body", [SIX, {"data": SIX, "next": None}, {"data": SIX, "meta": {"hasMore": False, "page": 1}}]
)
def test_a_page_that_names_none_is(api, body):
    api.put("/a", body)
    assert rows(api.store(items="" if body is SIX else "/data")) == SIX


def test_without_its_link_header_a_page_is_not_the_last_one(api):
    api.put("/a", SIX)
    assert failure(api.store(paging=Paging.LINK)) == StoreReason.INVALID_DATA
    api.put("/b", SIX[:3], Link="</c>; rel=next")
    api.put("/c", SIX[3:])
    assert failure(api.store("/b", paging=Paging.LINK)) == StoreReason.INVALID_DATA
    api.put("/d", SIX, X_Total_Count="6")
    assert rows(api.store("/d", paging=Paging.LINK, total_header="X-Total-Count")) == SIX


def test_the_number_of_all_rows_is_that_of_the_rows(api):
    header = {"total_header": "X-Total-Count"}
    for number, (told, reason) in enumerate(
        [("7", StoreReason.INCOMPLETE), ("x", StoreReason.INVALID_DATA), ("", StoreReason.INVALID_DATA)]
    ):
        api.put(f"/{number}", SIX, X_Total_Count=told)
        assert failure(api.store(f"/{number}", **header)) == reason
    cursor = {"items": "/data", "paging": Paging.CURSOR, "cursor": "/after", "total": "/meta/total"}
    for total, reason in [
        (7, StoreReason.INCOMPLETE),
        (None, StoreReason.INVALID_DATA),
        (True, StoreReason.INVALID_DATA),
    ]:
        api.put("/p", {"data": SIX, "after": None, "meta": {"total": total}})
        assert failure(api.store("/p", **cursor)) == reason
        api.answers.clear()
    api.put("/q", {"data": SIX[:3], "after": 0, "meta": {"total": 6}})
    api.put("/q?cursor=0", {"data": SIX[3:], "after": None, "meta": {"total": 6}})
    assert rows(api.store("/q", **cursor)) == SIX


def test_a_later_page_that_fails(api):
    api.put("/a", SIX, Link="</b>; rel=next")
    api.put("/b", CANARY, 500)
    assert failure(api.store(paging=Paging.LINK)) == StoreReason.INCOMPLETE


def test_one_unchanged_page_is_told_without_its_rows(api):
    api.put("/a", SIX, ETag='"1"')
    store = api.store()
    with store.read() as reading:
        assert reading.position is None
        assert len(list(reading)) == 6
        position = reading.position
    with store.read_since(position) as reading:
        assert reading is None
    with store.read_since('"0"') as reading:
        assert len(list(reading)) == 6
    assert rows(store) == SIX


def test_an_etag_of_one_page_of_many_is_no_position(api):
    api.put("/a", SIX, ETag='"1"', Link="</b>; rel=next")
    api.put("/b", [], ETag='"2"', Link="</a>; rel=prev")
    with api.store(paging=Paging.LINK).read() as reading:
        list(reading)
    assert reading.position is None


def test_pauses_that_the_server_asks_for_are_bounded(api):
    api.put("/a", "", 429, Retry_After="0")
    api.put("/a", "", 503, Retry_After="0")
    api.put("/a", SIX)
    assert rows(api.store()) == SIX
    api.put("/b", "", 503, Retry_After="0")
    assert failure(api.store("/b")) == StoreReason.UNREACHABLE
    assert len([path for path, _ in api.requests if path == "/b"]) == 4
    api.put("/c", "", 429, Retry_After="3600")
    assert failure(api.store("/c")) == StoreReason.UNREACHABLE


def test_bounds(api):
    api.put("/a", SIX, Link="</b>; rel=next")
    api.put("/b", SIX, Link="</a>; rel=next")
    for limits in (Limits(body=20), Limits(rows=3), Limits(pages=1), Limits()):
        assert failure(api.store(limits=limits, paging=Paging.LINK)) == StoreReason.INVALID_DATA


def test_a_page_has_a_bound_also_when_it_is_compressed(api):
    api.put("/a", SIX)
    assert failure(api.store(limits=Limits(body=20))) == StoreReason.INVALID_DATA
    data = gzip.compress(json.dumps([{"key": "x" * 200_000}]).encode())
    api.put("/b", data, Content_Encoding="gzip")
    assert failure(api.store("/b", limits=Limits(body=100_000))) == StoreReason.INVALID_DATA
    assert rows(api.store("/b", limits=Limits(body=300_000)))


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials(api, status):
    api.put("/a", CANARY, status)
    assert failure(api.store()) == StoreReason.ACCESS_DENIED


def test_redirects_and_other_origins_are_refused(api):
    api.put("/a", "", 302, Location="/b")
    assert failure(api.store()) == StoreReason.INVALID_CONFIGURATION
    api.put("/b", SIX, Link="<https://other.example/>; rel=next")
    other = api.store("/b", Confinement([f".example:{api.port}"], [LOOPBACK]), paging=Paging.LINK)
    assert failure(other) == StoreReason.INVALID_DATA
    assert len(api.requests) == 2


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "240.0.0.1",
        "::1", "::", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe", "::127.0.0.1", "2002:7f00:1::", "not-an-address",
        "fec0::1", "192.88.99.1", "192.0.0.8", "3fff::1", "2620:4f:8000::1", "2001:0:a9fe:a9fe::1",
        "2606:4700::5efe:a00:1", "2606:4700::200:5efe:a00:1", "64:ff9b:1::a00:1", "::ffff:8.8.8.8", "4000::1",
        "2002:808:808::1", "100::1", "5f00::1", "2001:db8::1",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public_are_never_called(api, address):
    api.put("/a", SIX)
    allowed = Confinement([f"api.example:{api.port}"])
    assert failure(api.store(allowed=allowed, resolve=lambda *_: [address])) == StoreReason.ACCESS_DENIED
    both = ["8.8.8.8", address]
    assert failure(api.store(allowed=allowed, resolve=lambda *_: both)) == StoreReason.ACCESS_DENIED
    assert not api.requests


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "2a00:1450::5eff:a00:1"]
)
def test_addresses_that_are_public(address):
    assert http._allowed(address, ())


def test_a_port_must_be_listed(api):
    api.put("/a", SIX)
    for entry in ("api.example", f"api.example:{api.port + 1}", f".api.example:{api.port}"):
        with pytest.raises(StoreError) as caught:
            api.store(allowed=Confinement([entry], [LOOPBACK]))
        assert caught.value.reason == StoreReason.ACCESS_DENIED
    assert not api.requests
    assert rows(api.store(allowed=Confinement([f"api.example:{api.port}"], [LOOPBACK]))) == SIX


@contextmanager
def dripping(*beginnings):
    """A server that sends each beginning at once, and then a byte now and then."""
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as held:

        def serve():
            for begin in beginnings:
                connection, _ = listening.accept()
                held.enter_context(connection)
                connection.recv(4096)
                connection.sendall(begin)
                with suppress(OSError):
                    for _ in range(400):
                        connection.sendall(b" ")
                        time.sleep(0.05)

        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]


HANDSHAKE = b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    "begin",
    [
        HEAD + b"Content-Length: 100000\r\n\r\n[",
        HEAD + b"\r\n[]",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n4000\r\n[",
        HEAD + b"X-Long: ",
        b"HTTP/1.1 200 ",
        HANDSHAKE,
    ],
)
def test_a_server_that_drips_has_the_time_of_the_read_only(begin):
    clock = FakeClock()
    with dripping(begin) as port:
        scheme = "https" if begin is HANDSHAKE else "http"
        allowed = Confinement([f"api.example:{port}"], [LOOPBACK], plain=True)
        limits = Limits(read=30, silence=20)
        pages = Pages(f"{scheme}://api.example:{port}/", Paging.SINGLE)
        store = HttpStore(pages, allowed, clock, limits=limits, resolve=lambda *_: ["127.0.0.1"])
        timer = threading.Timer(0.3, clock.advance, [31])
        timer.start()
        began = time.monotonic()
        assert failure(store) == StoreReason.INCOMPLETE
        assert time.monotonic() - began < 5


def test_the_name_is_resolved_once_for_a_request(api):
    api.put("/a", SIX)
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    assert rows(api.store(resolve=lambda *_: answers.pop(0))) == SIX
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://api.example/", StoreReason.INVALID_CONFIGURATION),
        ("file:///etc/passwd", StoreReason.INVALID_CONFIGURATION),
        ("https://user:canary@api.example/", StoreReason.INVALID_CONFIGURATION),
        ("https://api.example/a b", StoreReason.INVALID_CONFIGURATION),
        ("https://api.example:x/", StoreReason.INVALID_CONFIGURATION),
        ("https://other.example/", StoreReason.ACCESS_DENIED),
        ("https://badapi.example/", StoreReason.ACCESS_DENIED),
        ("https://api.example.evil/", StoreReason.ACCESS_DENIED),
        ("https://127.0.0.1/", StoreReason.ACCESS_DENIED),
        ("https://api.example:22/", StoreReason.ACCESS_DENIED),
        ("https://sub.wide.example/", StoreReason.ACCESS_DENIED),
    ],
)
def test_urls_that_are_refused(url, reason):
    allowed = Confinement(["api.example", ".wide.example:8443"])
    with pytest.raises(StoreError) as caught:
        HttpStore(Pages(url, Paging.SINGLE), allowed, SystemClock())
    assert caught.value.reason == reason
    assert "canary" not in str(caught.value)


def test_tls_is_verified(api):
    api.put("/a", SIX)
    assert failure(api.store(ca=trustme.CA().cert_pem.bytes().decode())) == StoreReason.UNREACHABLE
    with serving("other.example") as other:
        other.put("/a", SIX)
        assert failure(other.store()) == StoreReason.UNREACHABLE
        assert not other.requests


def test_numbers_keep_their_type(api):
    api.put("/a", [{"a": 1, "b": 1.5, "c": True, "d": None, "e": ["ä"], "f": {"g": 1}}])
    assert rows(api.store()) == [{"a": 1, "b": 1.5, "c": True, "d": None, "e": ["ä"], "f": {"g": 1}}]

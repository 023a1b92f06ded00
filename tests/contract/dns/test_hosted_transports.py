"""The connections to DNS services with SDKs, to servers that hang, flood or lie."""

from __future__ import annotations

import base64
import gzip
import io
import json
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests
from requests.adapters import HTTPAdapter

from edgetenants_runtime.clock import SystemClock
from provider.dns import bounded_http
from provider.dns.azure import calls as azure
from provider.dns.azure import transport
from provider.dns.azure.calls import AzureCalls
from provider.dns.cloudflare import calls as cloudflare
from provider.dns.cloudflare.calls import CloudflareCalls
from provider.dns.errors import DnsError, Failure, NoConnection, Unreachable
from provider.dns.records import Zone
from tests.contract.dns import azure_dns, cloudflare_dns
from tests.unit.provider.dns.scripted import bytes_over_tcp

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
LONG = HEAD + b"Content-Length: 100000000\r\n\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def azure_calls(url):
    return AzureCalls(azure_dns.SETTINGS, SystemClock(), azure_dns.connect(url))


def cloudflare_calls(url):
    return CloudflareCalls(cloudflare_dns.SETTINGS, SystemClock(), cloudflare_dns.connect(url))


CALLS = {"azure": azure_calls, "cloudflare": cloudflare_calls}


def write(calls):
    if isinstance(calls, AzureCalls):
        return calls.put("example.com", "a", "CNAME", {"properties": {"TTL": 60}}, None)
    return calls.batch("0" * 32, "a change", {"deletes": [{"id": "1"}]})


def error_of(asked) -> DnsError:
    with pytest.raises(DnsError) as told:
        asked()
    return told.value


@contextmanager
def answering(answer):
    """The URL of a server that answers a path and headers with status, headers and body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, body = answer(self.path, self.headers)
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_):
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads, server.block_on_close = True, False
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(params=CALLS)
def made(request):
    return CALLS[request.param]


class TestBounds:
    @pytest.mark.parametrize("head", [HEAD, LONG, CHUNKED], ids=["header", "body", "chunks"])
    def test_an_answer_that_drips_ends_in_time(self, made, head, monkeypatch):
        monkeypatch.setattr(bounded_http.Bounded, "SECONDS", 0.6)

        def drip(send):
            send(head)
            for _ in range(300):
                send(b"5\r\nxxxxx\r\n" if head is CHUNKED else b"x")
                time.sleep(0.1)

        with bytes_over_tcp(drip) as port:
            calls = made(f"http://127.0.0.1:{port}")
            calls._connected()
            began = time.monotonic()
            for asked, failure in ((calls.zones, Failure.LATER), (lambda: write(calls), Failure.UNCERTAIN)):
                with pytest.raises(Unreachable) as told:
                    asked()
                assert told.value.failure is failure
                assert not isinstance(told.value, NoConnection), "others get their answers"
            assert time.monotonic() - began < 12

    @pytest.mark.parametrize("head", [LONG, CHUNKED], ids=["body", "chunks"])
    def test_an_answer_that_does_not_end_is_not_kept(self, made, head, monkeypatch):
        monkeypatch.setattr(bounded_http.Bounded, "MOST_BYTES", 100_000)
        sent = []

        def flood(send):
            send(head)
            for _ in range(10_000):
                send(b"1000\r\n" + b"x" * 4096 + b"\r\n" if head is CHUNKED else b"x" * 4096)
                sent.append(4096)

        with bytes_over_tcp(flood) as port:
            calls = made(f"http://127.0.0.1:{port}")
            for asked, failure in ((calls.zones, Failure.LATER), (lambda: write(calls), Failure.UNCERTAIN)):
                with pytest.raises(DnsError) as told:
                    asked()
                assert told.value.failure is failure
        assert sum(sent) < 20_000_000, "what the sockets of both sides hold"

    def test_an_answer_is_not_unpacked(self, made):
        seen = []

        def answer(_, headers):
            seen.append(headers["Accept-Encoding"])
            return (
                200,
                {"Content-Encoding": "gzip"},
                gzip.compress(b'{"value": [], "result": [], "success": true}'),
            )

        with answering(answer) as url, pytest.raises(DnsError) as told:
            made(url).zones()
        assert told.value.failure is Failure.LATER
        assert seen == ["identity"]

    def test_no_cookie_is_kept(self, made):
        seen = []

        def answer(_, headers):
            seen.append(headers.get("Cookie"))
            return 500, {"Set-Cookie": f"a{len(seen)}=1; Path=/"}, b"{}"

        with answering(answer) as url:
            calls = made(url)
            for _ in range(3):
                with pytest.raises(DnsError):
                    calls.zones()
        assert seen == [None, None, None]

    def test_the_proxy_of_the_environment_is_used(self, made, monkeypatch):
        seen = []
        with answering(lambda path, _: seen.append(path) or (500, {}, b"{}")) as proxy:
            monkeypatch.setenv("http_proxy", proxy)
            monkeypatch.setenv("no_proxy", "elsewhere.test")
            with pytest.raises(DnsError):
                made("http://api.example.test:81").zones()
            assert len(seen) == 1
            assert seen[0].startswith("http://api.example.test:81/")
            monkeypatch.setenv("no_proxy", "example.test")
            with pytest.raises(NoConnection):
                made("http://api.example.test:81").zones()
            assert len(seen) == 1

    def test_no_password_file_replaces_the_token(self, made, monkeypatch, tmp_path):
        (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        seen = []

        def answer(_, headers):
            seen.append(headers["Authorization"].split()[0])
            return 500, {}, b"{}"

        with answering(answer) as url, pytest.raises(DnsError):
            made(url).zones()
        assert seen == ["Bearer"]

    def test_words_are_the_same_at_each_attempt(self, made):
        numbers = iter(range(100))
        page = lambda *_: (502, {}, b"<html>ray id %d" % next(numbers))  # noqa: E731
        with answering(page) as url:
            calls = made(url)
            said = {str(error_of(calls.zones)) for _ in range(3)}
        calls = made("http://127.0.0.1:1")
        said |= {str(error_of(calls.zones)) for _ in range(3)}
        assert len(said) == 2, said

    @pytest.mark.parametrize("status", [200, 500])
    def test_an_answer_of_any_depth_is_an_answer(self, made, status):
        with answering(lambda *_: (status, {}, b"[" * 200_000)) as url:
            calls = made(url)
            assert error_of(calls.zones).failure is Failure.LATER
            assert error_of(lambda: write(calls)).failure is Failure.UNCERTAIN

    @pytest.mark.parametrize("status", [429, 503])
    def test_a_pause_has_an_end(self, made, status):
        with answering(lambda *_: (status, {"Retry-After": "9" * 400}, b"{}")) as url:
            assert error_of(made(url).zones).after in (None, 3600.0)

    def test_words_of_any_length_are_read_at_once(self, made):
        words = " " * 2_000_000 + "Trace ID: " * 100_000
        body = json.dumps(
            {"error": {"code": "x", "message": words}, "errors": [{"code": 1, "message": words}]}
        )
        with answering(lambda *_: (400, {}, body.encode())) as url:
            began = time.monotonic()
            assert len(str(error_of(made(url).zones))) < 700
            assert time.monotonic() - began < 3


class TestAzure:
    def test_it_registers_no_subscription_and_never_sleeps(self, monkeypatch):
        words = "The subscription is not registered to use namespace 'Microsoft.Network'"
        error = {"error": {"code": "MissingSubscriptionRegistration", "message": words}}
        seen = []
        monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail(f"slept {seconds} s"))
        answer = lambda path, _: seen.append(path) or (409, {}, json.dumps(error).encode())  # noqa: E731
        with answering(answer) as url, pytest.raises(DnsError, match="is not registered"):
            azure_calls(url).zones()
        assert len(seen) == 1

    @pytest.mark.parametrize("content", [{"CNAMERecord": {"cname": "\ud800"}}, {"CNAMERecord": 7}, []])
    def test_records_that_cannot_be_told_are_no_answer(self, content):
        properties = {"TTL": 60, **content} if content else content
        body = json.dumps({"etag": "1", "properties": properties}).encode()
        with answering(lambda *_: (200, {}, body)) as url:
            store = azure_dns.store(url, SystemClock())
            error = error_of(lambda: store.read(Zone("a.test", "a.test"), ["b.a.test"]))
        assert error.failure is Failure.LATER

    @pytest.mark.parametrize("status", [408, 429, 500, 503])
    def test_it_is_not_asked_again_at_once(self, monkeypatch, status):
        seen = []
        monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail(f"slept {seconds} s"))
        answer = lambda path, _: seen.append(path) or (status, {"Retry-After": "1"}, b"{}")  # noqa: E731
        with answering(answer) as url, pytest.raises(DnsError):
            azure_calls(url).zones()
        assert len(seen) == 1

    def test_a_next_page_is_of_the_same_host(self):
        other = []
        with answering(lambda path, headers: other.append(headers) or (200, {}, b'{"value": []}')) as away:
            page = json.dumps({"value": [], "nextLink": f"{away}/more"}).encode()
            with answering(lambda *_: (200, {}, page)) as url:
                error = error_of(azure_calls(url).zones)
        assert not isinstance(error, Unreachable), "it pauses no one"
        assert not other, "the token goes to no other host"

    def test_pages_without_end_do(self):
        seen = []

        def answer(path, headers):
            seen.append(path)
            return 200, {}, json.dumps({"value": [], "nextLink": f"http://{headers['Host']}/more"}).encode()

        with answering(answer) as url, pytest.raises(DnsError, match="zones in the resource group, got more"):
            azure_calls(url).zones()
        assert len(seen) < 110


class TestCloudflare:
    def test_pages_without_end_do(self):
        seen = []
        row = {"id": "1", "name": "a.test", "type": "full", "status": "active"}
        body = {"result": [row], "result_info": {"total_pages": 10**9}, "success": True}

        def answer(path, _):
            seen.append(path)
            return 200, {}, json.dumps({**body, "result": [row] if len(seen) < 2 else []}).encode()

        with answering(answer) as url, pytest.raises(DnsError, match="expected at most"):
            cloudflare_calls(url).zones()
        assert len(seen) < 110

    @pytest.mark.parametrize("result", [[None], [[]], ["x"], 7, {"a": 1}, [{"name": "\ud800.test"}]])
    def test_rows_of_another_form_are_no_answer(self, result):
        body = json.dumps({"result": result, "success": True}).encode()
        with answering(lambda *_: (200, {}, body)) as url:
            store = cloudflare_dns.store(url, SystemClock())
            error = error_of(lambda: store.zone_of("a.example.com"))
        assert error.failure is Failure.LATER
        assert "unexpected answer" in str(error)


class Entra(HTTPAdapter):
    """Microsoft Entra ID, and Azure behind it, in this process. They have https; test servers do not."""

    def __init__(self):
        super().__init__()
        self.seen = []
        self.fault = None

    def send(self, request, **_):
        self.seen.append(request)
        if self.fault:
            return self.fault(request)
        if "openid-configuration" in request.url:
            return self.answer(request, 200, discovery())
        if "oauth2" in request.url:
            token = {"access_token": "the-token", "expires_in": 3600, "token_type": "Bearer"}
            return self.answer(request, 200, token)
        return self.answer(request, 200, {"value": []})

    def answer(self, request, status, body):
        made = requests.Response()
        made.status_code, made.request, made.url = status, request, request.url
        made.headers["Content-Type"] = "application/json"
        made.raw = io.BytesIO(json.dumps(body).encode())
        return made


def discovery(host="login.microsoftonline.com"):
    base = f"https://{host}/{azure_dns.TENANT}"
    return {
        "token_endpoint": f"{base}/oauth2/v2.0/token",
        "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
        "device_authorization_endpoint": f"{base}/oauth2/v2.0/devicecode",
        "issuer": f"{base}/v2.0",
    }


class TestTokens:
    @pytest.fixture
    def entra(self, monkeypatch):
        one = Entra()
        monkeypatch.setattr(transport, "_Adapter", lambda **_: one)
        return one

    @pytest.fixture
    def calls(self, entra):
        return AzureCalls(azure_dns.SETTINGS, SystemClock())

    def test_the_secret_goes_to_entra_and_the_token_to_azure(self, entra, calls):
        assert calls.zones() == ()
        assert calls.zones() == ()
        hosts = [each.url.split("/")[2] for each in entra.seen]
        assert hosts == ["login.microsoftonline.com"] * 2 + ["management.azure.com"] * 2
        of_azure = entra.seen[-1]
        assert of_azure.headers["Authorization"] == "Bearer the-token"
        assert azure_dns.SECRET not in f"{of_azure.url} {of_azure.headers} {of_azure.body}"
        (asked,) = [each for each in entra.seen if "oauth2" in each.url]
        assert "management.azure.com%2F.default" in str(asked.body)

    def test_a_next_page_may_have_the_port(self, entra, calls):
        plain = entra.send

        def paged(request, **how):
            if "dnsZones" not in request.url:
                return plain(request, **how)
            more = "" if ":443" in request.url else {"nextLink": "https://management.azure.com:443/dnsZones"}
            return entra.answer(request, 200, {"value": [], **(more or {})})

        entra.send = paged
        assert calls.zones() == ()

    def test_china_has_two_names_of_entra(self, entra):
        other = "login.partner.microsoftonline.cn"

        def named(request):
            token = {"access_token": "the-token", "expires_in": 3600, "token_type": "Bearer"}
            found = discovery(other) if "openid" in request.url else token
            of_entra = "oauth2" in request.url or "openid" in request.url
            return entra.answer(request, 200, found if of_entra else {"value": []})

        entra.fault = named
        settings = replace(azure_dns.SETTINGS, cloud=azure.CHINA)
        assert AzureCalls(settings, SystemClock()).zones() == ()
        assert {each.url.split("/")[2] for each in entra.seen} >= {other, "management.chinacloudapi.cn"}

    def test_a_sovereign_cloud_has_its_own_hosts(self, entra):
        entra.fault = lambda request: entra.answer(request, 500, {})
        with pytest.raises(DnsError):
            AzureCalls(replace(azure_dns.SETTINGS, cloud=azure.CHINA), SystemClock()).zones()
        assert {each.url.split("/")[2] for each in entra.seen} == {"login.chinacloudapi.cn"}

    def test_the_environment_names_no_other_authority(self, entra, calls, monkeypatch):
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", "elsewhere.test")
        calls.zones()
        assert not any("elsewhere" in each.url for each in entra.seen)

    def test_the_secret_goes_to_no_host_that_an_answer_names(self, entra, calls):
        entra.fault = lambda request: entra.answer(request, 200, discovery("elsewhere.test"))
        error = error_of(calls.zones)
        assert error.failure is Failure.LATER
        assert not isinstance(error, Unreachable), "it pauses no one"
        assert not any("elsewhere.test" in each.url.split("/")[2] for each in entra.seen)

    def test_a_wrong_secret_is_told_in_the_same_words_without_it(self, entra, calls, caplog):
        numbers = iter(range(100))

        def refuse(request):
            if "oauth2" not in request.url:
                return entra.answer(request, 200, discovery())
            words = f"AADSTS7000215: Invalid client secret: {azure_dns.SECRET}. Trace ID: {next(numbers)}"
            error = {"error": "invalid_client", "error_description": words, "error_codes": [7000215]}
            return entra.answer(request, 401, error)

        entra.fault = refuse
        with caplog.at_level("WARNING"):
            said = {str(error_of(calls.zones)) for _ in range(2)}
        (message,) = said
        assert "AADSTS7000215" in message
        assert azure_dns.SECRET not in message + caplog.text

    @pytest.mark.parametrize("broken", [requests.ConnectTimeout("x"), requests.ReadTimeout("x")])
    def test_without_an_answer_of_entra_nothing_was_written(self, entra, calls, broken):
        def fail(request):
            raise broken

        entra.fault = fail
        with pytest.raises(Unreachable) as told:
            write(calls)
        assert told.value.failure is Failure.LATER
        assert isinstance(told.value, NoConnection) == isinstance(broken, requests.ConnectTimeout)


@pytest.mark.parametrize("made", CALLS.values(), ids=CALLS)
def test_a_write_that_took_the_service_too_long_may_have_been_made(made):
    with answering(lambda *_: (408, {}, b"{}")) as url:
        calls = made(url)
        assert error_of(lambda: write(calls)).failure is Failure.UNCERTAIN
        assert error_of(calls.zones).failure is Failure.LATER


@pytest.mark.parametrize("made", CALLS.values(), ids=CALLS)
def test_an_image_without_the_sdk_is_told(made, monkeypatch):
    for name in ("cloudflare", "azure.identity", "azure.mgmt.dns"):
        monkeypatch.setitem(sys.modules, name, None)
    error = error_of(made("http://127.0.0.1:1")._connected)
    assert error.failure is Failure.REFUSED
    assert "the provider's image is without its SDK, edgetenants[" in str(error)


def test_the_secret_is_in_no_log(made, caplog):
    secrets = (azure_dns.SECRET, cloudflare_dns.TOKEN)
    encoded = [base64.b64encode(each.encode()).decode() for each in secrets]
    with answering(lambda *_: (403, {}, b"{}")) as url, caplog.at_level("INFO"), pytest.raises(DnsError):
        made(url).zones()
    assert not any(each in caplog.text for each in (*secrets, *encoded))


def test_clients_close_with_their_calls(made):
    closed = []
    calls = made("http://127.0.0.1:1")
    client = calls._connected()
    client.close = lambda: closed.append(1)
    # The finalizer has the client's own method.
    calls = type(calls)(calls._settings, SystemClock(), lambda _: client)
    calls._connected()
    del calls
    assert closed == [1]


def test_cloudflare_is_a_constant():
    assert cloudflare.URL == "https://api.cloudflare.com/client/v4"

"""Clients that send what is no request, too much, too slowly or too little: refused, and no thread held."""

import json
import re
import socket
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from edgetenants_emulator import EmulatorServer, Settings

SIGNED = (
    "Authorization: AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/cloudfront/aws4_request, "
    "SignedHeaders=host, Signature=0\r\n"
)
LIST = "POST /2020-05-31/distribution-tenants HTTP/1.1\r\nHost: a\r\n"
HEALTH = b"GET /_edgetenants/health HTTP/1.1\r\nHost: a\r\n\r\n"
LIMIT = 1_049_600
"""Bytes that a body may have."""


@contextmanager
def connected(url):
    host, _, port = urlsplit(url).netloc.partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        yield connection


def until_closed(connection):
    """All that is answered until the server closes the connection."""
    found = b""
    while more := connection.recv(65536):
        found += more
    return found.decode()


def told(answer):
    """HTTP status, code of the error, whether the connection ends."""
    code = re.search("<Code>(.*?)</Code>", answer)
    return int(answer.split()[1]), code[1] if code else "", "Connection: close" in answer


def threads():
    return {thread for thread in threading.enumerate() if "process_request_thread" in thread.name}


@pytest.fixture
def hasty():
    """A server that waits for no one; afterwards no thread of it is left."""
    before = threads()
    patience = dict.fromkeys(("connection_idle_seconds", "request_seconds", "answer_seconds"), 0.3)
    with EmulatorServer(rate=0, settings=Settings(**patience)) as server:
        yield server
        deadline = time.monotonic() + 10
        while threads() - before and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not threads() - before


MALFORMED = {
    "negative": "Content-Length: -1\r\n",
    "no number": "Content-Length: many\r\n",
    "with a sign": "Content-Length: +3\r\n",
    "with an underscore": "Content-Length: 1_0\r\n",
    "full-width digits": "Content-Length: \uff11\uff12\r\n",
    "empty": "Content-Length: \r\n",
    "two lengths": "Content-Length: 3\r\nContent-Length: 4\r\n",
    "a list of lengths": "Content-Length: 3, 3\r\n",
    "a length and chunks": "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
    "another transfer coding": "Transfer-Encoding: gzip, chunked\r\n",
    "a header without colon": "no header\r\nContent-Length: 3\r\n",
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_body_that_cannot_be_measured(emulator, case):
    with connected(emulator.url) as connection:
        connection.sendall(f"{LIST}{SIGNED}{MALFORMED[case]}\r\nabc".encode())
        assert told(until_closed(connection)) == (400, "MalformedHttpRequestException", True)


@pytest.mark.parametrize("size", ["-1", "+3", "0x3", "1_0", "", "x", "\uff13", "F" * 30])
def test_a_chunk_that_cannot_be_measured(emulator, size):
    with connected(emulator.url) as connection:
        connection.sendall(
            f"{LIST}{SIGNED}Transfer-Encoding: chunked\r\n\r\n{size}\r\nabc\r\n0\r\n\r\n".encode()
        )
        status, code, ends = told(until_closed(connection))
        assert (status, ends) in ((400, True), (413, True))
        assert code in ("MalformedHttpRequestException", "RequestEntityTooLargeException")


def test_a_chunk_longer_than_it_says(emulator):
    with connected(emulator.url) as connection:
        connection.sendall(f"{LIST}{SIGNED}Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n".encode())
        assert told(until_closed(connection)) == (400, "MalformedHttpRequestException", True)


@pytest.mark.parametrize("framing", ["Content-Length: 10", "Transfer-Encoding: chunked"])
def test_a_client_that_gives_up(emulator, framing):
    with connected(emulator.url) as connection:
        connection.sendall(f"{LIST}{SIGNED}{framing}\r\n\r\n3\r\na".encode())
        connection.shutdown(socket.SHUT_WR)
        assert told(until_closed(connection)) == (400, "RequestAbortedException", True)


SLOW = {
    "body": f"{LIST}{SIGNED}Content-Length: 10\r\n\r\nabc",
    "chunk": f"{LIST}{SIGNED}Transfer-Encoding: chunked\r\n\r\n3\r\na",
    "chunk's length": f"{LIST}{SIGNED}Transfer-Encoding: chunked\r\n\r\n3",
    "headers": f"{LIST}Authori",
    "request line": "POST /2020",
}


@pytest.mark.parametrize("case", SLOW)
def test_a_request_that_does_not_end(hasty, case):
    with connected(hasty.url) as connection:
        connection.sendall(SLOW[case].encode())
        assert told(until_closed(connection)) == (408, "RequestTimeoutException", True)


def test_a_request_that_trickles(hasty):
    began = time.monotonic()
    with connected(hasty.url) as connection:
        for byte in f"{LIST}{SIGNED}X-Long: {'x' * 1000}".encode():
            try:
                connection.sendall(bytes([byte]))
            except OSError:
                break
            if time.monotonic() - began > 5:
                break
            time.sleep(0.02)
        assert time.monotonic() - began < 5


def test_a_connection_that_is_idle(hasty):
    with connected(hasty.url) as connection:
        assert until_closed(connection) == ""


def test_an_answer_that_nobody_reads(hasty):
    hasty.application.calls.report = lambda *_: {"calls": ["x" * 100_000_000]}
    with connected(hasty.url) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(HEALTH.replace(b"health", b"calls"))
        time.sleep(1)


LARGE = {
    "Content-Length": f"Content-Length: {LIMIT + 1}\r\n\r\n",
    "a length beyond all memory": f"Content-Length: {10**17}\r\n\r\n",
    "a length beyond all numbers": f"Content-Length: {'9' * 5000}\r\n\r\n",
    "one chunk": f"Transfer-Encoding: chunked\r\n\r\n{LIMIT + 1:x}\r\n",
    "many chunks": "Transfer-Encoding: chunked\r\n\r\n" + f"ffff\r\n{'a' * 0xFFFF}\r\n" * 17,
}


@pytest.mark.parametrize("case", LARGE)
def test_a_body_above_the_limit(emulator, case):
    began = time.monotonic()
    with connected(emulator.url) as connection:
        connection.sendall(f"{LIST}{SIGNED}{LARGE[case]}abc".encode())
        connection.shutdown(socket.SHUT_WR)
        assert told(until_closed(connection)) == (413, "RequestEntityTooLargeException", True)
    assert time.monotonic() - began < 5


def test_the_limit_itself_passes_and_can_be_moved(emulator, admin):
    def asked(size):
        with connected(emulator.url) as connection:
            comment = "a" * (size - 7)
            connection.sendall(f"{LIST}{SIGNED}Connection: close\r\nContent-Length: {size}\r\n\r\n".encode())
            connection.sendall(f"<!--{comment}-->".encode())
            return told(until_closed(connection))[0]

    assert asked(LIMIT) == 400  # no XML, but read
    admin.settings(request_bytes=1000)
    assert (asked(1000), asked(1001)) == (400, 413)


def test_a_large_body_is_read_to_hear_the_answer(emulator, aws):
    """A server that closes over unread bytes resets the connection, and SDKs never see why."""
    names = [f"/{number:0>200}" for number in range(50_000)]
    tenant = aws.tenant()["DistributionTenant"]["Id"]
    assert aws.refused(
        "create_invalidation_for_distribution_tenant",
        Id=tenant,
        InvalidationBatch={"CallerReference": "a", "Paths": {"Quantity": len(names), "Items": names}},
    ) == ("RequestEntityTooLargeException", 413)


def test_the_call_log_has_what_was_too_large(emulator, admin):
    with connected(emulator.url) as connection:
        connection.sendall(f"{LIST}{SIGNED}Content-Length: {LIMIT + 1}\r\n\r\n".encode())
        until_closed(connection)
    (call,) = admin("GET", "calls")["calls"]
    assert (call["operation"], call["status"], call["code"]) == (
        "ListDistributionTenants",
        413,
        "RequestEntityTooLargeException",
    )


def test_other_protocols_hear_of_it_in_their_own_words(emulator):
    acm = SIGNED.replace("cloudfront", "acm")
    head = "POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: CertificateManager.ListCertificates\r\n"
    with connected(emulator.url) as connection:
        connection.sendall(f"{head}{acm}Content-Length: -1\r\n\r\n".encode())
        _, _, body = until_closed(connection).partition("\r\n\r\n")
        assert json.loads(body)["__type"] == "MalformedHttpRequestException"
        connection.close()
    with connected(emulator.url) as connection:
        connection.sendall(b"POST /_edgetenants/clock HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n")
        _, _, body = until_closed(connection).partition("\r\n\r\n")
        assert json.loads(body)["error"]["code"] == "MalformedHttpRequestException"


BROKEN_HEADS = {
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n",
    "a version of words": b"GET / HTTP/one\r\n\r\n",
    "HTTP/2": b"GET / HTTP/2.0\r\n\r\n",
    "a long request line": b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    "a long header": b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 200 + b"\r\n",
}


@pytest.mark.parametrize("case", BROKEN_HEADS)
def test_a_head_that_cannot_be_read(emulator, case):
    with connected(emulator.url) as connection:
        connection.sendall(BROKEN_HEADS[case])
        status, code, ends = told(until_closed(connection))
        assert (400 <= status < 500, code, ends) == (True, "MalformedHttpRequestException", True)


def test_an_unknown_method_is_no_operation(emulator):
    with connected(emulator.url) as connection:
        connection.sendall(
            f"BREW /2020-05-31/distribution HTTP/1.1\r\n{SIGNED}Connection: close\r\n\r\n".encode()
        )
        assert told(until_closed(connection))[:2] == (404, "UnknownOperationException")


def test_the_connection_goes_on_after_a_refusal_whose_body_was_read(emulator):
    with connected(emulator.url) as connection:
        connection.sendall(f"{LIST}{SIGNED}Content-Length: 4\r\n\r\n<no>".encode())
        assert b"MalformedXML" in connection.recv(65536)
        connection.sendall(HEALTH)
        assert b'"ok": true' in connection.recv(65536)


def test_requests_sent_at_once_are_answered_in_turn(emulator):
    with connected(emulator.url) as connection:
        connection.sendall(HEALTH * 2 + HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        assert until_closed(connection).count('"ok": true') == 3


def test_a_client_that_asks_before_it_sends(emulator):
    """curl, above a kilobyte."""
    with connected(emulator.url) as connection:
        connection.sendall(f"{LIST}{SIGNED}Expect: 100-continue\r\nContent-Length: 4\r\n\r\n".encode())
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"<no>")
        assert b"MalformedXML" in connection.recv(65536)
    with connected(emulator.url) as connection:
        connection.sendall(
            f"{LIST}{SIGNED}Expect: 100-continue\r\nContent-Length: {LIMIT + 1}\r\n\r\n".encode()
        )
        connection.shutdown(socket.SHUT_WR)
        assert told(until_closed(connection))[0] == 413

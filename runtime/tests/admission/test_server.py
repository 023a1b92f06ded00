"""The webhooks' server: TLS, bounds, and what a client reads when something is wrong."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest
import trustme
from structlog.testing import capture_logs

from edgetenants_runtime.admission import server
from edgetenants_runtime.admission.fields import BadReview
from edgetenants_runtime.admission.review import Request, Verdict, parse
from edgetenants_runtime.admission.server import Certificate, WebhookServer

REVIEW = json.dumps(
    {"apiVersion": "admission.k8s.io/v1", "request": {"uid": "u1", "operation": "CREATE", "object": {}}}
).encode()


class Folder:
    """A mounted Secret, and the authority that issued its certificate."""

    def __init__(self, path: Path) -> None:
        self.path, self.authority = path, trustme.CA()
        self.certificate = Certificate.of_folder(path)
        self.renew()

    def renew(self) -> bytes:
        leaf = self.authority.issue_cert("localhost")
        leaf.cert_chain_pems[0].write_to_path(str(self.certificate.certificate))
        leaf.private_key_pem.write_to_path(str(self.certificate.key))
        return leaf.cert_chain_pems[0].bytes()

    def client(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        return context


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


Serve = Callable[..., WebhookServer]


@pytest.fixture
def serve(folder: Folder) -> Iterator[Serve]:
    made: list[WebhookServer] = []

    def start(check: Callable[[Request], Verdict], **options: object) -> WebhookServer:
        made.append(WebhookServer("127.0.0.1", 0, folder.certificate, {"/validate": check}, **options))
        made[-1].start()
        return made[-1]

    yield start
    for each in made:
        each.stop()


def connect(folder: Folder, to: WebhookServer, source: str = "127.0.0.1") -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection(
        "localhost", to.port, context=folder.client(), timeout=10, source_address=(source, 0)
    )


def secure(folder: Folder, to: WebhookServer) -> ssl.SSLSocket:
    plain = socket.create_connection(("127.0.0.1", to.port), timeout=10)
    return folder.client().wrap_socket(plain, server_hostname="localhost")


def post(connection: http.client.HTTPSConnection, body: bytes = REVIEW, path: str = "/validate?timeout=5s"):
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, answer.read()


def allowed(_: Request) -> Verdict:
    return Verdict()


def test_reviews_are_answered_one_after_the_other_on_a_connection(folder: Folder, serve: Serve) -> None:
    noted: list[tuple[str, int]] = []
    serving = serve(lambda r: Verdict((r.operation,)), note=lambda path, code, _: noted.append((path, code)))
    connection = connect(folder, serving)
    for _ in range(3):
        status, body = post(connection)
        answer = json.loads(body)["response"]
        assert (status, answer["uid"], answer["allowed"]) == (200, "u1", False)
        assert answer["status"]["message"] == "CREATE"
    assert noted == [("/validate", 200)] * 3


def test_a_check_that_fails_leaves_the_decision_to_the_failure_policy(folder: Folder, serve: Serve) -> None:
    def broken(_: Request) -> Verdict:
        raise RuntimeError("secret detail")

    status, body = post(connect(folder, serve(broken)))
    assert status == 500
    assert b"secret" not in body


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [("/other", REVIEW, 404), ("/validate", b"{}", 400), ("/validate", b"x" * (4 * 1024 * 1024 + 1), 413)],
)
def test_other_requests_are_refused(
    folder: Folder, serve: Serve, path: str, body: bytes, status: int
) -> None:
    connection = connect(folder, serve(allowed))
    connection.putrequest("POST", path)
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    if len(body) < 1000:
        connection.send(body)
    assert connection.getresponse().status == status


@pytest.mark.parametrize("length", ["-1", "1" * 5000, "²", ""])
def test_a_strange_length_is_refused(folder: Folder, serve: Serve, length: str) -> None:
    connection = connect(folder, serve(allowed))
    connection.putrequest("POST", "/validate", skip_accept_encoding=True)
    connection.putheader("Content-Length", length.encode("latin-1"))
    connection.endheaders()
    assert connection.getresponse().status == 411


def test_a_client_that_says_nothing_holds_up_no_other(folder: Folder, serve: Serve) -> None:
    serving = serve(allowed)
    silent = [socket.create_connection(("localhost", serving.port)) for _ in range(20)]
    try:
        assert post(connect(folder, serving))[0] == 200
    finally:
        for each in silent:
            each.close()


def test_a_new_connection_takes_the_place_of_a_silent_one(
    folder: Folder, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_MOST_CONNECTIONS", 2)
    serving = serve(allowed)
    silent = [socket.create_connection(("localhost", serving.port)) for _ in range(2)]
    assert post(connect(folder, serving))[0] == 200
    assert silent[0].recv(1) == b""
    silent[1].settimeout(0.2)
    with pytest.raises(TimeoutError):
        silent[1].recv(1)


def test_a_client_with_many_connections_keeps_no_other_out(folder: Folder, serve: Serve) -> None:
    serving = serve(allowed)
    others = connect(folder, serving, source="127.0.0.2")
    assert post(others)[0] == 200
    silent = [socket.create_connection(("127.0.0.1", serving.port)) for _ in range(300)]
    try:
        assert post(others)[0] == 200, "the connection of another client was closed"
        assert post(connect(folder, serving, source="127.0.0.2"))[0] == 200
    finally:
        for each in silent:
            each.close()


def test_room_comes_back_when_a_connection_ends(
    folder: Folder, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_MOST_CONNECTIONS", 2)
    serving = serve(allowed)
    kept = connect(folder, serving)
    assert post(kept)[0] == 200
    for _ in range(5):
        ended = connect(folder, serving)
        assert post(ended)[0] == 200
        ended.close()
        time.sleep(0.1)
    assert post(kept)[0] == 200


@pytest.mark.parametrize("head", [b"", b"POST /validate HTTP/1.1\r\nContent-Length: 1000\r\n\r\n"])
def test_a_client_that_sends_a_byte_now_and_then_does_not_stay(
    folder: Folder, serve: Serve, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setattr(server, "_REQUEST_SECONDS", 0.5)
    slow = secure(folder, serve(allowed))
    slow.sendall(head)
    with pytest.raises(OSError):  # noqa: PT012 - one of these writes
        for _ in range(30):
            slow.sendall(b"x")
            time.sleep(0.1)


def test_a_slow_client_makes_no_slow_check(folder: Folder, serve: Serve) -> None:
    noted: SimpleQueue[float] = SimpleQueue()
    slow = secure(folder, serve(allowed, note=lambda _path, _code, seconds: noted.put(seconds)))
    slow.sendall(f"POST /validate HTTP/1.1\r\nContent-Length: {len(REVIEW)}\r\n\r\n".encode())
    time.sleep(0.5)
    slow.sendall(REVIEW)
    assert slow.recv(100).startswith(b"HTTP/1.1 200")
    assert noted.get(timeout=5) < 0.4


def test_an_idle_connection_stays_longer_than_a_request_may_take(
    folder: Folder, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_REQUEST_SECONDS", 0.3)
    connection = connect(folder, serve(allowed))
    for _ in range(2):
        assert post(connection)[0] == 200
        time.sleep(0.5)
    assert post(connection)[0] == 200


def test_a_long_head_ends_the_connection(folder: Folder, serve: Serve) -> None:
    sending = secure(folder, serve(allowed))
    with pytest.raises(OSError):  # noqa: PT012 - one of these writes
        sending.sendall(b"POST /validate HTTP/1.1\r\n")
        for _ in range(60):
            sending.sendall(b"A: " + b"x" * 10_000 + b"\r\n")
            time.sleep(0.01)


def test_large_bodies_of_one_client_leave_room_for_another(folder: Folder, serve: Serve) -> None:
    serving = serve(allowed)
    large = [secure(folder, serving) for _ in range(3)]
    for each in large[:2]:
        each.sendall(b"POST /validate HTTP/1.1\r\nContent-Length: 4194304\r\n\r\n" + b" " * 100_000)
    time.sleep(0.2)
    large[2].sendall(b"POST /validate HTTP/1.1\r\nContent-Length: 4194304\r\n\r\n")
    assert large[2].recv(100).startswith(b"HTTP/1.1 503")
    review = REVIEW + b" " * 1_000_000
    assert post(connect(folder, serving), REVIEW)[0] == 200, "a small one always has room"
    assert post(connect(folder, serving, source="127.0.0.2"), review)[0] == 200
    for each in large:
        each.close()
    assert post(connect(folder, serving), review)[0] == 200


def test_large_reviews_that_wait_for_their_check_leave_room_for_another(
    folder: Folder, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_LARGE_REVIEWS", 8_000_000)
    release, begun = threading.Event(), threading.Semaphore(0)

    def check(_: Request) -> Verdict:
        begun.release()
        release.wait(10)
        return Verdict()

    serving = serve(check)
    review = REVIEW + b" " * 600_000
    waits = threading.Thread(target=lambda: post(connect(folder, serving), review))
    waits.start()
    try:
        assert begun.acquire(timeout=5)
        assert post(connect(folder, serving), review)[0] == 503
        others = threading.Thread(target=lambda: post(connect(folder, serving, source="127.0.0.2"), review))
        others.start()
        assert begun.acquire(timeout=5)
    finally:
        release.set()
    for each in (waits, others):
        each.join()


def test_reviews_are_parsed_one_at_a_time(
    folder: Folder, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most = 0, 0

    def slowly(body: bytes) -> Request:
        nonlocal running, most
        running += 1
        most = max(most, running)
        time.sleep(0.1)
        running -= 1
        return parse(body)

    monkeypatch.setattr(server, "parse", slowly)
    serving = serve(allowed)
    threads = [threading.Thread(target=lambda: post(connect(folder, serving))) for _ in range(5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most == 1


def test_a_body_takes_the_memory_of_what_has_arrived(folder: Folder, serve: Serve) -> None:
    serving = serve(allowed)
    tracemalloc.start()
    slow = secure(folder, serving)
    slow.sendall(b"POST /validate HTTP/1.1\r\nContent-Length: 4194304\r\n\r\n" + b" " * 10_000)
    time.sleep(0.3)
    took, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < 1_000_000


def test_an_object_that_no_api_server_sends_is_a_bad_review(folder: Folder, serve: Serve) -> None:
    def check(_: Request) -> Verdict:
        raise BadReview("spec.size: expected a number")

    serving = serve(check)
    with capture_logs() as logged:
        for _ in range(5):
            assert post(connect(folder, serving)) == (400, b"spec.size: expected a number\n")
    [line] = [each for each in logged if each["log_level"] != "debug"]
    assert line["why"] == "spec.size: expected a number"
    assert not {"exception", "exc_info"} & line.keys()


def test_a_defect_is_logged_once_a_minute_and_briefly(folder: Folder, serve: Serve) -> None:
    def broken(request: Request) -> Verdict:
        raise RuntimeError(str(request.object) * 2)

    serving = serve(broken)
    sent = json.loads(REVIEW)
    sent["request"]["object"] = {"spec": {"a": "x" * 100_000}}
    with capture_logs() as logged:
        for _ in range(5):
            assert post(connect(folder, serving), json.dumps(sent).encode())[0] == 500
    [line] = [each for each in logged if each["log_level"] != "debug"]
    assert line["exception"].startswith("Traceback")
    assert len(str(line)) < 10_000


def test_the_kernel_keeps_little_of_a_connection(serve: Serve) -> None:
    serving = serve(allowed)
    kept = serving._server.socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    # Linux doubles it for its own bookkeeping. Without a value, it grows to some megabytes.
    assert kept == 2 * server._BUFFERED


def test_a_renewed_certificate_is_presented(
    folder: Folder, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_RELOAD_SECONDS", 0.0)
    serving = serve(allowed)
    folder.certificate.key.write_text("")
    assert post(connect(folder, serving))[0] == 200, "half of a renewal must not stop the webhooks"
    renewed = ssl.PEM_cert_to_DER_cert(folder.renew().decode())
    connection = connect(folder, serving)
    connection.connect()
    assert connection.sock.getpeercert(binary_form=True) == renewed


def test_a_certificate_that_cannot_be_used_is_told(folder: Folder) -> None:
    assert folder.certificate.problem == ""
    folder.certificate.key.unlink()
    assert str(folder.certificate.key) in folder.certificate.problem


def test_reviews_at_the_same_time_are_answered_at_the_same_time(folder: Folder, serve: Serve) -> None:
    together = threading.Barrier(4)

    def check(_: Request) -> Verdict:
        together.wait(5)
        return Verdict()

    serving = serve(check)
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(post(connect(folder, serving))[0])) for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [200] * 4

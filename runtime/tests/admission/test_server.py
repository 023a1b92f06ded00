"""The webhooks' server: TLS, bounds, and what a client reads when something is wrong."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trustme

from edgetenants_runtime.admission import server
from edgetenants_runtime.admission.review import Request, Verdict
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


def connect(folder: Folder, to: WebhookServer) -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection("localhost", to.port, context=folder.client(), timeout=10)


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
    [("/other", REVIEW, 404), ("/validate", b"{}", 400), ("/validate", b"x" * (8 * 1024 * 1024 + 1), 413)],
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


def test_connections_are_bounded_and_room_comes_back(
    folder: Folder, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_MOST_CONNECTIONS", 2)
    serving = serve(allowed)
    two = [socket.create_connection(("localhost", serving.port)) for _ in range(2)]
    time.sleep(0.1)
    with pytest.raises(OSError):
        post(connect(folder, serving))
    for each in two:
        each.close()
    assert eventually(lambda: post(connect(folder, serving))[0]) == 200


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


def eventually(attempt: Callable[[], int]) -> int:
    for _ in range(50):
        try:
            return attempt()
        except OSError:
            time.sleep(0.1)
    return attempt()

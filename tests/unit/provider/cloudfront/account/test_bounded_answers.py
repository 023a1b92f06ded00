"""Answers of an endpoint that is not AWS's: endless, slow, or with very many elements."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from botocore.httpsession import URLLib3Session
from botocore.parsers import ResponseParserError

from provider.cloudfront.account import bounded_answers
from provider.cloudfront.account.bounded_answers import bound_answers

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n"
LIST = b"<ListDistributionTenantsResult><DistributionTenantList/></ListDistributionTenantsResult>"
Answer = Callable[[socket.socket, threading.Event], None]


class Server:
    """Answers each connection as told."""

    def __init__(self, answer: Answer) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self.ended = threading.Event()
        self.connections = 0
        self._answer = answer
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self.ended.set()
        self._listening.close()

    def _serve(self) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._one, args=(connection,), daemon=True).start()

    def _one(self, connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65536)
                self._answer(connection, self.ended)
            except OSError:
                return


@pytest.fixture
def client_of() -> Iterator[Callable[[Answer], object]]:
    servers = []

    def made(answer: Answer):
        servers.append(Server(answer))
        client = boto3.client(
            "cloudfront",
            endpoint_url=servers[-1].url,
            region_name="us-east-1",
            aws_access_key_id="any",
            aws_secret_access_key="any",
            config=Config(retries={"total_max_attempts": 1}, proxies={}),
        )
        bound_answers(client)
        return client

    made.servers = servers
    yield made
    for each in servers:
        each.close()


def whole(body: bytes) -> Answer:
    def answer(to: socket.socket, _: threading.Event) -> None:
        to.sendall(OK + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        while to.recv(65536):
            to.sendall(OK + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)

    return answer


def long(begin: bytes) -> Answer:
    """64 MiB of it: without a bound, the test must end, too."""

    def answer(to: socket.socket, _: threading.Event) -> None:
        to.sendall(begin)
        for _ in range(1024):
            to.sendall(b"x" * 65536)

    return answer


def test_answers_of_usual_size_are_read_on_one_connection(client_of):
    client = client_of(whole(LIST))
    for _ in range(3):
        assert client.list_distribution_tenants()["DistributionTenantList"] == []
    assert client_of.servers[0].connections == 1


@pytest.mark.parametrize(
    "begin", [OK + b"\r\n", OK + b"Content-Length: 67108864\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: "]
)
def test_an_answer_that_is_too_long_is_not_read_to_its_end(client_of, begin):
    with pytest.raises(ConnectionClosedError):
        client_of(long(begin)).list_distribution_tenants()


def test_a_slow_answer_ends_although_each_byte_is_in_time(client_of, monkeypatch):
    monkeypatch.setattr(bounded_answers._Bounded, "SECONDS", 0.5)

    def drip(to: socket.socket, ended: threading.Event) -> None:
        to.sendall(OK + b"Content-Length: 1000000\r\n\r\n")
        while not ended.wait(0.05):
            to.sendall(b" ")

    with pytest.raises(ReadTimeoutError):
        client_of(drip).list_distribution_tenants()


@pytest.mark.parametrize("body", [b"<a>" * 300_000, b"<a/>" * 300_000, b"[" * 300_000])
def test_very_many_elements_are_not_parsed(client_of, body):
    with pytest.raises(ResponseParserError, match="elements"):
        client_of(whole(body)).list_distribution_tenants()


def test_botocore_is_built_as_expected(client_of):
    """Else its answers would have no bounds."""
    client = client_of(whole(LIST))
    http = client._endpoint.http_session
    assert isinstance(http, URLLib3Session)
    assert http._manager.pool_classes_by_scheme is bounded_answers._POOLS
    assert http._get_proxy_manager("http://127.0.0.1:1").pool_classes_by_scheme is bounded_answers._POOLS

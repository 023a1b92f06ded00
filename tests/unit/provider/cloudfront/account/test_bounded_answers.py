"""Answers of an endpoint that is not AWS's: endless, slow, or with very many elements."""

from __future__ import annotations

import threading
import time

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ConnectionClosedError, ReadTimeoutError
from botocore.httpsession import URLLib3Session
from botocore.parsers import ResponseParserError

from provider.cloudfront.account import bounded_answers
from provider.cloudfront.account.bounded_answers import bound_answers
from tests.unit.provider.dns.scripted import bytes_over_tcp, http

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n"
LIST = b"<ListDistributionTenantsResult><DistributionTenantList/></ListDistributionTenantsResult>"


def client_of(port):
    client = boto3.client(
        "cloudfront",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
        config=Config(retries={"total_max_attempts": 1}, proxies={}),
    )
    bound_answers(client)
    return client


def test_answers_of_usual_size_are_read_on_one_connection():
    connections = set()

    def answer(*_):
        # The server has a thread for each connection.
        connections.add(threading.current_thread().name)
        return 200, {"Content-Type": "text/xml"}, LIST

    with http(answer) as port:
        client = client_of(port)
        for _ in range(3):
            assert client.list_distribution_tenants()["DistributionTenantList"] == []
        client.close()
    assert len(connections) == 1


@pytest.mark.parametrize(
    "begin", [OK + b"\r\n", OK + b"Content-Length: 67108864\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: "]
)
def test_an_answer_that_is_too_long_is_not_read_to_its_end(begin):
    def send(write):
        # 64 MiB: without a bound, the test must end, too.
        write(begin)
        for _ in range(1024):
            write(b"x" * 65536)

    with bytes_over_tcp(send) as port, pytest.raises(ConnectionClosedError):
        client_of(port).list_distribution_tenants()


def test_a_slow_answer_ends_although_each_byte_is_in_time(monkeypatch):
    monkeypatch.setattr(bounded_answers._Bounded, "SECONDS", 0.5)

    def drip(write):
        write(OK + b"Content-Length: 1000000\r\n\r\n")
        while True:
            time.sleep(0.05)
            write(b" ")

    with bytes_over_tcp(drip) as port, pytest.raises(ReadTimeoutError):
        client_of(port).list_distribution_tenants()


@pytest.mark.parametrize("body", [b"<a>" * 300_000, b"<a/>" * 300_000, b"[" * 300_000])
def test_very_many_elements_are_not_parsed(body):
    with (
        http(lambda *_: (200, {"Content-Type": "text/xml"}, body)) as port,
        pytest.raises(ResponseParserError, match="elements"),
    ):
        client_of(port).list_distribution_tenants()


def test_botocore_is_built_as_expected():
    """Else its answers would have no bounds."""
    sending = client_of(1)._endpoint.http_session
    assert isinstance(sending, URLLib3Session)
    assert sending._manager.pool_classes_by_scheme is bounded_answers._POOLS
    assert sending._get_proxy_manager("http://127.0.0.1:1").pool_classes_by_scheme is bounded_answers._POOLS

"""The API server's time, whatever the clock of this machine says."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from kubernetes import client as library

from edgetenants_runtime.clock import FakeClock, utc_now
from edgetenants_runtime.kube.client import KubeClient
from edgetenants_runtime.kube.server_time import ServerTime
from edgetenants_runtime.managed import ObjectKey
from edgetenants_runtime.testing import TOYS

START = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def told(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def time(clock: FakeClock) -> ServerTime:
    return ServerTime(clock, lambda: START)


def test_it_is_this_machines_until_the_first_response(time: ServerTime, clock: FakeClock) -> None:
    clock.advance(7)
    assert time.now() == START + timedelta(seconds=7)


@pytest.mark.parametrize("off", [HOUR, -HOUR, timedelta(days=9000)])
def test_a_response_corrects_it(time: ServerTime, clock: FakeClock, off: timedelta) -> None:
    time.answered(time.sent(), told(START + off))
    clock.advance(60)
    assert time.now() == START + off + timedelta(minutes=1)


@pytest.mark.parametrize("seconds", [-5, 1, 5])
def test_a_small_difference_is_left(time: ServerTime, seconds: int) -> None:
    time.answered(time.sent(), told(START + timedelta(seconds=seconds)))
    assert time.now() == START


def test_a_response_that_was_read_late_is_ignored(time: ServerTime, clock: FakeClock) -> None:
    sent = time.sent()
    clock.advance(90)
    time.answered(sent, told(START))
    assert time.now() == START + timedelta(seconds=90)


@pytest.mark.parametrize(
    "date",
    [
        None,
        "",
        "yesterday",
        "Thu, 01 Jan 99999 00:00:00 GMT",
        "Thu, 99 Jan 2026 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
    ],
)
def test_what_is_no_time_is_ignored(time: ServerTime, clock: FakeClock, date: str | None) -> None:
    time.answered(time.sent(), date)
    clock.advance(60)
    assert time.now() == START + timedelta(minutes=1)
    time.answered(time.sent(), told(START + HOUR))
    assert time.now() == START + HOUR, "the next one counts"


class _Ahead(BaseHTTPRequestHandler):
    """An API server whose clock is an hour ahead of this machine's."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def date_time_string(self, timestamp: float | None = None) -> str:
        del timestamp
        return told(utc_now() + HOUR)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def client() -> Iterator[KubeClient]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Ahead)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    configuration = library.Configuration()
    configuration.host = f"http://127.0.0.1:{server.server_port}"
    yield KubeClient(configuration, field_manager="test")
    server.shutdown()
    server.server_close()


def test_each_response_to_the_client_counts(client: KubeClient) -> None:
    client.bounded(1).get(TOYS, ObjectKey("shop", "acme"))
    assert abs(client.server_time.now() - utc_now() - HOUR) < timedelta(seconds=10)

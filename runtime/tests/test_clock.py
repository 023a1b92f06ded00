"""The clocks: what wakes a sleeper, and a clock followed over HTTP."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from edgetenants_runtime.clock import (
    FakeClock,
    RemoteClock,
    Stopwatch,
    SystemClock,
    parse_rfc3339,
    pause,
    rfc3339,
    rfc3339_micro,
)


def test_advancing_wakes_a_sleeper() -> None:
    clock = FakeClock(100)
    sleeper = threading.Thread(target=pause, args=(clock, 60))
    sleeper.start()
    while sleeper.is_alive():
        clock.advance(30)
        sleeper.join(0.01)
    assert clock.now() >= 160


def test_a_deadline_in_the_past_does_not_wait() -> None:
    condition = threading.Condition()
    with condition:
        FakeClock(5).wait(condition, 5.0)
        SystemClock().wait(condition, SystemClock().now() - 1)


def test_the_system_clock_waits() -> None:
    watch = Stopwatch()
    pause(SystemClock(), 0.02)
    assert watch.elapsed() >= 0.02


def test_times_as_kubernetes_writes_them() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
    assert rfc3339(moment) == "2026-01-02T03:04:05Z"
    assert rfc3339_micro(moment) == "2026-01-02T03:04:05.678901Z"
    assert parse_rfc3339(rfc3339_micro(moment)) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2026-01-02T03:04:05"])
def test_what_is_no_rfc3339_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_rfc3339(text)


class Source:
    """The other side of the long poll."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.state = {"version": 1, "virtual": 1000.0, "rate": 0.0}
        self.told: float = 0

    def set(self, **state: float) -> None:
        with self.changed:
            self.state |= state | {"version": self.state["version"] + 1}
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.told == self.state["version"], 5)

    def answer(self, query: dict[str, list[str]]) -> dict[str, Any]:
        with self.changed:
            if query.get("since") == [str(self.state["version"])]:
                # Asked with the newest version: the follower has taken it in.
                self.told = self.state["version"]
                self.changed.notify_all()
                known = self.state["version"]
                self.changed.wait_for(lambda: self.state["version"] != known, float(query["timeout"][0]))
            return dict(self.state)


@pytest.fixture
def source() -> Iterator[tuple[Source, str]]:
    source = Source()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(source.answer(parse_qs(urlparse(self.path).query))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield source, f"http://127.0.0.1:{server.server_address[1]}/clock"
    server.shutdown()
    server.server_close()


def reach(clock: RemoteClock, moment: float) -> bool:
    watch = Stopwatch()
    while clock.now() < moment and watch.elapsed() < 5:
        pause(SystemClock(), 0.005)
    return clock.now() >= moment


def test_a_step_of_the_followed_clock_wakes_a_sleeper(source: tuple[Source, str]) -> None:
    clock = RemoteClock(source[1])
    clock.start()
    assert clock.now() == 1000
    sleeper = threading.Thread(target=pause, args=(clock, 3600))
    sleeper.start()
    source[0].set(virtual=4600.0)
    sleeper.join(5)
    assert not sleeper.is_alive()
    clock.stop()


def test_the_rate_of_the_followed_clock_counts(source: tuple[Source, str]) -> None:
    clock = RemoteClock(source[1])
    clock.start()
    source[0].set(rate=10_000.0)
    assert reach(clock, 1500)
    clock.stop()


def test_a_restarted_clock_does_not_turn_time_back(source: tuple[Source, str]) -> None:
    clock = RemoteClock(source[1])
    clock.start()
    source[0].set(virtual=5000.0)
    assert reach(clock, 5000)
    source[0].set(virtual=0.0)
    source[0].set(virtual=10.0)
    assert reach(clock, 5010)
    clock.stop()


def test_an_unreachable_clock_runs_at_real_speed() -> None:
    clock = RemoteClock("http://127.0.0.1:9/clock")
    clock.start(timeout=0.05)
    before = clock.now()
    pause(SystemClock(), 0.02)
    assert 0.02 <= clock.now() - before < 5
    clock.stop()

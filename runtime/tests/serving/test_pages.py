"""Pages that any pod may ask for: what each client gets, and what all of them together may use."""

from __future__ import annotations

import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from edgetenants_runtime.serving import pages
from edgetenants_runtime.serving.answers import Answer
from edgetenants_runtime.serving.pages import Asked, Page, PageServer

MOST = pages._MOST_CONNECTIONS
SECONDS = 10.0
"""A bound: nothing here takes as long."""


def ok(_: Asked) -> Answer:
    return Answer(200, b"ok\n")


Serve = Callable[..., PageServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    made: list[PageServer] = []

    def start(served: Mapping[str, Page] | None = None) -> PageServer:
        made.append(PageServer("127.0.0.1", 0, served or {"/healthz": ok}))
        made[-1].start()
        return made[-1]

    yield start
    for each in made:
        each.stop()


def connect(to: PageServer, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", to.port), timeout=SECONDS, source_address=(source, 0))


def received(connection: socket.socket) -> bytes:
    """All that the server sends until it ends the connection."""
    found = b""
    try:
        while piece := connection.recv(65536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def ask(to: PageServer, head: str = "GET /healthz HTTP/1.1\r\n\r\n", source: str = "127.0.0.1") -> bytes:
    with connect(to, source) as connection:
        connection.sendall(head.encode())
        return received(connection)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


@contextmanager
def held(to: PageServer, sources: list[str], begin: bytes = b"") -> Iterator[list[socket.socket]]:
    """A connection from each of these addresses, which stays open."""
    made = [connect(to, source) for source in sources]
    for each in made:
        each.sendall(begin)
    try:
        yield made
    finally:
        for each in made:
            each.close()


def served_threads() -> int:
    return sum("process_request_thread" in each.name for each in threading.enumerate())


def test_a_connection_ends_with_its_answer(serve: Serve) -> None:
    answer = ask(serve(), "GET /healthz?verbose HTTP/1.1\r\nConnection: keep-alive\r\n\r\n" * 2)
    assert answer.startswith(b"HTTP/1.0 200")
    assert answer.endswith(b"\r\n\r\nok\n")
    assert answer.count(b"HTTP/1.0") == 1


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("GET /other HTTP/1.1\r\n\r\n", 404),
        ("POST /healthz HTTP/1.1\r\n\r\n", 501),
        ("GET /healthz HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 400),
        ("GET /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET /healthz HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 200),
    ],
)
def test_only_a_get_without_a_body_gets_a_page(serve: Serve, head: str, expected: int) -> None:
    assert status(ask(serve(), head)) == expected


def test_many_silent_clients_have_a_bounded_number_of_connections_and_threads(
    serve: Serve, until: Callable[[Callable[[], object]], None]
) -> None:
    serving = serve()
    before = served_threads()
    with held(serving, ["127.0.0.1"] * (3 * MOST)) as connections:
        assert status(ask(serving)) == 200
        # A thread whose connection lost its place ends a moment later.
        until(lambda: served_threads() - before <= MOST + 1)
        for each in connections[: MOST + MOST // 2]:
            assert received(each) == b"", "the oldest ones have lost their places"


@pytest.mark.parametrize(
    "sources",
    [["127.0.0.1"] * MOST, [f"127.0.1.{number}" for number in range(1, MOST + 1)], ["127.0.0.2"] * MOST],
    ids=["another address", "an address each", "the probe's own address"],
)
@pytest.mark.parametrize("begin", [b"", b"GET /healthz HTTP/1.1\r\nA: "])
def test_a_probe_is_answered_while_others_hold_all_connections(
    serve: Serve, sources: list[str], begin: bytes
) -> None:
    serving = serve()
    with held(serving, sources, begin):
        for _ in range(5):
            assert status(ask(serving, source="127.0.0.2")) == 200


def test_a_request_that_is_under_way_keeps_its_place(serve: Serve) -> None:
    serving = serve()
    with connect(serving, "127.0.0.2") as asking:
        asking.sendall(b"GET /healthz HTTP/1.1\r\n")
        with held(serving, ["127.0.0.1"] * (2 * MOST)):
            # Connections are accepted in order: after this answer, all of them are.
            assert status(ask(serving, source="127.0.0.3")) == 200
            asking.sendall(b"\r\n")
            assert status(received(asking)) == 200


def test_a_client_that_sends_a_byte_now_and_then_does_not_stay(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_REQUEST_SECONDS", 0.3)
    with connect(serve()) as slow:
        slow.settimeout(0.05)
        slow.sendall(b"GET /healthz HTTP/1.1\r\nA: ")
        for _ in range(int(SECONDS / 0.05)):
            try:
                slow.sendall(b"a")
                if slow.recv(1) == b"":
                    return
            except TimeoutError:
                continue
            except OSError:
                return
    pytest.fail("the connection stayed")


def test_long_heads_take_little_memory(serve: Serve) -> None:
    serving = serve()
    header = b"h: " + b"x" * 65_000 + b"\r\n"
    tracemalloc.start()
    with capture_logs(), held(serving, ["127.0.0.1"] * 5, b"GET /healthz HTTP/1.1\r\n") as connections:
        for each in connections:
            with pytest.raises(OSError):  # noqa: PT012 - one of these writes
                for _ in range(90):
                    each.sendall(header)
        _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2_000_000


def test_the_kernel_keeps_little_of_a_connection(serve: Serve) -> None:
    listening = serve()._server.socket
    # Linux doubles them for its own bookkeeping. Without a value, they grow to some megabytes.
    assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 2 * pages._RECEIVED
    assert listening.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == 2 * pages._SENT


def test_clients_that_end_early_write_nothing(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    serving = serve()
    with capture_logs() as logged:
        for _ in range(5):
            with connect(serving) as ended:
                ended.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                ended.sendall(b"GET /healthz HTTP/1.1\r\nA: ")
        assert status(ask(serving)) == 200
    assert [each for each in logged if each["log_level"] != "debug"] == []
    assert capfd.readouterr() == ("", "")


def test_a_page_that_cannot_be_made_says_so_hides_why_and_is_logged_once_a_minute(serve: Serve) -> None:
    def page(_: Asked) -> Answer:
        raise KeyError("password")

    serving = serve({"/healthz": page})
    with capture_logs() as logged:
        answers = [ask(serving) for _ in range(5)]
    assert {status(each) for each in answers} == {500}
    assert b"password" not in answers[0]
    assert len(logged) == 1


def test_a_page_that_takes_its_time_holds_up_no_other(serve: Serve) -> None:
    release, begun = threading.Event(), threading.Event()

    def slow(_: Asked) -> Answer:
        begun.set()
        release.wait(SECONDS)
        return Answer(200, b"")

    serving = serve({"/healthz": ok, "/metrics": slow})
    with connect(serving) as waits:
        waits.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert begun.wait(SECONDS)
        assert status(ask(serving)) == 200
        release.set()
        assert status(received(waits)) == 200

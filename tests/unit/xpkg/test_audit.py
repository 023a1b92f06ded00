"""The audit: each answer of the advisories' service, on a server of the test's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from xpkg import __main__ as command
from xpkg import audit, runtime, wheels
from xpkg.__main__ import ROOT

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]
LOCKED = {name for lock in runtime.locks(ROOT) for name in wheels.names(lock)}
PICKLE = {
    "id": "PYSEC-2026-1",
    "summary": "A click runs code.",
    "affected": [
        {
            "package": {"name": "click", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.1"}]}],
        }
    ],
}


class Osv:
    """A stand-in of OSV's API: it knows nothing, unless a test gives it another answer."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answer: Answer = lambda _: (200, b"{}")
        osv = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                osv.asked.append(query)
                status, body = osv.answer(query)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1/query"


@pytest.fixture
def osv() -> Iterator[Osv]:
    made = Osv()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.02,))
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def run(url: str, cache: Path) -> int:
    return command.main(["--cache", str(cache), "audit", "--advisories", url])


def about_click(query: dict[str, Any]) -> tuple[int, bytes]:
    known = {"vulns": [PICKLE]} if query["package"]["name"] == "click" else {}
    return 200, json.dumps(known).encode()


def test_without_findings_it_exits_0_and_has_asked_about_each_package(
    osv: Osv, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(osv.url, tmp_path) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"licences: all of {len(LOCKED)} packages are allowed",
        f"advisories: none for {len(LOCKED)} packages",
    ]
    assert {query["package"]["name"] for query in osv.asked} == LOCKED
    assert {query["package"]["ecosystem"] for query in osv.asked} == {"PyPI"}


def test_an_advisory_is_named_and_exits_1(
    osv: Osv, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    osv.answer = about_click
    assert run(osv.url, tmp_path) == 1
    [version] = {query["version"] for query in osv.asked if query["package"]["name"] == "click"}
    expected = f"click {version}: PYSEC-2026-1: A click runs code. (fixed in 99.1)"
    assert capsys.readouterr().out.splitlines()[1:] == [expected]


@pytest.mark.parametrize(
    ("status", "body"),
    [(403, b"no"), (500, b""), (200, b"<html>log in</html>"), (200, b'{"other": 1}'), (200, b'["x"]')],
)
def test_another_answer_than_osvs_is_unreachable(
    osv: Osv, tmp_path: Path, capsys: pytest.CaptureFixture[str], status: int, body: bytes
) -> None:
    osv.answer = lambda _: (status, body)
    assert run(osv.url, tmp_path) == 3
    assert capsys.readouterr().out.splitlines()[1].startswith("advisories unreachable: ")


def test_a_service_that_is_not_there_is_unreachable(
    osv: Osv, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("http://127.0.0.1:1/v1/query", tmp_path) == 3
    assert "advisories unreachable: " in capsys.readouterr().out


def test_a_service_that_goes_away_hides_no_finding(
    osv: Osv, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def until_click(query: dict[str, Any]) -> tuple[int, bytes]:
        told = any(asked["package"]["name"] == "click" for asked in osv.asked[:-1])
        return (500, b"") if told else about_click(query)

    osv.answer = until_click
    assert run(osv.url, tmp_path) == 1
    said = capsys.readouterr().out
    assert "PYSEC-2026-1" in said
    assert "advisories unreachable: " in said


def test_a_licence_that_is_not_allowed_exits_1_also_where_advisories_are_unreachable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "problem", lambda metadata: "no" if metadata["name"] == "six" else None)
    assert run("http://127.0.0.1:1/v1/query", tmp_path) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "six: no"
    assert said[1].startswith("advisories unreachable: ")


def test_a_package_that_is_not_installed_has_no_known_licence() -> None:
    [line] = audit.licences(["no-such-package"])
    assert line.startswith("no-such-package: not installed here")


def test_a_lock_without_hashes_is_refused(
    osv: Osv, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lock").write_text("click==8.0\n")
    monkeypatch.setattr(runtime, "locks", lambda _: (tmp_path / "lock",))
    assert run(osv.url, tmp_path) == 1
    assert "xpkg: cannot read the locks: " in capsys.readouterr().err
    assert osv.asked == []
